package train

import (
	"fmt"
	"math/rand/v2"
	"strconv"

	"torchpe/data/lst"
	"torchpe/torchpe"
)

// sizePuzzles is the number of puzzles of each size in Config.EvalTokens, the same as of validation
// puzzles.
const sizePuzzles = 108

// addSizes generates the puzzles of Config.EvalTokens, and gives all puzzles the tokens that the model
// knows: held-out puzzles once, training puzzles here if symbols are not renamed, else anew in each epoch.
func (s *splits) addSizes(c Config) error {
	for _, tokens := range c.EvalTokens {
		side, err := lst.SideOf(tokens)
		if err != nil {
			return err
		}
		puzzles, err := lst.Puzzles(side, sizePuzzles, c.DataSeed)
		if err != nil {
			return fmt.Errorf("data: --eval-tokens %d: %w", tokens, err)
		}
		s.sizes = append(s.sizes, newExamples("tokens"+strconv.Itoa(tokens), puzzles))
	}
	if c.Symbols() == c.Side() && !c.Renames() {
		return nil
	}
	if !c.Renames() {
		s.train.permute(c.Side(), c.Symbols(), nil)
	}
	for _, x := range s.all()[1:] {
		var rng *rand.Rand
		if c.Renames() {
			rng = torchpe.Stream(c.DataSeed, "symbols "+x.name)
		}
		x.permute(x.side(c), c.Symbols(), rng)
	}
	return nil
}

// side is the number of rows of a split's puzzles.
func (x *examples) side(c Config) int {
	if x.n > 0 {
		if side, err := lst.SideOf(len(x.symbols) / x.n); err == nil {
			return side
		}
	}
	return c.Side()
}

// permute renames the symbols of each puzzle to symbols of the model, with another permutation for each
// puzzle. Without rng the symbols stay.
func (x *examples) permute(side, symbols int, rng *rand.Rand) {
	permuted := make([]int64, side+2)
	cells := side * side
	for i := range x.n {
		drawPermutation(rng, permuted, symbols)
		for k, token := range x.symbols[i*cells : (i+1)*cells] {
			x.symbols[i*cells+k] = permuted[token]
		}
		x.target[i] = permuted[x.target[i]+1] - 1
	}
}

// drawPermutation draws the model's tokens for the tokens 0 (blank), 1 to side (symbols) and side+1
// (probe) of a puzzle. The blank stays 0 and the probe becomes symbols+1. The symbols become different
// ones of the model's; all choices and orders are equally likely. Without rng the symbols stay.
func drawPermutation(rng *rand.Rand, permuted []int64, symbols int) {
	side := len(permuted) - 2
	all := make([]int64, symbols)
	for i := range all {
		all[i] = int64(i + 1)
	}
	for i := range side {
		if rng != nil {
			j := i + rng.IntN(symbols-i)
			all[i], all[j] = all[j], all[i]
		}
		permuted[1+i] = all[i]
	}
	permuted[0], permuted[side+1] = 0, int64(symbols+1)
}
