package pe_test

import (
	"fmt"
	"math"
	"testing"

	"torchpe/models/pe"
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

// TestXPosDecays: for one vector at all places, turned back, the logit of each pair goes with
// zeta^((i-j)/S) (Sun et al., equation 15).
func TestXPosDecays(t *testing.T) {
	const n, dh, span, gamma = 8, 8, 4.0, 0.4
	m := petest.Spec{Scheme: "xpos", Given: pe.Options{"xpos-scale-base": fmt.Sprint(span)}}.Model(t)
	one := petest.Array{Shape: []int{1, n, 1, dh}, Values: make([]float64, n*dh)}
	for i := range one.Values {
		one.Values[i] = 1
	}
	q, k := rotated(m, one, one, pe.Line(n))
	for i := range n {
		for j := range n {
			for pair := range dh / 2 {
				got := 0.0
				for c := 2 * pair; c < 2*pair+2; c++ {
					got += q.Values[i*dh+c] * k.Values[j*dh+c]
				}
				zeta := (2*float64(pair) + gamma*dh) / ((1 + gamma) * dh)
				turn := math.Cos(float64(i-j) * math.Pow(10000, -2*float64(pair)/dh))
				if want := 2 * turn * math.Pow(zeta, float64(i-j)/span); math.Abs(got-want) > 1e-12 {
					t.Errorf("pair %d of (%d,%d): %g, want %g", pair, i, j, got, want)
				}
			}
		}
	}
}
