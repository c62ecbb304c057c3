package train

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"

	"torchpe/data/lst"
	"torchpe/data/lst/sized"
	"torchpe/models/pe"
	"torchpe/torchpe"
)

// sizePuzzles is the number of puzzles of each size in Config.EvalTokens: as many as validation puzzles.
const sizePuzzles = 108

// side is the number of rows and columns of the training puzzles.
func (c Config) side() int {
	if c.LSTSide == 0 {
		return lst.Side
	}
	return c.LSTSide
}

// symbols is the number of symbols that the model knows: those of its largest puzzles.
func (c Config) symbols() int {
	most := c.side()
	for _, tokens := range c.EvalTokens {
		if side, err := sized.SideOf(tokens); err == nil {
			most = max(most, side)
		}
	}
	return most
}

// renames says whether the symbols of puzzles are renamed.
func (c Config) renames() bool { return c.RenameSymbols != nil && *c.RenameSymbols }

// resolveSizes checks the sizes of puzzles, leaves out what is the default, and renames symbols where the model would meet some that it
// has not seen.
func (c *Config) resolveSizes(bad *problems) {
	if c.Masked != nil {
		if c.LSTSide != 0 || len(c.EvalTokens) > 0 || c.RenameSymbols != nil {
			bad.add("--lst-side, --eval-tokens, --rename-symbols: task %s has data of one size and no symbols; task lst has puzzles of several", c.Task)
		}
		return
	}
	if c.LSTSide == lst.Side {
		c.LSTSide = 0
	}
	if c.Positions != nil && len(c.EvalTokens) > 0 {
		bad.add("--eval-tokens: --positions says where the tokens of one size lie, and nothing of those of another: give one of the two")
	}
	if c.LSTSide != 0 {
		if err := sized.CheckSide(c.LSTSide); err != nil {
			bad.add("--lst-side: %v", err)
			return
		}
		if c.LSTSide == sized.MinSide {
			bad.add("--lst-side: there are too few puzzles of %d x %d to train on; 4 to %d", sized.MinSide, sized.MinSide, sized.MaxSide)
			return
		}
		if len(c.LSTTrain) > 0 || c.LSTValidation != "" {
			bad.add("--lst-side %d: files have puzzles of 4 x 4; leave out --lst-train and --lst-validation, or --lst-side", c.LSTSide)
		}
	}
	c.resolveEvalTokens(bad)
	if c.RenameSymbols == nil && c.symbols() > c.side() {
		yes := true
		c.RenameSymbols = &yes
	} else if c.RenameSymbols != nil && !*c.RenameSymbols && c.symbols() == c.side() {
		c.RenameSymbols = nil
	}
}

// resolveEvalTokens sorts the sizes to evaluate at and asks the encoding whether it can.
func (c *Config) resolveEvalTokens(bad *problems) {
	if len(c.EvalTokens) == 0 {
		c.EvalTokens = nil
		return
	}
	c.EvalTokens = slices.Sorted(slices.Values(c.EvalTokens))
	scheme, err := pe.Find(c.PE) // else that is said elsewhere
	for i, tokens := range c.EvalTokens {
		if i > 0 && tokens == c.EvalTokens[i-1] {
			bad.add("--eval-tokens: %d is given twice", tokens)
		} else if _, unknown := sized.SideOf(tokens); unknown != nil {
			bad.add("--eval-tokens: %v", unknown)
		} else if err == nil {
			if err = scheme.CheckTokens(c.side()*c.side(), tokens, c.PEOptions); err != nil {
				bad.add("--eval-tokens: %v", err) // and the larger ones no more
			}
		}
	}
}

// newSizedExamples is newExamples for puzzles of any side.
func newSizedExamples(name string, puzzles []sized.Puzzle) examples {
	x := examples{name: name, n: len(puzzles)}
	for _, p := range puzzles {
		for _, v := range p.Cells {
			x.symbols = append(x.symbols, int64(v))
		}
		x.probe = append(x.probe, int64(p.Probe()))
		x.target = append(x.target, int64(p.Answer)-1)
		x.condition = append(x.condition, p.Condition)
	}
	return x
}

// loadSized generates training puzzles of another side than 4.
func loadSized(c Config) (s splits, err error) {
	set, err := sized.Default(c.LSTSide, c.DataSeed)
	if err != nil {
		return s, fmt.Errorf("data: --lst-side %d: %w", c.LSTSide, err)
	}
	s.train, s.iid, s.validation = newSizedExamples("train", set.Train), newSizedExamples("iid", set.IID), newSizedExamples("validation", set.Validation)
	return s, nil
}

// addSizes generates the puzzles of Config.EvalTokens, and gives all puzzles the tokens that the model knows: those held out once and for
// all, those of training here where symbols are not renamed, and anew in each epoch where they are.
func (s *splits) addSizes(c Config) error {
	for _, tokens := range c.EvalTokens {
		side, err := sized.SideOf(tokens)
		if err != nil {
			return err
		}
		puzzles, err := sized.Puzzles(side, sizePuzzles, c.DataSeed)
		if err != nil {
			return fmt.Errorf("data: --eval-tokens %d: %w", tokens, err)
		}
		s.sizes = append(s.sizes, newSizedExamples("tokens"+strconv.Itoa(tokens), puzzles))
	}
	if c.symbols() == c.side() && !c.renames() {
		return nil
	}
	if !c.renames() {
		s.train.rename(c.side(), c.symbols(), nil)
	}
	for _, x := range append([]*examples{&s.iid, &s.validation}, pointers(s.sizes)...) {
		var rng *rand.Rand
		if c.renames() {
			rng = torchpe.Stream(c.DataSeed, "symbols "+x.name)
		}
		x.rename(x.side(c), c.symbols(), rng)
	}
	return nil
}

func pointers(xs []examples) (out []*examples) {
	for i := range xs {
		out = append(out, &xs[i])
	}
	return out
}

// side is the number of rows of a split's puzzles.
func (x *examples) side(c Config) int {
	if x.n > 0 {
		if side, err := sized.SideOf(len(x.symbols) / x.n); err == nil {
			return side
		}
	}
	return c.side()
}

// rename gives each puzzle the tokens of a model that knows so many symbols, by a renaming of its own; without rng symbols keep theirs.
func (x *examples) rename(side, symbols int, rng *rand.Rand) {
	names := make([]int64, side+2)
	cells := side * side
	for i := range x.n {
		drawNames(rng, names, symbols)
		for k, token := range x.symbols[i*cells : (i+1)*cells] {
			x.symbols[i*cells+k] = names[token]
		}
		x.target[i] = names[x.target[i]+1] - 1
	}
}

// drawNames draws what the tokens 0 (blank), 1 to side (symbols) and side+1 (probe) of a puzzle are called in a model that knows so many
// symbols: the blank stays 0, the probe is symbols+1, and the symbols are different ones, any choice and order of them as likely as
// another. Without rng they keep their names.
func drawNames(rng *rand.Rand, names []int64, symbols int) {
	side := len(names) - 2
	all := make([]int64, symbols)
	for i := range all {
		all[i] = int64(i + 1)
	}
	for i := range side {
		if rng != nil {
			j := i + rng.IntN(symbols-i)
			all[i], all[j] = all[j], all[i]
		}
		names[1+i] = all[i]
	}
	names[0], names[side+1] = 0, int64(symbols+1)
}
