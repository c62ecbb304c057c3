package pe_test

import (
	"math"
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

func TestLearn(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme:   "learn",
		Variants: []petest.Variant{petest.Code("pe-placement", "input"), petest.Text("pe-placement", "block")},
	})
}

func init() { vectors["learned_absolute"] = learnVector }

// learnVector: a table with more rows than tokens is one built for more positions.
func learnVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	table, x := c.Param(t, "table"), c.Input(t, "x")
	m := petest.Spec{
		Scheme: "learn", Layers: 1, DModel: table.Shape[1], Positions: pe.Line(table.Shape[0]),
		Set: map[string][]float64{"pe.table": table.Values},
	}.Model(t)
	if have := m.Params.Get("pe.table").PerMember(); have != c.Int("n_params", have) {
		t.Errorf("%d parameters, the reference has %d", have, c.Int("n_params", have))
	}
	out := petest.Embedded(m, 0, x.Reshaped(append([]int{1}, x.Shape...)...), pe.Line(x.Shape[1]))
	return petest.Outputs{"y": out.Reshaped(x.Shape...)}
}

// TestLearnPlacement: in the code's reading each block adds a table of its own, in the text's the
// first block adds the one.
func TestLearnPlacement(t *testing.T) {
	p := pe.Grid(2, 4)
	block := petest.Spec{Scheme: "learn", Layers: 3}.Model(t)
	for layer := range 3 {
		added := petest.Added(block, layer, p)
		if norm(added.Values) == 0 {
			t.Errorf("block %d adds nothing", layer)
		}
		if layer > 0 && norm(difference(added.Values, petest.Added(block, 0, p).Values)) < 1e-3 {
			t.Errorf("block %d adds the table of block 0", layer)
		}
	}
	input := petest.Spec{Scheme: "learn", Fidelity: "text", Layers: 3}.Model(t)
	if got := input.Params.Get("pe.table").PerMember(); got != 8*8 {
		t.Errorf("%d parameters in the text's reading, want one table of 8 x 8", got)
	}
	for layer := range 3 {
		if adds := norm(petest.Added(input, layer, p).Values) > 0; adds != (layer == 0) {
			t.Errorf("block %d adds a table: %v", layer, adds)
		}
	}
}

func norm(x []float64) float64 {
	var squares float64
	for _, v := range x {
		squares += v * v
	}
	return math.Sqrt(squares)
}

func difference(a, b []float64) []float64 {
	d := make([]float64, len(a))
	for i := range a {
		d[i] = a[i] - b[i]
	}
	return d
}
