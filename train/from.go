package train

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"torchpe/torchpe"
	"torchpe/train/config"
	"torchpe/train/runlog"
)

// startFrom copies weights of the run that --from names into the model, as selected by --take.
func (e *ensemble) startFrom() error {
	from := e.config.From
	if from == nil {
		return nil
	}
	c, err := readFrom(from, e.members())
	if err == nil {
		err = e.checkRows(from)
	}
	if err != nil {
		return fmt.Errorf("--from %s: %w", from.Run, err)
	}
	var bad []string
	left := map[string]bool{} // weights of the run that the model has not used
	for _, name := range c.Names() {
		if parameter := runlog.ParameterOf(name); parameter != name && from.Takes(isOfEncoding(parameter)) {
			left[parameter] = true
		}
	}
	taken := 0
	err = torchpe.Catch(func() {
		s := torchpe.NewScopeNoGrad()
		defer s.Close()
		e.eachParameter(s, func(name string, shape []int, into torchpe.Tensor) {
			parameter := runlog.ParameterOf(name)
			if parameter == name || !from.Takes(isOfEncoding(parameter)) {
				return
			}
			delete(left, parameter)
			taken++
			values, err := valuesFrom(c, name, shape)
			if err != nil {
				bad = append(bad, fmt.Sprintf("%s: %v", parameter, err))
				return
			}
			x := torchpe.Of(s, torchpe.CPU, values, into.Shape()...).To(into.DType(), into.Device())
			if e.model.Params.Get(parameter).Trainable {
				into.CopyFrom(x)
			} else if !slices.Equal(x.Float64s(), into.Float64s()) {
				bad = append(bad, parameter+": this encoding does not train it, and its "+
					"values differ from that run's")
			}
		})
	})
	for parameter := range left {
		bad = append(bad, parameter+": this model lacks it")
	}
	if taken == 0 && bad == nil {
		bad = append(bad, "neither encoding has parameters to take")
	}
	if err == nil && bad != nil {
		slices.Sort(bad)
		give := "sizes of that run"
		isComputed := func(b string) bool { return strings.Contains(b, "does not train it, and its values differ") }
		if from.Take == config.TakePE || slices.ContainsFunc(bad, isComputed) {
			give = "encoding of that run, with its options, --positions and sizes, or give --take no-pe"
		} else if !slices.ContainsFunc(bad, func(b string) bool { return !strings.Contains(b, ".bias: th") }) {
			give += "; --attention-bias and --fidelity determine the biases of attention"
		}
		if n := len(bad) - 6; n > 0 {
			bad = append(bad[:6], fmt.Sprintf("and %d more", n))
		}
		err = &ConfigError{fmt.Errorf("--from %s: its weights do not fit this model:\n  %s\ngive the %s",
			from.Run, strings.Join(bad, "\n  "), give)}
	}
	return err
}

// readsOtherwise returns a note for each option of the encoding that differs from that of the run whose trained
// encoding is taken: the shapes may fit, but the model reads these parameters otherwise.
func (c Config) readsOtherwise() (notes []string) {
	if c.From == nil || !c.From.Takes(true) {
		return nil
	}
	run, err := ReadConfig(filepath.Join(c.From.Run, "config.json"))
	if err != nil || run.PE != c.PE {
		return nil // startFrom reports the error, and other parameters
	}
	here, err := c.encoding()
	there, errThere := run.encoding()
	if err != nil || errThere != nil || here.About().Parameters == "none" {
		return nil
	}
	for _, o := range here.Options {
		if a, b := there.options[o.Name], here.options[o.Name]; a != b {
			notes = append(notes, fmt.Sprintf("--%s %s: %s is taken from %s, which was trained with --%[1]s %[5]s",
				o.Name, b, c.PE, c.From.Run, a))
		}
	}
	return notes
}

