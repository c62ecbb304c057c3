// rope-llama3: the scaling of Llama 3.1 (Grattafiori et al. 2024, "The Llama 3 Herd of Models";
// Meta's reference code, and Hugging Face's "llama3"): fast rotations stay, slow ones are divided by
// s, those between in part, by their wavelength w_k = 2 pi/theta_k.
//
//	theta'_k = theta_k/s        where w_k > L/low
//	theta'_k = theta_k          where w_k < L/high
//	theta'_k = (1-g) theta_k/s + g theta_k,  g = (L/w_k - low)/(high - low), else
//
// L are the trained tokens, s is --rope-scale; q and k keep their lengths. Llama 3.1 has base
// 500000, s = 8 (3.2: 32), L = 8192, low = 1 and high = 4. Meta's code turns neighbours, Hugging
// Face's halves: --rope-layout.

package pe

import (
	"fmt"
	"math"

	"torchpe/torchpe"
)

var (
	llama3Low = Option{Name: "llama3-low", Default: "1", Check: positive,
		Help: "turns over the trained tokens below which rope-llama3 divides a rotation by the scale"}
	llama3High = Option{Name: "llama3-high", Default: "4", Check: positive,
		Help: "turns over the trained tokens from which rope-llama3 leaves a rotation as it is"}
)

func init() {
	Register(Scheme{
		Name:         "rope-llama3",
		MinHeadWidth: 2, Extrapolates: Always,
		Options: []Option{
			positionsFrom, ropeBase, ropeLayout, ropeScale, ropeTrained, ropeDims, llama3Low,
			llama3High, attentionBias, attentionInit,
		},
		New: newRoPELlama3,
	})
}

func newRoPELlama3(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	o, trained := c.Options, trainedTokens(c)
	dims, err := c.turnedDims()
	if err != nil {
		return nil, err
	}
	base, s := o.Float(ropeBase.Name), o.Float(ropeScale.Name)
	low, high := o.Float(llama3Low.Name), o.Float(llama3High.Name)
	if low >= high {
		return nil, fmt.Errorf("rope-llama3: --llama3-low %g is not below --llama3-high %g", low, high)
	}
	frequency := make([]float64, dims/2)
	for k := range frequency {
		theta := math.Pow(base, -2*float64(k)/float64(dims))
		turns := trained * theta / (2 * math.Pi) // L/w_k
		g := min(max((turns-low)/(high-low), 0), 1)
		frequency[k] = (1-g)*theta/s + g*theta
	}
	return newRotary(c, ps, dims, func(p float64, pair int) (angle, q, k float64) {
		return p * frequency[pair], 1, 1
	})
}
