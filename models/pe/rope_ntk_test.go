package pe_test

import (
	"fmt"
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

func TestRoPENTK(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "rope-ntk", Shift: petest.Unmoved,
		Variants: rotaryVariants(petest.Code("rope-scale", "3"), petest.Code("rope-trained-tokens", "5"),
			petest.Code("rope-dims", "4").For(1)),
		Refuse: []petest.Refusal{
			petest.Refuse("narrow heads", petest.Spec{DModel: 4, Heads: 2}, "rope-ntk",
				"head width 2 = 4/2", "less than 4"),
			petest.Refuse("one pair", petest.Spec{Given: pe.Options{"rope-dims": "2"}}, "rope-ntk",
				"--rope-dims 2"),
		},
	})
}

func init() {
	vectors["rope_dynamic_ntk"] = func(t testing.TB, c *petest.VectorCase) petest.Outputs {
		return hfOutputs(t, c, rotarySpec(c, "rope-ntk", "half", "rope-scale", fmt.Sprint(c.Float("factor", 1)),
			"rope-trained-tokens", fmt.Sprint(c.Int("max_position_embeddings", 0))))
	}
	vectors["rope_ntk_aware"] = func(t testing.TB, c *petest.VectorCase) petest.Outputs {
		options := []string{"rope-scale", fmt.Sprint(c.Float("alpha", 1))}
		if c.Bool("dynamic") {
			options = []string{"rope-scale", fmt.Sprint(c.Float("factor", 1)),
				"rope-trained-tokens", fmt.Sprint(c.Int("Lmax", 0))}
		}
		sp := rotarySpec(c, "rope-ntk", "half", options...)
		return rotaryOutputs(t, c, sp, sp.Positions)
	}
}
