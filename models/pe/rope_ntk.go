// rope-ntk: NTK-aware interpolation (bloc97 2023; Peng et al. 2023, section 3.1): a larger base
// stretches slow rotations and leaves fast ones as they are.
//
//	theta_k = base'^(-2k/Dh),  base' = base alpha^(Dh/(Dh-2))
//
// alpha is --rope-scale f. With --rope-trained-tokens L it follows the length ("dynamic"): alpha =
// f N/L - (f-1) where N > L, else 1. That is Hugging Face's "dynamic", whose L is
// max_position_embeddings; its partial_rotary_factor is --rope-dims r, which takes the place of Dh.

package pe

import (
	"fmt"

	"torchpe/torchpe"
)

func init() {
	Register(Scheme{
		Name:         "rope-ntk",
		MinHeadWidth: 4, Extrapolates: Always,
		Options: []Option{positionsFrom, ropeBase, ropeLayout, ropeScale, ropeTrained,
			later(ropeDims), attentionBias, attentionInit},
		New: newRoPENTK,
	})
}

func newRoPENTK(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	dims, err := c.turnedDims()
	if err != nil {
		return nil, err
	}
	if dims < 4 {
		return nil, fmt.Errorf("rope-ntk: --rope-dims %d has one pair, which no base slows: take at "+
			"least 4", dims)
	}
	base, alpha := c.Options.Float(ropeBase.Name), c.Options.Float(ropeScale.Name)
	if trained, n := c.Options.Int(ropeTrained.Name), c.Positions.Tokens(); trained > 0 {
		f := alpha
		if alpha = 1; n > trained {
			alpha = f*float64(n)/float64(trained) - (f - 1)
		}
	}
	return newRotary(c, ps, dims, plainTurn(ntkBase(base, alpha, dims), dims))
}
