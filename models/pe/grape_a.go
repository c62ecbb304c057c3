// grape-a: additive group actions. A penalty that is linear in the distance as in ALiBi, times gates
// that the query or the key sets; or a sum of such penalties along the path from key to query (Zhang
// et al. 2025, "Group Representational Position Encoding": the forms of the published code).
//
//	gated: b_ij = -(i-j) m_h softplus(omega_h) g,  m_h the slopes of alibi
//	       key: g = softplus(u_h k_j / sqrt(Dh));  query: g = softplus(v_h q_i / sqrt(Dh));
//	       both: the sum of the two gates.  u and v are divided by their lengths
//	path:  b_ij = m_h sum_{l=j+1..i} ln sigmoid(p_i R_l norm(p_l) / d),  p = W x, d numbers a head
//
// norm divides by the root mean square of the vector. R_l turns dimensions c and c + Dh/2 by -l radians;
// p_i itself is neither turned nor normalised, so that the bias of a path depends on the places. omega
// starts where softplus is 1, u and v as N(0, 1) (the code's 0.02 has the same directions), W as
// N(0, 0.02^2). Each layer has its own. Keys after the query are masked; their bias is 0.

package pe

import (
	"fmt"
	"math"

	"torchpe/torchpe"
)

var (
	grapeForm = Option{Name: "grape-a", Default: "key",
		Check: oneOf("key", "query", "both", "path"),
		Help: "what sets the penalty of grape-a: gates of the key, of the query, both, or all " +
			"tokens on the path between them"}
	grapeUnit = Option{Name: "grape-a-unit", Default: "true", Check: yesNo,
		Help: "whether the vectors of the gates of grape-a are divided by their lengths"}
)

func init() {
	Register(Scheme{
		Name:         "grape-a",
		Extrapolates: Always,
		Options:      []Option{grapeForm, grapeUnit},
		New:          newGrapeA,
	})
}

type grapeA struct {
	atLogits
	slopes *torchpe.Param // [E,H]
	omega  *torchpe.Param // [E,L,H]; nil for a path
	u, v   *torchpe.Param // [E,L,H,Dh] of keys and queries; nil where there is no such gate
	w      *torchpe.Param // [E,L,D,D]; nil but for a path
	unit   bool
}

func newGrapeA(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	form, slopes := c.Options.Text(grapeForm.Name), alibiSlopes(c.Heads)
	g := &grapeA{
		slopes: ps.Add("pe.slopes", false, copied(slopes), c.Heads),
		unit:   c.Options.Bool(grapeUnit.Name),
	}
	if form == "path" {
		if c.HeadWidth()%2 != 0 {
			return nil, c.oddHead()
		}
		if !g.unit {
			return nil, fmt.Errorf("grape-a: --grape-a-unit false is for gates; --grape-a path " +
				"has none")
		}
		g.w = ps.Add("pe.weight", true, torchpe.Normal(0, 0.02), c.Layers, c.DModel, c.DModel)
		return g, nil
	}
	g.omega = ps.Add("pe.omega", true, torchpe.Constant(math.Log(math.E-1)), c.Layers, c.Heads)
	gate := func(name string) *torchpe.Param {
		return ps.Add(name, true, torchpe.Normal(0, 1), c.Layers, c.Heads, c.HeadWidth())
	}
	if form != "query" {
		g.u = gate("pe.u")
	}
	if form != "key" {
		g.v = gate("pe.v")
	}
	return g, nil
}

func (g *grapeA) Attention() Attention { return attentionWithMask(true) }

