package config

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"torchpe/data/masked"
	"torchpe/data/nmar"
	"torchpe/data/series"
	"torchpe/internal/metrics"
	"torchpe/models/arch"
	"torchpe/train/runlog"
)

// MaskedConfig holds the settings of masked prediction.
type MaskedConfig struct {
	Level      float64   `json:"mask_level"`  // share of tokens masked in training
	Draw       string    `json:"mask_draw"`   // exact or bernoulli
	Token      string    `json:"mask_token"`  // learned or zero
	TokenSD    float64   `json:"mask_sd"`     // standard deviation of the initial learned mask token
	TestLevels []float64 `json:"test_levels"` // shares of tokens masked in tests
	Split      string    `json:"split"`       // auto, time, random or subjects: what is held out
	TestShare  float64   `json:"test_share"`  // of time points, or of subjects, held out
	TestFrames int       `json:"test_frames"` // held-out time points that are measured, evenly spaced; 0 = all
	ZScore     bool      `json:"zscore"`      // each token of each run to mean 0 and SD 1
	Distance   string    `json:"pe_distance"` // between learned PEs, for the network scores
	// Exactly one of these is set: the source of the data.
	NMAR      *NMAR          `json:"nmar,omitempty"`
	Surrogate *Surrogate     `json:"surrogate,omitempty"`
	Files     *series.Source `json:"files,omitempty"`
}

// nmarTask, fmriTask and maskedTask predict masked tokens of a simulated network, of human fMRI and of
// any table.
var (
	nmarTask = ofMasked(TaskFacts{
		Name: "nmar", Title: "simulated network",
		// The paper's error of .049 is that of raw series: z-scored, it would be about .93.
		Defaults: defaults{"d_model": 64, "masked.zscore": false},
		create:   func(c *Config) { c.Masked = &MaskedConfig{NMAR: &NMAR{}} },
		hasData:  func(c *Config) bool { return c.Masked.sources() == 1 && c.Masked.NMAR != nil },
	})
	fmriTask = ofMasked(TaskFacts{
		Name: "fmri", Title: "human fMRI",
		Defaults: defaults{"d_model": 64}, TokenCounts: series.CorticalParcels,
		create:   func(c *Config) { c.Masked = &MaskedConfig{Surrogate: &Surrogate{}} },
		hasData:  func(c *Config) bool { return c.Masked.sources() == 1 && c.Masked.NMAR == nil },
		useFiles: replaceByFiles,
	})
	maskedTask = ofMasked(TaskFacts{
		Name: "masked", Title: "any table",
		Defaults: defaults{"d_model": 64},
		create:   func(c *Config) { c.Masked = &MaskedConfig{Files: &series.Source{}} },
		hasData:  func(c *Config) bool { return c.Masked.sources() == 1 && c.Masked.Files != nil },
		useFiles: replaceByFiles,
	})
)

// ofMasked adds the facts that all tasks of masked prediction share.
func ofMasked(t TaskFacts) TaskFacts {
	t.Settings, t.Measures, t.HasSeries = "masked", runlog.Masked, true
	t.KeptExamples = 1 // the mean over frames
	t.Baselines = []string{"gaussian", "mean", "zero"}
	t.Progress = []string{"loss", "test_mse/", "modularity"}
	t.Columns = []string{"train_mse", "test_mse/", "modularity", "clustering"}
	t.Narrow = []string{"train_mse", "test_mse/0.15", "test_mse/0.90", "test_mse/0.75", "clustering", "steps"}
	t.tokens = func(c *Config) (n int, fixed bool) {
		switch m := c.Masked; {
		case m.NMAR != nil:
			return m.NMAR.Nodes, true
		case m.Files != nil && m.Files.Tokens > 0:
			return m.Files.Tokens, false
		}
		return 360, false // parcels of human fMRI
	}
	return t
}

