package config

import (
	"fmt"
	"slices"
	"strings"

	"torchpe/data/hcp"
	"torchpe/data/series"
	"torchpe/internal/wording"
)

// TaskConfig says what is trained for, and which reading of the paper defaults come from.
type TaskConfig struct {
	Task     string `json:"task"`     // one of TaskNames
	Fidelity string `json:"fidelity"` // one of fidelities
}

// TaskNames lists the tasks. Each is also the name of a preset.
func TaskNames() []string { return []string{"lst", "nmar", "fmri", "masked", "sequence", "text"} }

// fidelities lists the readings of the paper.
func fidelities() []string { return []string{"code", "text"} }

// Presets lists the names that Preset knows.
func Presets() []string {
	return []string{"lst", "quick", "nmar", "fmri", "masked", "sequence", "sequence-quick", "text"}
}

var taskSettings = []Setting{
	{
		Key: "fidelity", Flag: "fidelity", Factor: true, SameStepTime: true,
		Help:    "reading of the paper: code (what produced its numbers) or text",
		Default: "code", OneOf: fidelities(),
	},
	{
		Key: "task", Flag: "task", Common: true,
		Help: "task: lst (Latin squares), nmar (simulated network), fmri (human fMRI), masked (any " +
			"table), sequence (formal languages), text (next characters); its preset gives the defaults",
		Default: "lst", OneOf: TaskNames(),
		Check: func(c *Config) error {
			sequences := c.Task == "sequence" || c.Task == "text"
			if (c.Task == "lst") != c.HasPuzzles() || sequences != (c.Sequence != nil) {
				return fmt.Errorf("%s has the settings of another task; start from --preset %s", c.Task, c.Task)
			}
			if c.Masked != nil && !c.Masked.hasSourceOf(c.Task) {
				return fmt.Errorf("%s has the data of another task; start from --preset %s", c.Task, c.Task)
			}
			return nil
		},
	},
}

// Preset returns the configuration called name, in a reading of the paper: lst is the paper's Latin
// squares (4,000 epochs, d_model 160), quick a small one that shows their effect in a minute (20
// epochs, d_model 64), nmar the paper's network simulation, fmri its human fMRI (a surrogate where
// no data is named), masked the same on any table, sequence the published formal-language tasks
// (lengths to 40 in training, to 500 in tests), sequence-quick small ones, text the next character of
// a text (windows of 64 in training, to 256 in tests).
func Preset(name, fidelity string) (Config, error) {
	c := Config{TaskConfig: TaskConfig{Task: name, Fidelity: fidelity}}
	switch {
	case !slices.Contains(Presets(), name):
		return c, fmt.Errorf("preset %q is unknown; there are %s%s", name, strings.Join(Presets(), ", "),
			wording.Hint(name, Presets()))
	case !slices.Contains(fidelities(), fidelity):
		return c, fmt.Errorf("fidelity %q is unknown; it is code or text", fidelity)
	}
	switch name {
	case "quick":
		c.Task = "lst"
	case "nmar":
		c.Masked = &MaskedConfig{NMAR: &NMAR{}}
	case "fmri":
		c.Masked = &MaskedConfig{Surrogate: &Surrogate{}}
	case "masked":
		c.Masked = &MaskedConfig{Files: &series.Source{}}
	case "sequence", "sequence-quick":
		c.Task, c.Sequence = "sequence", &SequenceConfig{}
	case "text":
		c.Sequence = &SequenceConfig{}
	}
	c.Members = []Member{{Seed: 1}}
	for _, s := range Settings() {
		if s.Key != "task" && s.Key != "fidelity" && s.Tasks.has(&c) {
			s.reset(&c, name, fidelity)
		}
	}
	return c, nil
}

// defaultSurrogate returns the size of the surrogate where no other is asked for.
func defaultSurrogate() Surrogate {
	o := hcp.DefaultOptions()
	return Surrogate{Subjects: o.Subjects, Frames: o.Frames}
}
