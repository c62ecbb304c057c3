package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"torchpe/data/lst/sized"
	"torchpe/train"
)

// sizeFlags are the flags about sizes of puzzles.
type sizeFlags struct {
	side   int
	tokens []string
	rename string
}

func (f *sizeFlags) add(fl *pflag.FlagSet) {
	fl.IntVar(&f.side, "lst-side", 4, fmt.Sprintf("rows and columns of the generated puzzles, %d to %d [lst]", sized.MinSide+1, sized.MaxSide))
	fl.StringSliceVar(&f.tokens, "eval-tokens", nil,
		"measure accuracy on puzzles of these numbers of tokens too (25 is 5 x 5), at each record; or the word none [lst]")
	fl.StringVar(&f.rename, "rename-symbols", "auto",
		"give the symbols of each puzzle other names, in training anew in each epoch: true, false, or auto, which does where --eval-tokens has symbols that training puzzles lack [lst]")
}

// set copies the values of the given flags.
func (f *sizeFlags) set(c *train.Config, given map[string]bool) error {
	var sideErr, tokensErr, renameErr error
	if given["lst-side"] {
		c.LSTSide, c.RenameSymbols = f.side, nil
		if err := sized.CheckSide(f.side); err != nil {
			c.LSTSide, sideErr = 0, fmt.Errorf("--lst-side: %w", err)
		}
	}
	if given["eval-tokens"] {
		c.RenameSymbols = nil
		c.EvalTokens, tokensErr = parseTokens(f.tokens)
	}
	if given["rename-symbols"] {
		switch f.rename {
		case "auto":
			c.RenameSymbols = nil
		case "true", "false":
			on := f.rename == "true"
			c.RenameSymbols = &on
		default:
			renameErr = fmt.Errorf("--rename-symbols: %q is not one of auto, true, false", f.rename)
		}
	}
	return join(sideErr, tokensErr, renameErr)
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
			return nil, fmt.Errorf("--eval-tokens: %q is no number of tokens; give whole numbers such as 25,36, or the word none alone", text)
		}
		values[i] = v
	}
	if len(values) == 0 {
		return nil, fmt.Errorf("--eval-tokens: no sizes; give numbers of tokens such as 25,36, or the word none")
	}
	return values, nil
}
