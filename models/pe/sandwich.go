// sandwich: the products of sinusoids of two places, the part of sinusoidal encodings in the logits
// that depends on the distance alone (Chi et al. 2023, "Dissecting Transformer Length Extrapolation
// via the Lens of Receptive Field Analysis", section 5).
//
//	logits_ij = q_i k_j / sqrt(Dh) + (1/r_h) sum_m cos((i-j) 10000^(-2m/d)),  r_h = 8h/H, h = 1..H
//
// d, 128 in the paper, is independent of the model's width. All heads share the curve: later ones are
// flatter. Public code differs on m: 0..d/2-1 (attention-gym), or 1..d/2, with d/2 subtracted so that
// the diagonal is 0, which the softmax does not see (NeMo). Nothing is trained.

package pe

import (
	"fmt"
	"math"

	"torchpe/torchpe"
)

var (
	sandwichDirection = Option{Name: "sandwich-direction", Default: "causal",
		Check: oneOf("causal", "bidirectional"),
		Help:  "whether tokens of sandwich see only those before them"}
	sandwichWidth = Option{Name: "sandwich-width", Default: "128", Check: whole(2, 1<<20),
		Help: "width d of the sinusoids of sandwich, an even number"}
	sandwichFirst = Option{Name: "sandwich-first", Default: "0", Check: oneOf("0", "1"),
		Help: "the first m of sandwich; with 1, d/2 is subtracted, as in NeMo"}
)

func init() {
	Register(Scheme{
		Name:         "sandwich",
		Extrapolates: Always,
		Options:      []Option{sandwichDirection, sandwichWidth, sandwichFirst},
		New:          newSandwich,
	})
}

type sandwich struct {
	atLogits
	weights      *torchpe.Param // [E,H]: 1/r_h
	width, first int
	causal       bool
}

func newSandwich(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	width := c.Options.Int(sandwichWidth.Name)
	if width%2 != 0 {
		return nil, fmt.Errorf("sandwich: --sandwich-width %d is odd; sines and cosines come in "+
			"pairs", width)
	}
	return &sandwich{
		weights: ps.Add("pe.weights", false, computed(func(h int) float64 {
			return float64(c.Heads) / (8 * float64(h+1))
		}), c.Heads),
		width: width, first: c.Options.Int(sandwichFirst.Name),
		causal: c.Options.Text(sandwichDirection.Name) == "causal",
	}, nil
}

func (w *sandwich) Attention() Attention { return attentionWithMask(w.causal) }

// curve returns the sum of cosines for the distances 0..most.
func (w *sandwich) curve(most int) []float64 {
	sums := make([]float64, most+1)
	for m := w.first; m < w.first+w.width/2; m++ {
		frequency := math.Pow(10000, -2*float64(m)/float64(w.width))
		for d := range sums {
			sums[d] += math.Cos(float64(d)*frequency) - float64(w.first)
		}
	}
	return sums
}

func (w *sandwich) Begin(s *torchpe.Scope, p Positions) Hooks {
	weights, most := w.weights.In(s), 0
	for _, i := range p.Index {
		most = max(most, i)
	}
	curve := w.curve(most)
	sums := pairTensor(s, weights, p.Index, func(i, j int) float64 { return curve[max(i-j, j-i)] })
	return biasHooks{bias: weights.Reshape(weights.Size(0), 1, weights.Size(1), 1, 1).Mul(sums)}
}
