// pope: polar encoding (Gopalakrishnan et al. 2025, "Decoupling the 'What' and 'Where' With Polar
// Coordinate Positional Embeddings"). Content is the length of a complex number, position its angle:
//
//	q~_c = softplus(q_c) exp(i p theta_c),  k~_c = softplus(k_c) exp(i (p theta_c + delta_c))
//	logits_ij = Re sum_c q~_ic conj(k~_jc) / sqrt(Dh),  theta_c = base^(-c/r)
//
// for the first r dimensions of a head, r = Dh unless --pope-dims says otherwise; the rest enter the
// logits as they are, without the softplus. Each dimension has a frequency of its own, and not each
// pair. delta is trained, own to each head and shared by layers, and kept in [-2 pi, 0]. Public code
// lays the real and imaginary parts out side by side (PoPE-pytorch) or one half after the other
// (x-transformers), and starts delta at 0 or in U(-2 pi, 0).

package pe

import (
	"fmt"
	"math"

	"torchpe/torchpe"
)

var (
	popeDims = Option{Name: "pope-dims", Default: "all", Check: orWord(whole(1, 1<<20), "all"),
		Help: "how many dimensions of a head pope makes polar: all, or a number; the rest stay as " +
			"they are"}
	popePhase = Option{Name: "pope-phase", Default: "1", Check: orWord(positiveUpTo(1), "0"),
		Help: "phases of pope start in U(-2 pi a, 0) for this a, at 0 with 0"}
)

func init() {
	Register(Scheme{
		Name:         "pope",
		Extrapolates: Always,
		Options:      []Option{ropeBase, popeDims, popePhase, attentionBias, attentionInit},
		New:          newPoPE,
	})
}

type pope struct {
	atLogits
	cos, sin  *torchpe.Param // [E,N,R]
	phase     *torchpe.Param // [E,H,R]
	attention Attention
}

func newPoPE(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	dims := c.HeadWidth()
	if v := c.Options.Text(popeDims.Name); v != "all" {
		if dims = c.Options.Int(popeDims.Name); dims > c.HeadWidth() {
			return nil, fmt.Errorf("pope: --pope-dims %d is more than the head width %d = %d/%d",
				dims, c.HeadWidth(), c.DModel, c.Heads)
		}
	}
	base, n := c.Options.Float(ropeBase.Name), c.Positions.Tokens()
	table := func(name string, f func(float64) float64) *torchpe.Param {
		return ps.Add(name, false, computed(func(i int) float64 {
			return f(float64(i/dims) * math.Pow(base, -float64(i%dims)/float64(dims)))
		}), n, dims)
	}
	start := uniformBelow(-2 * math.Pi * c.Options.Float(popePhase.Name))
	p := &pope{
		cos: table("pe.cos", math.Cos), sin: table("pe.sin", math.Sin),
		phase: ps.Add("pe.phase", true, start, c.Heads, dims), attention: rotaryAttention(c),
	}
	p.attention.Replaces = true
	return p, nil
}

func (p *pope) Attention() Attention { return p.attention }

func (p *pope) Begin(s *torchpe.Scope, at Positions) Hooks {
	rows := func(t *torchpe.Param) torchpe.Tensor { // [E,1,1,N,R]
		return rowsAt(s, t.In(s), 1, at.Index).Unsqueeze(1).Unsqueeze(1)
	}
	phase := p.phase.In(s).Clamp(-2*math.Pi, 0).Unsqueeze(1).Unsqueeze(3) // [E,1,H,1,R]
	cos, sin := rows(p.cos), rows(p.sin)
	ofCos, ofSin := phase.Cos(), phase.Sin()
	return &popeHooks{q: rotation{cos, sin}, k: rotation{
		cos: cos.Mul(ofCos).Sub(sin.Mul(ofSin)), // [E,1,H,N,R]
		sin: sin.Mul(ofCos).Add(cos.Mul(ofSin)),
	}}
}

type popeHooks struct {
	Identity
	q, k rotation
}

func (h *popeHooks) Logits(a Attn, _ torchpe.Tensor) torchpe.Tensor {
	return torchpe.AttentionLogits(h.q.polar(a.Q), h.k.polar(a.K), a.Scale)
}

// polar returns the real and imaginary parts of the first R dimensions of x, and the rest of x:
// [E,B,H,N,Dh] -> [E,B,H,N,R+Dh].
func (t rotation) polar(x torchpe.Tensor) torchpe.Tensor {
	r := t.cos.Size(-1)
	length := x.Narrow(-1, 0, r).Softplus()
	parts := []torchpe.Tensor{length.Mul(t.cos), length.Mul(t.sin)}
	if rest := x.Size(-1) - r; rest > 0 {
		parts = append(parts, x.Narrow(-1, r, rest))
	}
	return torchpe.Cat(-1, parts...)
}
