package config

import (
	"errors"
	"fmt"
	"slices"

	"torchpe/data/lst"
)

// DataConfig says what is trained on.
type DataConfig struct {
	LSTTrain      []string `json:"lst_train"`      // files; empty = the generated set
	LSTValidation string   `json:"lst_validation"` // file
	DataSeed      uint64   `json:"data_seed"`

	LSTSide       int   `json:"lst_side,omitempty"`       // 0 is 4
	EvalTokens    []int `json:"eval_tokens,omitempty"`    // sorted
	RenameSymbols *bool `json:"rename_symbols,omitempty"` // nil: no

	Masked    *MaskedConfig    `json:"masked,omitempty"`    // of masked prediction
	Sequence  *SequenceConfig  `json:"sequence,omitempty"`  // of task sequence
	Positions *PositionsConfig `json:"positions,omitempty"` // nil: where the task has them
	Header    string           `json:"header,omitempty"`    // yes or no: the first line of texts holds names
}

// HasPuzzles reports whether the task is that of puzzles, whose length is counted in epochs; that of
// the others is in steps.
func (c *Config) HasPuzzles() bool { return c.Masked == nil && c.Sequence == nil }

// Side returns the number of rows and columns of the training puzzles.
func (c Config) Side() int {
	if c.LSTSide == 0 {
		return lst.Side
	}
	return c.LSTSide
}

// Symbols returns the number of symbols that the model knows: those of its largest puzzles.
func (c Config) Symbols() int {
	most := c.Side()
	for _, tokens := range c.EvalTokens {
		if side, err := lst.SideOf(tokens); err == nil {
			most = max(most, side)
		}
	}
	return most
}

// Renames reports whether the symbols of puzzles are renamed.
func (c Config) Renames() bool { return c.RenameSymbols != nil && *c.RenameSymbols }

var dataSettings = []Setting{
	{
		Key: "lst_train", Flag: "lst-train", Path: true, Tasks: Puzzles, Sweep: Repeated,
		Help: "file of training puzzles; may be given several times (default: generated)",
	},
	{
		Key: "lst_validation", Flag: "lst-validation", Path: true, Tasks: Puzzles, Sweep: Whole,
		Help: "file of validation puzzles (default: generated)",
		Check: func(c *Config) error {
			if (len(c.LSTTrain) == 0) != (c.LSTValidation == "") {
				return errors.New("goes together with --lst-train: give both, or neither for the generated set")
			}
			return nil
		},
	},
	{
		Key: "data_seed", Flag: "data-seed", SameStepTime: true,
		Help: "seed of generated data, of the split of files, and of test masks",
	},
	{
		Key: "lst_side", Flag: "lst-side", Tasks: Puzzles, Zero: "4", Range: "[4, 8]",
		Help:   "rows and columns of the generated puzzles, 4 to 8", // of 3 x 3 there are too few
		Resets: "rename_symbols", Refused: oneSize,
		Check: func(c *Config) error {
			if c.LSTSide != 0 && (len(c.LSTTrain) > 0 || c.LSTValidation != "") {
				return fmt.Errorf("%d, but files have puzzles of 4 x 4; leave out --lst-train and "+
					"--lst-validation, or --lst-side", c.LSTSide)
			}
			return nil
		},
	},
	{
		Key: "eval_tokens", Flag: "eval-tokens", Tasks: Puzzles, Sweep: List, Zero: "none",
		Help: "measure accuracy on puzzles of these numbers of tokens too (25 is 5 x 5), at each record; " +
			"or the word none",
		Resets: "rename_symbols", Refused: oneSize,
		Complete: func(c *Config) error {
			c.EvalTokens = slices.Sorted(slices.Values(c.EvalTokens))
			return nil
		},
		Check: checkTokens,
	},
	{
		Key: "rename_symbols", Flag: "rename-symbols", Tasks: Puzzles, Zero: "auto", Refused: oneSize,
		Help: "give the symbols of each puzzle other names, in training anew in each epoch: true, false, " +
			"or auto, which does where --eval-tokens has symbols that training puzzles lack",
		Complete: func(c *Config) error {
			more := c.Symbols() > c.Side()
			switch {
			case !c.HasPuzzles():
			case c.RenameSymbols == nil && more:
				c.RenameSymbols = &more
			case c.RenameSymbols != nil && !*c.RenameSymbols && !more:
				c.RenameSymbols = nil
			}
			return nil
		},
	},
}

// oneSize is why other tasks refuse the settings of puzzles' sizes and symbols.
const oneSize = "has data of one size and no symbols; task lst has puzzles of several"

// checkTokens checks the sizes to evaluate at; whether the encoding can is for the registry to say.
func checkTokens(c *Config) error {
	if c.Positions != nil && len(c.EvalTokens) > 0 {
		return errors.New("--positions says where the tokens of one size lie, and nothing of those of " +
			"another: give one of the two")
	}
	for _, tokens := range c.EvalTokens {
		if _, err := lst.SideOf(tokens); err != nil {
			return err
		}
	}
	return nil
}
