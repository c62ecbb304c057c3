// rope-ntk: NTK-aware interpolation (bloc97 2023; Peng et al. 2023, section 3.1): a larger base stretches slow rotations and leaves
// fast ones as they are.
//
//	theta_k = base'^(-2k/Dh),  base' = base alpha^(Dh/(Dh-2))
//
// alpha is --rope-scale f. With --rope-trained-tokens L it follows the length ("dynamic"): alpha = f N/L - (f-1) where N > L, else 1.

package pe

import (
	"math"

	"torchpe/torchpe"
)

func init() {
	Register(Scheme{
		Name:    "rope-ntk",
		Summary: "rope with a base that grows with the length",
		Title:   "NTK-Aware Scaled RoPE; YaRN: Efficient Context Window Extension of Large Language Models", Year: 2023,
		Reference: "bloc97 2023; Peng et al. 2023, arXiv 2309.00071",
		Formula: "as rope, with base' = base alpha^(Dh/(Dh-2));\n" +
			"dynamic: alpha = f N/N_trained - (f-1) where N > N_trained, else 1", Parameters: "none",
		Criteria:     Criteria{Inductive: true, ParameterEfficient: true, TranslationInvariant: true, Parallelizable: true},
		MinHeadWidth: 4, Extrapolates: Always,
		Options: []Option{positionsFrom, ropeBase, ropeLayout, ropeScale, ropeTrained, attentionBias, attentionInit},
		New:     newRoPENTK,
	})
}

// ntkBase is the base that alpha makes of another over width dimensions.
func ntkBase(base, alpha float64, width int) float64 {
	return base * math.Pow(alpha, float64(width)/float64(width-2))
}

func newRoPENTK(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	base, alpha, dh := c.Options.Float(ropeBase.Name), c.Options.Float(ropeScale.Name), c.HeadWidth()
	if trained, n := c.Options.Int(ropeTrained.Name), c.Positions.Tokens(); trained > 0 {
		f := alpha
		if alpha = 1; n > trained {
			alpha = f*float64(n)/float64(trained) - (f - 1)
		}
	}
	return newRotary(c, ps, rotary{name: "rope-ntk", turn: plainTurn(ntkBase(base, alpha, dh), dh)})
}
