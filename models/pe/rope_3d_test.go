package pe_test

import (
	"fmt"
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

func TestRoPE3D(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "rope-3d", Shift: petest.Unmoved, Positions: pe.Box(1, 2, 4), More: pe.Box(1, 3, 4), DModel: 16,
		Apart: [2][]int{{0, 1, 4, 5}, {2, 3, 6, 7}},
		Variants: []petest.Variant{
			petest.Code("rope-max-frequency", "10"), petest.Code("rope-layout", "half"), petest.Code("rope-base", "2").For(1),
			petest.Code("attention-bias", "true"), petest.Code("attention-init", "xavier"),
		},
		Refuse: []petest.Refusal{
			petest.Refuse("a line", petest.Spec{Positions: pe.Line(8)}, "rope-3d", "three coordinates", "a line of 8"),
			petest.Refuse("narrow heads", petest.Spec{DModel: 8, Heads: 2}, "rope-3d", "head width 4 = 8/2", "less than 6"),
		},
	})
}

func init() {
	vectors["rope_3d"] = func(t testing.TB, c *petest.VectorCase) petest.Outputs {
		heads, dims, x := c.Int("heads", 1), c.Floats("dims"), c.Input(t, "x")
		given := pe.Options{"rope-base": fmt.Sprint(c.Float("base", 10000))}
		if c.Text("kind", "lang") == "pixel" {
			given["rope-max-frequency"] = fmt.Sprint(c.Float("max_freq", 10))
		}
		sp := petest.Spec{
			Scheme: "rope-3d", DModel: heads * c.Int("d_head", 0), Heads: heads, Given: given,
			Positions: pe.Box(int(dims[0]), int(dims[1]), int(dims[2])),
		}
		if want := c.Int("per_axis", 0); want != 0 && want != c.Int("d_head", 0)/6*2 {
			t.Errorf("blocks of %d dimensions; ours are of %d", want, c.Int("d_head", 0)/6*2)
		}
		y, _ := rotated(sp.Model(t), x.Reshaped(append([]int{1}, x.Shape...)...), x.Reshaped(append([]int{1}, x.Shape...)...), sp.Positions)
		return petest.Outputs{"x_rot": y.Reshaped(x.Shape...)}
	}
}

// TestRoPE3DOnAGrid: a grid is one frame: the first block stays, the other two are turned by row and column.
func TestRoPE3DOnAGrid(t *testing.T) {
	grid, q := pe.Grid(2, 4), wave(8, 1, 8, 0) // Dh = 8: three blocks of 2, and 2 dimensions that are left
	got, _ := rotated(petest.Spec{Scheme: "rope-3d", DModel: 8}.Model(t), q, q, grid)
	box := pe.Box(1, 2, 4)
	want, _ := rotated(petest.Spec{Scheme: "rope-3d", DModel: 8, Positions: box}.Model(t), q, q, box)
	petest.Near(t, "a grid and one frame", got, want, 0)
	for token := range 8 {
		for c := range 8 {
			x, y := q.Values[token*8+c], got.Values[token*8+c]
			kept := c < 2 || c > 5 || c < 4 && token < 4 || c > 3 && token%4 == 0
			if kept != (x == y) {
				t.Errorf("token %d, dimension %d: %g becomes %g", token, c, x, y)
			}
		}
	}
}
