package config

import (
	"errors"
	"fmt"

	"torchpe/data/sequence"
	"torchpe/train/runlog"
)

// SequenceConfig holds the settings of the formal-language tasks and of texts.
type SequenceConfig struct {
	Name        string   `json:"language,omitempty"` // one of sequence.All; empty for texts
	Form        string   `json:"form,omitempty"`     // Encoder or Decoder; empty for texts, which use a decoder
	Text        []string `json:"text,omitempty"`     // files
	TrainLength int      `json:"train_length"`       // training inputs have 1 to this many symbols
	TestLength  int      `json:"test_length"`        // longest input that is measured
	TestLengths int      `json:"test_lengths"`       // number of measured lengths above those of training
	Tests       int      `json:"test_sequences"`     // sequences of each length that are measured
	Places      int      `json:"places"`             // input length for which tables have rows; 0: TrainLength
}

// sequenceTask and textTask have sequences of any length.
var (
	sequenceTask = ofSequences(TaskFacts{
		Name: "sequence", Title: "formal languages", Quick: "sequence-quick",
		Criterion: runlog.SequenceCriterion,
		Columns:   []string{"train", "iid", "validation", "length/"},
		Defaults: defaults{
			"layers": 5, "heads": 8, "d_model": 64, "members.lr": 3e-4, "clip_norm": 1.0,
			"steps": 2_000_000,
		},
		QuickDefaults: defaults{
			"layers": 3, "heads": 4, "d_model": 64, "members.lr": 1e-3, "clip_norm": 1.0, "batch": 32,
			"steps": 10_000, "sequence.train_length": 20, "sequence.test_length": 100,
			"sequence.test_lengths": 8,
		},
		label: func(c *Config) string { return c.Sequence.Name },
	})
	textTask = ofSequences(TaskFacts{
		Name: "text", Title: "next characters",
		Columns: []string{"train", "iid", "validation", "perplexity/"},
		Defaults: defaults{
			"heads": 4, "d_model": 128, "members.lr": 1e-3, "clip_norm": 1.0, "batch": 32,
			"steps": 5000, "sequence.train_length": 64, "sequence.test_length": 256,
		},
		useFiles: func(*Config) {}, // sequence.text always has a place
	})
)

// ofSequences adds the facts that all tasks of sequences share.
func ofSequences(t TaskFacts) TaskFacts {
	t.Settings, t.Measures, t.IsAccuracy = "sequence", runlog.Sequences, true
	t.SlowRecords, t.IsLine, t.DependsOnPE, t.KeptExamples = true, true, true, 1
	t.Progress = []string{"loss", "train", "validation", "iid"}
	t.Narrow = []string{"sigma", "status"}
	t.create = func(c *Config) { c.Sequence = &SequenceConfig{} }
	// An output may be as long as the input or twice as long.
	t.tokens = func(c *Config) (n int, fixed bool) { return 2 * c.Sequence.TrainLength, false }
	return t
}

// The configurations of sequences that have a setting.
var (
	Sequences = &Tasks{name: "sequence, text", holds: func(c *Config) bool { return c.Sequence != nil }}
	Languages = &Tasks{name: "sequence", holds: func(c *Config) bool { return c.Facts() == &sequenceTask }}
	Texts     = &Tasks{name: "text", holds: func(c *Config) bool { return c.Facts() == &textTask }}
)

// The forms of a task. An encoder reads the output from empty tokens after the input; a decoder
// predicts each symbol of the output from those before it.
const (
	Encoder = "encoder"
	Decoder = "decoder"
)

// inDistribution is the largest number of training lengths that are measured.
const inDistribution = 10

// Lengths returns the lengths of inputs that are measured, ascending: up to ten of training, evenly
// spaced up to the longest, and TestLengths longer ones, evenly spaced up to TestLength. For texts
// these are the one length of training and its doublings up to TestLength.
func (c SequenceConfig) Lengths() (trained, longer []int) {
	if c.Text != nil {
		for n := 2 * c.TrainLength; n <= c.TestLength; n *= 2 {
			longer = append(longer, n)
		}
		return []int{c.TrainLength}, longer
	}
	return spaced(0, c.TrainLength, inDistribution), spaced(c.TrainLength, c.TestLength, c.TestLengths)
}

// spaced returns at most n whole numbers above from, evenly spaced up to and including to.
func spaced(from, to, n int) (out []int) {
	n = min(n, to-from)
	for i := range n {
		out = append(out, from+(i+1)*(to-from)/n)
	}
	return out
}

var sequenceSettings = []Setting{
	{
		Key: "sequence.language", Flag: "sequence", Common: true, Tasks: Languages, Zero: "none",
		Help: "formal-language task: see torchpe data sequence list",
		Check: func(c *Config) error {
			if c.Sequence.Name == "" {
				return errors.New("name a task: torchpe data sequence list shows them")
			}
			_, err := sequence.Find(c.Sequence.Name)
			return err
		},
	},
	{
		Key: "sequence.form", Flag: "form", Tasks: Languages,
		Help: "encoder: outputs are read from empty tokens after the input; decoder: each output symbol is " +
			"predicted from those before it, and no token sees a later one",
		Default: Encoder, OneOf: []string{Encoder, Decoder},
	},
	{
		Key: "sequence.text", Path: true, Tasks: Texts, Cleared: true, // by --data
		Help: "UTF-8 files; the measured windows come from the last tenth of each",
	},
	{
		Key: "sequence.train_length", Flag: "train-length", Tasks: Sequences, Range: "[1, 65536]",
		Help: "longest training input in symbols (each step has one length from 1 up); for " +
			"texts, characters of a window",
		Default: 40,
	},
	{
		Key: "sequence.test_length", Flag: "test-length", Tasks: Sequences, SameStepTime: true,
		Help: "longest input that is measured", Range: "[1, 65536]",
		Default: 500,
		Check: func(c *Config) error {
			s := c.Sequence
			if Texts.has(c) && s.TrainLength < s.TestLength && s.TestLength < 2*s.TrainLength {
				return fmt.Errorf("%d: texts are measured in windows of --train-length, %d, and its doublings: "+
					"give %[2]d for none, or %d or more", s.TestLength, s.TrainLength, 2*s.TrainLength)
			}
			return notShort(s.TestLength, c)
		},
	},
	{
		Key: "sequence.test_lengths", Flag: "test-lengths", Tasks: Languages, SameStepTime: true,
		Help: "number of measured lengths above those of training, evenly spaced; 460 gives all of the " +
			"published",
		Default: 10, Range: "[0, 65536]",
	},
	{
		Key: "sequence.test_sequences", Flag: "test-sequences", Tasks: Sequences, SameStepTime: true,
		Help:    "measured sequences or windows of each length; the published number is 512",
		Default: 128, Range: "[1, 1048576]",
	},
	{
		Key: "sequence.places", Flag: "places", Tasks: Sequences, Range: "[0, 65536]",
		Help: "input length for which a learned table has rows, of which training uses the first; " +
			"0 = --train-length",
		Check: func(c *Config) error {
			if c.Sequence.Places == 0 {
				return nil
			}
			return notShort(c.Sequence.Places, c)
		},
	},
}

// notShort checks that a length is not less than that of training.
func notShort(length int, c *Config) error {
	if length < c.Sequence.TrainLength {
		return fmt.Errorf("%d is less than --train-length, %d", length, c.Sequence.TrainLength)
	}
	return nil
}
