package pe_test

import (
	"fmt"
	"math"
	"testing"

	"torchpe/models"
	"torchpe/models/pe"
	"torchpe/models/pe/petest"
	"torchpe/torchpe"
)

func TestLieRE(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "liere",
		Variants: []petest.Variant{
			petest.Code("liere-block", "3"), petest.Code("liere-share", "none", "liere-block", "2"),
			petest.Code("liere-share", "none").For(2), petest.Code("liere-steps", "4"),
			petest.Code("liere-steps", "raw"),
			petest.Code("attention-bias", "true"), petest.Code("attention-init", "xavier"),
		},
		Refuse: []petest.Refusal{
			petest.Refuse("steps of three axes", petest.Spec{Given: pe.Options{"liere-steps": "2,3,4"}},
				"--liere-steps 2,3,4", "2 coordinates"),
		},
	})
}

func init() { vectors["liere"] = liereVector }

// liereVector: both triangles of their matrices are given, of which the upper counts; a class token
// comes first and is not turned.
func liereVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	raw, q, k := c.Param(t, "generator_raw_params"), c.Input(t, "q"), c.Input(t, "k")
	heads, dh, g := c.Int("heads", 1), c.Int("d_head", 0), c.Int("generator_dim", 0)
	if raw.Shape[1] != 1 {
		c.Lacks(t, "matrices of %d layers", raw.Shape[1])
	}
	var upper []float64
	for i, v := range raw.Values {
		if i/g%g < i%g {
			upper = append(upper, v)
		}
	}
	sp := petest.Spec{
		Scheme: "liere", Layers: 1, Heads: heads, DModel: heads * dh,
		Given: pe.Options{"liere-block": fmt.Sprint(g), "liere-share": "heads"},
		Set:   map[string][]float64{"pe.skew": upper},
	}
	if c.Bool("per_head") {
		sp.Given["liere-share"] = "none"
	}
	if steps := whole(c.Floats("steps")); len(steps) > 0 {
		sp.Positions = pe.Line(1)
		for _, n := range steps {
			sp.Positions = crossed(sp.Positions, n)
		}
		sp.Given["liere-steps"] = commas(c.Floats("expected_steps"))
	} else {
		sp.Given["liere-steps"] = "raw"
		at := c.Input(t, "positions")
		sp.Positions = pe.Line(at.Shape[0])
		for i := range at.Shape[0] {
			sp.Positions.Points = append(sp.Positions.Points, at.Row(i))
		}
	}
	m, p := sp.Model(t), sp.Positions
	out := petest.Outputs{}
	petest.Closed(func(s *torchpe.Scope) {
		turns := pe.LieRETurns(petest.Begin(s, m, p)) // [1,1,H,Dh/g,N,g,g]
		blocks := turns.Size(2) * turns.Size(3)
		all := petest.ArrayOf(turns.Permute(0, 1, 4, 2, 3, 5, 6)).Reshaped(p.Tokens(), blocks, g, g)
		if c.Bool("cls_token") {
			first := petest.Array{Shape: []int{1, blocks, g, g}}
			for i := range blocks * g * g {
				first.Values = append(first.Values, float64(1-min(i%(g*g)%(g+1), 1)))
			}
			all = petest.StackRows(first, all)
		}
		out["rotations"] = all
	})
	if c.Has("positions") {
		places := tableRows(t, m, "pe.places", pe.Line(p.Tokens()))
		petest.Near(t, "coordinates", places, c.Input(t, "positions"), 1e-15)
	}
	out["q_rot"], out["k_rot"] = rotatedAfter(m, q, k, p)
	out["logits"] = logitsOf(out["q_rot"].Reshaped(append([]int{1}, q.Shape...)...),
		out["k_rot"].Reshaped(append([]int{1}, k.Shape...)...))
	return out
}

// crossed adds an axis of n steps to the coordinates of p, the fastest.
func crossed(p pe.Positions, n int) pe.Positions {
	out := pe.Line(p.Tokens() * n)
	for i := range out.Index {
		var point []float64
		if p.Points != nil {
			point = append(point, p.Points[i/n]...)
		}
		out.Points = append(out.Points, append(point, float64(i%n)))
	}
	return out
}

// rotatedAfter returns what the QKV hook makes of q and k [N,H,Dh]. Where they have more rows than
// there are tokens the first ones, of class tokens, stay as they are.
func rotatedAfter(m *models.Model, q, k petest.Array, p pe.Positions) (qOut, kOut petest.Array) {
	first := q.Shape[0] - p.Tokens()
	split := func(x petest.Array) (kept, rest petest.Array) {
		at := len(x.Values) / x.Shape[0] * first
		kept = petest.Array{Shape: append([]int{first}, x.Shape[1:]...), Values: x.Values[:at]}
		return kept, petest.Array{Shape: append([]int{1, p.Tokens()}, x.Shape[1:]...), Values: x.Values[at:]}
	}
	keptQ, restQ := split(q)
	keptK, restK := split(k)
	qOut, kOut = rotated(m, restQ, restK, p)
	return petest.StackRows(keptQ, qOut.Reshaped(restQ.Shape[1:]...)),
		petest.StackRows(keptK, kOut.Reshaped(restK.Shape[1:]...))
}

// TestLieRETurns: the matrices are rotations, R R^T = 1, also of blocks of 16 and coordinates in the
// hundreds.
func TestLieRETurns(t *testing.T) {
	for _, steps := range []string{"0", "1", "raw"} {
		m := petest.Spec{Scheme: "liere", DModel: 16, Positions: pe.Grid(3, 40),
			Given: pe.Options{"liere-block": "16", "liere-steps": steps}}.Model(t)
		petest.Closed(func(s *torchpe.Scope) {
			r := pe.LieRETurns(petest.Begin(s, m, pe.Grid(3, 40)))
			for i, v := range r.MatMul(r.Transpose(-1, -2)).Float64s() {
				if want := float64(1 - min(i%256%17, 1)); math.Abs(v-want) > 1e-9 {
					t.Fatalf("--liere-steps %s: element %d of R R^T is %g, want %g", steps, i%256, v, want)
				}
			}
		})
	}
}
