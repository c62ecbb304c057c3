// da: distance-aware attention. A trained sigmoid of the distance between two tokens multiplies the
// positive part of their logit (Wu et al. 2021, "DA-Transformer: Distance-aware Transformer",
// equations 2 to 5).
//
//	logits_ij = ReLU(q_i k_j) r_h(|i-j|) / sqrt(Dh)
//	r_h(d) = (1 + exp(v_h)) / (1 + exp(v_h - w_h d))
//
// with v and w for each head and layer, which start in U(0, 1) as in the tutorial's code.

package pe

import (
	"math"

	"torchpe/torchpe"
)

func init() {
	Register(Scheme{
		Name:         "da",
		Extrapolates: Always,
		New:          newDA,
	})
}

type distanceAware struct {
	atLogits
	v, w *torchpe.Param // [E,L,H]
}

func newDA(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	return &distanceAware{
		v: ps.Add("pe.v", true, uniformBelow(1), c.Layers, c.Heads),
		w: ps.Add("pe.w", true, uniformBelow(1), c.Layers, c.Heads),
	}, nil
}

// Begin writes r as sigmoid(w d - v) / sigmoid(-v), which does not overflow.
func (d *distanceAware) Begin(s *torchpe.Scope, p Positions) Hooks {
	// [E,L,H,1,1]
	wide := func(p *torchpe.Param) torchpe.Tensor { return p.In(s).Unsqueeze(3).Unsqueeze(4) }
	v, w := wide(d.v), wide(d.w)
	distances := pairTensor(s, v, p.Index, func(i, j int) float64 {
		return math.Abs(float64(i - j))
	})
	return daHooks{factors: w.Mul(distances).Sub(v).Sigmoid().Div(v.Neg().Sigmoid())}
}

type daHooks struct {
	Identity
	factors torchpe.Tensor // [E,L,H,N,N]
}

func (h daHooks) Logits(a Attn, logits torchpe.Tensor) torchpe.Tensor {
	return logits.ReLU().Mul(layerOf(h.factors, a.Layer))
}
