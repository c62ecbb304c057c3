package pe_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

func TestFourierFeatures(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "fourier-features", Drawn: []string{"pe.waves"},
		Variants: []petest.Variant{
			petest.Code("features", "nerf"), petest.Code("features", "transformer"), petest.Code("features", "grid"),
			petest.Text("feature-levels", "3"), petest.Code("feature-scale", "2"), petest.Code("feature-range", "raw"),
		},
		Refuse: []petest.Refusal{
			petest.Refuse("octaves without end",
				petest.Spec{Given: pe.Options{"features": "nerf", "feature-levels": "60"}},
				"--feature-levels 60", "nerf"),
			petest.Refuse("too many coordinates",
				petest.Spec{Positions: pe.Positions{Index: []int{0},
					Points: [][]float64{{1, 2, 3, 4}}}}, "4 coordinates"),
		},
	})
}

func init() { vectors["fourier_features"] = fourierFeaturesVector }

// fourierFeaturesVector: with the identity for C, what is added is z itself. MeshGraphNets' edges
// are of edge-geometry.
func fourierFeaturesVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	given := pe.Options{"feature-range": "raw"}
	set := map[string][]float64{}
	if c.Has("mesh_pos") {
		return edgeGeometryVector(t, c)
	}
	x := c.Input(t, "x")
	if c.Value("H") != nil {
		given["features"], given["feature-range"] = "grid", "unit"
		grid := pe.Grid(c.Int("H", 0), c.Int("W", 0))
		z := features(t, petest.Spec{Positions: grid, Given: given}, 2)
		out := petest.Array{Shape: []int{x.Shape[0], x.Shape[1] + 2, x.Shape[2], x.Shape[3]}}
		for sample := range x.Shape[0] {
			out.Values = append(out.Values, x.Row(sample)...)
			for channel := range 2 {
				for i := range grid.Tokens() {
					out.Values = append(out.Values, z.Row(i)[channel])
				}
			}
		}
		return petest.Outputs{"y": out}
	}
	p, width := pe.Line(x.Shape[0]), 0
	for i := range p.Index {
		p.Points = append(p.Points, x.Row(i))
	}
	if c.Has("B") {
		b := c.Param(t, "B")
		given["features"], given["feature-levels"], width = "gaussian", fmt.Sprint(b.Shape[0]), 2*b.Shape[0]
		set["pe.waves"] = b.Values
	} else {
		levels := c.Int("L", 0)
		given["features"], given["feature-levels"], width = c.Text("kind", ""), fmt.Sprint(levels), 2*levels*x.Shape[1]
		if base := c.Float("max_positions", 10000); base != 10000 {
			t.Fatalf("max_positions %g: fourier-features has 10000", base)
		}
	}
	return petest.Outputs{"features": features(t, petest.Spec{Positions: p, Given: given, Set: set}, width)}
}

// TestFeaturesAreSinusoids: with half of the levels of a line's sinusoid, --features transformer is
// 1d-fixed: 2k/m in the exponent where m = D/2 is twice that of 1d-fixed, so that every other pair
// of its columns is there.
func TestFeaturesAreSinusoids(t *testing.T) {
	const n, m = 6, 4
	z := features(t, petest.Spec{
		Positions: pe.Line(n), Given: pe.Options{"features": "transformer",
			"feature-levels": fmt.Sprint(m), "feature-range": "raw"},
	}, 2*m)
	fixed := petest.Added(petest.Spec{
		Scheme: "1d-fixed", DModel: 2 * m, Positions: pe.Line(n), Given: pe.Options{"fixed-pe-dropout": "0"},
	}.Model(t), 0, pe.Line(n))
	for i := range n {
		for k := range m / 2 {
			for c := range 2 {
				if got, want := z.Row(i)[2*k+c], fixed.Row(i)[4*k+c]; math.Abs(got-want) > 1e-13 {
					t.Errorf("place %d, level %d: %g, want %g", i, k, got, want)
				}
			}
		}
	}
}

// features returns z [N,F] of fourier-features.
func features(t testing.TB, sp petest.Spec, width int) petest.Array {
	t.Helper()
	sp.Scheme, sp.DModel = "fourier-features", width
	if sp.Set == nil {
		sp.Set = map[string][]float64{}
	}
	sp.Set["pe.weight"], sp.Set["pe.bias"] = identity(width), make([]float64, width)
	return petest.Added(sp.Model(t), 0, sp.Positions)
}

func identity(n int) []float64 {
	values := make([]float64, n*n)
	for i := range n {
		values[i*n+i] = 1
	}
	return values
}

func TestEdgeGeometry(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "edge-geometry", Shift: petest.Unmoved, Apart: [2][]int{{0, 1, 4, 5}, {2, 3, 6, 7}},
	})
}

// edgeGeometryVector: a head for each feature, each with the weight 1 for its own: the bias of a
// key at the sender, seen from the receiver, is the edge's feature.
func edgeGeometryVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	at := c.Input(t, "mesh_pos")
	n, dims := at.Shape[0], at.Shape[1]
	p := pe.Line(n)
	for i := range n {
		p.Points = append(p.Points, at.Row(i))
	}
	heads := dims + 1
	m := petest.Spec{
		Scheme: "edge-geometry", Layers: 1, Heads: heads, DModel: heads, Positions: p,
		Set: map[string][]float64{"pe.weight": identity(heads)},
	}.Model(t)
	zero := petest.Array{Shape: []int{n, heads, 1}, Values: make([]float64, n*heads)}
	bias := petest.HeadInputs{Q: zero, K: zero, V: zero}.Attend(m, p, false).Logits
	senders, receivers := whole(c.Input(t, "senders").Values), whole(c.Input(t, "receivers").Values)
	out := petest.Array{Shape: []int{len(senders), heads}}
	for k, sender := range senders {
		for h := range heads {
			out.Values = append(out.Values, bias.Row(h)[receivers[k]*n+sender])
		}
	}
	if !strings.Contains(fmt.Sprint(c.SourceSymbol), "edge_features") {
		t.Errorf("%v is not MeshGraphNets' edge features", c.SourceSymbol)
	}
	return petest.Outputs{"edge_features": out}
}
