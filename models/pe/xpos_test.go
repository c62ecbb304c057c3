package pe_test

import (
	"fmt"
	"testing"

	"torchpe/models/pe/petest"
)

func TestXPos(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "xpos", Shift: petest.Unmoved,
		Variants: rotaryVariants(
			petest.Code("xpos-scale-base", "8"), petest.Code("xpos-gamma", "0.2", "xpos-scale-base",
				"8"), petest.Code("xpos-gamma", "0.1"),
			petest.Code("xpos-causal", "false"),
		),
	})
}

func init() {
	vectors["xpos"] = func(t testing.TB, c *petest.VectorCase) petest.Outputs {
		sp := rotarySpec(c, "xpos", "interleaved", "xpos-scale-base",
			fmt.Sprint(c.Float("scale_base", 512)), "xpos-gamma", fmt.Sprint(c.Float("gamma", 0.4)))
		if want := c.Int("centre", 0); want != (sp.Positions.Tokens()+1)/2 {
			t.Errorf("the centre is %d; ours is ceil(n/2)", want)
		}
		return rotaryOutputs(t, c, sp, sp.Positions)
	}
}
