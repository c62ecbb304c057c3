// hope: high-frequency rotary encoding (Chen et al. 2024, "HoPE: A Novel Positional Encoding Without
// Long-Term Decay for Enhanced Context Awareness and Extrapolation"): rope on the pairs that turn at
// least once over the trained tokens; the slower ones know no position.
//
//	(q_2k, q_2k+1) turned by p theta_k where theta_k > 2 pi/L, else as they are;  k likewise
//
// L are the trained tokens. At least the fastest pair is turned. p-RoPE (--rope-proportion of rope)
// keeps a share of the pairs instead. Other papers of the name (video, hyperbolic) are other schemes.

package pe

import (
	"math"

	"torchpe/torchpe"
)

func init() {
	Register(Scheme{
		Name:         "hope",
		MinHeadWidth: 2, Extrapolates: Always,
		Options: []Option{positionsFrom, ropeBase, ropeLayout, ropeTrained, attentionBias,
			attentionInit},
		New: newHoPE,
	})
}

func newHoPE(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	base, width, kept := c.Options.Float(ropeBase.Name), c.HeadWidth(), 1
	slowest := 2 * math.Pi / trainedTokens(c)
	for kept < width/2 && math.Pow(base, -2*float64(kept)/float64(width)) > slowest {
		kept++
	}
	return newRotary(c, ps, width, plainTurn(base, width).first(kept))
}
