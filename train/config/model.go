package config

import (
	"fmt"

	"torchpe/models/arch"
)

// OtherNames are flags that another command or other programs call by another name.
var OtherNames = map[string]string{"dim": "d-model", "d-model": "dim", "width": "d-model"}

var modelSettings = []Setting{
	{
		Key: "layers", Flag: "layers", Common: true, Help: "blocks",
		Default: 4, Range: "[1, 1024]",
	},
	{
		Key: "heads", Flag: "heads", Factor: true, Help: "attention heads", Range: "[1, 65536]",
		Default: 1,
	},
	{
		Key: "d_model", Flag: "d-model", Common: true, Help: "width of the model", Range: "[1, 65536]",
		Default: 160,
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
		Help: "a token attends only to tokens less than this many places away, 0 for all; by layer as in " +
			"16@1-3,0@4 or 16*3,0",
		Check: func(c *Config) error {
			_, err := c.Windows()
			return err
		},
	},
	{
		Key: "token_input", Flag: "token-input", Tasks: Puzzles, Cleared: true,
		Help:    "symbols as one-hot channels or as a learned embedding: one-hot, embedding",
		Default: arch.OneHot, DefaultFor: defaults{"text": arch.Embedding},
		OneOf: []string{arch.OneHot, arch.Embedding},
	},
	{
		Key: "embedding_init", Flag: "embedding-init", Tasks: Puzzles, Cleared: true,
		Help:    "start of a learned embedding: linear, U(±1/√5) as in the one-hot map, or normal, N(0,1)",
		Default: arch.LikeLinear, OneOf: []string{arch.LikeLinear, arch.UnitNormal},
		With: "token-input embedding",
	},
	{
		Key: "read_out", Flag: "read-out", Factor: true, Tasks: Puzzles, Cleared: true, SameStepTime: true,
		Help:    "token from which the answer is read: last, probe",
		Default: arch.LastToken, DefaultFor: defaults{"text": arch.ProbeToken},
		OneOf: []string{arch.LastToken, arch.ProbeToken},
	},
}
