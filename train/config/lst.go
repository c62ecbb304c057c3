package config

import (
	"cmp"
	"errors"
	"slices"

	"torchpe/data/lst"
	"torchpe/train/runlog"
)

// lstTask is the task of Latin-square puzzles.
var lstTask = TaskFacts{
	Name: "lst", Title: "Latin squares",
	Quick: "quick", QuickDefaults: defaults{"d_model": 64, "members.lr": 3e-4, "epochs": 20},
	Measures: runlog.Puzzles, Criterion: runlog.DefaultCriterion, IsAccuracy: true,
	Progress: []string{"loss", "train", "validation", "iid"},
	Columns:  []string{"train", "iid", "validation", "validation/", "tokens/"},
	Narrow: []string{"fitted", "validation/1-vector", "validation/2-vector", "validation/3-vector",
		"epochs"},
	InEpochs: true, KeptExamples: 108, // the validation set
	tokens: func(c *Config) (n int, fixed bool) { return c.Side() * c.Side(), true },
}

// The flags of puzzle files; --lst sets both.
const (
	LSTTrain      = "lst-train"
	LSTValidation = "lst-validation"
)

// Puzzles are the configurations of task lst. All configurations have fields for its settings.
var Puzzles = &Tasks{name: lstTask.Name, everywhere: true, holds: (*Config).HasPuzzles}

// HasPuzzles reports whether the task is lst.
func (c *Config) HasPuzzles() bool { return c.Facts() == &lstTask }

// Side returns the number of rows and columns of the training puzzles.
func (c Config) Side() int { return cmp.Or(c.LSTSide, lst.Side) }

// Symbols returns the number of symbols of the model, which is that of its largest puzzles.
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

var lstSettings = []Setting{
	{
		Key: "lst_train", Flag: LSTTrain, Path: true, Tasks: Puzzles, Sweep: Repeated,
		Help: "file of training puzzles; may be given several times, and more files may follow the flags " +
			"(default: generated)",
	},
	{
		Key: "lst_validation", Flag: LSTValidation, Path: true, Tasks: Puzzles, Sweep: Whole,
		Help: "file of validation puzzles (default: generated)",
		Check: func(c *Config) error {
			if (len(c.LSTTrain) == 0) != (c.LSTValidation == "") {
				return errors.New("needs --lst-train: give both, or neither for the generated set")
			}
			return nil
		},
	},
	{
		Key: "data_seed", Flag: "data-seed", SameStepTime: true,
		Help: "seed of generated data, of the split of files, and of test masks",
		Unused: func(c *Config) string {
			if Texts.has(c) {
				return "on texts, of which the last tenth is held out"
			}
			return ""
		},
	},
	{
		Key: "lst_side", Flag: "lst-side", Tasks: Puzzles, Zero: "4", Range: "[4, 8]",
		Help:   "rows and columns of the puzzles, 4 to 8", // too few 3 x 3 puzzles exist for training
		Resets: "rename_symbols", Refused: oneSize,
	},
	{
		Key: "eval_tokens", Flag: "eval-tokens", Tasks: Puzzles, Sweep: List, Zero: "none",
		Help: "at each record, also measure accuracy on puzzles with these numbers of tokens (25 is 5 x 5); " +
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
		Help: "rename the symbols of each puzzle at random, in training anew in each epoch: true, false, " +
			"or auto, which renames if --eval-tokens has symbols that training puzzles lack",
		Complete: func(c *Config) error {
			more := c.Symbols() > c.Side()
			switch {
			case c.RenameSymbols == nil && more:
				c.RenameSymbols = &more
			case c.RenameSymbols != nil && !*c.RenameSymbols && !more:
				c.RenameSymbols = nil
			}
			return nil
		},
	},
}

// oneSize is the reason why other tasks refuse settings of puzzle sizes and symbols.
const oneSize = "has data of one size and no symbols; task lst has puzzles of several"

// checkTokens checks the sizes to evaluate at. The registry checks whether the encoding takes them.
func checkTokens(c *Config) error {
	if c.Positions != nil && len(c.EvalTokens) > 0 {
		return errors.New("--positions has the positions of one size, and not those of " +
			"another: give one of the two")
	}
	for _, tokens := range c.EvalTokens {
		if _, err := lst.SideOf(tokens); err != nil {
			return err
		}
	}
	return nil
}
