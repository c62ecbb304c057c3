package pe_test

import (
	"strings"
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
	"torchpe/torchpe"
)

func TestSpaceTime(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "space-time", Positions: pe.Box(2, 2, 2), More: pe.Box(3, 2, 2),
		Variants: []petest.Variant{petest.Code("pe-placement", "input")},
		Refuse: []petest.Refusal{
			petest.Refuse("tokens on a line", petest.Spec{Positions: pe.Line(8)}, "space-time",
				"three coordinates", "a line of 8"),
		},
	})
}

func init() { vectors["space_time_learned"] = spaceTimeVector }

// spaceTimeVector: TimeSformer's tokens lie patch by patch, with all frames of a patch together;
// its class token, which is no token of the scheme, comes first and gets the first row of the
// spatial table.
func spaceTimeVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	b, frames, patches, d := c.Int("B", 0), c.Int("T", 0), c.Int("P", 0), c.Int("d", 0)
	x, space, time, class := c.Input(t, "patches_bt_p_d"), c.Param(t, "pos_embed"),
		c.Param(t, "time_embed"), c.Param(t, "cls_token")
	var order []int
	tokens := petest.Array{Shape: []int{1, b, patches * frames, d}}
	for p := range patches {
		for f := range frames {
			order = append(order, f*patches+p)
		}
	}
	for sample := range b {
		for _, at := range order {
			from := (sample*frames*patches + at) * d
			tokens.Values = append(tokens.Values, x.Values[from:from+d]...)
		}
	}
	box := pe.Box(frames, 1, patches)
	m := petest.Spec{
		Scheme: "space-time", Layers: 1, DModel: d, Positions: box,
		Set: map[string][]float64{"pe.space": space.Values[d:], "pe.time": time.Values},
	}.Model(t)
	got := petest.Embedded(m, 0, tokens, petest.At(box, order...)).Reshaped(b, patches*frames, d)
	out := petest.Array{Shape: []int{b, 1 + patches*frames, d}}
	for sample := range b {
		for k, v := range class.Values {
			out.Values = append(out.Values, v+space.Row(0)[k])
		}
		out.Values = append(out.Values, got.Row(sample)...)
	}
	return petest.Outputs{"y": out}
}

// TestSpaceTimeKnowsItsFrames: a frame between two others is an error, as is one after them.
func TestSpaceTimeKnowsItsFrames(t *testing.T) {
	m := petest.Spec{Scheme: "space-time", Positions: pe.Box(2, 2, 2)}.Model(t)
	for _, frame := range []float64{0.5, 2} {
		p := pe.Box(2, 2, 2)
		p.Points[3][0] = frame
		err := torchpe.Catch(func() { petest.Added(m, 0, p) })
		if err == nil || !strings.Contains(err.Error(), "token 3") {
			t.Errorf("frame %g: the error is %v", frame, err)
		}
	}
}
