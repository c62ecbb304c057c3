package pe_test

import (
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
	"torchpe/torchpe"
)

func TestDA(t *testing.T) {
	petest.Run(t, petest.Case{Scheme: "da", Shift: petest.Unmoved})
}

func init() { vectors["da_transformer"] = only(daVector) }

// daVector: the factor is what becomes of logits that are one.
func daVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	x, w := c.Input(t, "x"), plainWeights(t, c)
	n, heads := x.Shape[0], c.Int("heads", 1)
	sp := petest.Spec{
		Scheme: "da", Layers: 1, DModel: x.Shape[1], Heads: heads, Positions: pe.Line(n),
		Set: map[string][]float64{"pe.v": c.Param(t, "v").Values, "pe.w": c.Param(t, "w").Values},
	}
	m := sp.Model(t)
	got := w.Attend(m, x, sp.Positions, c.Bool("auto_regression"))
	out := petest.Outputs{"logits": got.Logits, "weights": got.Weights, "output": got.Output}
	if !c.Bool("auto_regression") {
		w.AttendInModel(t, sp, x, got)
	}
	if c.Has("R_hat") {
		petest.Closed(func(s *torchpe.Scope) {
			ones := torchpe.Full(s, 1, torchpe.Float64, torchpe.CPU, 1, 1, heads, n, n)
			out["R_hat"] = petest.ArrayOf(petest.Begin(s, m, sp.Positions).Logits(pe.Attn{}, ones)).
				Reshaped(heads, n, n)
		})
	}
	return out
}
