// tisa: translation-invariant self-attention, a bump-shaped function of the offset added to the
// logits (Wennberg and Henter 2021, equations 5 and 6).
//
//	logits_ij = q_i k_j / sqrt(Dh) + F_ij
//	F_ij = f(j-i),  f(k) = sum_s a_s exp(-|b_s| (k - c_s)^2)
//
// with S amplitudes a, sharpnesses b and offsets c for each head and layer: 3 S H L numbers, 2,160
// for S = 5 in BERT. Alone it replaces position embeddings (the paper's case b); beside them, in a
// stack such as learn+tisa, it supplements them (case a).
//
// The published code gives F_ij = f(i-j-1), mirrored and off by one (--tisa-offset i-j-1). It
// leaves the initial values to its caller; here a ~ N(0, 0.1^2), b ~ N(0, 0.1^2) and c ~ N(0, 5^2),
// so that kernels start broad and at different offsets.

package pe

import "torchpe/torchpe"

var (
	tisaKernels = Option{Name: "tisa-kernels", Default: "5", Check: whole(1, 1<<16),
		Help: "number S of kernels of tisa for each head and layer"}
	tisaOffset = Option{Name: "tisa-offset", Default: "j-i", Check: oneOf("j-i", "i-j-1"),
		Help: "offset that the kernels of tisa see: from query to key, or that of the " +
			"published code"}
)

func init() {
	Register(Scheme{
		Name:         "tisa",
		Extrapolates: Always,
		Options:      []Option{tisaKernels, tisaOffset},
		New:          newTISA,
	})
}

type tisa struct {
	atLogits
	amplitudes, sharpness, centres *torchpe.Param // [E,L,S,H]
	published                      bool
}

func newTISA(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	add := func(name string, deviation float64) *torchpe.Param {
		return ps.Add(name, true, torchpe.Normal(0, deviation), c.Layers,
			c.Options.Int(tisaKernels.Name), c.Heads)
	}
	return &tisa{
		amplitudes: add("pe.a", 0.1), sharpness: add("pe.b", 0.1), centres: add("pe.c", 5),
		published: c.Options.Text(tisaOffset.Name) == "i-j-1",
	}, nil
}

// Begin computes f once for each offset that occurs, and places it.
func (t *tisa) Begin(s *torchpe.Scope, p Positions) Hooks {
	least, most := 0, 0
	offsets := pairs(p.Index, func(i, j int) int {
		k := j - i
		if t.published {
			k = i - j - 1
		}
		least, most = min(least, k), max(most, k)
		return k
	})
	all := make([]float64, most-least+1)
	for i := range all {
		all[i] = float64(least + i)
	}
	for i := range offsets {
		offsets[i] -= least
	}
	wide := func(p *torchpe.Param) torchpe.Tensor { return p.In(s).Unsqueeze(3) } // [E,L,S,1,H]
	a, b, c := wide(t.amplitudes), wide(t.sharpness), wide(t.centres)
	k := numbers(s, a, all, len(all), 1)
	f := a.Mul(b.Abs().Mul(k.Sub(c).Square()).Neg().Exp()).Sum(2) // [E,L,R,H]
	return biasHooks{bias: biasOf(s, f, offsets, p.Tokens())}
}
