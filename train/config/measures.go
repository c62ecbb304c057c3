package config

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// MeasuresConfig holds optional measurements.
type MeasuresConfig struct {
	// Noise lists the values a for which validation accuracy is measured with N(0, a²) added to
	// each token embedding, NoiseRepeats times each.
	Noise        []float64 `json:"noise,omitempty"`
	NoiseRepeats int       `json:"noise_repeats,omitempty"`

	// TangentPuzzles is the number of training puzzles on which the tangent kernel is compared with
	// the one at the start; 0 turns this off.
	TangentPuzzles int `json:"tangent_puzzles,omitempty"`

	RecordMaps bool `json:"record_maps,omitempty"` // each record gets a map of the learned PE
}

const defaultNoiseRepeats = 10

var measureSettings = []Setting{
	{
		Key: "noise", Flag: "noise", Tasks: Puzzles, Effect: Measures, Makes: []string{"noise"}, Sweep: List,
		SameStepTime: true,
		Help: "measure validation accuracy at the end with N(0, a²) added to each token embedding, for " +
			"each a; or the word none",
		Default: []float64{0.02, 0.05, 0.1, 0.2, 0.5, 1}, Zero: "none", Range: "[0, 1e6]",
		Refused: "has no puzzles to test with noise; task lst has",
		Complete: func(c *Config) error {
			if len(c.Noise) == 0 {
				c.Noise, c.NoiseRepeats = nil, 0
			}
			return nil
		},
	},
	{
		Key: "noise_repeats", Flag: "noise-repeats", Tasks: Puzzles, Effect: Measures, Makes: []string{"noise"},
		SameStepTime: true,
		Help:         "draws of that noise", Default: defaultNoiseRepeats, Range: "[1, 100000]", With: "noise",
		Refused: "has no puzzles to test with noise; task lst has",
		Complete: func(c *Config) error {
			if len(c.Noise) > 0 && c.NoiseRepeats == 0 {
				c.NoiseRepeats = defaultNoiseRepeats
			}
			return nil
		},
	},
	{
		Key: "tangent_puzzles", Flag: "tangent-puzzles", Tasks: Puzzles, Effect: Measures,
		Makes: []string{"tangent_alignment"}, SameStepTime: true,
		Help: "at the end, compare the model's tangent kernel on this many training puzzles with that at " +
			"the start; 0 = off",
		Range: "[0, 4096]", Refused: "has no puzzles; task lst has",
	},
	{
		Key: "record_maps", Flag: "record-maps", Effect: Measures, SameStepTime: true,
		Help: "keep a map of the learned PE in each record: explorer.html of the report then shows " +
			"how it developed",
	},
}

// makers are the settings that add measures.
var makers = sync.OnceValue(func() []Setting {
	return slices.DeleteFunc(Settings(), func(s Setting) bool { return s.Makes == nil })
})

// MadeMeasures lists the families of measures that settings add.
func MadeMeasures() (families []string) {
	for _, s := range makers() {
		families = append(families, s.Makes...)
	}
	slices.Sort(families)
	return slices.Compact(families)
}

// HowMeasured returns the values of the settings that determine how a measure is taken: settings
// that do not change the model. measure is a key or the name of a family. It returns "" if there
// are none.
func (c Config) HowMeasured(measure string) string {
	family, _, _ := strings.Cut(measure, "/")
	var how []string
	for _, s := range makers() {
		if slices.Contains(s.Makes, family) {
			for _, v := range s.values(&c) {
				how = append(how, fmt.Sprintf("%s=%v", s.Key, v))
			}
		}
	}
	return strings.Join(how, " ")
}

// OutputConfig says how often a run writes, and what.
type OutputConfig struct {
	LogEvery        int      `json:"log_every"`        // epochs, or steps in tasks without epochs
	CheckpointEvery Duration `json:"checkpoint_every"` // wall time
	TensorBoard     bool     `json:"tensorboard"`      // true if the file lacks it
}

// Duration is a time.Duration whose JSON is a text such as "1m0s".
type Duration time.Duration

// MarshalText writes the duration as time.Duration.String does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads what time.ParseDuration accepts.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	*d = Duration(v)
	return err
}

// LogEvery is the flag of the steps between records. By default the number of records follows from the length of
// training.
const LogEvery = "log-every"

var outputSettings = []Setting{
	{
		Key: "log_every", Flag: LogEvery, Effect: Measures, SameStepTime: true, Range: "[1, inf)",
		Makes: []string{"loss", "train", "train_mse"}, // means since the last record
		Help: "epochs between records, or steps in tasks without epochs (default: a twentieth; 1 up to 50 " +
			"epochs; with --until a 500th, for sequences and texts a 100th)",
		Complete: func(c *Config) error {
			task, length := c.Facts(), c.Epochs+c.Steps
			switch {
			case c.LogEvery != 0:
			case c.Until != "" && task.SlowRecords:
				c.LogEvery = max(1, length/100)
			case c.Until != "": // only a record can end a run
				c.LogEvery = max(1, length/500)
			case task.InEpochs && c.Epochs <= 50:
				c.LogEvery = 1
			default:
				c.LogEvery = max(1, length/20)
			}
			return nil
		},
	},
	{
		Key: "checkpoint_every", Flag: "checkpoint-every", Effect: Nothing, SameStepTime: true,
		Help: "time between checkpoints", Default: Duration(time.Minute), Range: "[0, inf)",
	},
	{
		Key: "tensorboard", Flag: "tensorboard", Effect: Nothing, SameStepTime: true, Default: true,
		Help: "write event files for TensorBoard into the run directory",
	},
}
