// Rotations by positions that the tokens' contents set.

package pe

import (
	"cmp"
	"math"

	"torchpe/torchpe"
)

// turnedBy returns queries and keys turned by angles [E,B,H,N,P] of the tokens.
func turnedBy(a Attn, angles torchpe.Tensor, half bool) (q, k, v torchpe.Tensor) {
	cos, sin := angles.Cos(), angles.Sin()
	return torchpe.RotatePairs(a.Q, cos, sin, half), torchpe.RotatePairs(a.K, cos, sin, half), a.V
}

// silu returns x sigmoid(x).
func silu(x torchpe.Tensor) torchpe.Tensor { return x.Mul(x.Sigmoid()) }

// The places of tokens enter by the causal mask alone. Published models have rope in their first layers
// and these positions in the others.
var _ = Register(Scheme{Name: "repo", MinHeadWidth: 2, Extrapolates: Always, New: newRePo},
	option("repo", "swiglu", oneOf("swiglu", "linear"),
		"map from a token to its position in each head: gated by SiLU, or linear"),
	option("repo-width", "0", whole(0, 1<<16), "width of the gated map of repo; 0 for an eighth of d_model"),
	ropeBase, ropeLayout, attentionBias, attentionInit)

func newRePo(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	if c.HeadWidth()%2 != 0 {
		return nil, c.oddHead()
	}
	in, gated := c.DModel, c.is("repo", "swiglu")
	var gate, content *torchpe.Param // [E,L,w,D]
	if gated {
		in = cmp.Or(c.int("repo-width"), max(1, c.DModel/8))
		gate = ps.Add("pe.gate", true, torchpe.FanIn(c.DModel), c.Layers, in, c.DModel)
		content = ps.Add("pe.content", true, torchpe.FanIn(c.DModel), c.Layers, in, c.DModel)
	}
	final := ps.Add("pe.final", true, torchpe.FanIn(in), c.Layers, c.Heads, in)
	frequency := c.addFrequencies(ps)
	half, attention := c.halves(), rotaryAttention(c)
	attention.Causal = true
	return encoding{AtQK, attention, func(s *torchpe.Scope, _ Positions) Hooks {
		theta := frequency.In(s).Reshape(c.Members, 1, 1, 1, c.HeadWidth()/2)
		return qkvHooks{change: func(a Attn) (q, k, v torchpe.Tensor) {
			mapped := func(x torchpe.Tensor, w *torchpe.Param) torchpe.Tensor {
				return torchpe.Linear(x, w.In(s).Select(1, a.Layer), torchpe.Tensor{})
			}
			x := a.X
			if gated {
				x = silu(mapped(x, gate)).Mul(mapped(x, content))
			}
			z := mapped(x, final).Transpose(2, 3) // [E,B,H,N]
			return turnedBy(a, z.Unsqueeze(-1).Mul(theta), half)
		}}
	}}, nil
}

// addFrequencies adds those of rope [E,Dh/2], which are not trained.
func (c Config) addFrequencies(ps *torchpe.ParamSet) *torchpe.Param {
	base, pairs := c.float("rope-base"), c.HeadWidth()/2
	return ps.Add("pe.frequency", false, computed(func(k int) float64 {
		return math.Pow(base, -float64(k)/float64(pairs))
	}), pairs)
}
