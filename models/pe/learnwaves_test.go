package pe_test

import (
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

func TestLearnWaves(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme:   "learn-waves",
		Variants: []petest.Variant{petest.Code("pe-placement", "input"), petest.Code("sinusoid-base", "100")},
	})
}

func init() { vectors["learned_wavelengths"] = learnWavesVector }

func learnWavesVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	f, p := c.Param(t, "f"), pe.Line(c.Int("n", 0))
	m := petest.Spec{
		Scheme: "learn-waves", Layers: 1, DModel: c.Int("d", 0), Positions: p,
		Set: map[string][]float64{"pe.index": f.Values},
	}.Model(t)
	if have := m.Params.Get("pe.index").PerMember(); have != c.Int("n_params", have) {
		t.Errorf("%d parameters, the reference has %d", have, c.Int("n_params", have))
	}
	return petest.Outputs{"table": petest.Added(m, 0, p)}
}
