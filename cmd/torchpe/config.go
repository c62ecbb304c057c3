package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"torchpe/internal/nearest"
	"torchpe/models"
	"torchpe/models/pe"
	"torchpe/torchpe"
	"torchpe/train"
)

// configFlags are the flags that say what to train. Those that were not given keep the preset's value.
type configFlags struct {
	flags            *pflag.FlagSet
	preset, fidelity string
	file             string
	seed             uint64
	seeds            []string
	members          memberCount
	sigma, lr, decay []float64
	peLR, peDecay    []float64
	peWarmup         int
	initScale        float64
	threads          string
	noise            []string
	checkpointEvery  time.Duration
	c                train.Config // values of flags that are fields
	options          map[string]*string
	masked           maskedFlags
	sizes            sizeFlags
	positions        positionsFlags
	bench            bool // --steps is not of the configuration but says how many steps to measure
}

// add declares the flags. Flags of the schemes come from the registry.
func (f *configFlags) add(fl *pflag.FlagSet) {
	f.flags = fl
	d, _ := train.Preset("lst", "code")
	fl.StringVar(&f.preset, "preset", "lst", "defaults: "+strings.Join(train.Presets(), ", "))
	fl.StringVar(&f.fidelity, "fidelity", "code", "reading of the paper: code (what produced its numbers) or text")
	fl.StringVar(&f.file, "config", "", "take a run's config.json instead of a preset")
	fl.StringVar(&f.c.Task, "task", d.Task, "task: lst (Latin squares), nmar (simulated network), fmri (human fMRI), masked (any table); its preset gives the defaults")

	fl.StringVar(&f.c.PE, "pe", d.PE, "positional encoding: "+strings.Join(pe.Names(), ", ")+"; learn-S means learn with sigma S; rope+learn stacks two")
	fl.Float64SliceVar(&f.sigma, "sigma", []float64{0.2}, "standard deviation of the initial learned PE, one or one a member")
	fl.StringVar(&f.c.PEInit, "pe-init", "normal", "start of the learned PE: "+pe.InitForms)
	fl.StringVar(&f.c.PEInitScale, "pe-init-scale", "own", "sinusoidal starts: own, as they are, or sigma, scaled to the norm that sigma gives")
	fl.Float64SliceVar(&f.peLR, "pe-lr", nil, "learning rate of the PE's parameters, one or one a member; 0 leaves them as they start (default: --lr)")
	fl.Float64SliceVar(&f.peDecay, "pe-weight-decay", nil, "weight decay of the PE's parameters, one or one a member (default: --weight-decay)")
	fl.Lookup("pe-lr").DefValue, fl.Lookup("pe-weight-decay").DefValue = "", "" // they say themselves what it is
	fl.IntVar(&f.peWarmup, "pe-warmup-steps", 0, "steps in which the PE's learning rate rises to its value (default: --warmup-steps)")
	fl.Float64Var(&f.c.PEDropout, "pe-dropout", 0, "dropout on the learned PE's table in training, 0 to 1")
	fl.Float64Var(&f.initScale, "init-scale", 1, "factor on the initial values of all weights but the PE's and those of layer norm")
	fl.Uint64Var(&f.seed, "seed", 1, "seed of the first member; the next ones count up")
	fl.StringSliceVar(&f.seeds, "seeds", nil, "seeds of all members, or the word paper for the 15 of the published runs")
	f.members.n = 1
	fl.Var(&f.members, "members", "seeds trained together as one ensemble; auto measures how many are worth while")

	fl.IntVar(&f.c.Layers, "layers", d.Layers, "blocks")
	fl.IntVar(&f.c.Heads, "heads", d.Heads, "attention heads")
	fl.IntVar(&f.c.DModel, "d-model", d.DModel, "width of the model (quick: 64)")
	fl.IntVar(&f.c.FFMultiple, "ff-multiple", d.FFMultiple, "width of the MLP over that of the model")
	fl.Float64Var(&f.c.Dropout, "dropout", d.Dropout, "dropout on embeddings and attention weights in training, 0 to 1")
	fl.StringVar(&f.c.TokenInput, "token-input", "", "symbols as one-hot channels or as a learned embedding: one-hot (code), embedding (text)")
	fl.StringVar(&f.c.EmbeddingInit, "embedding-init", d.EmbeddingInit, "start of a learned embedding: linear, U(±1/√5) as the one-hot map has it, or normal, N(0,1)")
	fl.StringVar(&f.c.ReadOut, "read-out", "", "token the answer is read from: last (code), probe (text)")

	fl.StringVar(&f.c.Optimizer, "optimizer", d.Optimizer, "optimizer: "+strings.Join(torchpe.Methods(), ", "))
	fl.Float64SliceVar(&f.lr, "lr", []float64{d.Members[0].LR}, "learning rate, one or one a member (quick: 3e-4)")
	fl.Float64SliceVar(&f.decay, "weight-decay", []float64{0}, "weight decay, one or one a member")
	fl.StringVar(&f.c.Schedule, "schedule", d.Schedule, "learning rate over the steps: constant, linear, cosine (both to 0)")
	fl.IntVar(&f.c.WarmupSteps, "warmup-steps", d.WarmupSteps, "steps in which the learning rate rises to its value")
	fl.Float64Var(&f.c.ClipNorm, "clip-norm", d.ClipNorm, "scale each member's gradient down to this norm; 0 = off")
	fl.IntVar(&f.c.Batch, "batch", d.Batch, "examples a step")
	fl.IntVar(&f.c.Epochs, "epochs", d.Epochs, "passes over the training set (quick: 20) [lst]")
	if !f.bench {
		fl.IntVar(&f.c.Steps, "steps", 50_000, "training steps [masked prediction]")
	}
	fl.IntVar(&f.c.LimitSteps, "limit-steps", d.LimitSteps, "stop after so many steps; 0 = not before the end")

	fl.StringArrayVar(&f.c.LSTTrain, "lst-train", nil, "file of training puzzles; may be given several times (default: generated)")
	fl.StringVar(&f.c.LSTValidation, "lst-validation", "", "file of validation puzzles (default: generated)")
	fl.Uint64Var(&f.c.DataSeed, "data-seed", d.DataSeed, "seed of generated data, of the split of files, and of test masks")
	f.sizes.add(fl)
	f.masked.add(fl)
	f.positions.add(fl)

	fl.StringSliceVar(&f.noise, "noise", noiseText(d.Noise), "measure validation accuracy at the end with N(0, a²) added to each token embedding, for each a; or the word none [lst]")
	fl.IntVar(&f.c.NoiseRepeats, "noise-repeats", d.NoiseRepeats, "draws of that noise [lst]")
	fl.IntVar(&f.c.LogEvery, "log-every", 0, "epochs between records, or steps of masked prediction (default: a twentieth; 1 up to 50 epochs)")
	fl.DurationVar(&f.checkpointEvery, "checkpoint-every", time.Duration(d.CheckpointEvery), "time between checkpoints")
	fl.BoolVar(&f.c.TensorBoard, "tensorboard", d.TensorBoard, "write event files for TensorBoard into the run directory")
	fl.StringVar(&f.c.DType, "dtype", d.DType, "precision: float32 or float64")
	fl.StringVar(&f.c.Device, "device", d.Device, "device: auto, cpu, cuda or cuda:i")
	addDeviceFlags(fl, &f.c.DeviceConfig)
	fl.StringVar(&f.threads, "threads", "auto", "CPU threads of one step; auto measures")
	f.options = schemeFlags(fl)
}

