package pe_test

import (
	"fmt"
	"testing"

	"torchpe/models/pe/petest"
)

func TestRoPEYaRN(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "rope-yarn", Shift: petest.Unmoved,
		Variants: rotaryVariants(
			petest.Code("rope-scale", "3"), petest.Code("rope-trained-tokens", "1000"),
			petest.Code("rope-yarn", "by-parts"),
			petest.Code("rope-yarn", "dynamic", "rope-trained-tokens", "5"), petest.Code("yarn-beta-fast", "0.01"),
			petest.Code("yarn-beta-slow", "0.001"),
		),
	})
}

func init() {
	vectors["rope_yarn"] = func(t testing.TB, c *petest.VectorCase) petest.Outputs {
		options := []string{
			"rope-trained-tokens", fmt.Sprint(c.Int("L_orig", 0)), "rope-scale", fmt.Sprint(c.Float("scale", 1)),
			"yarn-beta-fast", fmt.Sprint(c.Float("beta_fast", 32)), "yarn-beta-slow",
			fmt.Sprint(c.Float("beta_slow", 1)),
		}
		switch {
		case c.Bool("dynamic"):
			options = append(options, "rope-yarn", "dynamic")
		case c.Floats("gamma") != nil && c.Floats("beta") != nil: // the constants of NTK-by-parts
			options = append(options, "rope-yarn", "by-parts")
		}
		sp := rotarySpec(c, "rope-yarn", "half", options...)
		return rotaryOutputs(t, c, sp, sp.Positions)
	}
}
