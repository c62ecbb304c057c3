package pe_test

import (
	"fmt"
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
	"torchpe/torchpe"
)

func TestGrapeM(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "grape-m", Shift: petest.Unmoved,
		Variants: []petest.Variant{
			petest.Code("positions-from", "1"), petest.Code("rope-base", "100"), petest.Code("grape-m", "contextual"),
			petest.Code("grape-m", "contextual:heads", "grape-heads", "own"), petest.Code("grape-m", "rank-2"),
			petest.Code("grape-m", "rank-2:0.3", "positions-from", "1"),
			petest.Code("grape-heads", "own").For(2), petest.Code("grape-scale", "2"),
			petest.Code("attention-bias", "true"), petest.Code("attention-init", "xavier"),
		},
		Constant: []string{"pe.log-frequencies", "pe.omega-weight", "pe.omega-bias"},
		Refuse: []petest.Refusal{
			petest.Refuse("an odd head width", petest.Spec{DModel: 6, Heads: 2}, "grape-m",
				"head width 3 = 6/2", "odd"),
			petest.Refuse("a gate of rank-2", petest.Spec{Given: pe.Options{"grape-m": "rank-2:heads"}},
				"--grape-m", `"heads" says nothing after rank-2`),
		},
	})
}

func init() { vectors["grape_m"] = grapeVector }

func grapeVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	q, k, heads, dh := c.Input(t, "q"), c.Input(t, "k"), c.Int("heads", 1), c.Int("d_head", 0)
	n, d := q.Shape[0], heads*dh
	sp := petest.Spec{Scheme: "grape-m", Layers: 1, Heads: heads, DModel: d, Positions: pe.Line(n),
		Given: pe.Options{"grape-m": c.Text("kind", "commuting"), "grape-heads": "own"}, Set: map[string][]float64{}}
	if c.Bool("share_across_heads") {
		sp.Given["grape-heads"] = "shared"
	}
	x := petest.Array{Shape: []int{n, d}, Values: make([]float64, n*d)}
	switch sp.Given["grape-m"] {
	case "commuting":
		sp.Given["grape-scale"] = fmt.Sprint(c.Float("log_freq_scale", 1))
		sp.Set["pe.log-frequencies"] = c.Param(t, "log_freq").Values
	case "contextual":
		sp.Given["grape-scale"] = fmt.Sprint(c.Float("omega_scale", 16))
		if c.Bool("per_head_phase") {
			sp.Given["grape-m"] = "contextual:heads"
		}
		given, w := c.Input(t, "x"), c.Param(t, "omega_proj.weight")
		if given.Shape[1] > d {
			c.Lacks(t, "tokens of width %d beside heads of %d in all", given.Shape[1], d)
		}
		x = widened(given, d)
		sp.Set["pe.omega-weight"], sp.Set["pe.omega-bias"] = widened(w, d).Values, c.Param(t, "omega_proj.bias").Values
		sp.Set["pe.log-frequencies"] = c.Param(t, "log_freq").Values
	case "rank2":
		sp.Given["grape-m"] = fmt.Sprintf("rank-2:%v", c.Float("omega", 1))
		sp.Set["pe.a"], sp.Set["pe.b"] = c.Param(t, "a").Values, c.Param(t, "b").Values
	default:
		c.Lacks(t, "the form %s", sp.Given["grape-m"])
	}
	m, out := sp.Model(t), petest.Outputs{}
	petest.Closed(func(s *torchpe.Scope) {
		hooks := petest.Begin(s, m, sp.Positions)
		in := func(x petest.Array) torchpe.Tensor { // [1,B,H,N,Dh]
			return x.Reshaped(1, len(x.Values)/n/d, n, heads, dh).Tensor(s).Permute(0, 1, 3, 2, 4)
		}
		a := pe.Attn{X: x.Reshaped(1, 1, n, d).Tensor(s), Q: in(q), K: in(k)}
		qt, kt, _ := hooks.QKV(a)
		for name, x := range map[string]torchpe.Tensor{"q_rot": qt, "k_rot": kt} {
			out[name] = petest.ArrayOf(x.Permute(0, 1, 3, 2, 4)).Reshaped(n, heads, dh)
		}
		if c.Has("freq") {
			factor := 1.0
			if sp.Given["grape-m"] == "commuting" {
				factor = c.Float("log_freq_scale", 1)
			}
			f := pe.GrapeFrequency(m.Params.Get("pe.log-frequencies").In(s), factor)
			f = f.Squeeze(0).Squeeze(0).Expand(heads, 1, dh/2)
			out["freq"] = petest.ArrayOf(f).Reshaped(heads, dh/2)
		}
		if c.Has("phi") {
			out["phi"] = petest.ArrayOf(pe.GrapePhase(hooks, a).Squeeze(0).Squeeze(0))
		}
		if c.Has("G") { // what becomes of each unit vector is a column
			a.Q = in(units(n, heads, dh))
			a.K = a.Q
			columns, _, _ := hooks.QKV(a) // [1,Dh,H,N,Dh]
			out["G"] = petest.ArrayOf(columns.Permute(0, 3, 2, 4, 1)).Reshaped(n, heads, dh, dh)
		}
	})
	out["logits"] = logitsOf(out["q_rot"].Reshaped(1, n, heads, dh), out["k_rot"].Reshaped(1, n, heads, dh))
	return out
}

// units returns Dh samples [Dh,N,H,Dh], in each of which all tokens have one unit vector.
func units(n, heads, dh int) petest.Array {
	out := petest.Array{Shape: []int{dh, n, heads, dh}, Values: make([]float64, dh*n*heads*dh)}
	for c := range dh {
		for i := range n * heads {
			out.Values[(c*n*heads+i)*dh+c] = 1
		}
	}
	return out
}
