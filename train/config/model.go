package config

import (
	"fmt"
	"strconv"

	"torchpe/internal/layers"
)

// ModelConfig is the shape of the transformer.
type ModelConfig struct {
	Layers        int     `json:"layers"`
	Heads         int     `json:"heads"`
	DModel        int     `json:"d_model"`
	FFMultiple    int     `json:"ff_multiple"` // d_ff / d_model
	Dropout       float64 `json:"dropout"`
	Window        string  `json:"window,omitempty"` // of each layer; "" is none
	TokenInput    string  `json:"token_input"`
	EmbeddingInit string  `json:"embedding_init"`
	ReadOut       string  `json:"read_out"`
}

// Windows returns the window of each layer, 0 where a token attends to all others; nil for none.
func (c *ModelConfig) Windows() ([]int, error) {
	if c.Window == "" {
		return nil, nil
	}
	list, err := layers.Parse(c.Window)
	if err != nil {
		return nil, err
	}
	of, err := list.Assign(c.Layers, nil)
	if err != nil {
		return nil, err
	}
	windows := make([]int, c.Layers)
	for layer, entry := range of {
		text := list[entry].Value
		if windows[layer], err = strconv.Atoi(text); err != nil || windows[layer] < 0 {
			return nil, fmt.Errorf("%q is not a number of places", text)
		}
	}
	return windows, nil
}

// LocalLayers returns which layers have a window; nil for none.
func (c *ModelConfig) LocalLayers() []bool {
	windows, err := c.Windows()
	if windows == nil || err != nil {
		return nil
	}
	local := make([]bool, len(windows))
	for layer, window := range windows {
		local[layer] = window > 0
	}
	return local
}

// OtherNames are flags that another command, or other programs, call by another name.
var OtherNames = map[string]string{"dim": "d-model", "d-model": "dim", "width": "d-model"}

var modelSettings = []Setting{
	{
		Key: "layers", Flag: "layers", Common: true, Help: "blocks",
		Default: 4, DefaultFor: defaults{"sequence": 5, "sequence-quick": 3}, Range: "[1, 1024]",
	},
	{
		Key: "heads", Flag: "heads", Factor: true, Help: "attention heads", Range: "[1, 65536]",
		Default: 1, DefaultFor: defaults{"sequence": 8, "sequence-quick": 4, ofText: 4},
	},
	{
		Key: "d_model", Flag: "d-model", Common: true, Help: "width of the model", Range: "[1, 65536]",
		Default: 160,
		DefaultFor: defaults{"quick": 64, "nmar": 64, "fmri": 64, "masked": 64, "sequence": 64,
			"sequence-quick": 64, ofText: 128},
		Check: func(c *Config) error {
			if c.Heads >= 1 && c.DModel >= 1 && c.DModel%c.Heads != 0 {
				return fmt.Errorf("%d is not divisible by --heads %d", c.DModel, c.Heads)
			}
			return nil
		},
	},
	{
		Key: "ff_multiple", Flag: "ff-multiple", Help: "width of the MLP over that of the model",
		Default: 4, Range: "[1, 1024]",
	},
	{
		Key: "dropout", Flag: "dropout", Range: "[0, 1)",
		Help: "dropout on embeddings and attention weights in training, 0 to 1",
	},
	{
		Key: "window", Flag: "window", Zero: "0", Sweep: ByLayer,
		Help: "a token attends only to those less than this many places away, 0 for all; by layer as in " +
			"16@1-3,0@4 or 16*3,0",
		Check: func(c *Config) error {
			_, err := c.Windows()
			return err
		},
	},
	{
		Key: "token_input", Flag: "token-input", Tasks: Puzzles, Cleared: true,
		Help:    "symbols as one-hot channels or as a learned embedding: one-hot, embedding",
		Default: "one-hot", DefaultFor: defaults{"text": "embedding"},
		OneOf: []string{"one-hot", "embedding"},
	},
	{
		Key: "embedding_init", Flag: "embedding-init", Tasks: Puzzles, Cleared: true,
		Help:    "start of a learned embedding: linear, U(±1/√5) as the one-hot map has it, or normal, N(0,1)",
		Default: "linear", OneOf: []string{"linear", "normal"}, With: "token-input embedding",
	},
	{
		Key: "read_out", Flag: "read-out", Factor: true, Tasks: Puzzles, Cleared: true, SameStepTime: true,
		Help:    "token the answer is read from: last, probe",
		Default: "last", DefaultFor: defaults{"text": "probe"}, OneOf: []string{"last", "probe"},
	},
}
