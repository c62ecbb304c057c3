package train

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"torchpe/internal/wording"
	"torchpe/models/pe"
	"torchpe/torchpe"
	"torchpe/train/config"
	"torchpe/train/runlog"
)

// Config is a configuration (see package config) with methods that need the registry of encodings
// or a device.
type Config struct{ config.Config }

// Member holds the settings that may differ between the members of an ensemble.
type Member = config.Member

// Preset returns the configuration called name, in a reading of the paper: see config.Preset.
func Preset(name, fidelity string) (Config, error) {
	c, err := config.Preset(name, fidelity)
	return Config{c}, err
}

// ParseConfig reads the text of a config.json.
func ParseConfig(text []byte) (Config, error) {
	c, err := config.Parse(text)
	return Config{c}, err
}

// Resolve derives the remaining settings, such as the options of the encoding and the log interval.
// It returns an error that lists all problems of the configuration.
func (c *Config) Resolve() error {
	var bad config.Problems
	c.Complete(&bad)
	scheme, err := pe.Find(c.PE)
	if err != nil {
		bad.Add("--pe: %v", err)
	} else {
		c.resolveEncoding(scheme, &bad)
	}
	c.Validate(&bad)
	return bad.Err()
}

// parseStored reads and resolves the configuration of a stored run, which may have a form of
// attention of an earlier version.
func parseStored(text []byte) (Config, error) {
	c, err := ParseConfig(text)
	form := c.Attention
	c.replaceGoneForm()
	if err == nil {
		err = c.Resolve()
	}
	c.Attention = form
	return c, err
}

// replaceGoneForm replaces such a form by the default, which gives the same results up to rounding.
func (c *Config) replaceGoneForm() {
	if c.Attention == config.AttentionProducts {
		c.Attention = ""
	}
}

// resolveEncoding resolves the options of the encoding and checks the settings against its properties.
func (c *Config) resolveEncoding(scheme pe.Scheme, bad *config.Problems) {
	options, err := scheme.Resolve(c.Fidelity, c.PEOptions)
	if err != nil {
		bad.Add("%v", err)
	}
	c.PEOptions = scheme.Stored(c.Fidelity, options)
	init, err := pe.ParseInit(c.PEInit, c.PEInitScale, c.Fidelity)
	if err != nil {
		bad.Add("--pe-init: %v", err)
	} else if err := scheme.CheckInit(init); err != nil {
		bad.Add("%v", err)
	} else if init.Kind == pe.GradientsInit && !c.Facts().HasSeries {
		bad.Add("--pe-init %s: gradients need correlations between series, but task %s has none; "+
			"tasks nmar, fmri and masked have them; mds uses the grid of puzzles", init, c.Task)
	} else if init.Kind == pe.MDSInit && !c.Facts().HasSeries && !c.HasPuzzles() {
		bad.Add("--pe-init %s: it needs coordinates of tokens, but task %s has none; puzzles have a grid, and tasks "+
			"nmar, fmri and masked take --positions", init, c.Task)
	}
	if init.Kind != "" {
		c.PEInit = init.String() // low-rank:4 for low-rank:04
	}
	if err := scheme.CheckLayers(c.Layers, c.LocalLayers()); err != nil {
		bad.Add("--pe: %v", err)
	}
	if err := scheme.CheckDropout(c.PEDropout); err != nil {
		bad.Add("%v", err)
	}
	if own := c.OwnPESettings(); own != nil && scheme.About().Parameters == "none" {
		bad.Add("%s: %s has no trained parameters", strings.Join(own, ", "), c.PE)
	}
	for i := range c.Members {
		if !scheme.Learned || !init.UsesSigma() {
			c.Members[i].Sigma = nil
		} else if c.Members[i].Sigma == nil {
			bad.Add("--sigma: %s is initialised with sigma, but member %d has none", c.PE, i)
		}
	}
	if s := c.Sequence; s != nil && (s.Text != nil || s.Form == config.Decoder) && scheme.LooksAhead(options) {
		bad.Add("--pe %s: what a token gets depends on later ones, also under the mask of a decoder, so the model "+
			"would read what it is to predict: give another encoding (cope with --cope-direction causal)", c.PE)
	}
	c.checkTaken(scheme, bad)
	for _, tokens := range c.EvalTokens {
		if err := scheme.CheckTokens(c.Side()*c.Side(), tokens, options); err != nil {
			bad.Add("--eval-tokens: %v", err) // and no larger size either
			break
		}
	}
}

// checkTaken refuses another number of heads than that of the run whose attention is taken: its weights would be
// cut otherwise. It refuses another sigma or initialisation than that of the run whose table is taken: reports would
// label the model by it.
func (c *Config) checkTaken(scheme pe.Scheme, bad *config.Problems) {
	if c.From == nil {
		return
	}
	run, err := config.Read(filepath.Join(c.From.Run, "config.json"))
	if err != nil || len(run.Members) == 0 {
		return // startFrom reports the error of the run
	}
	if c.From.Takes(false) && run.Heads != c.Heads {
		bad.Add("--heads: attention is taken from %s, which has %d, but here %d: give --heads %[2]d", c.From.Run,
			run.Heads, c.Heads)
	}
	if !scheme.Learned || !c.From.Takes(true) {
		return
	}
	differ := func(flag, here, there string) {
		if here != there {
			bad.Add("--%s: the table is taken from %s, where it is %s, but here %s: give its --%s, or --take %s",
				flag, c.From.Run, there, here, flag, config.TakeNoPE)
		}
	}
	differ("pe-init", cmp.Or(c.PEInit, "normal"), cmp.Or(run.PEInit, "normal"))
	differ("pe-init-scale", cmp.Or(c.PEInitScale, "own"), cmp.Or(run.PEInitScale, "own"))
	for i, m := range c.Members {
		of := run.Members[0]
		if len(run.Members) > 1 && i < len(run.Members) {
			of = run.Members[i]
		}
		if m.Sigma != nil && of.Sigma != nil {
			differ("sigma", fmt.Sprint(*m.Sigma), fmt.Sprint(*of.Sigma))
		}
	}
}

