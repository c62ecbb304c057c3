package pe_test

import (
	"fmt"
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

func TestAxial(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "axial",
		Variants: []petest.Variant{
			petest.Code("pe-placement", "input"), petest.Code("axial-join", "fast-first"),
			petest.Code("axial-join", "sum"),
			petest.Text("axial-fast", "4"), petest.Code("axial-width", "2"),
		},
		Refuse: []petest.Refusal{
			petest.Refuse("all for one factor", petest.Spec{Given: pe.Options{"axial-width": "8"}},
				"axial", "--axial-width 8", "d_model 8"),
			petest.Refuse("a width of a sum",
				petest.Spec{Given: pe.Options{"axial-width": "4", "axial-join": "sum"}}, "axial",
				"--axial-width 4", "sum"),
			petest.Refuse("a width of one", petest.Spec{DModel: 1}, "axial", "d_model 1"),
		},
	})
}

func init() { vectors["axial"] = axialVector }

// axialVector: the tutorial's P1 is that of the fast axis and fills the first dimensions;
// lucidrains' axis 0 is the slow one, and both are of full width where the factors are added.
func axialVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	var slow, fast petest.Array
	given := pe.Options{"axial-join": "slow-first"}
	if c.Has("P1") {
		fast, slow = c.Param(t, "P1"), c.Param(t, "P2")
		given["axial-join"], given["axial-width"] = "fast-first", fmt.Sprint(fast.Shape[1])
	} else {
		slow, fast = c.Param(t, "axis0"), c.Param(t, "axis1")
		if given["axial-width"] = fmt.Sprint(slow.Shape[1]); c.Value("dims") == nil {
			given["axial-join"], given["axial-width"] = "sum", "0"
		}
	}
	given["axial-fast"] = fmt.Sprint(fast.Shape[0])
	d := slow.Shape[1] + fast.Shape[1]
	if given["axial-join"] == "sum" {
		d = slow.Shape[1]
	}
	places := slow.Shape[0] * fast.Shape[0]
	m := petest.Spec{
		Scheme: "axial", Layers: 1, DModel: d, Positions: pe.Line(places), Given: given,
		Set: map[string][]float64{"pe.slow": slow.Values, "pe.fast": fast.Values},
	}.Model(t)
	a, b := m.Params.Get("pe.slow"), m.Params.Get("pe.fast")
	if have := a.PerMember() + b.PerMember(); have != c.Int("n_params", have) {
		t.Errorf("%d parameters, the reference has %d", have, c.Int("n_params", have))
	}
	p := pe.Line(c.Int("n", places))
	out := petest.Outputs{}
	if c.Has("table") {
		out["table"] = petest.Added(m, 0, p)
	}
	if c.Has("x") {
		x := c.Input(t, "x")
		out["y"] = petest.Embedded(m, 0, x.Reshaped(append([]int{1}, x.Shape...)...), p).Reshaped(x.Shape...)
	}
	return out
}
