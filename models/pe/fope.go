// fope: Fourier position embedding (Hua et al. 2024, "Fourier Position Embedding: Enhancing
// Attention's Periodic Extension for Length Generalization"): rope whose cosines and sines are sums
// over all frequencies that turn at least once over the L trained tokens.
//
//	cos_c(p) = sum_m C_mc cos(p w_m),  sin_c(p) = sum_m S_mc sin(p w_m),  w_m = base^(-2m/Dh) >= 2 pi/L
//	(x_c, x_c+Dh/2) <- (x_c cos_c - x_c+Dh/2 sin_c, x_c+Dh/2 cos_c + x_c sin_c)
//
// for the first o = min(D, Dh/4) pairs, D the number of such frequencies; at least the fastest is
// one. C and S are drawn for each head and not trained: an identity plus numbers of variance
// 0.09 2/(D+o). They are shared by layers. In the remaining pairs the paper has a cosine of 1 and a
// sine of 0, which changes nothing; the published code and vLLM have a sine of 1 too, which turns
// them by 45 degrees and makes them longer. vLLM has o = D and w_m > 2 pi/L (--fope-floor square).
// With --fope-floor zero slower frequencies are 0 instead, and C and S of size Dh/2 x Dh/2. Since
// cosine and sine are no longer those of one angle, logits do not know the offset alone.

package pe

import (
	"math"
	"math/rand/v2"

	"torchpe/torchpe"
)

var (
	fopeFloor = Option{Name: "fope-floor", Default: "drop", Check: oneOf("drop", "square", "zero"),
		Help: "frequencies of fope that turn less than once over the trained tokens: dropped, with " +
			"at most Dh/4 sums; dropped, with a sum for each left (square); or zero"}
	fopeRest = Option{Name: "fope-rest", Text: "still", Code: "turned",
		Check: oneOf("still", "turned"),
		Help:  "pairs of fope without a sum: as they are, or turned by 45 degrees and longer"}
	fopeHeads = Option{Name: "fope-heads", Default: "own", Check: oneOf("own", "shared"),
		Help: "whether heads of fope have coefficients of their own"}
	fopeBasis = Option{Name: "fope-basis", Default: "two", Check: oneOf("one", "two"),
		Help: "coefficients of fope: one set for sines and cosines, or two"}
)

func init() {
	Register(Scheme{
		Name:         "fope",
		MinHeadWidth: 4, Extrapolates: Always,
		Options: []Option{positionsFrom, ropeBase, ropeTrained, fopeFloor, fopeRest, fopeHeads,
			fopeBasis, attentionBias, attentionInit},
		New: newFoPE,
	})
}

type fope struct {
	None
	cos, sin     *torchpe.Param // [E,N,D] of the frequencies
	ofCos, ofSin *torchpe.Param // [E,H or 1,D,o]
	frequencies  []float64
	pairs        int // Dh/2
	restSine     float64
	attention    Attention
}

func newFoPE(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	dh, o := c.HeadWidth(), c.Options
	if dh%2 != 0 {
		return nil, c.oddHead()
	}
	f := &fope{frequencies: fopeFrequencies(c), pairs: dh / 2, attention: rotaryAttention(c),
		restSine: oneIf(o.Text(fopeRest.Name) == "turned")}
	d, n, from := len(f.frequencies), c.Positions.Tokens(), o.Float(positionsFrom.Name)
	sums, heads := d, c.Heads
	if o.Text(fopeFloor.Name) == "drop" {
		sums = min(d, dh/4)
	}
	if o.Text(fopeHeads.Name) == "shared" {
		heads = 1
	}
	table := func(name string, of func(float64) float64) *torchpe.Param {
		return ps.Add(name, false, computed(func(i int) float64 {
			return of((from + float64(i/d)) * f.frequencies[i%d])
		}), n, d)
	}
	coefficients := func(name string) *torchpe.Param {
		spread := torchpe.Normal(0, 0.3*math.Sqrt(2/float64(d+sums)))
		return ps.Add(name, false, func(member int, rng *rand.Rand, out []float64) {
			spread(member, rng, out)
			for i := range out {
				out[i] += oneIf(i/sums%d == i%sums)
			}
		}, heads, d, sums)
	}
	f.cos, f.sin = table("pe.cos", math.Cos), table("pe.sin", math.Sin)
	f.ofCos = coefficients("pe.coefficients")
	if f.ofSin = f.ofCos; o.Text(fopeBasis.Name) == "two" {
		f.ofSin = coefficients("pe.sine-coefficients")
	}
	return f, nil
}

// fopeFrequencies returns the frequencies that are summed.
func fopeFrequencies(c Config) (kept []float64) {
	floor, kind := 2*math.Pi/trainedTokens(c), c.Options.Text(fopeFloor.Name)
	for m := range c.HeadWidth() / 2 {
		w := math.Pow(c.Options.Float(ropeBase.Name), -2*float64(m)/float64(c.HeadWidth()))
		switch {
		case m == 0 || w > floor || w == floor && kind != "square":
			kept = append(kept, w)
		case kind == "zero":
			kept = append(kept, 0)
		}
	}
	return kept
}

func (f *fope) Sites() Site { return AtQK }

func (f *fope) Attention() Attention { return f.attention }

func (f *fope) Begin(s *torchpe.Scope, p Positions) Hooks {
	sums := func(table, coefficients *torchpe.Param, rest float64) torchpe.Tensor {
		waves := rowsAt(s, table.In(s), 1, p.Index).Unsqueeze(1) // [E,1,N,D]
		t := waves.MatMul(coefficients.In(s))                    // [E,H,N,o]
		return t.Pad(-1, 0, f.pairs-t.Size(-1), rest).Unsqueeze(1)
	}
	t := rotation{cos: sums(f.cos, f.ofCos, 1), sin: sums(f.sin, f.ofSin, f.restSine)}
	return &rotaryHooks{q: t, k: t, width: 2 * f.pairs, half: true}
}
