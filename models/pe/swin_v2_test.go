package pe_test

import (
	"fmt"
	"math"
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

func TestSwinV2(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "swin-v2", Shift: petest.Unmoved, Apart: [2][]int{{0, 1, 4, 5}, {2, 3, 6, 7}},
		Variants: []petest.Variant{petest.Code("swin-v2-width", "3"), petest.Code("swin-v2-pretrained", "5x3")},
		Constant: []string{"pe.tau"},
		Refuse: []petest.Refusal{
			petest.Refuse("a line", petest.Spec{Positions: pe.Line(8)}, "swin-v2", "tokens on a grid", "a line of 8"),
			petest.Refuse("no grid", petest.Spec{Given: pe.Options{"swin-v2-pretrained": "3x"}},
				"--swin-v2-pretrained"),
		},
	})
}

func init() { vectors["swin_v2_cpb"] = swinV2Vector }

func swinV2Vector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	x, heads := c.Input(t, "x"), c.Int("heads", 1)
	n, d, grid := x.Shape[0], x.Shape[1], pe.Grid(c.Int("Wh", 0), c.Int("Ww", 0))
	sp := petest.Spec{
		Scheme: "swin-v2", Layers: 1, Heads: heads, DModel: d, Positions: grid,
		Given: pe.Options{"swin-v2-width": fmt.Sprint(c.Int("mlp_width", 0))},
		Set: map[string][]float64{
			"pe.tau": c.Param(t, "logit_scale").Values, "pe.out.weight": c.Param(t, "cpb_mlp.2.weight").Values,
			"pe.in.weight": c.Param(t, "cpb_mlp.0.weight").Values, "pe.in.bias": c.Param(t, "cpb_mlp.0.bias").Values,
		},
	}
	if size := c.Floats("pretrained_window_size"); len(size) == 2 && size[0] > 0 {
		sp.Given["swin-v2-pretrained"] = fmt.Sprintf("%gx%g", size[0], size[1])
	}
	noBias := petest.Array{Shape: []int{d}, Values: make([]float64, d)} // of keys
	w := petest.Projections{
		QKV:  c.Param(t, "qkv.weight"),
		QKVB: petest.StackRows(c.Param(t, "q_bias"), noBias, c.Param(t, "v_bias")),
		Out:  c.Param(t, "proj.weight"), OutB: c.Param(t, "proj.bias"),
	}
	m := sp.Model(t)
	got := w.Attend(m, x, grid, false)
	w.AttendInModel(t, sp, x, got)
	table, err := m.Params.Values("pe.coordinates")
	if err != nil {
		t.Fatal(err)
	}
	return petest.Outputs{
		"coords_table": {Shape: c.Output(t, "coords_table").Shape, Values: table},
		"index":        {Shape: []int{n, n}, Values: rowsOfTable(t, sp, table)},
		"bias":         petest.AddedToLogits(m, 0, grid), "logits": got.Logits, "output": got.Output,
	}
}

// rowsOfTable returns the row of the table of offsets that each pair of tokens takes: with the
// network sigmoid(y + x/100) the bias tells the offset {y, x}.
func rowsOfTable(t testing.TB, sp petest.Spec, table []float64) (rows []float64) {
	const above = 10 // keeps what the ReLU sees positive
	width := len(sp.Set["pe.in.bias"])
	in, bias, out := make([]float64, 2*width), make([]float64, width), make([]float64, sp.Heads*width)
	in[0], in[3], bias[0], bias[1], out[0], out[1] = 1, 1, above, above, 1, 0.01
	sp.Set = map[string][]float64{"pe.in.weight": in, "pe.in.bias": bias, "pe.out.weight": out}
	for _, b := range petest.AddedToLogits(sp.Model(t), 0, sp.Positions).Row(0) {
		at := math.Log(b/16/(1-b/16)) - 1.01*above
		nearest := 0
		for row := range len(table) / 2 {
			off := func(row int) float64 { return math.Abs(table[2*row] + table[2*row+1]/100 - at) }
			if off(row) < off(nearest) {
				nearest = row
			}
		}
		rows = append(rows, float64(nearest))
	}
	return rows
}
