package pe_test

import (
	"math"
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

// TestKERPLEKernels: the two kernels of Chi et al. 2022, for numbers within and beyond the bounds
// that the published code keeps to.
func TestKERPLEKernels(t *testing.T) {
	places := []int{4, 0, 7, 2, 1, 6, 3, 5}
	a, p := []float64{0.3, 1.7, -1}, []float64{1.5, 0.001, 2.5}
	for kernel, of := range map[string]func(h int, d float64) float64{
		"log": func(h int, d float64) float64 {
			return -[]float64{1.5, 0.01, 2.5}[h] * math.Log(1+[]float64{0.3, 1.7, 0.01}[h]*d)
		},
		"power": func(h int, d float64) float64 {
			return -[]float64{0.3, 1.7, 0.01}[h] * math.Pow(d, []float64{1.5, 0.01, 2}[h])
		},
	} {
		sp := petest.Spec{
			Scheme: "kerple", Heads: 3, DModel: 6, Layers: 2, Positions: pe.Line(8),
			Given: pe.Options{"kerple": kernel, "kerple-direction": "bidirectional"},
			Set:   map[string][]float64{"pe.a": a, "pe.p": p},
		}
		m := sp.Model(t)
		if n := m.EncodingSize(); n != 2*3 {
			t.Errorf("%s: %d parameters, want 2 H = 6", kernel, n)
		}
		for layer := range 2 {
			bias := petest.AddedToLogits(m, layer, petest.At(sp.Positions, places...))
			for h := range 3 {
				for i, x := range places {
					for j, y := range places {
						want := of(h, math.Abs(float64(x-y)))
						if got := bias.Values[(h*8+i)*8+j]; math.Abs(got-want) > 1e-13 {
							t.Fatalf("%s, layer %d, head %d, places %d and %d: %v, want %v", kernel,
								layer, h, x, y, got, want)
						}
					}
				}
			}
		}
	}
}