// The configurations of masked prediction that have a setting, by the source of the data.
var (
	Masked        = inMasked("masked prediction", func(*MaskedConfig) bool { return true })
	Simulated     = inMasked("nmar", func(m *MaskedConfig) bool { return m.NMAR != nil })
	FromSurrogate = inMasked("fmri", func(m *MaskedConfig) bool { return m.Surrogate != nil })
	FromSeries    = inMasked("fmri, masked", func(m *MaskedConfig) bool { return m.Files != nil })
	// FromData are the configurations with data from series, and texts.
	FromData = &Tasks{
		name:  "fmri, masked, text",
		holds: func(c *Config) bool { return FromSeries.has(c) || Texts.has(c) },
	}
)

// inMasked returns the configurations of masked prediction for which choose returns true.
func inMasked(name string, choose func(m *MaskedConfig) bool) *Tasks {
	return &Tasks{name: name, holds: func(c *Config) bool { return c.Masked != nil && choose(c.Masked) }}
}

// MainTest returns the masked share of the test that is closest to training, as the key of errors
// in records and results: "0.50".
func (m *MaskedConfig) MainTest() string {
	main := slices.MinFunc(m.TestLevels, func(a, b float64) int {
		return cmp.Compare(math.Abs(a-m.Level), math.Abs(b-m.Level))
	})
	return runlog.Share(main)
}

// ByMasked returns the masked shares of the tests, the largest first, as such keys.
func (m *MaskedConfig) ByMasked() (keys []string) {
	for _, share := range slices.Backward(slices.Sorted(slices.Values(m.TestLevels))) {
		keys = append(keys, runlog.Share(share))
	}
	return keys
}

// NMAR is the simulation of task nmar; the rest of its settings are the paper's (see package nmar).
type NMAR struct {
	Nodes   int `json:"nodes"`
	Modules int `json:"modules"`
	Frames  int `json:"frames"`
	// Factor on the autoregressive weights; 0 means 1/lags. The 0 is stored, because a sweep
	// identifies runs by their configuration and older runs stored 0. result.json has the actual
	// factor, as ar_scale of its data.
	Scale float64 `json:"scale"`
	// Order says how the nodes are arranged: in an order drawn from the data seed. Configurations
	// of versions that had the nodes of a module side by side lack it, so that reports do not mix
	// the two and such runs do not continue with other data.
	Order string `json:"order"`
}

// DrawnOrder is the only order of nodes.
const DrawnOrder = "drawn"

// Options returns the options of the simulation.
func (n NMAR) Options() nmar.Options {
	o := nmar.DefaultOptions()
	o.Nodes, o.Modules, o.Frames, o.Scale = n.Nodes, n.Modules, n.Frames, n.Scale
	return o
}

// The ways to hold out data.
const (
	AutoSplit    = "auto"     // subjects if there are several, else time
	TimeSplit    = "time"     // the last time points of each run
	RandomSplit  = "random"   // time points drawn from all runs
	SubjectSplit = "subjects" // whole subjects
)

// The ways to draw masks.
const (
	ExactMask     = "exact"
	BernoulliMask = "bernoulli"
)

