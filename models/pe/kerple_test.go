package pe_test

import (
	"strings"
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

func TestKERPLE(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "kerple", Shift: petest.Unmoved,
		Variants: []petest.Variant{petest.Code("kerple", "power"), petest.Code("kerple-direction", "bidirectional"),
			petest.Code("kerple", "power", "kerple-direction", "bidirectional"),
			petest.Code("kerple-trained", "a"), petest.Code("kerple-trained", "p"),
			petest.Code("kerple", "power", "kerple-trained", "p"),
			petest.Code("kerple", "power", "kerple-trained", "a"),
			petest.Code("kerple-weights", "ap"), petest.Code("kerple", "power", "kerple-weights", "a"),
			petest.Code("kerple-weights", "p")},
	})
}

func init() { vectors["kerple"] = kerpleVector }

// kerpleVector: kind is kerple_log, or kerple_power_BIAS_WEIGHTS with the letters of the numbers that
// are trained. What is added to logits of zero is the bias alone.
func kerpleVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	scores := c.Input(t, "scores")
	heads, n := scores.Shape[0], scores.Shape[1]
	if eps := c.Float("eps", 0.01); eps != 0.01 {
		t.Fatalf("eps %g: ours is 0.01", eps)
	}
	sp := petest.Spec{
		Scheme: "kerple", Heads: heads, DModel: 2 * heads, Layers: 1, Positions: pe.Line(n),
		Set: map[string][]float64{}, Given: pe.Options{},
	}
	trained, weights := "ap", ""
	if kind, ok := strings.CutPrefix(c.Text("kind", ""), "kerple_power_"); ok {
		sp.Given["kerple"] = "power"
		trained, weights, _ = strings.Cut(kind, "_")
		sp.Given["kerple-trained"] = trained
	} else if c.Text("kind", "") != "kerple_log" {
		t.Fatalf("kind %v: ours are kerple_log and kerple_power_BIAS_WEIGHTS", c.Value("kind"))
	}
	if weights != "" {
		sp.Given["kerple-weights"] = weights
	}
	for _, letter := range trained {
		sp.Set["pe."+string(letter)] = c.Param(t, "bias_"+string(letter)).Values
	}
	for _, letter := range weights {
		sp.Set["pe.weights-"+string(letter)] = c.Param(t, "wei_"+string(letter)).Values
	}
	m := sp.Model(t)
	out := petest.LogitsOf(m, 0, scores, sp.Positions)
	return petest.Outputs{"bias": petest.AddedToLogits(m, 0, sp.Positions), "out": out, "out_causal": out}
}