// schemeFlags declares a flag for each option of each scheme, and returns their values by name.
func schemeFlags(fl *pflag.FlagSet) map[string]*string {
	options := map[string]*string{}
	users := map[string][]string{}
	for _, s := range pe.Schemes() {
		for _, o := range s.Options {
			users[o.Name] = append(users[o.Name], s.Name)
		}
	}
	for _, s := range pe.Schemes() {
		for _, o := range s.Options {
			if options[o.Name] != nil {
				continue
			}
			defaults := fmt.Sprintf("%s (code), %s (text)", o.Code, o.Text)
			if o.Code == o.Text {
				defaults = o.Code
			}
			options[o.Name] = fl.String(o.Name, "", fmt.Sprintf("%s [%s; default %s]", o.Help, strings.Join(users[o.Name], ", "), defaults))
		}
	}
	return options
}

// resolve returns the configuration and what should be said about it.
func (f *configFlags) resolve() (c train.Config, notes []string, err error) {
	if f.file != "" {
		c, err = train.ReadConfig(f.file)
	} else {
		preset := f.preset
		if given := f.given(); given["task"] && !given["preset"] {
			if preset = f.c.Task; !slices.Contains(train.Tasks(), preset) {
				return c, nil, fmt.Errorf("--task: %q is not one of %s%s", preset, strings.Join(train.Tasks(), ", "), nearest.Hint(preset, train.Tasks()))
			}
		}
		c, err = train.Preset(preset, f.fidelity)
	}
	if err != nil {
		return c, nil, err
	}
	return f.apply(c)
}

