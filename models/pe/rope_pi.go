// rope-pi: position interpolation (Chen et al. 2023): the rotation of rope at positions that are
// squeezed into the trained range.
//
//	angles p theta_k / s
//
// s is --rope-scale; with --rope-trained-tokens L it is N/L, and 1 where N is less. Hugging Face
// calls it "linear", and with --rope-proportion "proportional" with a factor.

package pe

import "torchpe/torchpe"

func init() {
	Register(Scheme{
		Name:         "rope-pi",
		MinHeadWidth: 2, Extrapolates: Always,
		Options: []Option{positionsFrom, ropeBase, ropeLayout, ropeScale, ropeTrained,
			later(ropeProportion), attentionBias, attentionInit},
		New: newRoPEInterpolated,
	})
}

func newRoPEInterpolated(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	s := c.Options.Float(ropeScale.Name)
	if trained := c.Options.Int(ropeTrained.Name); trained > 0 {
		s = max(1, float64(c.Positions.Tokens())/float64(trained))
	}
	plain := plainTurn(c.Options.Float(ropeBase.Name), c.HeadWidth())
	turn, err := c.proportion(func(p float64, pair int) (angle, q, k float64) {
		return plain(p/s, pair)
	}, c.HeadWidth())
	if err != nil {
		return nil, err
	}
	return newRotary(c, ps, c.HeadWidth(), turn)
}
