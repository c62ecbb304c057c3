package pe_test

import (
	"fmt"
	"math"
	"testing"

	"torchpe/models"
	"torchpe/models/pe"
	"torchpe/models/pe/petest"
	"torchpe/torchpe"
)

func TestFloater(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "floater",
		Variants: []petest.Variant{
			petest.Code("floater-dt", "0.02"), petest.Text("floater-solver", "euler"),
		},
	})
}

func init() { vectors["floater"] = floaterVector }

// floaterVector: one kind of case is the path alone, the other attention with given biases; in that
// one the projections have no biases of their own.
func floaterVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	if c.Has("p0") {
		return floaterPath(t, c)
	}
	x, biases := c.Input(t, "x"), c.Input(t, "bias_n_qkv_d")
	m := petest.Spec{
		Scheme: "floater", Layers: 1, DModel: x.Shape[1], Heads: c.Int("heads", 1), Positions: pe.Line(x.Shape[0]),
	}.Model(t)
	m.Encoding = pe.GivenBiases(m.Encoding, biases.Values)
	w := petest.Projections{QKV: c.Param(t, "in_proj_weights"), Out: c.Param(t, "out_proj.weight"),
		OutB: c.Param(t, "out_proj.bias")}
	got := w.Attend(m, x, pe.Line(x.Shape[0]), false)
	return petest.Outputs{"logits": got.Logits, "context_out": got.Output}
}

func floaterPath(t testing.TB, c *petest.VectorCase) petest.Outputs {
	n, d, layers, dt := c.Int("n", 0), c.Int("d", 0), c.Int("layers", 0), c.Float("dt", 0.01)
	if method, steps := c.Text("method", "rk4"), math.Round(dt/c.Float("step", dt/5)); method != "rk4" || steps != 5 {
		t.Fatalf("method %s, %g steps a token: floater's solver is torchdiffeq's rk4 with 5", method, steps)
	}
	sp := petest.Spec{
		Scheme: "floater", DModel: d, Layers: layers, Positions: pe.Line(n), Set: map[string][]float64{},
		Given: pe.Options{"floater-dt": fmt.Sprint(dt)},
	}
	for ours, theirs := range map[string]string{
		"pe.start": "p0", "pe.in.weight": "layers.0.linear.weight", "pe.in.bias": "layers.0.linear.bias",
		"pe.out.weight": "layers.2.linear.weight", "pe.out.bias": "layers.2.linear.bias",
	} {
		sp.Set[ours] = c.Param(t, theirs).Values
	}
	return petest.Outputs{"bias_n_qkv_layer_d": flowBiases(sp.Model(t), pe.Line(n)).Reshaped(n, 3, layers, d)}
}

// flowBiases returns the biases of a model of one head at the given positions, [N,3,L,D].
func flowBiases(m *models.Model, p pe.Positions) (out petest.Array) {
	petest.Closed(func(s *torchpe.Scope) {
		out = petest.ArrayOf(pe.FlowBiases(petest.Begin(s, m, p)).Squeeze(0).Squeeze(2).Permute(2, 0, 1, 3))
	})
	return out
}

// TestFloaterConverges: where h has no kink on the way, a tenth of the time step changes the place
// reached by 1e-4 of the error of a whole one, for the method is of order 4; Euler's error falls to
// a tenth. A path of weight zero runs straight, p = p_0 + b_2 t.
func TestFloaterConverges(t *testing.T) {
	const time = 1.2
	end := func(solver string, places int, set map[string][]float64) []float64 {
		p := pe.Line(places + 1)
		m := petest.Spec{
			Scheme: "floater", Layers: 1, Set: set, Positions: p,
			Given: pe.Options{"floater-dt": fmt.Sprint(time / float64(places)), "floater-solver": solver},
		}.Model(t)
		return flowBiases(m, p).Row(places)
	}
	open := make([]float64, 8) // b_1 so large that relu is the identity
	for i := range open {
		open[i] = 100
	}
	smooth := map[string][]float64{"pe.in.bias": open, "pe.start": make([]float64, 3*8)}
	best := end("rk4", 60, smooth)
	for solver, falls := range map[string]float64{"rk4": 2e-4, "euler": 0.2} {
		coarse, fine := norm(difference(end(solver, 1, smooth), best)), norm(difference(end(solver, 10, smooth), best))
		if !(fine < falls*coarse) || coarse == 0 {
			t.Errorf("%s: the errors of one token and of ten are %.1e and %.1e", solver, coarse, fine)
		}
	}
	straight := map[string][]float64{
		"pe.in.weight": make([]float64, 8*9), "pe.in.bias": make([]float64, 8),
		"pe.out.weight": make([]float64, 8*9), "pe.out.bias": open,
		"pe.start": make([]float64, 3*8),
	}
	for _, v := range end("rk4", 3, straight) {
		if math.Abs(v-100*time) > 1e-11 {
			t.Fatalf("a straight path ends at %g, want %g", v, 100*time)
		}
	}
}
