package pe_test

import (
	"fmt"
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

func TestTENER(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "tener", Shift: petest.Unmoved,
		Variants: []petest.Variant{
			petest.Code("tener-offset", "j-i"), petest.Code("tener-frequencies", "code"),
			petest.Code("tener-key-term", "true"),
			petest.Code("tener-scaled", "true"),
			petest.Code("tener-offset", "j-i", "tener-frequencies", "code", "tener-key-term", "true"),
		},
		Refuse: []petest.Refusal{
			petest.Refuse("an odd head width", petest.Spec{DModel: 6, Heads: 2}, "tener", "head width 3 = 6/2", "odd"),
			petest.Refuse("a narrow head", petest.Spec{
				DModel: 4, Heads: 2, Given: pe.Options{"tener-frequencies": "code"},
			}, "tener", "head width 2 = 4/2", "--tener-frequencies"),
		},
	})
}

func init() { vectors["tener"] = only(tenerVector) }

// tenerVector: the official code calls u r_r_bias and v r_w_bias, and has no output projection. The
// tutorial's code has offsets j-i; a case that follows the text says i-j.
func tenerVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	x := c.Input(t, "x")
	given := pe.Options{"tener-offset": "j-i"}
	if c.Text("offset", "") == "i-j" {
		given["tener-offset"] = "i-j"
	}
	u, v := "u", "v"
	var w petest.Projections
	if c.Has("qkv_linear.weight") {
		u, v = "r_r_bias", "r_w_bias"
		given["tener-frequencies"], given["tener-key-term"] = "code", "true"
		given["tener-scaled"] = fmt.Sprint(c.Bool("scale"))
		w.QKV = c.Param(t, "qkv_linear.weight")
	} else {
		w = plainWeights(t, c)
	}
	sp := petest.Spec{
		Scheme: "tener", Given: given, Layers: 1, DModel: x.Shape[1], Heads: c.Int("heads", 1),
		Positions: pe.Line(x.Shape[0]),
		Set:       map[string][]float64{"pe.u": c.Param(t, u).Values, "pe.v": c.Param(t, v).Values},
	}
	got := w.Attend(sp.Model(t), x, sp.Positions, c.Bool("auto_regression"))
	out := petest.Outputs{"logits": got.Logits}
	for name, value := range map[string]petest.Array{"weights": got.Weights, "output": got.Output} {
		if c.Has(name) {
			out[name] = value
		}
	}
	return out
}