var maskedSettings = []Setting{
	{
		Key: "masked.mask_level", Flag: "mask-level", Factor: true, Tasks: Masked, SameStepTime: true,
		Help: "share of tokens masked in training", Default: 0.5, Range: "(0, 1)",
	},
	{
		Key: "masked.mask_draw", Flag: "mask-draw", Tasks: Masked,
		Help:    "masks with an exact count, or independent for each token: exact, bernoulli",
		Default: ExactMask, OneOf: []string{ExactMask, BernoulliMask},
	},
	{
		Key: "masked.mask_token", Flag: "mask-token", Tasks: Masked,
		Help:    "embedding of masked tokens: learned, zero",
		Default: arch.LearnedMask, OneOf: []string{arch.LearnedMask, arch.ZeroMask},
	},
	{
		Key: "masked.mask_sd", Flag: "mask-sd", Tasks: Masked, Default: 0.02, Range: "[0, 1e6]",
		With: "mask-token " + arch.LearnedMask,
		Help: "standard deviation of the initial learned mask token",
	},
	{
		Key: "masked.test_levels", Flag: "test-levels", Factor: true, Tasks: Masked, Sweep: List,
		Help:    "shares of tokens masked in tests",
		Default: []float64{0.15, 0.5, 0.75, 0.9}, Range: "(0, 1)", Check: checkTestLevels,
	},
	{
		Key: "masked.split", Flag: "split", Tasks: Masked,
		Help: "what is held out: subjects, time (the end of each run), random (time points), auto " +
			"(subjects if there are several, else time)",
		Default: AutoSplit, OneOf: []string{AutoSplit, TimeSplit, RandomSplit, SubjectSplit},
	},
	{
		Key: "masked.test_share", Flag: "test-share", Tasks: Masked,
		Help: "share of subjects or time points that is held out", Default: masked.DefaultHeldOut, Range: "(0, 1)",
	},
	{
		Key: "masked.test_frames", Flag: "test-frames", Tasks: Masked, Default: 512, Range: "[0, inf)",
		Help: "held-out time points that are measured, evenly spaced; 0 = all",
	},
	{
		Key: "masked.zscore", Flag: "zscore", Tasks: Masked, Help: "scale each token of a run to mean 0 and SD 1",
		Default: true,
		Unused: func(c *Config) string {
			if FromSurrogate.has(c) {
				return "on the surrogate, which has mean 0 and SD 1 already"
			}
			return ""
		},
	},
	{
		Key: "masked.pe_distance", Flag: "pe-distance", Factor: true, Tasks: Masked,
		Help:    "distance between learned PEs for the network scores: euclidean, sign-aligned, corr2, cosine",
		Default: metrics.Euclidean.String(),
		Check: func(c *Config) error {
			_, err := metrics.ParseDistance(c.Masked.Distance)
			return err
		},
	},
	{
		Key: "masked.nmar.nodes", Flag: "nmar-nodes", Tasks: Simulated, Default: nmar.DefaultOptions().Nodes,
		Help: "nodes of the simulated network; in networks larger than the paper's " +
			"15 nodes in 3 modules, couplings are divided so that their sums stay the same",
		Check: func(c *Config) error { return c.Masked.NMAR.Options().Validate() },
	},
	{
		Key: "masked.nmar.modules", Flag: "nmar-modules", Tasks: Simulated,
		Help: "modules of the simulated network", Default: nmar.DefaultOptions().Modules,
	},
	{
		Key: "masked.nmar.frames", Flag: "nmar-frames", Tasks: Simulated,
		Help: "time points of the simulation", Default: nmar.DefaultOptions().Frames,
	},
	{
		Key: "masked.nmar.scale", Flag: "nmar-scale", Tasks: Simulated, Default: nmar.DefaultOptions().Scale,
		Help: "factor on the autoregressive weights; 0 = one over the 3 lags, which keeps the process " +
			"stable (1, as printed, diverges)",
	},
	{
		Key: "masked.nmar.order", Tasks: Simulated, Default: DrawnOrder,
		Help: "order of the nodes, drawn from --data-seed",
		Check: func(c *Config) error {
			if order := c.Masked.NMAR.Order; order != DrawnOrder {
				return fmt.Errorf("%q in config.json, want %q: runs of earlier versions lack it; their nodes "+
					"lay side by side in their modules. This version cannot make such data: train anew, from "+
					"--preset nmar", order, DrawnOrder)
			}
			return nil
		},
	},
}

// checkTestLevels checks that tests have masked shares, and that two decimals, as in the keys of
// the run's files, tell them exactly.
func checkTestLevels(c *Config) error {
	if len(c.Masked.TestLevels) == 0 {
		return errors.New("give at least one level")
	}
	for _, v := range c.Masked.TestLevels {
		if math.Abs(v*100-math.Round(v*100)) > 1e-9 {
			return fmt.Errorf("%g has more than two decimals", v)
		}
	}
	return nil
}
