package pe_test

import (
	"fmt"
	"math"
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
	"torchpe/torchpe"
)

func TestCoPE(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "cope", Shift: petest.Unmoved,
		Variants: []petest.Variant{
			petest.Code("cope-direction", "bidirectional"), petest.Code("cope-positions", "3"),
			petest.Code("cope-scaled", "false"),
			petest.Code("cope-shared", "true"),
		},
		Refuse: []petest.Refusal{
			petest.Refuse("one position", petest.Spec{Given: pe.Options{"cope-positions": "1"}},
				"--cope-positions", `"1"`),
		},
	})
}

func init() { vectors["cope"] = only(copeVector) }

// copeVector: the other code's batch axis is our heads.
func copeVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	q, k, v := tokensFirst(c.Input(t, "q")), tokensFirst(c.Input(t, "k")), tokensFirst(c.Input(t, "v"))
	n, heads, dh := q.Shape[0], q.Shape[1], q.Shape[2]
	sp := petest.Spec{
		Scheme: "cope", Layers: 1, Heads: heads, DModel: heads * dh, Positions: pe.Line(n),
		Given: pe.Options{"cope-positions": fmt.Sprint(c.Int("npos", 0)), "cope-scaled": fmt.Sprint(!c.Bool("nodiv"))},
		Set:   map[string][]float64{"pe.table": transposed(c.Param(t, "pos_emb")).Values},
	}
	if c.Value("causal") == false {
		sp.Given["cope-direction"] = "bidirectional"
	}
	got := petest.HeadInputs{Q: q, K: k, V: v}.Attend(sp.Model(t), sp.Positions, false)
	out := petest.Outputs{"logits": got.Logits, "output": tokensFirst(got.Output.Reshaped(n, heads, dh))}
	if c.Has("positions") {
		out["positions"] = countsOf(t, sp, q, k)
	}
	return out
}

// countsOf returns p of queries and keys [N,H,Dh]: what is added to their logits where every query
// is (1, 0, ...) and each vector of the table its own number times that.
func countsOf(t testing.TB, sp petest.Spec, q, k petest.Array) (counts petest.Array) {
	n, heads, dh := q.Shape[0], q.Shape[1], q.Shape[2]
	positions, numbers := len(sp.Set["pe.table"])/dh, []float64(nil)
	for i := range positions {
		numbers = append(append(numbers, float64(i)), make([]float64, dh-1)...)
	}
	sp.Set = map[string][]float64{"pe.table": numbers}
	sp.Given["cope-scaled"] = "false"
	m := sp.Model(t)
	petest.Closed(func(s *torchpe.Scope) {
		in := func(x petest.Array) torchpe.Tensor {
			return x.Reshaped(1, 1, n, heads, dh).Tensor(s).Permute(0, 1, 3, 2, 4)
		}
		logits := torchpe.AttentionLogits(in(q), in(k), 1/math.Sqrt(float64(dh)))
		unit := petest.Array{Shape: q.Shape}
		for range n * heads {
			unit.Values = append(append(unit.Values, 1), make([]float64, dh-1)...)
		}
		after := petest.Begin(s, m, sp.Positions).Logits(pe.Attn{Q: in(unit), K: in(k), V: in(k), Scale: 1}, logits)
		counts = petest.ArrayOf(after.Sub(logits)).Reshaped(heads, n, n)
	})
	return counts
}
