package pe_test

import (
	"fmt"
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
