// rope-pi: position interpolation (Chen et al. 2023): the rotation of rope at positions that are squeezed into the trained range.
//
//	angles p theta_k / s
//
// s is --rope-scale; with --rope-trained-tokens L it is N/L, and 1 where N is less.

package pe

import "torchpe/torchpe"

var (
	ropeScale = Option{Name: "rope-scale", Default: "2", Check: number(1, 1e6),
		Help: "how many times longer than trained the sequence is; the base's factor alpha in rope-ntk"}
	ropeTrained = Option{Name: "rope-trained-tokens", Default: "0", Check: whole(0, 1<<30),
		Help: "tokens that the rotation was trained on; with 0 a fixed --rope-scale (rope-pi, rope-ntk), or all tokens there are (rope-yarn, rope-longrope)"}
)

func init() {
	Register(Scheme{
		Name:    "rope-pi",
		Summary: "rope with positions interpolated into the trained range",
		Title:   "Extending Context Window of Large Language Models via Positional Interpolation", Year: 2023,
		Reference: "Chen et al. 2023, arXiv 2306.15595",
		Formula:   "as rope, with angles p theta_k / s,  s = N / N_trained", Parameters: "none",
		Criteria:     Criteria{Inductive: true, ParameterEfficient: true, TranslationInvariant: true, Parallelizable: true},
		MinHeadWidth: 2, Extrapolates: Always,
		Options: []Option{positionsFrom, ropeBase, ropeLayout, ropeScale, ropeTrained, attentionBias, attentionInit},
		New:     newRoPEInterpolated,
	})
}

func newRoPEInterpolated(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	s := c.Options.Float(ropeScale.Name)
	if trained := c.Options.Int(ropeTrained.Name); trained > 0 {
		s = max(1, float64(c.Positions.Tokens())/float64(trained))
	}
	plain := plainTurn(c.Options.Float(ropeBase.Name), c.HeadWidth())
	return newRotary(c, ps, rotary{name: "rope-pi", turn: func(p float64, pair int) (angle, q, k float64) {
		return plain(p/s, pair)
	}})
}
