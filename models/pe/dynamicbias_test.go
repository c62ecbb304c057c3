package pe_test

import (
	"fmt"
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

func TestDynamicBias(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "dynamic-bias", Shift: petest.Unmoved,
		Variants: []petest.Variant{petest.Code("dynamic-bias-direction", "causal"),
			petest.Code("dynamic-bias-offsets", "log"), petest.Code("dynamic-bias-width", "3"),
			petest.Code("dynamic-bias-depth", "1")},
		Unfelt: []string{"pe.out.bias"},
	})
}

func init() { vectors["dynamic_bias"] = dynamicBiasVector }

// dynamicBiasVector: where there are fewer queries than keys, they are the last ones.
func dynamicBiasVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	heads, depth, offsets := c.Int("heads", 1), c.Int("depth", 0), "linear"
	if c.Bool("norm") {
		t.Fatal("the network has layer norms: ours has none")
	}
	if c.Bool("log_distance") {
		offsets = "log"
	}
	sp := petest.Spec{
		Scheme: "dynamic-bias", Heads: heads, DModel: 2 * heads, Layers: 1,
		Positions: pe.Line(c.Int("n_key", 0)), Set: map[string][]float64{},
		Given: pe.Options{"dynamic-bias-offsets": offsets, "dynamic-bias-depth": fmt.Sprint(depth),
			"dynamic-bias-width": fmt.Sprint(c.Int("mlp_width", 0))},
	}
	for _, part := range []string{"weight", "bias"} {
		for i := range depth {
			sp.Set[fmt.Sprintf("pe.%d.%s", i, part)] = c.Param(t, fmt.Sprintf("mlp.%d.0.%s", i, part)).Values
		}
		sp.Set["pe.out."+part] = c.Param(t, fmt.Sprintf("mlp.%d.%s", depth, part)).Values
	}
	return petest.Outputs{"bias": lastRows(petest.AddedToLogits(sp.Model(t), 0, sp.Positions), c.Int("n_query", 0))}
}
