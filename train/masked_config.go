package train

import (
	"math"
	"slices"

	"torchpe/data/hcp"
	"torchpe/data/masked"
	"torchpe/data/nmar"
	"torchpe/data/series"
	"torchpe/models"
	"torchpe/report/metrics"
)

// MaskedConfig is what masked prediction needs to know besides the model.
type MaskedConfig struct {
	Level      float64   `json:"mask_level"`  // share of tokens masked in training
	Draw       string    `json:"mask_draw"`   // exact or bernoulli
	Token      string    `json:"mask_token"`  // learned or zero
	TokenSD    float64   `json:"mask_sd"`     // standard deviation of the initial learned mask token
	TestLevels []float64 `json:"test_levels"` // shares of tokens masked in tests
	Split      string    `json:"split"`       // auto, time, random or subjects: what is held out
	TestShare  float64   `json:"test_share"`  // of time points, or of subjects, held out
	TestFrames int       `json:"test_frames"` // of the held-out ones, evenly spaced, are measured; 0 = all
	ZScore     bool      `json:"zscore"`      // each token of each run to mean 0 and SD 1; the surrogate is made so in any case
	Distance   string    `json:"pe_distance"` // between learned PEs, for the network scores
	// One of these is where the data comes from.
	NMAR      *NMAR          `json:"nmar,omitempty"`
	Surrogate *Surrogate     `json:"surrogate,omitempty"`
	Files     *series.Source `json:"files,omitempty"`
}

// Surrogate is the made-up data of task fmri (see package hcp).
type Surrogate struct {
	Subjects int `json:"subjects"`
	Frames   int `json:"frames"` // of each subject
}

// The ways to hold out data.
const (
	AutoSplit    = "auto"     // subjects where there are several, else time
	TimeSplit    = "time"     // the last time points of each run
	RandomSplit  = "random"   // time points drawn from all runs
	SubjectSplit = "subjects" // whole subjects
)

// NMAR is the simulation of task nmar; the rest of its settings are the paper's (see package nmar).
type NMAR struct {
	Nodes   int `json:"nodes"`
	Modules int `json:"modules"`
	Frames  int `json:"frames"`
	// Factor on the autoregressive weights. 0, for one over the lags, stays 0 here: sweeps know their runs by their
	// configuration, and existing ones have it so. What became of it is ar_scale among the data of result.json.
	Scale float64 `json:"scale"`
}

// The ways to draw masks.
const (
	ExactMask     = "exact"
	BernoulliMask = "bernoulli"
)

// defaultMasked returns the settings of masked prediction that the paper names, and ours where it names none.
func defaultMasked(task string) *MaskedConfig {
	c := &MaskedConfig{
		Level: 0.5, Draw: ExactMask, Token: string(models.LearnedMask), TokenSD: 0.02, TestLevels: []float64{0.15, 0.5, 0.75, 0.9},
		Split: AutoSplit, TestShare: masked.DefaultHeldOut, TestFrames: 512, ZScore: true, Distance: metrics.Euclidean.String(),
	}
	switch task {
	case "nmar":
		o := nmar.DefaultOptions()
		c.NMAR = &NMAR{Nodes: o.Nodes, Modules: o.Modules, Frames: o.Frames, Scale: o.Scale}
	case "fmri":
		o := hcp.DefaultOptions()
		c.Surrogate = &Surrogate{Subjects: o.Subjects, Frames: o.Frames}
	case "masked":
		c.Files = &series.Source{}
	}
	return c
}

// options returns the simulation's.
func (n NMAR) options() nmar.Options {
	o := nmar.DefaultOptions()
	o.Nodes, o.Modules, o.Frames, o.Scale = n.Nodes, n.Modules, n.Frames, n.Scale
	return o
}

func (c *MaskedConfig) validate(task string, bad *problems) {
	share := func(flag string, v float64) {
		if !(v > 0 && v < 1) {
			bad.add("--%s: %g is not a share above 0 and below 1", flag, v)
		}
	}
	share("mask-level", c.Level)
	bad.oneOf("mask-draw", c.Draw, ExactMask, BernoulliMask)
	bad.oneOf("mask-token", c.Token, string(models.LearnedMask), string(models.ZeroMask))
	bad.finite("mask-sd", c.TokenSD, 0, 1e6)
	if len(c.TestLevels) == 0 {
		bad.add("--test-levels: at least one level is measured")
	}
	for i, v := range c.TestLevels {
		share("test-levels", v)
		// Levels are keys with two decimals in the run's files.
		if math.Abs(v*100-math.Round(v*100)) > 1e-9 || slices.Contains(c.TestLevels[:i], v) {
			bad.add("--test-levels: %g is given twice, or has more than two decimals", v)
		}
	}
	bad.oneOf("split", c.Split, AutoSplit, TimeSplit, RandomSplit, SubjectSplit)
	share("test-share", c.TestShare)
	bad.atLeast("test-frames", c.TestFrames, 0)
	if _, err := metrics.ParseDistance(c.Distance); err != nil {
		bad.add("--pe-distance: %v", err)
	}
	c.validateSource(task, bad)
}

// validateSource checks that the data comes from one place, of those that the task knows.
func (c *MaskedConfig) validateSource(task string, bad *problems) {
	sources := 0
	for _, given := range []bool{c.NMAR != nil, c.Surrogate != nil, c.Files != nil} {
		if given {
			sources++
		}
	}
	wrong := map[string]bool{"nmar": c.NMAR == nil, "fmri": c.Surrogate == nil && c.Files == nil, "masked": c.Files == nil}[task]
	if sources != 1 || wrong {
		bad.add("--task: %s has the data of another task; start from --preset %s", task, task)
		return
	}
	switch {
	case c.NMAR != nil:
		if err := c.NMAR.options().Validate(); err != nil {
			bad.add("%v", err)
		}
	case c.Surrogate != nil:
		o := hcp.DefaultOptions()
		o.Subjects, o.Frames = c.Surrogate.Subjects, c.Surrogate.Frames
		if err := o.Validate(); err != nil {
			bad.add("%v", err)
		}
	default:
		if len(c.Files.Data) == 0 {
			bad.add("--data: no files: name the files or folders with the series")
		}
		bad.atLeast("tokens", c.Files.Tokens, 0)
		if _, err := series.ParseAxes(c.Files.Axes); err != nil && c.Files.Axes != "" {
			bad.add("--axes: %v", err)
		}
	}
}
