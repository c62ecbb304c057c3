// rope-yarn: YaRN (Peng et al. 2023, sections 3.2 to 3.4): fast rotations stay, slow ones are
// interpolated, those between in part; and the logits are made steeper.
//
//	theta'_k = (1-g_k) theta_k/s + g_k theta_k,  g_k = 1 - clip((k-low)/(high-low), 0, 1)
//	low = floor(dim(beta_fast)),  high = ceil(dim(beta_slow))
//	dim(r) = Dh ln(L/(2 pi r)) / (2 ln base)
//	q and k times m = 0.1 ln s + 1
//
// L are the trained tokens, s is --rope-scale. --rope-yarn dynamic has s = N/L where N > L, and
// rope else. --rope-yarn by-parts is the authors' earlier "NTK-by-parts" (their code's constants):
// NTK-aware between linear and plain, and m = 1.

package pe

import (
	"math"

	"torchpe/torchpe"
)

var (
	yarnKind = Option{Name: "rope-yarn", Default: "fixed", Check: oneOf("fixed", "dynamic",
		"by-parts"),
		Help: "YaRN with a fixed scale, with that of the length (dynamic), or the earlier " +
			"NTK-by-parts"}
	yarnFast = Option{Name: "yarn-beta-fast", Default: "32", Check: number(1e-6, 1e6),
		Help: "turns over the trained tokens from which a rotation stays as it is"}
	yarnSlow = Option{Name: "yarn-beta-slow", Default: "1", Check: number(1e-6, 1e6),
		Help: "turns over the trained tokens below which a rotation is interpolated"}
)

func init() {
	Register(Scheme{
		Name:         "rope-yarn",
		MinHeadWidth: 4, Extrapolates: Always,
		Options: []Option{
			positionsFrom, ropeBase, ropeLayout, ropeScale, ropeTrained, yarnKind, yarnFast,
			yarnSlow, attentionBias, attentionInit,
		},
		New: newRoPEYaRN,
	})
}

// trainedRotary is the rotation that a model was trained with: the width of a head, the base, and the tokens.
type trainedRotary struct {
	width        int
	base, tokens float64
}

// ramp returns g_k: 1 for pairs that turn more than fast times over the trained tokens, 0 for those
// that turn less than slow times.
func (r trainedRotary) ramp(fast, slow float64) func(k int) float64 {
	dim := func(turns float64) float64 {
		return float64(r.width) * math.Log(r.tokens/(turns*2*math.Pi)) / (2 * math.Log(r.base))
	}
	low, high := max(math.Floor(dim(fast)), 0), min(math.Ceil(dim(slow)), float64(r.width-1))
	if low == high {
		high += 0.001 // as the authors' code
	}
	return func(k int) float64 { return 1 - min(max((float64(k)-low)/(high-low), 0), 1) }
}

func newRoPEYaRN(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	o, dh, trained := c.Options, c.HeadWidth(), trainedTokens(c)
	base, s, kind := o.Float(ropeBase.Name), o.Float(ropeScale.Name), o.Text(yarnKind.Name)
	if kind == "dynamic" {
		s = max(1, float64(c.Positions.Tokens())/trained)
	}
	theta := func(base float64, k int) float64 { return math.Pow(base, -2*float64(k)/float64(dh)) }
	mix := func(g, slow, fast float64) float64 { return (1-g)*slow + g*fast }
	frequency, m := make([]float64, dh/2), 0.1*math.Log(s)+1
	r := trainedRotary{dh, base, trained}
	g := r.ramp(o.Float(yarnFast.Name), o.Float(yarnSlow.Name))
	for k := range frequency {
		frequency[k] = mix(g(k), theta(base, k)/s, theta(base, k))
	}
	if kind == "by-parts" {
		m = 1
		ntk, plain := r.ramp(1.25, 0.75), r.ramp(16, 2)
		for k := range frequency {
			inner := mix(ntk(k), theta(base, k)/s, theta(ntkBase(base, s, dh), k))
			frequency[k] = mix(plain(k), inner, theta(base, k))
		}
	}
	return newRotary(c, ps, dh, func(p float64, pair int) (angle, q, k float64) {
		return p * frequency[pair], m, m
	})
}