func (g *grapeA) Begin(s *torchpe.Scope, p Positions) Hooks {
	slopes := g.slopes.In(s)
	slopes = slopes.Reshape(slopes.Size(0), 1, slopes.Size(1), 1, 1)
	if g.w != nil {
		return newGrapePath(s, g.w, slopes, p)
	}
	distances := pairTensor(s, slopes, p.Index, func(i, j int) float64 {
		return -float64(max(i-j, 0))
	})
	h := grapeHooks{distances: slopes.Mul(distances)}
	omega := g.omega.In(s).Softplus() // [E,L,H,1,1]
	h.omega = omega.Reshape(omega.Size(0), omega.Size(1), omega.Size(2), 1, 1)
	vectors := func(p *torchpe.Param) torchpe.Tensor {
		if p == nil || !g.unit {
			return optional(s, p)
		}
		return unit(p.In(s))
	}
	h.u, h.v = vectors(g.u), vectors(g.v)
	return h
}

type grapeHooks struct {
	Identity
	distances torchpe.Tensor // [E,1,H,N,N]: -m_h (i-j)
	omega     torchpe.Tensor // [E,L,H,1,1]
	u, v      torchpe.Tensor // [E,L,H,Dh]; the zero Tensor where there is no such gate
}

func (h grapeHooks) Logits(a Attn, logits torchpe.Tensor) torchpe.Tensor {
	scale := 1 / math.Sqrt(float64(a.Q.Size(-1)))
	gate := func(x, vectors torchpe.Tensor) torchpe.Tensor { // [E,B,H,N,1]
		shape := vectors.Shape()
		vector := vectors.Select(1, a.Layer).Reshape(shape[0], 1, shape[2], 1, shape[3])
		return x.Mul(vector).SumKeep(-1).MulScalar(scale).Softplus()
	}
	var g torchpe.Tensor
	if h.u.Defined() {
		g = gate(a.K, h.u).Transpose(3, 4)
	}
	if h.v.Defined() {
		if v := gate(a.Q, h.v); g.Defined() {
			g = g.Add(v)
		} else {
			g = v
		}
	}
	return logits.Add(layerOf(h.omega, a.Layer).Mul(g).Mul(h.distances))
}

// grapePath sums along paths.
type grapePath struct {
	Identity
	w        torchpe.Tensor // [E,L,D,D]
	slopes   torchpe.Tensor // [E,1,H,1,1]
	rotation rotation       // by the place, in radians
	passed   torchpe.Tensor // [N,N] 1 where the key is not after the query
	order    order
}

func newGrapePath(s *torchpe.Scope, w *torchpe.Param, slopes torchpe.Tensor, p Positions) Hooks {
	h := grapePath{w: w.In(s), slopes: slopes, order: orderOf(s, slopes.Device(), p.Index)}
	h.passed = pairTensor(s, slopes, p.Index, func(i, j int) float64 { return oneIf(j <= i) })
	n, pairs := p.Tokens(), w.Shape[3]/slopes.Size(2)/2
	angles := places(s, slopes, p.Index).Reshape(1, 1, 1, n, 1).Expand(1, 1, 1, n, pairs)
	h.rotation = rotation{angles.Cos(), angles.Sin().Neg()}
	return h
}

func (h grapePath) Logits(a Attn, logits torchpe.Tensor) torchpe.Tensor {
	shape := logits.Shape()
	e, b, heads, n := shape[0], shape[1], shape[2], shape[3]
	p := torchpe.Linear(a.X, h.w.Select(1, a.Layer), torchpe.Tensor{})
	width := p.Size(3) / heads
	p = p.Reshape(e, b, n, heads, width).Permute(0, 1, 3, 2, 4)
	eps := 1.1920929e-7 // of the dtype, as torch.nn.functional.rms_norm adds
	if p.DType() == torchpe.Float64 {
		eps = 2.220446049250313e-16
	}
	normed := p.Div(p.Square().Mean(-1).Unsqueeze(-1).AddScalar(eps).Sqrt())
	turned := h.rotation.apply(normed, width, true)
	steps := logSigmoid(torchpe.AttentionLogits(p, turned, 1/float64(width))).Mul(h.passed)
	// The steps l = j+1..i are all of i's less those up to j.
	sums := h.order.back(h.order.sorted(steps, 4).Cumsum(4), 4)
	bias := steps.SumKeep(4).Sub(sums).Mul(h.passed)
	return logits.Add(h.slopes.Mul(bias))
}