// apply puts the given flags over c and resolves it.
func (f *configFlags) apply(c train.Config) (train.Config, []string, error) {
	given := f.given()
	if f.file != "" && given["preset"] {
		return c, nil, fmt.Errorf("--config and --preset both say where defaults come from: give one of them")
	}
	if f.file != "" && given["fidelity"] && c.Fidelity != f.fidelity {
		return c, nil, fmt.Errorf("--config %s is of the %s reading: leave out --fidelity, or give --preset instead of --config", f.file, c.Fidelity)
	}
	f.setFields(&c, given)
	unused, err := f.masked.set(&c, given)
	if err != nil {
		return c, nil, err
	}
	unused = append(unused, f.positions.set(&c, given)...)
	name, sigma := splitPE(c.PE)
	c.PE = name
	if sigma != nil && !given["sigma"] {
		f.sigma, given["sigma"] = []float64{*sigma}, true
	} else if sigma != nil {
		return c, nil, fmt.Errorf("--pe %s-%g and --sigma both give sigma: give one of them", name, *sigma)
	}
	threads, err := parseThreads(f.threads)
	if given["threads"] {
		c.Threads = threads
	}
	noiseErr := f.setNoise(&c, given)
	sizeErr := f.sizes.set(&c, given)
	memberErr := f.setMembers(&c, given)
	options := pe.Options{}
	for k, v := range c.PEOptions {
		options[k] = v
	}
	for option, value := range f.options {
		if given[option] {
			options[option] = *value
		}
	}
	c.PEOptions = options
	if err := join(err, noiseErr, sizeErr, memberErr, c.Resolve()); err != nil {
		return c, nil, err
	}
	return c, append(unused, f.ignored(c, given)...), nil
}