// checkRows returns an error if rows of the copied weights stand for other tokens, or other
// characters, than in the run. Runs of earlier versions do not record the characters.
func (e *ensemble) checkRows(from *config.FromConfig) error {
	r, err := runlog.Open(from.Run)
	if err != nil {
		return err
	}
	defer r.Close()
	probes, err := r.LoadProbes()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	here := map[string]string{}
	if err := e.task.describeRows(here); err != nil {
		return err
	}
	if from.Takes(false) {
		there, own := strings.Split(probes.Metadata[characters], ""), strings.Split(here[characters], "")
		if err := compareRows(there, own, "give texts with the same characters"); err != nil {
			return err
		}
	}
	if !from.Takes(true) {
		return nil
	}
	byName := here[tokenNames] != "" && probes.Metadata[tokenNames] != ""
	placed, err := tokensByPlace(probes.Metadata, byName)
	if err != nil {
		return err
	}
	own, err := tokensByPlace(here, byName)
	if err != nil {
		return err
	}
	if placed == nil {
		placed = numbered(len(own))
	} else if own == nil {
		own = numbered(len(placed))
	}
	return compareRows(placed, own, "give the tokens its order, names and --positions, or give --take no-pe")
}

// compareRows returns an error if rows stand for others in the run, there. It compares those that both have.
func compareRows(there, here []string, cure string) error {
	for i := range min(len(there), len(here)) {
		if there[i] != here[i] {
			return &ConfigError{fmt.Errorf("row %d of its weights stands for %q, but here for %q: %s", i, there[i],
				here[i], cure)}
		}
	}
	return nil
}

// numbered returns how the first n tokens are called if they have no names.
func numbered(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprint("token ", i))
	}
	return names
}

// tokensByPlace returns the names of tokens, or their numbers, in the order of their places, from the metadata of
// probes; nil for numbers without places, where each token is at its own.
func tokensByPlace(about map[string]string, byName bool) (names []string, err error) {
	if byName {
		names = strings.Split(about[tokenNames], "\n")
	}
	if about[tokenOrder] == "" {
		return names, nil
	}
	var order []int
	if err := json.Unmarshal([]byte(about[tokenOrder]), &order); err != nil {
		return nil, fmt.Errorf("probes: %s: %w", tokenOrder, err)
	}
	if names == nil {
		names = numbered(len(order))
	}
	placed := make([]string, len(order))
	for i, place := range order {
		if place < 0 || place >= len(order) || len(names) != len(order) {
			return nil, fmt.Errorf("probes: %s is no order of the tokens", tokenOrder)
		}
		placed[place] = names[i]
	}
	return placed, nil
}

func isOfEncoding(parameter string) bool { return strings.HasPrefix(parameter, "pe.") }

// readFrom returns the checkpoint of a finished run that matches the configuration's record of it.
// The run must have one member or as many as this one.
func readFrom(from *config.FromConfig, members int) (*runlog.Checkpoint, error) {
	r, err := runlog.Open(from.Run)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if !r.Complete() {
		return nil, fmt.Errorf("it is not finished: torchpe train --resume --out %s", from.Run)
	}
	sum, err := config.SumOf(runlog.CheckpointPath(from.Run))
	if err != nil {
		return nil, err
	}
	if sum != from.SHA256 {
		return nil, fmt.Errorf("%s has changed: its SHA-256 is %.12s..., but that in the configuration is "+
			"%.12s...: restore it, or start a new run",
			filepath.Base(runlog.CheckpointPath(from.Run)), sum, from.SHA256)
	}
	c, err := r.LoadCheckpoint()
	if err == nil && c.Warning != "" {
		err = errors.New(c.Warning)
	}
	if err != nil {
		return nil, err
	}
	diverged, _ := c.Tensor(runlog.DivergedTensor)
	steps, err := diverged.Float64s()
	for member, step := range steps {
		if step > 0 {
			return nil, fmt.Errorf("member %d diverged at step %g", member, step)
		}
	}
	if n := len(steps); err == nil && n > 1 && n != members {
		err = &ConfigError{fmt.Errorf("it has %d members, but this run has %d: give --members %d, or a "+
			"run with one",
			n, members, n)}
	}
	return c, err
}

// valuesFrom returns the values of a tensor for each member of shape, from a run with as many
// members or one.
func valuesFrom(c *runlog.Checkpoint, name string, shape []int) ([]float64, error) {
	t, ok := c.Tensor(name)
	if !ok {
		return nil, errors.New("that run lacks it")
	}
	if len(t.Shape) != len(shape) || !slices.Equal(t.Shape[1:], shape[1:]) {
		return nil, fmt.Errorf("its shape is %v there, but %v here", t.Shape[1:], shape[1:])
	}
	values, err := t.Float64s()
	if t.Shape[0] == 1 {
		values = slices.Repeat(values, shape[0])
	}
	return values, err
}
