package pe_test

import (
	"fmt"
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

func TestRoPEInterpolated(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "rope-pi", Shift: petest.Unmoved,
		Variants: rotaryVariants(petest.Code("rope-scale", "3"), petest.Code("rope-trained-tokens", "5"),
			petest.Code("rope-proportion", "0.5")),
		Refuse: []petest.Refusal{petest.Refuse("a scale below 1",
			petest.Spec{Given: pe.Options{"rope-scale": "0.5"}}, "--rope-scale", `"0.5"`)},
	})
}

func init() {
	vectors["rope_position_interpolation"] = func(t testing.TB, c *petest.VectorCase) petest.Outputs {
		scale := c.Float("scale", 1)
		sp := rotarySpec(c, "rope-pi", "half", "rope-scale", fmt.Sprint(scale))
		out := rotaryOutputs(t, c, sp, sp.Positions)
		for i := range out["inv_freq"].Values { // their frequencies are rope's; it is positions that they divide
			out["inv_freq"].Values[i] *= scale
		}
		return out
	}
}

// TestInterpolationFollowsLength: with the tokens it was trained on, a sequence of s times as many
// is turned as with scale s, and a shorter one as by rope.
func TestInterpolationFollowsLength(t *testing.T) {
	q, k := wave(8, 1, 8, 0), wave(8, 1, 8, 1)
	turned := func(scheme string, options ...string) petest.Array {
		given := pe.Options{}
		for i := 0; i < len(options); i += 2 {
			given[options[i]] = options[i+1]
		}
		out, _ := rotated(petest.Spec{Scheme: scheme, Given: given}.Model(t), q, k, pe.Line(8))
		return out
	}
	petest.Near(t, "8 tokens, 2 trained", turned("rope-pi", "rope-trained-tokens", "2"),
		turned("rope-pi", "rope-scale", "4"), 0)
	petest.Near(t, "8 tokens, 9 trained", turned("rope-pi", "rope-trained-tokens", "9"), turned("rope"), 0)
	petest.Near(t, "ntk, 8 tokens, 9 trained", turned("rope-ntk", "rope-trained-tokens", "9"), turned("rope"), 0)
	petest.Near(t, "yarn, 8 tokens, 9 trained", turned("rope-yarn", "rope-trained-tokens", "9",
		"rope-yarn", "dynamic"), turned("rope"), 1e-14)
}