// setFields copies the values of given flags that are fields of Config.
func (f *configFlags) setFields(c *train.Config, given map[string]bool) {
	fields := map[string]func(){
		"task": func() { c.Task = f.c.Task }, "pe": func() { c.PE, c.PEOptions = f.c.PE, nil }, "layers": func() { c.Layers = f.c.Layers },
		"heads": func() { c.Heads = f.c.Heads }, "d-model": func() { c.DModel = f.c.DModel }, "ff-multiple": func() { c.FFMultiple = f.c.FFMultiple },
		"dropout": func() { c.Dropout = f.c.Dropout }, "token-input": func() { c.TokenInput = f.c.TokenInput },
		"embedding-init": func() { c.EmbeddingInit = f.c.EmbeddingInit }, "read-out": func() { c.ReadOut = f.c.ReadOut },
		"optimizer": func() { c.Optimizer = f.c.Optimizer }, "schedule": func() { c.Schedule = f.c.Schedule },
		"warmup-steps": func() { c.WarmupSteps = f.c.WarmupSteps }, "clip-norm": func() { c.ClipNorm = f.c.ClipNorm },
		"batch": func() { c.Batch = f.c.Batch }, "epochs": func() { c.Epochs = f.c.Epochs; c.LogEvery = 0 }, "limit-steps": func() { c.LimitSteps = f.c.LimitSteps },
		"steps":     func() { c.Steps = f.c.Steps; c.LogEvery = 0 },
		"lst-train": func() { c.LSTTrain = f.c.LSTTrain }, "lst-validation": func() { c.LSTValidation = f.c.LSTValidation },
		"data-seed": func() { c.DataSeed = f.c.DataSeed }, "dtype": func() { c.DType = f.c.DType }, "device": func() { c.Device = f.c.Device },
		"pe-init": func() { c.PEInit = f.c.PEInit }, "pe-init-scale": func() { c.PEInitScale = f.c.PEInitScale },
		"pe-warmup-steps": func() { c.PEWarmupSteps = &f.peWarmup }, "pe-dropout": func() { c.PEDropout = f.c.PEDropout },
		"init-scale":       func() { c.InitScale = &f.initScale },
		"tensorboard":      func() { c.TensorBoard = f.c.TensorBoard },
		"precision":        func() { c.Precision = f.c.Precision },
		"no-graph":         func() { c.NoGraph = f.c.NoGraph },
		"deterministic":    func() { c.Deterministic = f.c.Deterministic },
		"checkpoint-every": func() { c.CheckpointEvery = train.Duration(f.checkpointEvery) },
	}
	for name, set := range fields {
		if given[name] {
			set()
		}
	}
	if given["log-every"] { // after --epochs, which resets it
		c.LogEvery = f.c.LogEvery
		if c.LogEvery == 0 {
			c.LogEvery = -1 // asked for, unlike the zero that means "by default"
		}
	}
}

// setMembers makes the members that seeds, sigma, learning rate and weight decay ask for.
func (f *configFlags) setMembers(c *train.Config, given map[string]bool) error {
	if !given["seed"] && !given["seeds"] && !given["members"] && !given["sigma"] && !given["lr"] && !given["weight-decay"] && !given["pe-lr"] && !given["pe-weight-decay"] && f.file != "" {
		return nil
	}
	seeds, err := f.memberSeeds(given, max(len(f.sigma), len(f.lr), len(f.decay), len(f.peLR), len(f.peDecay)))
	if err != nil {
		return err
	}
	base := c.Members[0]
	members := make([]train.Member, len(seeds))
	pick := func(flag string, values []float64, i int) (float64, error) {
		if len(values) != 1 && f.members.auto {
			return 0, fmt.Errorf("--%s: %d values, but --members auto takes one", flag, len(values))
		}
		if len(values) != 1 && len(values) != len(seeds) {
			return 0, fmt.Errorf("--%s: %d values for %d members; give one, or one a member", flag, len(values), len(seeds))
		}
		return values[min(i, len(values)-1)], nil
	}
	for i, seed := range seeds {
		m := base
		m.Seed = seed
		if given["sigma"] {
			v, err := pick("sigma", f.sigma, i)
			if err != nil {
				return err
			}
			m.Sigma = &v
		} else if m.Sigma == nil {
			v := 0.2
			m.Sigma = &v
		}
		if given["lr"] {
			if m.LR, err = pick("lr", f.lr, i); err != nil {
				return err
			}
		}
		if given["weight-decay"] {
			if m.WeightDecay, err = pick("weight-decay", f.decay, i); err != nil {
				return err
			}
		}
		for _, own := range []struct {
			flag   string
			values []float64
			into   **float64
		}{{"pe-lr", f.peLR, &m.PELR}, {"pe-weight-decay", f.peDecay, &m.PEWeightDecay}} {
			if !given[own.flag] {
				continue
			}
			v, err := pick(own.flag, own.values, i)
			if err != nil {
				return err
			}
			*own.into = &v
		}
		members[i] = m
	}
	c.Members = members
	return nil
}

