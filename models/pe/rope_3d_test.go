package pe_test

import (
	"fmt"
	"math"
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

func TestRoPE3D(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "rope-3d", Shift: petest.Unmoved, DModel: 16,
		Apart: [2][]int{{0, 1, 4, 5}, {2, 3, 6, 7}},
		Variants: []petest.Variant{
			petest.Code("rope-max-frequency", "10"), petest.Code("rope-axes", "2"),
			petest.Code("rope-axes", "all", "rope-max-frequency", "10"), petest.Code("rope-layout", "half"),
			petest.Code("rope-base", "2").For(1),
			petest.Code("attention-bias", "true"), petest.Code("attention-init", "xavier"),
		},
		Refuse: []petest.Refusal{
			petest.Refuse("a line", petest.Spec{Positions: pe.Line(8)}, "rope-3d", "three coordinates", "a line of 8"),
			petest.Refuse("four axes of a grid", petest.Spec{Given: pe.Options{"rope-axes": "4"}}, "rope-3d",
				"--rope-axes 4", "a grid of 2 x 4"),
			petest.Refuse("narrow heads", petest.Spec{DModel: 8, Heads: 2}, "rope-3d",
				"head width 4 = 8/2", "less than 6"),
		},
	})
}

func init() {
	vectors["rope_3d"] = func(t testing.TB, c *petest.VectorCase) petest.Outputs {
		heads, dims, x := c.Int("heads", 1), whole(c.Floats("dims")), c.Input(t, "x")
		given := pe.Options{"rope-axes": fmt.Sprint(len(dims)), "rope-base": fmt.Sprint(c.Float("base", 10000))}
		if c.Text("kind", "lang") == "pixel" {
			given["rope-max-frequency"] = fmt.Sprint(c.Float("max_freq", 10))
		}
		sp := petest.Spec{
			Scheme: "rope-3d", DModel: heads * c.Int("d_head", 0), Heads: heads, Given: given,
			Positions: pe.Line(1),
		}
		for _, steps := range dims {
			sp.Positions = crossed(sp.Positions, steps)
		}
		if width := c.Int("d_head", 0) / (2 * len(dims)) * 2; c.Int("per_axis", width) != width {
			c.Lacks(t, "blocks of %d dimensions; ours are of %d", c.Int("per_axis", width), width)
		}
		y, _ := rotated(sp.Model(t), x.Reshaped(append([]int{1}, x.Shape...)...),
			x.Reshaped(append([]int{1}, x.Shape...)...), sp.Positions)
		return petest.Outputs{"x_rot": y.Reshaped(x.Shape...)}
	}
}

// TestRoPE3DOnAGrid: a grid is one frame: the first block stays, the other two are turned by row
// and column.
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

// TestRoPEAxes: block a of w = 2 floor(Dh/2M) dimensions is rope of coordinate a, or with pixel
// frequencies turned by pi (1 + k (m/2-1)/(w/2-1)) x, x from -1 to 1 (rotary-embedding-torch,
// get_axial_freqs and freqs_for="pixel").
func TestRoPEAxes(t *testing.T) {
	const dh, base, highest = 20, 50., 8.
	for _, dims := range [][]int{{8}, {2, 4}, {2, 2, 3}, {2, 1, 2, 3}} {
		p := pe.Line(1)
		for _, steps := range dims {
			p = crossed(p, steps)
		}
		n, pairs := p.Tokens(), dh/(2*len(dims))
		q := wave(n, 1, dh, 0)
		for _, pixel := range []bool{false, true} {
			given := pe.Options{"rope-axes": fmt.Sprint(len(dims)), "rope-base": fmt.Sprint(base)}
			if pixel {
				given["rope-max-frequency"] = fmt.Sprint(highest)
			}
			got, _ := rotated(petest.Spec{Scheme: "rope-3d", DModel: dh, Positions: p, Given: given}.Model(t), q, q, p)
			for i := range n {
				for k := range dh / 2 {
					angle := 0.0
					if axis, within := k/pairs, float64(k%pairs); axis < len(dims) && !pixel {
						angle = p.Points[i][axis] * math.Pow(base, -within/float64(pairs))
					} else if axis < len(dims) {
						x := 2*p.Points[i][axis]/math.Max(1, float64(dims[axis]-1)) - 1
						angle = x * math.Pi * (1 + within*(highest/2-1)/math.Max(1, float64(pairs-1)))
					}
					at := i*dh + 2*k
					x := complex(q.Values[at], q.Values[at+1]) * complex(math.Cos(angle), math.Sin(angle))
					if absolute(x-complex(got.Values[at], got.Values[at+1])) > 1e-13 {
						t.Fatalf("%v, pixel %v, token %d, pair %d is not turned by %g", dims, pixel, i, k, angle)
					}
				}
			}
		}
	}
}
