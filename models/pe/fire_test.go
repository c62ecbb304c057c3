package pe_test

import (
	"fmt"
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

func TestFIRE(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "fire", Shift: petest.Unmoved, // as long as no query is beyond the threshold
		Variants: []petest.Variant{
			petest.Code("fire-direction", "bidirectional"), petest.Code("fire-width", "3"),
			petest.Code("fire-threshold", "100"),
			petest.Code("fire-shared", "true"),
		},
		Constant: []string{"pe.c", "pe.multiplier"}, Unfelt: []string{"pe.in.bias", "pe.out.bias"},
	})
}

func init() { vectors["fire"] = only(fireVector) }

// fireVector: the causal bias is the lower half of ours; the mask does the rest.
func fireVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	n, heads := c.Int("n", 0), c.Int("heads", 1)
	sp := petest.Spec{
		Scheme: "fire", Layers: 1, Heads: heads, DModel: 2 * heads, Positions: pe.Line(n),
		Given: pe.Options{"fire-width": fmt.Sprint(c.Int("mlp_width", 0)),
			"fire-threshold": fmt.Sprint(c.Float("L", 512))},
		Set: map[string][]float64{
			"pe.c": {c.Float("c", 0.1)}, "pe.multiplier": {c.Float("L_multiplier", 1)},
			"pe.in.weight": c.Param(t, "mlp.0.weight").Values, "pe.in.bias": c.Param(t, "mlp.0.bias").Values,
			"pe.out.weight": c.Param(t, "mlp.2.weight").Values, "pe.out.bias": c.Param(t, "mlp.2.bias").Values,
		},
	}
	if eps := c.Float("eps", 1e-6); eps != 1e-6 {
		t.Fatalf("eps %g: ours is 1e-6", eps)
	}
	bias := petest.AddedToLogits(sp.Model(t), 0, sp.Positions)
	return petest.Outputs{"bias": bias, "bias_causal": bias}
}
