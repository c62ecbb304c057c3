package pe_test

import (
	"fmt"
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

func TestTISA(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "tisa", Shift: petest.Unmoved,
		Variants: []petest.Variant{petest.Code("tisa-kernels", "2"), petest.Code("tisa-offset", "i-j-1")},
		Refuse: []petest.Refusal{
			petest.Refuse("no kernels", petest.Spec{Given: pe.Options{"tisa-kernels": "0"}}, "--tisa-kernels", `"0"`),
		},
	})
}

func init() { vectors["tisa"] = only(tisaVector) }

// tisaVector reads f off the first row and the first column of a bias over as many tokens as there
// are offsets.
func tisaVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	n, heads := c.Int("n", 0), c.Int("heads", 1)
	set := map[string][]float64{"pe.a": c.Param(t, "a").Values, "pe.b": c.Param(t, "b").Values,
		"pe.c": c.Param(t, "c").Values}
	bias := func(offset string, tokens int) petest.Array {
		sp := petest.Spec{
			Scheme: "tisa", Layers: 1, Heads: heads, DModel: 2 * heads, Positions: pe.Line(tokens), Set: set,
			Given: pe.Options{"tisa-kernels": fmt.Sprint(c.Int("S", 5)), "tisa-offset": offset},
		}
		m := sp.Model(t)
		if want := c.Int("n_params", 0); want != 0 && m.Params.Get("pe.a").PerMember()*3 != want {
			t.Errorf("%d parameters a kernel, the other code has %d", m.Params.Get("pe.a").PerMember()*3, want)
		}
		return petest.AddedToLogits(m, 0, sp.Positions)
	}
	out := petest.Outputs{"bias_paper": bias("j-i", n), "bias_official_forward": bias("i-j-1", n)}
	if !c.Has("offsets") {
		return out
	}
	offsets := c.Input(t, "offsets")
	most := 0
	for _, v := range offsets.Values {
		most = max(most, int(v), -int(v))
	}
	all, f := bias("j-i", most+1), petest.Array{Shape: []int{heads, len(offsets.Values)}}
	for h := range heads {
		for _, v := range offsets.Values {
			f.Values = append(f.Values, all.Row(h)[max(-int(v), 0)*(most+1)+max(int(v), 0)])
		}
	}
	out["f_of_offset"] = f
	return out
}
