package pe_test

import (
	"fmt"
	"math"
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

func TestRoPE2D(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "rope-2d", Shift: petest.Unmoved, Apart: [2][]int{{0, 1, 4, 5}, {2, 3, 6, 7}},
		Variants: []petest.Variant{
			petest.Code("rope-2d", "mixed"), petest.Code("rope-2d", "mixed", "rope-layout", "half"),
			petest.Code("rope-2d-base", "7"), petest.Code("rope-2d-order", "rows-first"),
			petest.Code("rope-layout", "half"), petest.Code("rope-unit", "0.5"), petest.Code("attention-bias", "true"),
			petest.Code("attention-init", "xavier"),
		},
		Refuse: []petest.Refusal{
			petest.Refuse("a line", petest.Spec{Positions: pe.Line(8)}, "rope-2d", "two coordinates", "a line of 8"),
			petest.Refuse("heads of 6", petest.Spec{DModel: 12, Heads: 2}, "head width 6 = 12/2", "4"),
		},
	})
}

func init() {
	vectors["rope_2d"] = func(t testing.TB, c *petest.VectorCase) petest.Outputs {
		if c.Has("coords_x") {
			return planeOutputs(t, c)
		}
		heads := c.Int("heads", 1)
		sp := petest.Spec{
			Scheme: "rope-2d", Layers: 1, DModel: heads * c.Int("d_head", 0), Heads: heads,
			Positions: pe.Grid(c.Int("H", 0), c.Int("W", 0)),
			Given:     pe.Options{"rope-2d-base": fmt.Sprint(c.Float("theta", 100))},
		}
		if c.Has("freqs_xy_head") {
			sp.Given["rope-2d"] = "mixed"
			sp.Set = map[string][]float64{"pe.frequencies": c.Param(t, "freqs_xy_head").Values}
		}
		return rotaryOutputs(t, c, sp, sp.Positions)
	}
}

func init() { vectors["rope_mixed_2d"] = mixedVector }

// mixedVector: frequencies are given, or follow from a uniform draw for each head; a class token
// comes first and is not turned.
func mixedVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	q, k, heads, dh := c.Input(t, "q"), c.Input(t, "k"), c.Int("heads", 1), c.Int("d_head", 0)
	frequencies := petest.Array{Shape: []int{2, heads, dh / 2}}
	if c.Has("u") {
		u := c.Input(t, "u").Values
		if len(u) != heads {
			c.Lacks(t, "%d draws for %d heads", len(u), heads)
		}
		frequencies.Values = pe.MixedStart(u, c.Float("theta", 10), dh/2)
	} else if frequencies.Values = c.Param(t, "freqs").Values; len(frequencies.Values) != heads*dh {
		c.Lacks(t, "%d frequencies for %d heads of %d dimensions", len(frequencies.Values), heads, dh)
	}
	order := "columns-first"
	if c.Text("grid_indexing", "xy") == "ij" {
		order = "rows-first"
	}
	sp := petest.Spec{
		Scheme: "rope-2d", Layers: 1, DModel: heads * dh, Heads: heads,
		Positions: pe.Grid(c.Int("H", 0), c.Int("W", 0)),
		Given:     pe.Options{"rope-2d": "mixed", "rope-2d-order": order},
		Set:       map[string][]float64{"pe.frequencies": frequencies.Values},
	}
	qOut, kOut := rotatedAfter(sp.Model(t), q, k, sp.Positions)
	shape := append([]int{1}, q.Shape...)
	return petest.Outputs{"freqs": frequencies, "q_rot": qOut, "k_rot": kOut,
		"logits": logitsOf(qOut.Reshaped(shape...), kOut.Reshaped(shape...))}
}

// planeOutputs are those of points anywhere in a plane, which are divided by a smallest distance.
func planeOutputs(t testing.TB, c *petest.VectorCase) petest.Outputs {
	t.Helper()
	x, columns, rows := c.Input(t, "x"), c.Input(t, "coords_x").Values, c.Input(t, "coords_y").Values
	n, d := x.Shape[1], x.Shape[2]
	p := pe.Line(n)
	for i := range n {
		p.Points = append(p.Points, []float64{rows[i], columns[i]})
	}
	given := pe.Options{
		"rope-layout": "half", "rope-2d-base": fmt.Sprint(c.Float("base", 10000)),
		"rope-unit": fmt.Sprint(c.Float("min_freq", 1) / c.Float("scale", 1)),
	}
	m := petest.Spec{Scheme: "rope-2d", DModel: d, Positions: p, Given: given}.Model(t)
	y, _ := rotated(m, x.Reshaped(1, n, 1, d), x.Reshaped(1, n, 1, d), p)
	return petest.Outputs{"y": y.Reshaped(x.Shape...)}
}

// TestRoPE2DMixedStart: frequencies start along two orthogonal directions, each of the axial
// magnitude (Heo et al., section 3.2), own to each head and layer.
func TestRoPE2DMixedStart(t *testing.T) {
	const layers, heads, pairs = 2, 2, 4
	m := petest.Spec{Scheme: "rope-2d", DModel: 16, Heads: heads, Layers: layers,
		Given: pe.Options{"rope-2d": "mixed"}}.Model(t)
	values, err := m.Params.Values("pe.frequencies")
	if err != nil {
		t.Fatal(err)
	}
	at := func(layer, axis, head, k int) float64 { return values[((layer*2+axis)*heads+head)*pairs+k] }
	for layer := range layers {
		for head := range heads {
			for k := range pairs / 2 {
				x, y, x2, y2 := at(layer, 0, head, k), at(layer, 1, head, k),
					at(layer, 0, head, k+2), at(layer, 1, head, k+2)
				want := math.Pow(10, -float64(k)/2) // 10^(-4k/Dh)
				if math.Abs(math.Hypot(x, y)-want) > 1e-12 ||
					math.Abs(math.Hypot(x2, y2)-want) > 1e-12 || math.Abs(x*x2+y*y2) > 1e-12 {
					t.Errorf("layer %d, head %d, pair %d: (%g, %g) and (%g, %g), want orthogonal "+
						"ones of length %g", layer, head, k, x, y, x2, y2, want)
				}
			}
		}
	}
	if at(0, 0, 0, 0) == at(1, 0, 0, 0) || at(0, 0, 0, 0) == at(0, 0, 1, 0) {
		t.Error("heads or layers start alike")
	}
}
