// rope: rotary encoding (Su et al. 2021, RoFormer, section 3.2; appendix A.1 of the paper).
//
//	(q_2k, q_2k+1) turned by p theta_k,  theta_k = base^(-2k/Dh);  k likewise
//
// on queries and keys of every head. The published code's projections have no biases; its positions start at 0.

package pe

import (
	"fmt"
	"math"
	"math/rand/v2"

	"torchpe/torchpe"
)

var ropeBase = Option{Name: "rope-base", Text: "10000", Code: "10000", Check: number(1, math.Inf(1)),
	Help: "base of the rotation frequencies"}

func init() {
	Register(Scheme{
		Name:    "rope",
		Summary: "rotation of queries and keys by the token's place",
		Title:   "RoFormer: Enhanced Transformer with Rotary Position Embedding", Year: 2021,
		Reference: "Su et al. 2021, arXiv 2104.09864",
		Formula:   "(q_2k, q_2k+1) turned by p theta_k,  theta_k = base^(-2k/Dh);  k likewise", Parameters: "none",
		Criteria:     Criteria{Inductive: true, ParameterEfficient: true, TranslationInvariant: true, Parallelizable: true, Printed: true},
		Extrapolates: Always,
		Options:      []Option{positionsFrom, ropeBase, attentionBias, attentionInit},
		New:          newRoPE,
	})
}

type rope struct {
	None
	cos, sin  *torchpe.Param // [E,N,Dh/2]
	attention Attention
}

func newRoPE(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	dh, n := c.HeadWidth(), c.Positions.Tokens()
	if dh%2 != 0 {
		return nil, fmt.Errorf("rope: the head width %d = %d/%d is odd; it turns pairs", dh, c.DModel, c.Heads)
	}
	from, base := c.Options.Float(positionsFrom.Name), c.Options.Float(ropeBase.Name)
	table := func(f func(float64) float64) torchpe.Init {
		return func(_ int, _ *rand.Rand, out []float64) {
			for i := range out {
				p, k := i/(dh/2), i%(dh/2)
				out[i] = f((from + float64(p)) * math.Pow(base, -2*float64(k)/float64(dh)))
			}
		}
	}
	return &rope{
		cos: ps.Add("pe.cos", false, table(math.Cos), n, dh/2),
		sin: ps.Add("pe.sin", false, table(math.Sin), n, dh/2),
		attention: Attention{
			Temperature: 1, OutputProjection: true,
			Bias: c.Options.Bool(attentionBias.Name), LinearInit: c.Options.Text(attentionInit.Name) == "linear",
		},
	}, nil
}

func (r *rope) Sites() Site { return AtQK }

func (r *rope) Attention() Attention { return r.attention }

func (r *rope) Begin(s *torchpe.Scope, p Positions) Hooks {
	at := func(t *torchpe.Param) torchpe.Tensor { // [E,1,1,N,Dh/2]
		return rowsAt(s, t.In(s), 1, p.Index).Unsqueeze(1).Unsqueeze(1)
	}
	return &ropeHooks{cos: at(r.cos), sin: at(r.sin)}
}

type ropeHooks struct {
	Identity
	cos, sin torchpe.Tensor
}

func (h *ropeHooks) QKV(a Attn) (q, k, v torchpe.Tensor) {
	return torchpe.RotatePairs(a.Q, h.cos, h.sin, false), torchpe.RotatePairs(a.K, h.cos, h.sin, false), a.V
}