// encoding is the scheme of a configuration with all its options, and the start of its learned tables.
type encoding struct {
	pe.Scheme
	options pe.Options
	start   pe.Init
}

// encoding returns the encoding of a configuration. It fails only if the configuration is not resolved.
func (c Config) encoding() (e encoding, err error) {
	if e.Scheme, err = pe.Find(c.PE); err != nil {
		return e, err
	}
	if e.options, err = e.Resolve(c.Fidelity, c.PEOptions); err != nil {
		return e, err
	}
	e.start, err = pe.ParseInit(c.PEInit, c.PEInitScale, c.Fidelity)
	return e, err
}

// SplitLabel splits a label such as learn-0.2 into an encoding that starts with sigma, and sigma,
// which is nil for other texts.
func SplitLabel(label string) (name string, sigma *float64) {
	if name, v, ok := config.SplitLabel(label); ok {
		if scheme, err := pe.Find(name); err == nil && scheme.Learned {
			return name, &v
		}
	}
	return label, nil
}

// Unused describes the case in which a flag has no effect on the encoding of a configuration and its start, such
// as "on rope, which has no trained parameters". It returns "" if the flag has an effect.
func (c Config) Unused(flag string) string {
	name, _ := SplitLabel(c.PE)
	scheme, err := pe.Find(name)
	if err != nil {
		return ""
	}
	s, _ := config.ByFlag(flag)
	switch {
	case flag == "sigma" && !scheme.Learned:
		return "on " + name
	case flag == "sigma": // a mistake in --pe-init is reported elsewhere
		if init, err := pe.ParseInit(c.PEInit, c.PEInitScale, c.Fidelity); err == nil && !init.UsesSigma() {
			return "with --pe-init " + init.String()
		}
	case s.Inherits != "": // of the encoding's parameters
		if scheme.About().Parameters == "none" {
			return "on " + name + ", which has no trained parameters"
		}
	case slices.Contains([]string{"init-scale", "embed-init-scale"}, flag) && c.From != nil && c.From.Takes(false):
		return "on weights that are taken from a run"
	case slices.Contains([]string{config.InitFlag, "pe-init-scale", "pe-init-sparsity", "pe-dropout"}, flag):
		if !scheme.Learned {
			return "on " + name + ", which has no learned table that starts with sigma"
		}
	}
	return ""
}

// notes returns notes for the user before training, on the data and on the settings.
func (c Config) notes(t task) []string { return append(t.notes(), c.notesOnSettings(t)...) }

// notesOnSettings returns notes on a taken encoding, on attention to earlier tokens alone, and on settings that the
// length of the training leaves without their effect.
func (c Config) notesOnSettings(t task) []string {
	notes := append(c.readsOtherwise(), c.seesBack()...)
	total := c.TotalSteps(t.stepsPerEpoch())
	note := func(flag string, warmup int) {
		if warmup > total {
			notes = append(notes, fmt.Sprintf("--%s %d: training ends after %s, when the learning rate has only "+
				"reached %.2g of its value", flag, warmup, wording.Count(total, "step"),
				float64(total)/float64(warmup)))
		}
	}
	whole := c.WholeSteps(t.stepsPerEpoch())
	if c.LimitSteps > whole {
		notes = append(notes, fmt.Sprintf("--limit-steps %d has no effect: training ends after %s", c.LimitSteps,
			wording.Count(whole, "step")))
	}
	every := c.LogEvery
	if c.Epochs > 0 {
		every *= t.stepsPerEpoch()
	}
	if c.Until != "" && every >= total {
		notes = append(notes, fmt.Sprintf("--until %s ends no training early: --log-every %d leaves only the last "+
			"record, and only a record can end a run", c.Until, c.LogEvery))
	}
	note("warmup-steps", c.WarmupSteps)
	if c.PEWarmupSteps != nil {
		note("pe-warmup-steps", *c.PEWarmupSteps)
	}
	return notes
}

// seesBack returns a note if the encoding hides later tokens and the task does not.
func (c Config) seesBack() []string {
	if s := c.Sequence; s != nil && (s.Text != nil || s.Form == config.Decoder) {
		return nil
	}
	e, err := c.encoding()
	if err != nil {
		return nil
	}
	facts, err := e.Describe(pe.Size{Tokens: 16, DModel: c.DModel, Heads: c.Heads, Layers: c.Layers}, e.options)
	if err != nil || !facts.Causal {
		return nil
	}
	return []string{fmt.Sprintf("%s has a causal mask: a token sees itself and the tokens before it alone, in the "+
		"order of the data (torchpe pe show '%[1]s' says if an option changes this)", c.PE)}
}

// criterion returns the criterion by which a member has fitted: Until, or the task's default. ok is
// false if there is none.
func (c Config) criterion() (criterion runlog.Criterion, ok bool) {
	criterion, err := runlog.ParseCriterion(cmp.Or(c.Until, c.Facts().Criterion))
	return criterion, err == nil
}

func (c Config) precisionOn(dev torchpe.Device) string {
	switch {
	case c.Precision != "":
		return c.Precision
	case dev == torchpe.CPU:
		return "fp32"
	}
	return "tf32"
}

// ReadConfig reads a config.json: see config.Read.
func ReadConfig(path string) (Config, error) {
	c, err := config.Read(path)
	return Config{c}, err
}
