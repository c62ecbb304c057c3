package pe_test

import (
	"fmt"
	"math"
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

func TestResampled(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "learn-resampled",
		Variants: []petest.Variant{
			petest.Code("pe-placement", "input"), petest.Code("resample-by", "bicubic"),
			petest.Code("resample-by", "bilinear"),
			petest.Text("resample-from", "1x3"),
			petest.Code("resample-from", "3x5", "resample-by", "bicubic"),
		},
		Refuse: []petest.Refusal{
			petest.Refuse("an image of a line", petest.Spec{Positions: pe.Line(8),
				Given: pe.Options{"resample-by": "bicubic"}}, "bicubic", "grid", "a line of 8"),
			petest.Refuse("no rows", petest.Spec{Given: pe.Options{"resample-from": "0x4"}}, "--resample-from", "0x4"),
			petest.Refuse("a table without end",
				petest.Spec{Given: pe.Options{"resample-from": "4x99999999"}}, "--resample-from"),
		},
	})
}

func init() { vectors["learned_absolute_interpolated"] = resampledVector }

// resampledVector: rows before the grid's (a class token's) stay as they are, outside of the
// scheme.
func resampledVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	table, prefix, p := c.Param(t, "table"), c.Int("prefix", 0), pe.Line(c.Int("n", 0))
	d := table.Shape[1]
	given := pe.Options{"resample-by": "linear", "resample-from": fmt.Sprintf("1x%d", c.Int("L_train", 0))}
	if how := c.Text("interpolation", "linear"); how != "linear" {
		if how != "bicubic" && how != "bilinear" || !c.Bool("antialias") {
			c.Lacks(t, "interpolation %s with antialias %v: only linear and antialiased bicubic and "+
				"bilinear are there", how, c.Bool("antialias"))
		}
		from, to := whole(c.Floats("old")), whole(c.Floats("new"))
		given["resample-by"], given["resample-from"] = how, fmt.Sprintf("%dx%d", from[0], from[1])
		p = pe.Grid(to[0], to[1])
	}
	m := petest.Spec{
		Scheme: "learn-resampled", Layers: 1, DModel: d, Positions: p, Given: given,
		Set: map[string][]float64{"pe.table": table.Values[prefix*d:]},
	}.Model(t)
	kept := petest.Array{Shape: []int{prefix, d}, Values: table.Values[:prefix*d]}
	return petest.Outputs{"rows": petest.StackRows(kept, petest.Added(m, 0, p))}
}

// TestResampledBilinear: to twice as many columns the weights are those of linear interpolation
// between centres; to half as many the triangle is two columns wide on either side, so that the
// first of two takes 3/4, 3/4 and 1/4 of its sum of 7/4 (as Pillow's and torch's antialiased resize).
func TestResampledBilinear(t *testing.T) {
	for _, c := range []struct {
		from, to int
		want     [][]float64
	}{
		{2, 4, [][]float64{{1, 0}, {3. / 4, 1. / 4}, {1. / 4, 3. / 4}, {0, 1}}},
		{4, 2, [][]float64{{3. / 7, 3. / 7, 1. / 7, 0}, {0, 1. / 7, 3. / 7, 3. / 7}}},
	} {
		var table []float64 // the unit vectors of 4 columns
		for i := range c.from {
			table = append(table, make([]float64, 4)...)
			table[i*4+i] = 1
		}
		grid := pe.Grid(1, c.to)
		m := petest.Spec{Scheme: "learn-resampled", Layers: 1, DModel: 4, Positions: grid,
			Given: pe.Options{"resample-by": "bilinear", "resample-from": fmt.Sprintf("1x%d", c.from)},
			Set:   map[string][]float64{"pe.table": table}}.Model(t)
		got := petest.Added(m, 0, grid)
		for i, row := range c.want {
			for j, want := range row {
				if math.Abs(got.Row(i)[j]-want) > 1e-15 {
					t.Errorf("%d to %d: place %d takes %g of %d, want %g", c.from, c.to, i, got.Row(i)[j], j, want)
				}
			}
		}
	}
}
