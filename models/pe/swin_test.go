package pe_test

import (
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

func TestSwin(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "swin", Shift: petest.Unmoved, Apart: [2][]int{{0, 1, 4, 5}, {2, 3, 6, 7}},
		Refuse: []petest.Refusal{
			petest.Refuse("a line", petest.Spec{Positions: pe.Line(8)}, "swin", "tokens on a grid", "a line of 8"),
		},
	})
}

func init() { vectors["swin_bias_2d"] = only(swinVector) }

// swinWeights reads the projections of a case from Swin's code.
func swinWeights(t testing.TB, c *petest.VectorCase) petest.Projections {
	t.Helper()
	return petest.Projections{
		QKV: c.Param(t, "qkv.weight"), QKVB: c.Param(t, "qkv.bias"), Out: c.Param(t, "proj.weight"),
		OutB: c.Param(t, "proj.bias"),
	}
}

// count returns 0..n-1 for one head and zeros for the others, as rows [n,H] of a table that shows
// which row was taken.
func count(n, heads int) []float64 {
	values := make([]float64, n*heads)
	for i := range n {
		values[i*heads] = float64(i)
	}
	return values
}

// swinVector reads the index off a table that holds its own row numbers.
func swinVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	table, heads := c.Param(t, "relative_position_bias_table"), c.Int("heads", 1)
	sp := petest.Spec{
		Scheme: "swin", Layers: 1, Heads: heads, DModel: c.Int("d_model", 2*heads),
		Positions: pe.Grid(c.Int("Wh", 0), c.Int("Ww", 0)),
		Set:       map[string][]float64{"pe.table": table.Values},
	}
	n := sp.Positions.Tokens()
	m, out := sp.Model(t), petest.Outputs{}
	out["bias"] = petest.AddedToLogits(m, 0, sp.Positions)
	if c.Has("x") {
		x, w := c.Input(t, "x"), swinWeights(t, c)
		got := w.Attend(m, x, sp.Positions, false)
		w.AttendInModel(t, sp, x, got)
		out["logits"], out["output"] = got.Logits, got.Output
	}
	if c.Has("index") {
		sp.Set = map[string][]float64{"pe.table": count(table.Shape[0], heads)}
		index := petest.AddedToLogits(sp.Model(t), 0, sp.Positions)
		out["index"] = petest.Array{Shape: []int{n, n}, Values: index.Row(0)}
	}
	return out
}
