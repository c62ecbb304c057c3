package pe_test

import (
	"fmt"
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

func TestAbacus(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme:   "abacus",
		Variants: []petest.Variant{petest.Code("pe-placement", "input"), petest.Code("abacus-rows", "12")},
		Refuse: []petest.Refusal{
			petest.Refuse("too few rows", petest.Spec{Given: pe.Options{"abacus-rows": "4"}},
				"abacus", "place 4", "--abacus-rows 4"),
			petest.Refuse("points in space", petest.Spec{Positions: pe.Box(2, 2, 2)}, "abacus", "3 coordinates"),
			petest.Refuse("half a place",
				petest.Spec{Positions: pe.Positions{Index: []int{0}, Points: [][]float64{{0.5}}}},
				"token 0", "0.5"),
		},
	})
}

func init() { vectors["abacus"] = abacusVector }

func abacusVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	ids, table, digits := c.Input(t, "token_ids"), c.Param(t, "table"), c.Floats("digit_ids")
	b, n, d := ids.Shape[0], ids.Shape[1], table.Shape[1]
	places, added := petest.Array{Shape: []int{b, n}}, petest.Array{Shape: []int{b, n, d}}
	for sample := range b {
		p := digitRuns(ids.Row(sample), digits[0], digits[1])
		m := petest.Spec{
			Scheme: "abacus", Layers: 1, DModel: d, Positions: p,
			Given: pe.Options{"abacus-rows": fmt.Sprint(c.Int("n_max", table.Shape[0]))},
			Set:   map[string][]float64{"pe.table": table.Values},
		}.Model(t)
		for _, point := range p.Points {
			places.Values = append(places.Values, point[0])
		}
		added.Values = append(added.Values, petest.Added(m, 0, p).Values...)
	}
	out := petest.Outputs{"pe": added}
	if c.Has("positions") {
		out["positions"] = places
	}
	return out
}

// digitRuns returns the positions of tokens one after the other, with one coordinate: the place of
// each digit, an id from low to high, in its run of digits from 1 on, and 0 for other ids.
func digitRuns(ids []float64, low, high float64) pe.Positions {
	p, k := pe.Line(len(ids)), 0
	for _, id := range ids {
		k++
		if id < low || id > high {
			k = 0
		}
		p.Points = append(p.Points, []float64{float64(k)})
	}
	return p
}
