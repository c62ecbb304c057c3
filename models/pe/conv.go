// A convolution over the order of tokens, which is added to the input.

package pe

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"torchpe/torchpe"
)

// Tap t sees the place t - floor(k/2) from its own, which is padding of k/2 with the last frame
// dropped if k is even. Places without a token count as zeros; taps beyond the tokens are not
// computed. V starts as N(0, 4/(k D)) and gain as |V|, as in fairseq; b, which fairseq starts at
// zero, as in torch.nn.Conv1d. There is no layer norm after the sum, as the block has its own.
var _ = Register(Scheme{Name: "conv-pos", Extrapolates: Always, New: newConv, Ahead: Always},
	option("conv-kernel", "128", whole(1, 1<<12), "width of the convolution of conv-pos, in places"),
	option("conv-groups", "0", whole(0, 1<<12),
		"groups of the convolution of conv-pos, a divisor of d_model; 0 for the largest "+
			"divisor of it and 16"))

func newConv(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	k, groups, d := c.int("conv-kernel"), c.int("conv-groups"), c.DModel
	if groups == 0 {
		for groups = 16; d%groups != 0; groups /= 2 {
		}
	}
	if d%groups != 0 {
		return nil, fmt.Errorf("conv-pos: --conv-groups %d does not divide d_model %d", groups, d)
	}
	norms := make([][]float64, c.Members) // norms of V for gain, which is initialised after V
	draw := func(member int, rng *rand.Rand, out []float64) {
		torchpe.Normal(0, math.Sqrt(4/float64(k*d)))(member, rng, out)
		norm := make([]float64, k)
		for i, w := range out {
			norm[i%k] += w * w
		}
		for i := range norm {
			norm[i] = math.Sqrt(norm[i])
		}
		norms[member] = norm
	}
	inner := d / groups
	ofV := ps.Add("pe.v", true, draw, d, inner, k)
	ofGain := ps.Add("pe.gain", true, func(member int, _ *rand.Rand, out []float64) {
		copy(out, norms[member])
	}, k)
	bias := ps.Add("pe.bias", true, torchpe.FanIn(inner*k), d)
	return encoding{AtEmbed, PlainAttention, func(s *torchpe.Scope, p Positions) Hooks {
		e, span := c.Members, slices.Max(p.Index)-slices.Min(p.Index)
		// The taps that reach from one token to another.
		first, last := max(0, k/2-span), min(k-1, k/2+span)
		used := last - first + 1
		v := ofV.In(s).Narrow(3, first, used)
		gain := ofGain.In(s).Narrow(1, first, used).Reshape(e, 1, 1, used)
		w := v.Mul(gain).Div(v.Square().SumKeep(1, 2).Sqrt()) // [E,D,D/g,taps]
		return &convHooks{
			places: p.Index, first: first - k/2,
			w:    w.Reshape(e, groups, inner, inner, used).Permute(0, 1, 4, 3, 2),
			bias: bias.In(s).Reshape(e, 1, 1, d),
		}
	}}, nil
}

type convHooks struct {
	Identity
	places []int
	first  int            // offset of the first tap
	w      torchpe.Tensor // [E,g,taps,D/g,D/g], from and to a dimension
	bias   torchpe.Tensor // [E,1,1,D]
}

func (h *convHooks) Embed(layer int, x torchpe.Tensor) torchpe.Tensor {
	if layer > 0 {
		return x
	}
	w, shape := h.w.Shape(), x.Shape()
	// One matrix from all tokens to all tokens, or a gather of the tokens that the taps see in each
	// sample, whichever is smaller.
	convolve := h.bySeen
	if samples, n := shape[1], shape[2]; w[3]*n < samples*w[2] {
		convolve = h.byMatrix
	}
	return x.Add(convolve(x).Add(h.bias).GELU())
}

// byMatrix uses the matrix [E,g,N D/g,N D/g] of the convolution.
func (h *convHooks) byMatrix(x torchpe.Tensor) torchpe.Tensor {
	shape, w := x.Shape(), h.w.Shape()
	e, b, n, d, groups, taps, inner := shape[0], shape[1], shape[2], shape[3], w[1], w[2], w[3]
	index := make([]int, 0, n*n)
	for _, from := range h.places {
		for _, to := range h.places {
			tap := from - to - h.first
			if tap < 0 || tap >= taps {
				tap = taps // zeros
			}
			index = append(index, tap)
		}
	}
	m := h.w.Pad(2, 0, 1, 0).IndexSelect(2, indexTensor(x.Scope(), x.Device(), index, n*n))
	m = m.Reshape(e, groups, n, n, inner, inner).Permute(0, 1, 2, 4, 3, 5).
		Reshape(e, groups, n*inner, n*inner)
	rows := x.Reshape(e, b, n, groups, inner).Permute(0, 3, 1, 2, 4).Reshape(e, groups, b, n*inner)
	return rows.MatMul(m).Reshape(e, groups, b, n, inner).Permute(0, 2, 3, 1, 4).Reshape(e, b, n, d)
}

// bySeen gathers the tokens that the taps see, [E,g,B N,taps D/g].
func (h *convHooks) bySeen(x torchpe.Tensor) torchpe.Tensor {
	shape, w := x.Shape(), h.w.Shape()
	e, b, n, d, groups, taps, inner := shape[0], shape[1], shape[2], shape[3], w[1], w[2], w[3]
	tokenAt := make(map[int]int, n)
	for i, at := range h.places {
		tokenAt[at] = i
	}
	index := make([]int, 0, n*taps)
	for _, at := range h.places {
		for t := range taps {
			token, ok := tokenAt[at+h.first+t]
			if !ok {
				token = n // a row of zeros
			}
			index = append(index, token)
		}
	}
	// [E,B,N taps,D]
	seen := x.Pad(2, 0, 1, 0).IndexSelect(2, indexTensor(x.Scope(), x.Device(), index, len(index)))
	seen = seen.Reshape(e, b*n, taps, groups, inner).Permute(0, 3, 1, 2, 4).
		Reshape(e, groups, b*n, taps*inner)
	y := seen.MatMul(h.w.Reshape(e, groups, taps*inner, inner)) // [E,g,B N,D/g]
	return y.Permute(0, 2, 1, 3).Reshape(e, b, n, d)
}
