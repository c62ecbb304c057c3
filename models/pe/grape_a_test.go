package pe_test

import (
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

func TestGrapeA(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "grape-a", Shift: petest.Unmoved,
		Variants: []petest.Variant{petest.Code("grape-a", "query"), petest.Code("grape-a", "both"),
			petest.Code("grape-a", "path").Moving(), petest.Code("grape-a-unit", "false")},
		Constant: []string{"pe.omega"},
		Refuse: []petest.Refusal{
			petest.Refuse("a path without gates",
				petest.Spec{Given: pe.Options{"grape-a": "path", "grape-a-unit": "false"}}, "--grape-a-unit"),
			petest.Refuse("a path in odd heads",
				petest.Spec{Given: pe.Options{"grape-a": "path"}, DModel: 9, Heads: 3}, "head width 3", "odd"),
		},
	})
}

func init() { vectors["grape_a"] = grapeAVector }

func grapeAVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	kind, heads := c.Text("kind", ""), c.Int("heads", 1)
	sp := petest.Spec{Scheme: "grape-a", Heads: heads, Layers: 1, Set: map[string][]float64{},
		Given: pe.Options{"grape-a": kind}}
	if kind == "path_integral" {
		x := c.Input(t, "x")
		if d := c.Int("p_head_dim", 0); d*heads != x.Shape[1] {
			t.Fatalf("p_head_dim %d: ours is the width of a head, %d", d, x.Shape[1]/heads)
		}
		sp.DModel, sp.Positions = x.Shape[1], pe.Line(x.Shape[0])
		sp.Given["grape-a"], sp.Set["pe.weight"] = "path", c.Param(t, "c_p.weight").Values
		w := petest.Projections{
			QKV: petest.StackRows(c.Param(t, "c_q.weight"), c.Param(t, "c_k.weight"), c.Param(t, "c_v.weight")),
			Out: c.Param(t, "c_proj.weight"),
		}
		m := sp.Model(t)
		got := w.Attend(m, x, sp.Positions, false)
		zeros := petest.Array{Shape: w.QKV.Shape, Values: make([]float64, len(w.QKV.Values))}
		return petest.Outputs{"logits": got.Logits, "output": got.Output,
			"bias": petest.Projections{QKV: zeros}.Attend(m, x, sp.Positions, false).Logits}
	}
	q, k := c.Input(t, "q"), c.Input(t, "k")
	sp.DModel, sp.Positions = heads*q.Shape[2], pe.Line(q.Shape[0])
	if c.Value("l2_norm") == false {
		sp.Given["grape-a-unit"] = "false"
	}
	for _, name := range []string{"omega", "u", "v"} {
		if c.Has(name) {
			sp.Set["pe."+name] = c.Param(t, name).Values
		}
	}
	m := sp.Model(t)
	return petest.Outputs{"bias": petest.BiasOf(m, q, k, sp.Positions),
		"logits": petest.HeadInputs{Q: q, K: k}.Attend(m, sp.Positions, false).Logits}
}
