package pe_test

import (
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

func TestLearn2D(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "learn-2d",
		Variants: []petest.Variant{
			petest.Code("pe-placement", "input"), petest.Code("grid-table", "concat"),
			petest.Code("grid-table", "full"),
		},
		Refuse: []petest.Refusal{
			petest.Refuse("halves of an odd width",
				petest.Spec{DModel: 7, Given: pe.Options{"grid-table": "concat"}}, "learn-2d",
				"d_model 7", "odd"),
			petest.Refuse("tokens on no grid", petest.Spec{Positions: pe.Line(8)}, "learn-2d", "grid"),
		},
	})
}

func init() { vectors["learned_2d"] = learned2DVector }

// learned2DVector: ViT's table counts tokens in a row, its class token first: that is a grid of one
// row.
func learned2DVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	rows, columns := c.Int("H", 1), c.Int("W", c.Int("tokens", 0))
	sp := petest.Spec{
		Scheme: "learn-2d", Layers: 1, DModel: c.Int("d", 0), Given: pe.Options{"grid-table": "sum"},
		Positions: pe.Grid(c.Int("H_max", rows), c.Int("W_max", columns)), Set: map[string][]float64{},
	}
	set := func(name, theirs string) { sp.Set[name] = c.Param(t, theirs).Values }
	switch {
	case c.Has("P_h"):
		set("pe.row", "P_h")
		set("pe.column", "P_w")
	case c.Has("row"): // DETR's tables may have more rows than the grid
		sp.Given["grid-table"] = "concat"
		sp.Positions = pe.Grid(c.Param(t, "row").Shape[0], c.Param(t, "col").Shape[0])
		set("pe.row", "row")
		set("pe.column", "col")
	default:
		sp.Given["grid-table"], sp.Positions = "full", pe.Grid(1, c.Int("table_rows", columns))
		sp.Set["pe.table"] = c.Param(t, "table").Values
	}
	m, p := sp.Model(t), pe.Grid(rows, columns)
	if !c.Has("y") {
		return petest.Outputs{"table": petest.Added(m, 0, p)}
	}
	x := c.Input(t, "x")
	return petest.Outputs{"y": petest.Embedded(m, 0,
		x.Reshaped(1, len(x.Values)/rows/columns/sp.DModel, rows*columns, sp.DModel), p).
		Reshaped(x.Shape...)}
}
