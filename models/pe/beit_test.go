package pe_test

import (
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

func TestBEiT(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "beit", Shift: petest.Unmoved, Apart: [2][]int{{0, 1, 4, 5}, {2, 3, 6, 7}},
		Variants: []petest.Variant{petest.Code("beit-shared", "false"),
			petest.Code("beit-class-token", "first").Moving()},
		Refuse: []petest.Refusal{
			petest.Refuse("a line", petest.Spec{Positions: pe.Line(8)}, "beit", "tokens on a grid", "a line of 8"),
			petest.Refuse("a class token alone", petest.Spec{
				Positions: pe.Grid(1, 1), Given: pe.Options{"beit-class-token": "first"},
			}, "beit", "--beit-class-token", "no patch"),
		},
	})
}

func init() { vectors["beit_bias_2d"] = only(beitVector) }

// beitVector: the class token comes first; its cell does not matter.
func beitVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	table, heads := c.Param(t, "table"), c.Int("heads", 1)
	grid := pe.Grid(c.Int("H", 0), c.Int("W", 0))
	p := pe.Line(1 + grid.Tokens())
	p.Cells = append([][2]int{{0, 0}}, grid.Cells...)
	bias := func(values []float64) petest.Array {
		sp := petest.Spec{
			Scheme: "beit", Given: pe.Options{"beit-class-token": "first"}, Layers: 1, Heads: heads,
			DModel: 2 * heads, Positions: p,
			Set: map[string][]float64{"pe.table": values},
		}
		return petest.AddedToLogits(sp.Model(t), 0, p)
	}
	out := petest.Outputs{"bias": bias(table.Values)}
	if c.Has("index") {
		out["index"] = petest.Array{Shape: []int{p.Tokens(), p.Tokens()},
			Values: bias(count(table.Shape[0], heads)).Row(0)}
	}
	return out
}
