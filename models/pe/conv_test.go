package pe_test

import (
	"fmt"
	"math"
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

func TestConv(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "conv-pos", Shift: petest.Unmoved,
		Variants: []petest.Variant{petest.Code("conv-kernel", "4"), petest.Code("conv-groups", "2")},
		Refuse: []petest.Refusal{
			petest.Refuse("groups that do not divide the width",
				petest.Spec{Given: pe.Options{"conv-groups": "3"}}, "--conv-groups 3", "d_model 8"),
		},
	})
}

func init() { vectors["conv_pos"] = convVector }

// convVector: what the module returns is what the scheme adds to x.
func convVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	x, v := c.Input(t, "x"), c.Param(t, "weight_v")
	p := pe.Line(x.Shape[1])
	m := petest.Spec{
		Scheme: "conv-pos", Layers: 1, DModel: x.Shape[2], Positions: p,
		Given: pe.Options{"conv-kernel": fmt.Sprint(c.Int("kernel", 0)), "conv-groups": fmt.Sprint(c.Int("groups", 0))},
		Set: map[string][]float64{"pe.v": v.Values, "pe.gain": c.Param(t, "weight_g").Values,
			"pe.bias": c.Param(t, "bias").Values},
	}.Model(t)
	out := petest.Embedded(m, 0, x.Reshaped(append([]int{1}, x.Shape...)...), p)
	// The same sequence many times over is convolved by one matrix.
	many := petest.Array{Shape: []int{1, 50, x.Shape[1], x.Shape[2]}}
	for range 50 {
		many.Values = append(many.Values, x.Row(0)...)
	}
	last := petest.Embedded(m, 0, many, p).Reshaped(50, len(x.Row(0))).Row(49)
	petest.Near(t, "in a batch", petest.Array{Shape: x.Shape[1:], Values: last},
		petest.Array{Shape: x.Shape[1:], Values: out.Values[:len(last)]}, 1e-13)
	return petest.Outputs{"pe": {Shape: x.Shape, Values: difference(out.Values, x.Values)}}
}

// TestConvStarts: at first the weights are V itself, for gain is its norm: the k taps of a wide
// kernel that reach past the tokens change nothing.
func TestConvStarts(t *testing.T) {
	m := petest.Spec{Scheme: "conv-pos", DModel: 16, Given: pe.Options{"conv-kernel": "128"}}.Model(t)
	values := func(name string) []float64 {
		x, err := m.Params.Values(name)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	v, gain := values("pe.v"), values("pe.gain")
	for tap := range 128 {
		squares := 0.0
		for i := tap; i < len(v); i += 128 {
			squares += v[i] * v[i]
		}
		if math.Abs(math.Sqrt(squares)-gain[tap]) > 1e-14 {
			t.Errorf("tap %d has the gain %g, the norm of V is %g", tap, gain[tap], math.Sqrt(squares))
		}
	}
	x := petest.Array{Shape: []int{1, 1, 8, 16}}
	for i := range 8 * 16 {
		x.Values = append(x.Values, math.Sin(float64(i)))
	}
	before := petest.Embedded(m, 0, x, pe.Line(8))
	for i := range gain { // offsets beyond +-7
		if i < 64-7 || i > 64+7 {
			gain[i] = 100
		}
	}
	if err := m.Params.Set("pe.gain", gain); err != nil {
		t.Fatal(err)
	}
	petest.Near(t, "with other taps beyond the tokens", petest.Embedded(m, 0, x, pe.Line(8)), before, 0)
}
