// xpos: extrapolatable position embedding (Sun et al. 2022, "A Length-Extrapolatable Transformer",
// section 3): rotation with a decay over distance.
//
//	q_i = zeta^((i-c)/S) R_i q,  k_j = zeta^(-(j-c)/S) R_j k
//	zeta_m = (2m + gamma Dh) / ((1+gamma) Dh),  gamma = 0.4, S = 512
//
// so that logits go with zeta^((i-j)/S). It grows for j > i: the paper's decoder is causal, and
// --xpos-causal false is at one's own risk. The centre c = ceil(N/2) keeps numbers small and
// changes no logit.

package pe

import (
	"math"

	"torchpe/torchpe"
)

var (
	xposScale = Option{Name: "xpos-scale-base", Default: "512", Check: number(1, math.Inf(1)),
		Help: "tokens over which xpos decays by zeta (S)"}
	xposGamma = Option{Name: "xpos-gamma", Default: "0.4", Check: number(0.01, 1e6),
		Help: "gamma of xpos: the larger, the less the fastest rotation decays"}
	xposCausal = Option{Name: "xpos-causal", Default: "true", Check: yesNo,
		Help: "xpos under a causal mask"}
)

func init() {
	Register(Scheme{
		Name:         "xpos",
		MinHeadWidth: 2, Extrapolates: Always,
		Options: []Option{positionsFrom, ropeBase, ropeLayout, xposScale, xposGamma, xposCausal,
			attentionBias, attentionInit},
		New: newXPos,
	})
}

func newXPos(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	o, dh := c.Options, float64(c.HeadWidth())
	gamma, span := o.Float(xposGamma.Name), o.Float(xposScale.Name)
	centre := o.Float(positionsFrom.Name) + math.Ceil(float64(c.Positions.Tokens())/2)
	plain := plainTurn(o.Float(ropeBase.Name), c.HeadWidth())
	r, err := newRotary(c, ps, c.HeadWidth(), func(p float64, pair int) (angle, q, k float64) {
		angle, _, _ = plain(p, pair)
		decay := math.Pow((2*float64(pair)+gamma*dh)/((1+gamma)*dh), (p-centre)/span)
		return angle, decay, 1 / decay
	})
	if err != nil {
		return nil, err
	}
	r.attention.Causal = o.Bool(xposCausal.Name)
	return r, nil
}
