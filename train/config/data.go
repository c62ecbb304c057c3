package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

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
		Help:  "file of training puzzles; may be given several times (default: generated)",
		Value: Field[[]string]{},
	},
	{
		Key: "lst_validation", Flag: "lst-validation", Path: true, Tasks: Puzzles, Sweep: Whole,
		Help:  "file of validation puzzles (default: generated)",
		Value: Field[string]{},
		Check: func(c *Config, bad *Problems) {
			if (len(c.LSTTrain) == 0) != (c.LSTValidation == "") {
				bad.Add("--lst-train and --lst-validation go together: give both, or neither for the generated set")
			}
		},
	},
	{
		Key: "data_seed", Flag: "data-seed", SameStepTime: true,
		Help:  "seed of generated data, of the split of files, and of test masks",
		Value: Field[uint64]{},
	},
	{
		Key: "lst_side", Flag: "lst-side", Tasks: Puzzles,
		Help: fmt.Sprintf("rows and columns of the generated puzzles, %d to %d", lst.MinSide+1, lst.MaxSide),
		Value: Field[int]{
			Shown: strconv.Itoa(lst.Side),
			Store: func(c *Config, v int) error {
				c.RenameSymbols = nil // chosen anew
				if err := lst.CheckSide(v); err != nil {
					return err
				}
				c.LSTSide = v
				return nil
			},
		},
		Complete: func(c *Config, _ *Problems) {
			if c.LSTSide == lst.Side && c.HasPuzzles() {
				c.LSTSide = 0
			}
		},
		Check: checkSide,
	},
	{
		Key: "eval_tokens", Flag: "eval-tokens", Tasks: Puzzles, Sweep: List,
		Help: "measure accuracy on puzzles of these numbers of tokens too (25 is 5 x 5), at each record; " +
			"or the word none",
		Value: Field[[]int]{
			Words:  &words[[]int]{kind: "stringSlice", parse: parseTokens, text: func([]int) string { return "" }},
			Stored: func(c *Config) { c.RenameSymbols = nil },
		},
		Complete: func(c *Config, _ *Problems) {
			c.EvalTokens = slices.Sorted(slices.Values(c.EvalTokens))
			if len(c.EvalTokens) == 0 {
				c.EvalTokens = nil
			}
		},
		Check: checkTokens,
	},
	{
		Key: "rename_symbols", Flag: "rename-symbols", Tasks: Puzzles,
		Help: "give the symbols of each puzzle other names, in training anew in each epoch: true, false, " +
			"or auto, which does where --eval-tokens has symbols that training puzzles lack",
		Value: Field[*bool]{
			Words: &words[*bool]{kind: "string", parse: parseRename, text: func(*bool) string { return "auto" }},
		},
		Complete: func(c *Config, _ *Problems) {
			if !c.HasPuzzles() {
				return
			}
			more := c.Symbols() > c.Side()
			if c.RenameSymbols == nil && more {
				c.RenameSymbols = &more
			} else if c.RenameSymbols != nil && !*c.RenameSymbols && !more {
				c.RenameSymbols = nil
			}
		},
		Check: func(c *Config, bad *Problems) {
			if !c.HasPuzzles() && (c.LSTSide != 0 || len(c.EvalTokens) > 0 || c.RenameSymbols != nil) {
				bad.Add("--lst-side, --eval-tokens, --rename-symbols: task %s has data of one size and no "+
					"symbols; task lst has puzzles of several", c.Task)
			}
		},
	},
}

func checkSide(c *Config, bad *Problems) {
	if !c.HasPuzzles() || c.LSTSide == 0 {
		return
	}
	if err := lst.CheckSide(c.LSTSide); err != nil {
		bad.Add("--lst-side: %v", err)
		return
	}
	if c.LSTSide == lst.MinSide {
		bad.Add("--lst-side: there are too few puzzles of %d x %d to train on; 4 to %d",
			lst.MinSide, lst.MinSide, lst.MaxSide)
	} else if len(c.LSTTrain) > 0 || c.LSTValidation != "" {
		bad.Add("--lst-side %d: files have puzzles of 4 x 4; leave out --lst-train and --lst-validation, "+
			"or --lst-side", c.LSTSide)
	}
}

// checkTokens checks the sizes to evaluate at; whether the encoding can is for the registry to say.
func checkTokens(c *Config, bad *Problems) {
	if !c.HasPuzzles() {
		return
	}
	if c.Positions != nil && len(c.EvalTokens) > 0 {
		bad.Add("--eval-tokens: --positions says where the tokens of one size lie, and nothing of those " +
			"of another: give one of the two")
	}
	for i, tokens := range c.EvalTokens {
		if i > 0 && tokens == c.EvalTokens[i-1] {
			bad.Add("--eval-tokens: %d is given twice", tokens)
		} else if _, err := lst.SideOf(tokens); err != nil {
			bad.Add("--eval-tokens: %v", err)
		}
	}
}

// parseTokens reads numbers of tokens; the word none alone means none.
func parseTokens(texts []string) ([]int, error) {
	if slices.Equal(texts, []string{"none"}) {
		return nil, nil
	}
	values := make([]int, len(texts))
	for i, text := range texts {
		v, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil {
			return nil, fmt.Errorf("%q is no number of tokens; give whole numbers such as 25,36, or the word "+
				"none alone", text)
		}
		values[i] = v
	}
	if len(values) == 0 {
		return nil, fmt.Errorf("no sizes; give numbers of tokens such as 25,36, or the word none")
	}
	return values, nil
}

func parseRename(texts []string) (*bool, error) {
	switch text := texts[0]; text {
	case "auto":
		return nil, nil
	case "true", "false":
		on := text == "true"
		return &on, nil
	default:
		return nil, fmt.Errorf("%q is not one of auto, true, false", text)
	}
}
