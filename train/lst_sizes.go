package train

import (
	"fmt"

	"torchpe/models"
	"torchpe/models/pe"
	"torchpe/torchpe"
)

// model returns the model for a split: the trained one, or its parameters at other positions.
func (r deviceSplit) model(e *ensemble) *models.Model {
	if r.at != nil {
		return r.at
	}
	return e.model
}

// otherSizes returns the grids of Config.EvalTokens.
func (t *lstTask) otherSizes() (all []size) {
	for _, tokens := range t.config.EvalTokens { // square numbers: config checks it
		all = append(all, size{pe.SquareGrid(tokens), fmt.Sprintf("--eval-tokens %d", tokens)})
	}
	return all
}

// epochPermutations returns, for each example of an epoch in order, the token that each of its tokens
// becomes, then the class that each symbol becomes: [E][n ((side+2)+side)]. It is a function of the
// member's seed and the epoch.
func (t *lstTask) epochPermutations(e *ensemble, epoch int) [][]int64 {
	return t.symbols.get(epoch, func() [][]int64 {
		side, width := t.config.Side(), t.permutationWidth()
		all := make([][]int64, e.members())
		for m, seed := range e.seeds {
			all[m] = make([]int64, t.train.n*width)
			rng := torchpe.Stream(seed, fmt.Sprintf("symbols %d", epoch))
			for i := range t.train.n {
				row := all[m][i*width : (i+1)*width]
				permuted, classes := row[:side+2], row[side+2:]
				drawPermutation(rng, permuted, t.config.Symbols())
				for k := range classes {
					classes[k] = permuted[1+k] - 1
				}
			}
		}
		return all
	})
}

// permutationWidth returns the number of tokens and classes in a puzzle's permutation.
func (t *lstTask) permutationWidth() int { return 2*t.config.Side() + 2 }

// permutationInput returns the permutations of the n examples of a step that starts at place at of an epoch:
// [E,n,(side+2)+side]. It is nil where symbols are not permuted.
func (t *lstTask) permutationInput(e *ensemble, epoch, at, n int) []hostArray {
	if !t.config.Renames() {
		return nil
	}
	width := t.permutationWidth()
	var permuted []int64
	for _, all := range t.epochPermutations(e, epoch) {
		permuted = append(permuted, all[at*width:(at+n)*width]...)
	}
	return []hostArray{{name: "permutations", shape: []int{e.members(), n, width}, ints: permuted}}
}

// permuteSymbols permutes the symbols of a training batch.
func (t *lstTask) permuteSymbols(s *torchpe.Scope, in deviceInputs, b *lstBatch) {
	permuted, ok := in["permutations"]
	if !ok {
		return
	}
	side := t.config.Side()
	b.Symbols = permuted.In(s).Narrow(2, 0, side+2).Gather(2, b.Symbols)
	b.target = permuted.In(s).Narrow(2, side+2, side).Gather(2, b.target.Unsqueeze(-1)).Squeeze(2)
}

// evaluateSizes returns the accuracy at each of Config.EvalTokens.
func (t *lstTask) evaluateSizes(e *ensemble, step int) ([]accuracy, error) {
	all := make([]accuracy, len(t.sizes))
	for i, r := range t.sizes {
		var err error
		if all[i], err = t.evaluate(e, r, step); err != nil {
			return nil, fmt.Errorf("--eval-tokens %d: %w", t.config.EvalTokens[i], err)
		}
	}
	return all, nil
}

// sizeKey returns the key of the accuracy at one of Config.EvalTokens.
func (t *lstTask) sizeKey(i int) string { return fmt.Sprintf("tokens/%d", t.config.EvalTokens[i]) }
