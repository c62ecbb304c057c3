package pe_test

import (
	"strings"
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
	"torchpe/torchpe"
)

func TestSinusoid3D(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "3d-fixed", DModel: 12, Positions: pe.Box(2, 2, 2), More: pe.Box(3, 2, 2),
		Variants: []petest.Variant{
			petest.Code("pe-placement", "input"), petest.Code("positions-from", "1"),
			petest.Text("space-layout", "padded"),
			petest.Code("sinusoid-base", "100"),
		},
		Refuse: []petest.Refusal{
			petest.Refuse("a width for one frequency",
				petest.Spec{DModel: 10, Given: pe.Options{"space-layout": "padded"}}, "3d-fixed",
				"d_model 10"),
			petest.Refuse("tokens on a line", petest.Spec{Positions: pe.Line(8)}, "3d-fixed",
				"three coordinates", "a line of 8"),
		},
	})
}

func init() { vectors["sinusoidal_3d"] = sinusoid3DVector }

// sinusoid3DVector: VideoMAE's table is that of 1d-fixed over all tubes in a row.
func sinusoid3DVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	shape := whole(c.Floats("shape"))
	if len(shape) == 0 {
		return sinusoid1DVector(t, c, "interleaved")
	}
	box, given := pe.Box(shape[0], shape[1], shape[2]), pe.Options{"space-layout": "cut"}
	if strings.Contains(c.SourceSymbol.(string), "posemb_sincos_3d") {
		given["space-layout"] = "padded"
	}
	m := petest.Spec{Scheme: "3d-fixed", DModel: c.Int("d", 0), Positions: box, Given: given}.Model(t)
	return petest.Outputs{"table": petest.Added(m, 0, box)}
}

// TestSinusoid3DOnGrid: a grid is one frame; a token at a point that the scheme was not built for
// is an error.
func TestSinusoid3DOnGrid(t *testing.T) {
	grid := petest.Spec{Scheme: "3d-fixed", DModel: 12, Positions: pe.Grid(2, 4)}.Model(t)
	box := petest.Spec{Scheme: "3d-fixed", DModel: 12, Positions: pe.Box(1, 2, 4)}.Model(t)
	petest.Near(t, "a grid", petest.Added(grid, 0, pe.Grid(2, 4)), petest.Added(box, 0, pe.Box(1, 2, 4)), 0)
	err := torchpe.Catch(func() { petest.Added(grid, 0, pe.Box(2, 2, 2)) })
	if err == nil || !strings.Contains(err.Error(), "3d-fixed") || !strings.Contains(err.Error(), "[1 0 0]") {
		t.Errorf("a second frame: the error is %v", err)
	}
}
