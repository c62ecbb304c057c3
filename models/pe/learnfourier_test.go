package pe_test

import (
	"fmt"
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

func TestLearnFourier(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "learn-fourier",
		Variants: []petest.Variant{
			petest.Code("fourier-gamma", "1"), petest.Code("fourier-spread", "variance"),
			petest.Text("fourier-features", "6"),
			petest.Code("fourier-hidden", "5"), petest.Code("fourier-groups", "2"),
		},
		Refuse: []petest.Refusal{
			petest.Refuse("odd features", petest.Spec{Given: pe.Options{"fourier-features": "5"}},
				"learn-fourier", "5 features", "odd"),
			petest.Refuse("groups of coordinates",
				petest.Spec{Given: pe.Options{"fourier-groups": "4"}}, "--fourier-groups 4",
				"2 coordinates"),
		},
	})
}

func init() { vectors["learnable_fourier"] = learnFourierVector }

func learnFourierVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	x := c.Input(t, "x") // [N,G,M]
	n, groups, dims := x.Shape[0], x.Shape[1], x.Shape[2]
	p := pe.Line(n)
	for i := range n {
		p.Points = append(p.Points, x.Row(i))
	}
	if groups != c.Int("G", groups) || dims != c.Int("M", dims) {
		t.Fatalf("coordinates %v, the case has G = %d, M = %d", x.Shape, c.Int("G", 0), c.Int("M", 0))
	}
	set := map[string][]float64{}
	for ours, theirs := range map[string]string{
		"pe.waves": "Wr.weight", "pe.in.weight": "mlp.0.weight", "pe.in.bias": "mlp.0.bias",
		"pe.out.weight": "mlp.2.weight", "pe.out.bias": "mlp.2.bias",
	} {
		set[ours] = c.Param(t, theirs).Values
	}
	m := petest.Spec{
		Scheme: "learn-fourier", Layers: 1, DModel: c.Int("D", 0), Positions: p, Set: set,
		Given: pe.Options{
			"fourier-features": fmt.Sprint(c.Int("F_dim", 0)),
			"fourier-hidden":   fmt.Sprint(c.Int("H_dim", 0)),
			"fourier-groups":   fmt.Sprint(groups),
		},
	}.Model(t)
	return petest.Outputs{"pe": petest.Added(m, 0, p)}
}
