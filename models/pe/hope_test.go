package pe_test

import (
	"fmt"
	"math"
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

func TestHoPE(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "hope", Shift: petest.Unmoved, Positions: pe.Line(32), More: pe.Line(40),
		Variants: rotaryVariants(petest.Code("rope-trained-tokens", "1000")),
		Refuse: []petest.Refusal{
			petest.Refuse("an odd head width", petest.Spec{DModel: 6, Heads: 2}, "hope", "head width 3 = 6/2", "odd"),
		},
	})
}

func init() {
	vectors["hope"] = func(t testing.TB, c *petest.VectorCase) petest.Outputs {
		layout := c.Text("layout", "interleaved")
		if layout != "interleaved" {
			layout = "half"
		}
		sp := rotarySpec(c, "hope", layout, "rope-trained-tokens", fmt.Sprint(c.Int("train_length", 0)))
		out := rotaryOutputs(t, c, sp, sp.Positions)
		kept := petest.Array{}
		for _, angle := range anglesAt(t, sp.Model(t), 1) {
			if angle != 0 {
				kept.Values = append(kept.Values, angle)
			}
		}
		kept.Shape = []int{len(kept.Values)}
		out["inv_freq_kept"] = kept
		return out
	}
}

// TestHoPEKeeps: with base 16 and Dh = 8 the frequencies are 1, 1/2, 1/4 and 1/8. Over 20 tokens a
// pair turns once at 2 pi/20 = 0.314, over 4 tokens none does but the first, which is always turned.
func TestHoPEKeeps(t *testing.T) {
	for trained, want := range map[string][]float64{
		"20": {1, 0.5, 0, 0}, "26": {1, 0.5, 0.25, 0}, "25": {1, 0.5, 0, 0},
		"4": {1, 0, 0, 0}, "51": {1, 0.5, 0.25, 0.125},
	} {
		m := petest.Spec{Scheme: "hope", Given: pe.Options{"rope-base": "16", "rope-trained-tokens": trained}}.Model(t)
		for k, angle := range anglesAt(t, m, 1) {
			if math.Abs(angle-want[k]) > 1e-15 {
				t.Errorf("%s trained tokens, pair %d: frequency %g, want %g", trained, k, angle, want[k])
			}
		}
	}
}