// maxMembers keeps a slip of the keyboard from asking for the impossible.
const maxMembers = 4096

// memberSeeds returns the seed of each member. Where no seeds are asked for but several values of a setting, each value is
// a member of the one seed.
func (f *configFlags) memberSeeds(given map[string]bool, values int) ([]uint64, error) {
	if given["seeds"] {
		if given["seed"] {
			return nil, fmt.Errorf("--seed and --seeds both give seeds: give one of them")
		}
		if slices.Equal(f.seeds, []string{"paper"}) {
			if given["members"] && !f.members.auto && f.members.n != len(train.PaperSeeds) {
				return nil, fmt.Errorf("--members %d, but --seeds paper has %d", f.members.n, len(train.PaperSeeds))
			}
			return train.PaperSeeds, nil
		}
		seeds := make([]uint64, len(f.seeds))
		for i, text := range f.seeds {
			v, err := strconv.ParseUint(strings.TrimSpace(text), 10, 64)
			if err != nil {
				return nil, fmt.Errorf("--seeds: %q is no seed; a seed is a whole number from 0 to 2^64-1, or the word paper alone", text)
			}
			seeds[i] = v
		}
		if given["members"] && !f.members.auto && f.members.n != len(seeds) {
			return nil, fmt.Errorf("--members %d, but --seeds names %d", f.members.n, len(seeds))
		}
		return seeds, nil
	}
	if f.members.n < 1 || f.members.n > maxMembers {
		return nil, fmt.Errorf("--members: %d is not in [1, %d]", f.members.n, maxMembers)
	}
	n, step := f.members.n, uint64(1)
	if !given["members"] && values > 1 {
		n, step = values, 0
	}
	seeds := make([]uint64, n)
	for i := range seeds {
		seeds[i] = f.seed + uint64(i)*step
	}
	return seeds, nil
}

// ignored says which of the given flags have no effect on the chosen scheme.
func (f *configFlags) ignored(c train.Config, given map[string]bool) (notes []string) {
	scheme, err := pe.Find(c.PE)
	if err != nil {
		return nil
	}
	for option := range f.options {
		if _, has := c.PEOptions[option]; given[option] && !has {
			notes = append(notes, fmt.Sprintf("--%s has no effect on %s", option, c.PE))
		}
	}
	if given["sigma"] && !scheme.Learned {
		notes = append(notes, fmt.Sprintf("--sigma has no effect on %s", c.PE))
	}
	if init, err := pe.ParseInit(c.PEInit, c.PEInitScale, c.Fidelity); err == nil && given["sigma"] && scheme.Learned && !init.UsesSigma() && !strings.Contains(c.PE, "+") {
		notes = append(notes, fmt.Sprintf("--sigma has no effect with --pe-init %s", init))
	}
	if given["embedding-init"] && c.TokenInput == string(models.OneHot) {
		notes = append(notes, "--embedding-init has no effect on one-hot symbols")
	}
	for _, flag := range []string{"token-input", "embedding-init", "read-out", "lst-train", "lst-validation"} {
		if given[flag] && c.Masked != nil {
			notes = append(notes, fmt.Sprintf("--%s has no effect on task %s", flag, c.Task))
		}
	}
	if given["epochs"] && c.Masked != nil {
		notes = append(notes, fmt.Sprintf("--epochs has no effect on task %s, whose length is --steps", c.Task))
	}
	if given["steps"] && c.Masked == nil {
		notes = append(notes, fmt.Sprintf("--steps has no effect on task %s, whose length is --epochs; --limit-steps ends a run early", c.Task))
	}
	if given["noise-repeats"] && len(c.Noise) == 0 {
		notes = append(notes, "--noise-repeats has no effect without --noise")
	}
	slices.Sort(notes)
	return notes
}

