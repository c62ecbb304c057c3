package pe_test

import (
	"fmt"
	"math"
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

func TestRoPELlama3(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "rope-llama3", Shift: petest.Unmoved,
		Variants: rotaryVariants(
			petest.Code("rope-scale", "3"), petest.Code("rope-trained-tokens", "100"), petest.Code("rope-dims", "2"),
			petest.Code("llama3-low", "0.5"), petest.Code("llama3-high", "2"),
		),
		Refuse: []petest.Refusal{
			petest.Refuse("no band between", petest.Spec{Given: pe.Options{"llama3-low": "4"}},
				"--llama3-low 4", "--llama3-high 4"),
		},
	})
}

func init() {
	vectors["rope_llama3"] = func(t testing.TB, c *petest.VectorCase) petest.Outputs {
		return hfOutputs(t, c, rotarySpec(c, "rope-llama3", "half", "rope-scale", fmt.Sprint(c.Float("factor", 8)),
			"rope-trained-tokens", fmt.Sprint(c.Int("L_orig", 8192)),
			"llama3-low", fmt.Sprint(c.Float("low_freq_factor", 1)),
			"llama3-high", fmt.Sprint(c.Float("high_freq_factor", 4))))
	}
}

// TestRoPELlama3Bands: with base 10^4 and Dh = 8 the wavelengths are 6.3, 63, 628 and 6283. Over
// 1000 trained tokens the first two turn more than four times and stay, the last turns less than
// once and is divided by 8, and the third, at 1.59 turns, is between.
func TestRoPELlama3Bands(t *testing.T) {
	m := petest.Spec{Scheme: "rope-llama3",
		Given: pe.Options{"rope-scale": "8", "rope-trained-tokens": "1000"}}.Model(t)
	g := (1000/(200*math.Pi) - 1) / 3
	for k, want := range []float64{1, 0.1, 0.01 * ((1-g)/8 + g), 0.001 / 8} {
		if got := anglesAt(t, m, 1)[k]; math.Abs(got-want) > 1e-15 {
			t.Errorf("pair %d has the frequency %g, want %g", k, got, want)
		}
	}
}
