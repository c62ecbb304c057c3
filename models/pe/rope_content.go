// Rotations by positions that depend on the tokens' contents.

package pe

import (
	"cmp"
	"math"

	"torchpe/torchpe"
)

// turnedBy returns queries and keys rotated by angles [E,B,H,N,P] of the tokens.
func turnedBy(a Attn, angles torchpe.Tensor, half bool) (q, k, v torchpe.Tensor) {
	cos, sin := angles.Cos(), angles.Sin()
	return torchpe.RotatePairs(a.Q, cos, sin, half), torchpe.RotatePairs(a.K, cos, sin, half), a.V
}

// silu returns x sigmoid(x).
func silu(x torchpe.Tensor) torchpe.Tensor { return x.Mul(x.Sigmoid()) }

// The places of tokens enter only through the causal mask. Published models have rope in their
// first layers and these positions in the others.
var _ = Register(Scheme{Name: "repo", MinHeadWidth: 2, Extrapolates: Always, New: newRePo},
	option("repo", "swiglu", oneOf("swiglu", "linear"),
		"map from a token to its position in each head: gated by SiLU, or linear"),
	option("repo-width", "0", whole(0, 1<<16),
		"width of the gated map of repo; 0 for an eighth of d_model"),
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

// addFrequencies adds the frequencies of rope [E,Dh/2], which are not trained.
func (c Config) addFrequencies(ps *torchpe.ParamSet) *torchpe.Param {
	base, pairs := c.float("rope-base"), c.HeadWidth()/2
	return ps.Add("pe.frequency", false, computed(func(k int) float64 {
		return math.Pow(base, -float64(k)/float64(pairs))
	}), pairs)
}

// As published, the tokens are read in the parts that belong to heads, each divided by its length,
// without an activation after the convolution. Temperatures are rope's frequencies, which are not
// trained; the published code's base is 500000. Its full-rank map and its wider gates are omitted.
var _ = Register(Scheme{Name: "selective-rope", MinHeadWidth: 2, Extrapolates: Always,
	New: newSelectiveRoPE},
	option("selective-rank", "32", whole(1, 1<<16),
		"rank of the map from tokens to angles of selective-rope"),
	option("selective-conv", "4", whole(0, 1<<10),
		"number of tokens, up to each one, over which selective-rope convolves the angles; 0 for the "+
			"difference to the token before"),
	option("selective-gate", "false", yesNo,
		"whether selective-rope multiplies angles by a gate of each head"),
	option("selective-bias", "false", yesNo, "whether selective-rope adds a trained angle for each token"),
	ropeBase, ropeLayout, attentionBias, attentionInit)

// selective holds the parameters of selective-rope; conv, bias and gate may be missing.
type selective struct {
	down, up, conv, bias *torchpe.Param // [E,L,r,D], [E,L,H P,r], [E,L,H P,K], [E,L,H P]
	gate                 linearMap      // [E,L,H,D]
	heads, pairs, taps   int
}

func newSelectiveRoPE(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	if c.HeadWidth()%2 != 0 {
		return nil, c.oddHead()
	}
	z := selective{heads: c.Heads, pairs: c.HeadWidth() / 2, taps: c.int("selective-conv")}
	rank, all := c.int("selective-rank"), z.heads*z.pairs
	z.down = ps.Add("pe.down", true, torchpe.FanIn(c.DModel), c.Layers, rank, c.DModel)
	z.up = ps.Add("pe.up", true, torchpe.FanIn(rank), c.Layers, all, rank)
	if z.taps > 0 {
		z.conv = ps.Add("pe.conv", true, torchpe.FanIn(z.taps), c.Layers, all, z.taps)
	}
	if c.yes("selective-bias") {
		z.bias = ps.Add("pe.bias", true, torchpe.Constant(0), c.Layers, all)
	}
	if c.yes("selective-gate") {
		z.gate = newLinearMap(ps, "pe.gate.", c.DModel, c.Layers, c.Heads)
	}
	frequency := c.addFrequencies(ps)
	half, attention := c.halves(), rotaryAttention(c)
	attention.Causal = true
	return encoding{AtQK, attention, func(s *torchpe.Scope, p Positions) Hooks {
		theta := frequency.In(s).Reshape(c.Members, 1, 1, 1, z.pairs)
		order := orderOf(s, theta.Device(), p.Index)
		return qkvHooks{change: func(a Attn) (q, k, v torchpe.Tensor) {
			sums := order.back(z.steps(s, a.Layer, order.sorted(a.X, 2)).Cumsum(2), 2)
			return turnedBy(a, sums.Transpose(2, 3).Mul(theta), half)
		}}
	}}, nil
}

// steps returns the angles by which each token x [E,B,N,D], in the order of places, rotates itself
// and all later tokens: [E,B,N,H,P].
func (z selective) steps(s *torchpe.Scope, layer int, x torchpe.Tensor) torchpe.Tensor {
	e, b, n, d := x.Size(0), x.Size(1), x.Size(2), x.Size(3)
	of := func(p *torchpe.Param) torchpe.Tensor { return p.In(s).Select(1, layer) }
	x = x.Reshape(e, b, n, z.heads, d/z.heads)
	x = x.Div(x.Square().SumKeep(-1).AddScalar(1e-6).Sqrt()).Reshape(e, b, n, d)
	phi := torchpe.Linear(torchpe.Linear(x, of(z.down), torchpe.Tensor{}), of(z.up), torchpe.Tensor{})
	if z.taps == 0 {
		phi = phi.Sub(phi.Pad(2, 1, 0, 0).Narrow(2, 0, n))
	} else {
		padded, taps := phi.Pad(2, z.taps-1, 0, 0), of(z.conv).Unsqueeze(1).Unsqueeze(1) // [E,1,1,H P,K]
		phi = padded.Narrow(2, 0, n).Mul(taps.Select(4, 0))
		for k := 1; k < z.taps; k++ {
			phi = phi.Add(padded.Narrow(2, k, n).Mul(taps.Select(4, k)))
		}
	}
	if z.bias != nil {
		phi = phi.Add(of(z.bias).Exp().Unsqueeze(1).Unsqueeze(1))
	}
	phi = phi.Reshape(e, b, n, z.heads, z.pairs)
	if z.gate.w != nil {
		phi = phi.Mul(torchpe.Linear(x, of(z.gate.w), of(z.gate.b)).Sigmoid().Unsqueeze(-1))
	}
	return phi
}
