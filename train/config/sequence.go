package config

import (
	"errors"

	"torchpe/data/sequence"
)

// SequenceConfig holds the settings of the formal-language tasks and of texts.
type SequenceConfig struct {
	Name        string   `json:"language,omitempty"` // one of sequence.All; empty for texts
	Form        string   `json:"form,omitempty"`     // Encoder or Decoder; empty for texts, which have the latter
	Text        []string `json:"text,omitempty"`     // files
	TrainLength int      `json:"train_length"`       // inputs of 1 to so many in training
	TestLength  int      `json:"test_length"`        // the longest that is measured
	TestLengths int      `json:"test_lengths"`       // how many longer than in training are measured
	Tests       int      `json:"test_sequences"`     // sequences of each length that are measured
	Places      int      `json:"places"`             // input length for which tables have places; 0: TrainLength
}

// The forms of a task: an encoder reads the output from empty tokens after the input, a decoder each
// symbol of it from those before.
const (
	Encoder = "encoder"
	Decoder = "decoder"
)

// maxSequence is the longest input.
const maxSequence = 1 << 16

// inDistribution is the number of lengths of training that are measured, at most.
const inDistribution = 10

// Lengths returns the lengths of inputs that are measured, ascending: up to ten of training, evenly
// spaced to the longest, and TestLengths longer ones, evenly spaced to TestLength. For texts these are
// the one length of training, and its doubles up to TestLength.
func (c SequenceConfig) Lengths() (trained, longer []int) {
	if c.Text != nil {
		for n := 2 * c.TrainLength; n <= c.TestLength; n *= 2 {
			longer = append(longer, n)
		}
		return []int{c.TrainLength}, longer
	}
	return spaced(0, c.TrainLength, inDistribution), spaced(c.TrainLength, c.TestLength, c.TestLengths)
}

// spaced returns at most n whole numbers above from, evenly spaced up to the last, to.
func spaced(from, to, n int) (out []int) {
	n = min(n, to-from)
	for i := range n {
		out = append(out, from+(i+1)*(to-from)/n)
	}
	return out
}

var sequenceSettings = []Setting{
	{
		Key: "sequence.language", Flag: "sequence", Common: true, Tasks: Languages,
		Help: "formal-language task: see torchpe data sequence list",
		Value: Field[string]{
			Shown: "none",
			Check: func(name string) error {
				if name == "" {
					return errors.New("name a task: torchpe data sequence list shows them")
				}
				_, err := sequence.Find(name)
				return err
			},
		},
		Check: func(c *Config, bad *Problems) {
			if c.Sequence != nil && c.Positions != nil {
				bad.Add("--positions: sequences lie on a line; leave it out")
			}
		},
	},
	{
		Key: "sequence.form", Flag: "form", Tasks: Languages,
		Help: "encoder: outputs are read from empty tokens after the input; decoder: each symbol of the output " +
			"from those before it, and no token sees a later one",
		Value: Field[string]{Default: Encoder, OneOf: []string{Encoder, Decoder}},
	},
	{
		Key: "sequence.text", Path: true, Tasks: Texts, // by --data
		Help:  "UTF-8 files; the measured windows come from the last tenth of each",
		Value: Field[[]string]{},
	},
	{
		Key: "sequence.train_length", Flag: "train-length", Tasks: Sequences,
		Help: "longest training input in symbols; each step has one length from 1 on; texts: characters of a window",
		Value: Field[int]{
			Default:    40,
			DefaultFor: map[string]int{"sequence-quick": 20, ofText: 64}, Check: in[int](1, maxSequence),
		},
	},
	{
		Key: "sequence.test_length", Flag: "test-length", Tasks: Sequences, SameStepTime: true,
		Help: "longest input that is measured",
		Value: Field[int]{
			Default:    500,
			DefaultFor: map[string]int{"sequence-quick": 100, ofText: 256}, Check: in[int](1, maxSequence),
		},
		Check: func(c *Config, bad *Problems) {
			if s := c.Sequence; s != nil && s.TestLength < s.TrainLength {
				bad.Add("--test-length: %d is less than --train-length, %d", s.TestLength, s.TrainLength)
			}
		},
	},
	{
		Key: "sequence.test_lengths", Flag: "test-lengths", Tasks: Languages, SameStepTime: true,
		Help: "how many lengths above those of training are measured, evenly spaced; 460 is all of the published",
		Value: Field[int]{
			Default:    10,
			DefaultFor: map[string]int{"sequence-quick": 8}, Check: in[int](0, maxSequence),
		},
	},
	{
		Key: "sequence.test_sequences", Flag: "test-sequences", Tasks: Sequences, SameStepTime: true,
		Help:  "sequences or windows of each length that are measured; 512 are the published",
		Value: Field[int]{Default: 128, Check: in[int](1, 1<<20)},
	},
	{
		Key: "sequence.places", Flag: "places", Tasks: Sequences,
		Help: "input length for which a learned table has places, of which training uses the first; " +
			"0 = --train-length",
		Value: Field[int]{Check: in[int](0, maxSequence)},
		Check: func(c *Config, bad *Problems) {
			if s := c.Sequence; s != nil && s.Places != 0 && s.Places < s.TrainLength {
				bad.Add("--places: %d is less than --train-length, %d", s.Places, s.TrainLength)
			}
		},
	},
}
