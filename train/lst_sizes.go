package train

import (
	"fmt"
	"strconv"

	"torchpe/data/lst/sized"
	"torchpe/models"
	"torchpe/models/pe"
	"torchpe/torchpe"
	"torchpe/train/runlog"
	"torchpe/train/runlog/safetensors"
)

// model is the one that a split's puzzles go through: that in training, or the same parameters at other positions.
func (r resident) model(e *ensemble) *models.Model {
	if r.at != nil {
		return r.at
	}
	return e.model
}

// atSizes makes the model for each of Config.EvalTokens.
func (e *ensemble) atSizes() error {
	for _, tokens := range e.config.EvalTokens {
		side, err := sized.SideOf(tokens)
		if err != nil {
			return fmt.Errorf("--eval-tokens: %w", err)
		}
		at, err := e.model.At(pe.Grid(side, side))
		if err != nil {
			return fmt.Errorf("--eval-tokens %d: %w", tokens, err)
		}
		e.sized = append(e.sized, at)
	}
	return nil
}

// moveSizes puts the puzzles of other sizes on the device.
func (t *lstTask) moveSizes(e *ensemble, put func(examples) resident) {
	t.sizes = nil
	for i, x := range t.splits.sizes {
		r := put(x)
		r.at = e.sized[i]
		t.sizes = append(t.sizes, r)
	}
}

// namesOf returns what each token of the examples of an epoch, in their order, is called, and behind that the class of each symbol:
// [E][n ((side+2)+side)], a function of each member's seed and the epoch alone.
func (t *lstTask) namesOf(e *ensemble, epoch int) [][]int64 {
	return t.names.of(epoch, func() [][]int64 {
		side, width := t.config.side(), t.namesWidth()
		all := make([][]int64, e.members())
		for m, seed := range e.seeds {
			all[m] = make([]int64, t.train.n*width)
			rng := torchpe.Stream(seed, fmt.Sprintf("symbols %d", epoch))
			for i := range t.train.n {
				names, classes := all[m][i*width:i*width+side+2], all[m][i*width+side+2:(i+1)*width]
				drawNames(rng, names, t.config.symbols())
				for k := range classes {
					classes[k] = names[1+k] - 1
				}
			}
		}
		return all
	})
}

// namesWidth is how many names and classes a puzzle has.
func (t *lstTask) namesWidth() int { return 2*t.config.side() + 2 }

// namesInput is the input of a step whose n examples, from at on in the order of an epoch, get other names: [E,n,(side+2)+side].
func (t *lstTask) namesInput(e *ensemble, epoch, at, n int) []hostArray {
	if !t.config.renames() {
		return nil
	}
	width := t.namesWidth()
	var names []int64
	for _, all := range t.namesOf(e, epoch) {
		names = append(names, all[at*width:(at+n)*width]...)
	}
	return []hostArray{{name: "names", shape: []int{e.members(), n, width}, ints: names}}
}

// rename gives the symbols of a training batch their names.
func (t *lstTask) rename(s *torchpe.Scope, in deviceInputs, b *lstBatch) {
	names, ok := in["names"]
	if !ok {
		return
	}
	side := t.config.side()
	b.Symbols = names.In(s).Narrow(2, 0, side+2).Gather(2, b.Symbols)
	b.target = names.In(s).Narrow(2, side+2, side).Gather(2, b.target.Unsqueeze(-1)).Squeeze(2)
}

// bySize is the accuracy at each of Config.EvalTokens.
type bySize []accuracy

func (t *lstTask) evaluateSizes(e *ensemble, step int) (bySize, error) {
	all := make(bySize, len(t.sizes))
	for i, r := range t.sizes {
		var err error
		if all[i], err = t.evaluate(e, r, step); err != nil {
			return nil, fmt.Errorf("--eval-tokens %d: %w", t.config.EvalTokens[i], err)
		}
	}
	return all, nil
}

// overall returns a member's accuracies by the number of tokens; nil where there are no sizes.
func (t *lstTask) overall(all bySize, member int) map[string]float64 {
	if len(all) == 0 {
		return nil
	}
	by := map[string]float64{}
	for i, a := range all {
		by[strconv.Itoa(t.config.EvalTokens[i])] = a.overall[member]
	}
	return by
}

// sizeResult writes a member's accuracies at other sizes into its result.
func (t *lstTask) sizeResult(last *runlog.Record, r *runlog.MemberResult) {
	r.AccuracyByTokens = last.AccuracyByTokens
	for i, a := range t.atEnd {
		if r.AccuracyByTokensAndCondition == nil {
			r.AccuracyByTokensAndCondition = map[string]map[string]float64{}
		}
		conditions := map[string]float64{}
		for c, v := range a.byCondition[last.Member] {
			conditions[c.Label()] = v
		}
		r.AccuracyByTokensAndCondition[strconv.Itoa(t.config.EvalTokens[i])] = conditions
	}
}

// sizeProbes measures all sizes at the end of training and returns the predicted classes prediction/tokens<N> [E,n].
func (t *lstTask) sizeProbes(e *ensemble, step int) (out []safetensors.Tensor, err error) {
	if t.atEnd, err = t.evaluateSizes(e, step); err != nil {
		return nil, err
	}
	for i, a := range t.atEnd {
		x, err := safetensors.New("prediction/"+t.sizes[i].name, []int{e.members(), t.sizes[i].n}, a.predicted)
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}
