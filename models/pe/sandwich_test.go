package pe_test

import (
	"fmt"
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

func TestSandwich(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "sandwich", Shift: petest.Unmoved,
		Variants: []petest.Variant{petest.Code("sandwich-direction", "bidirectional"),
			petest.Code("sandwich-width", "6"), petest.Code("sandwich-first", "1")},
		Refuse: []petest.Refusal{
			petest.Refuse("an odd width", petest.Spec{Given: pe.Options{"sandwich-width": "7"}}, "--sandwich-width 7"),
		},
	})
}

func init() { vectors["sandwich"] = sandwichVector }

func sandwichVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	heads := c.Int("heads", 1)
	sp := petest.Spec{
		Scheme: "sandwich", Heads: heads, DModel: 2 * heads, Layers: 1, Positions: pe.Line(c.Int("n", 0)),
		Given: pe.Options{"sandwich-width": fmt.Sprint(c.Int("d_bar", 0))},
	}
	switch reading := c.Text("reading", ""); reading {
	case "m=0..d_bar/2-1":
	case "m=1..d_bar/2, minus d_bar/2":
		sp.Given["sandwich-first"] = "1"
	default:
		t.Fatalf("reading %q is none of ours", reading)
	}
	return petest.Outputs{"bias": petest.AddedToLogits(sp.Model(t), 0, sp.Positions)}
}
