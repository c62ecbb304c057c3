package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// MeasuresConfig says what is measured besides what every run measures.
type MeasuresConfig struct {
	// Validation accuracy with N(0, a²) added to each token embedding, for these a, each so many
	// times.
	Noise        []float64 `json:"noise,omitempty"`
	NoiseRepeats int       `json:"noise_repeats,omitempty"`

	// Similarity of the tangent kernel on so many training puzzles to that at the start; 0: not
	// measured.
	TangentPuzzles int `json:"tangent_puzzles,omitempty"`

	RecordMaps bool `json:"record_maps,omitempty"` // each record has a map of the learned PE
}

// maxNoiseRepeats is the largest number of draws of noise.
const maxNoiseRepeats = 100_000

const defaultNoiseRepeats = 10

var measureSettings = []Setting{
	{
		Key: "noise", Flag: "noise", Tasks: Puzzles, Effect: Measures, Sweep: List, SameStepTime: true,
		Help: "measure validation accuracy at the end with N(0, a²) added to each token embedding, for " +
			"each a; or the word none",
		Value: Field[[]float64]{
			Default: []float64{0.02, 0.05, 0.1, 0.2, 0.5, 1},
			Words:   &words[[]float64]{kind: "stringSlice", parse: ParseNoise},
			Store: func(c *Config, v []float64) error {
				if !c.HasPuzzles() {
					return fmt.Errorf("task %s has no puzzles to answer with noise; task lst has", c.Task)
				}
				c.Noise = v
				return nil
			},
		},
		Complete: func(c *Config, _ *Problems) {
			if c.HasPuzzles() && len(c.Noise) == 0 {
				c.Noise, c.NoiseRepeats = nil, 0
			}
		},
		Check: func(c *Config, bad *Problems) {
			if c.HasPuzzles() {
				bad.amplitudes("noise", c.Noise)
			} else if len(c.Noise) > 0 || c.NoiseRepeats != 0 {
				bad.Add("--noise, --noise-repeats: task %s has no puzzles to answer with noise; task lst has", c.Task)
			}
		},
	},
	{
		Key: "noise_repeats", Flag: "noise-repeats", Tasks: Puzzles, Effect: Measures, SameStepTime: true,
		Help: "draws of that noise",
		Value: Field[int]{
			Default: defaultNoiseRepeats,
			Store: func(c *Config, v int) error {
				c.NoiseRepeats = orInvalid(v)
				return nil
			},
		},
		Complete: func(c *Config, _ *Problems) {
			if len(c.Noise) > 0 && c.NoiseRepeats == 0 && c.HasPuzzles() {
				c.NoiseRepeats = defaultNoiseRepeats
			}
		},
		Check: func(c *Config, bad *Problems) {
			if err := in[int](1, maxNoiseRepeats)(c.NoiseRepeats); err != nil && c.HasPuzzles() && len(c.Noise) > 0 {
				bad.Add("--noise-repeats: %v", err)
			}
		},
		Unused: func(c *Config) string {
			if c.HasPuzzles() && len(c.Noise) == 0 {
				return "without --noise"
			}
			return ""
		},
	},
	{
		Key: "tangent_puzzles", Flag: "tangent-puzzles", Tasks: Puzzles, Effect: Measures, SameStepTime: true,
		Help: "at the end, compare the model's tangent kernel on so many training puzzles with that at " +
			"the start; 0 = not",
		Value: Field[int]{Check: in[int](0, 4096)},
		Check: func(c *Config, bad *Problems) {
			if !c.HasPuzzles() && c.TangentPuzzles != 0 {
				bad.Add("--tangent-puzzles: task %s has no puzzles; task lst has", c.Task)
			}
		},
	},
	{
		Key: "record_maps", Flag: "record-maps", Effect: Measures, SameStepTime: true,
		Help:  "keep a map of the learned PE in each record: explorer.html of the report then shows how it came about",
		Value: Field[bool]{},
	},
}

// orInvalid turns a zero that a flag gave into a number that is refused: zero in config.json means
// the default.
func orInvalid(v int) int {
	if v == 0 {
		return -1
	}
	return v
}

// amplitudes checks standard deviations of noise, which are keys in the run's files.
func (p *Problems) amplitudes(flag string, values []float64) {
	for i, a := range values {
		if err := in[float64](0, 1e6)(a); err != nil {
			p.Add("--%s: %v", flag, err)
		}
		if slices.Contains(values[:i], a) {
			p.Add("--%s: %g is given twice", flag, a)
		}
	}
}

// CheckNoise returns what is wrong with amplitudes of noise that a flag gave.
func CheckNoise(flag string, amplitudes []float64) error {
	var bad Problems
	bad.amplitudes(flag, amplitudes)
	return bad.Err()
}

// ParseNoise reads amplitudes; the word none alone means none.
func ParseNoise(texts []string) ([]float64, error) {
	if slices.Equal(texts, []string{"none"}) {
		return nil, nil
	}
	values := make([]float64, len(texts))
	for i, text := range texts {
		v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil {
			return nil, fmt.Errorf("%q is no amplitude; give numbers of at least 0, or the word none alone", text)
		}
		values[i] = v
	}
	if len(values) == 0 {
		return nil, fmt.Errorf("no amplitudes; give numbers of at least 0, or the word none")
	}
	return values, nil
}
