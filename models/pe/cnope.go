// c-nope: no positional encoding, but a causal mask, from which positions can be inferred
// (Kazemnejad et al. 2023).
//
//	logits_ij = q_i k_j / (T sqrt(Dh)) for j <= i
//
// The published code keeps a temperature T = 0.01 from another experiment, and projections without
// biases.

package pe

import (
	"math"

	"torchpe/torchpe"
)

var cNopeTemperature = Option{Name: "c-nope-temperature", Text: "1", Code: "0.01",
	Check: number(1e-6, math.Inf(1)),
	Help:  "divides the attention logits of c-nope"}

func init() {
	Register(Scheme{
		Name:         "c-nope",
		Extrapolates: Always,
		Options:      []Option{cNopeTemperature, attentionBias, attentionInit},
		New:          newCausalNone,
	})
}

type causalNone struct {
	None
	attention Attention
}

func newCausalNone(c Config, _ *torchpe.ParamSet) (Encoding, error) {
	return causalNone{attention: Attention{
		Causal: true, Temperature: c.Options.Float(cNopeTemperature.Name), OutputProjection: true,
		Bias:       c.Options.Bool(attentionBias.Name),
		LinearInit: c.Options.Text(attentionInit.Name) == "linear",
	}}, nil
}

func (n causalNone) Attention() Attention { return n.attention }