// may change when a run is resumed: they say where and how often, not what.
var mayChange = []string{"device", "threads", "checkpoint_every", "tensorboard"}

// resumed returns the configuration of a run to go on with. A flag that would change what is trained is an error.
func (f *configFlags) resumed(path string) (train.Config, []string, error) {
	stored, err := train.ReadConfig(path)
	if err != nil {
		return stored, nil, err
	}
	if f.file != "" {
		return stored, nil, fmt.Errorf("--config %s: the run to resume has a configuration of its own, %s", f.file, path)
	}
	given := f.given()
	if given["preset"] || given["fidelity"] || len(given) == 0 {
		if len(given) == 0 {
			return stored, nil, nil
		}
		fresh, notes, err := f.resolve()
		if err != nil {
			return stored, nil, err
		}
		if !given["threads"] {
			fresh.Threads = stored.Threads
		}
		if !given["noise"] && !given["noise-repeats"] { // runs before there was noise have none
			fresh.Noise, fresh.NoiseRepeats = stored.Noise, stored.NoiseRepeats
		}
		return fresh, notes, unchanged(stored, fresh, path)
	}
	f.file = path
	changed, notes, err := f.apply(stored)
	if err != nil {
		return stored, nil, err
	}
	if !given["log-every"] {
		changed.LogEvery = stored.LogEvery
	}
	return changed, notes, unchanged(stored, changed, path)
}

// unchanged returns an error that lists the settings in which two configurations differ and may not.
func unchanged(stored, now train.Config, path string) error {
	a, b := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	for into, c := range map[*map[string]json.RawMessage]train.Config{&a: stored, &b: now} {
		text, err := json.Marshal(c)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(text, into); err != nil {
			return err
		}
	}
	var differ []string
	keys := maps.Clone(a)
	maps.Copy(keys, b) // either may lack some
	for key := range keys {
		if !bytes.Equal(a[key], b[key]) && !slices.Contains(mayChange, key) {
			differ = append(differ, fmt.Sprintf("%s was %s and would be %s", key, orNone(a[key]), orNone(b[key])))
		}
	}
	slices.Sort(differ)
	if differ != nil {
		return fmt.Errorf("the run to resume has another configuration (%s):\n  %s\nleave these flags out, or start a new run with another --out", path, strings.Join(differ, "\n  "))
	}
	return nil
}

// orNone names what a configuration lacks.
func orNone(value json.RawMessage) string {
	if value == nil {
		return "none"
	}
	return string(value)
}

// given is the set of configuration flags that the command line names.
func (f *configFlags) given() map[string]bool {
	how := []string{"out", "resume", "force", "break-lock", "json", "quiet", "dry-run", "config"}
	if f.bench {
		how = append(how, "steps")
	}
	set := map[string]bool{}
	f.flags.Visit(func(flag *pflag.Flag) {
		if !slices.Contains(how, flag.Name) {
			set[flag.Name] = true
		}
	})
	return set
}

// splitPE splits a label such as learn-0.2 into the scheme's name and sigma.
func splitPE(label string) (name string, sigma *float64) {
	if i := strings.LastIndex(label, "-"); i > 0 {
		if v, err := strconv.ParseFloat(label[i+1:], 64); err == nil {
			if s, err := pe.Find(label[:i]); err == nil && s.Learned {
				return label[:i], &v
			}
		}
	}
	return label, nil
}

func parseThreads(text string) (int, error) {
	if text == "auto" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("--threads: %q is neither auto nor a number of at least 1", text)
	}
	return n, nil
}

// join makes one error of those that are not nil, a line each.
func join(errs ...error) error {
	var lines []string
	for _, err := range errs {
		if err != nil {
			lines = append(lines, err.Error())
		}
	}
	if lines == nil {
		return nil
	}
	return fmt.Errorf("%s", strings.Join(lines, "\n"))
}
