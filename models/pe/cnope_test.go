package pe_test

import (
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

func TestCausalNoPE(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "c-nope", Shift: petest.Unmoved,
		Variants: []petest.Variant{
			petest.Code("c-nope-temperature", "0.5"), petest.Code("attention-bias", "true"),
			petest.Code("attention-init", "xavier"),
		},
		Refuse: []petest.Refusal{
			petest.Refuse("no temperature",
				petest.Spec{Given: pe.Options{"c-nope-temperature": "0"}}, "--c-nope-temperature",
				`"0"`),
			petest.Refuse("an infinite temperature",
				petest.Spec{Given: pe.Options{"c-nope-temperature": "inf"}},
				"--c-nope-temperature"),
		},
	})
}
