package pe_test

import (
	"fmt"
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

func TestDAPE(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "dape", Shift: petest.Unmoved,
		Variants: []petest.Variant{petest.Code("dape", "alibi"), petest.Code("dape", "fire:40"),
			petest.Code("dape-width", "3"), petest.Code("dape-kernel", "3"),
			petest.Code("dape", "alibi", "dape-kernel", "5")},
		Constant: []string{"pe.c", "pe.multiplier"}, Kinks: true,
		Unfelt: []string{"pe.mix.out.bias", "pe.out.bias"},
		Refuse: []petest.Refusal{
			petest.Refuse("an even kernel", petest.Spec{Given: pe.Options{"dape-kernel": "4"}}, "--dape-kernel 4"),
			petest.Refuse("no threshold", petest.Spec{Given: pe.Options{"dape": "fire:x"}}, "--dape", "fire:x"),
		},
	})
}

func init() { vectors["dape"] = dapeVector }

// tapsFirst moves the last axis of a kernel [out,in,1,k] to the front.
func tapsFirst(a petest.Array, taps int) (values []float64) {
	for t := range taps {
		for i := t; i < len(a.Values); i += taps {
			values = append(values, a.Values[i])
		}
	}
	return values
}

func dapeVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	scores, kernel, base := c.Input(t, "scores"), c.Int("kernel", 1), c.Text("base", "")
	heads, n := scores.Shape[0], scores.Shape[1]
	if slope := c.Float("leaky_slope", 0.01); slope != 0.01 || c.Int("version", 1) == 1 && kernel != 1 {
		t.Fatalf("slope %g, kernel %d: ours are 0.01, and 1 in version 1", slope, kernel)
	}
	sp := petest.Spec{
		Scheme: "dape", Heads: heads, DModel: 2 * heads, Layers: 1, Positions: pe.Line(n),
		Given: pe.Options{"dape": base, "dape-width": fmt.Sprint(c.Int("mlp_width", 0)),
			"dape-kernel": fmt.Sprint(kernel)},
		Set: map[string][]float64{},
	}
	switch base {
	case "kerple_log":
		sp.Given["dape"] = "kerple"
		sp.Set["pe.a"], sp.Set["pe.p"] = c.Param(t, "bias_a").Values, c.Param(t, "bias_p").Values
	case "fire":
		if eps := c.Float("eps", 1e-6); eps != 1e-6 {
			t.Fatalf("eps %g: ours is 1e-6", eps)
		}
		sp.Given["dape"] = fmt.Sprintf("fire:%d", c.Int("init_L", 0)/2)
		sp.Set["pe.c"], sp.Set["pe.multiplier"] = c.Param(t, "c").Values, c.Param(t, "L_multiplier").Values
		for i, name := range []string{"in", "out"} {
			for _, part := range []string{"weight", "bias"} {
				sp.Set["pe."+name+"."+part] = c.Param(t, fmt.Sprintf("mlp.%d.%s", 2*i, part)).Values
			}
		}
	}
	nothing := map[string][]float64{} // the network that adds nothing
	for name := range sp.Set {
		nothing[name] = sp.Set[name]
	}
	for i, name := range []string{"pe.mix.in.", "pe.mix.out."} {
		w, b := c.Param(t, fmt.Sprintf("mlp2.%d.weight", 2*i)), c.Param(t, fmt.Sprintf("mlp2.%d.bias", 2*i))
		sp.Set[name+"weight"], sp.Set[name+"bias"] = tapsFirst(w, kernel), b.Values
		nothing[name+"weight"], nothing[name+"bias"] = make([]float64, len(w.Values)), make([]float64, len(b.Values))
	}
	out := petest.LogitsOf(sp.Model(t), 0, scores, sp.Positions)
	sp.Set = nothing
	return petest.Outputs{"base_bias": petest.AddedToLogits(sp.Model(t), 0, sp.Positions),
		"out": out, "out_causal": out}
}
