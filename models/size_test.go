package models_test

import (
	"slices"
	"testing"

	"torchpe/internal/expect"
	"torchpe/models"
	"torchpe/models/pe"
	"torchpe/models/pe/petest"
	"torchpe/torchpe"
)

// sizeModel returns a small model of a scheme on 4 x 4.
func sizeModel(t *testing.T, name string) *models.Model {
	t.Helper()
	return petest.Spec{Scheme: name, Fidelity: "text", Heads: 2, Positions: pe.Grid(4, 4),
		Seeds: []uint64{3, 4}}.Model(t)
}

// logitsOn runs a model on tokens at positions p.
func logitsOn(m *models.Model, p pe.Positions) []float64 {
	at := *m
	at.Config.Positions = p
	return trace(&at, false, 0)["returned"].Values
}

// A model at other positions has the parameters of the first, also after these have changed.
func TestModelAtFollowsTraining(t *testing.T) {
	for _, name := range []string{"rope", "t5", "2d-fixed", "rope+t5", "nope"} {
		m := sizeModel(t, name)
		at := expect.Must(m.At(pe.Grid(6, 6)))
		before, own := logitsOn(at, pe.Grid(6, 6)), logitsOn(m, pe.Grid(4, 4))
		s := torchpe.NewScopeNoGrad()
		m.Params.Flat(s).CopyFrom(m.Params.Flat(s).MulScalar(1.5))
		s.Close()
		after := logitsOn(at, pe.Grid(6, 6))
		expect.Equal(t, name+": other weights give the same logits", slices.Equal(before, after), false)
		again := expect.Must(m.At(pe.Grid(6, 6)))
		expect.Equal(t, name+": a model made of the new weights differs from one that followed them",
			!slices.Equal(logitsOn(again, pe.Grid(6, 6)), after), false)
		same := expect.Must(m.At(pe.Grid(4, 4)))
		if x := logitsOn(same, pe.Grid(4, 4)); slices.Equal(x, own) || !slices.Equal(x, logitsOn(m, pe.Grid(4, 4))) {
			t.Errorf("%s: at its own positions it is another model", name)
		}
		for _, x := range []*models.Model{at, again, same} {
			x.Close()
		}
	}
}

// What cannot be evaluated says so; tables tied to a number of tokens serve fewer; and nothing is
// left behind.
func TestModelAtErrors(t *testing.T) {
	m := sizeModel(t, "learn")
	before := torchpe.Live()
	expect.Error(t, expect.ErrorOf(m.At(pe.Grid(5, 5))),
		"learn cannot be evaluated at 25 tokens: it was trained on 16")
	small := expect.Must(m.At(pe.Grid(3, 3)))
	expect.Equal(t, "learn at 9 tokens", logitsOn(small, pe.Grid(3, 3)), logitsOn(m, pe.Grid(3, 3)))
	small.Close()
	expect.Equal(t, "tensors after", torchpe.Live(), before)
	grid := sizeModel(t, "2d-fixed")
	expect.Error(t, expect.ErrorOf(grid.At(pe.Line(25))), "2d-fixed")
	stacked := sizeModel(t, "learn+rope-2d")
	before = torchpe.Live()
	expect.Refused(t, "learn+rope-2d for places that a 3 x 3 grid has elsewhere",
		expect.ErrorOf(stacked.At(pe.Grid(3, 3))))
	expect.Equal(t, "tensors after an error", torchpe.Live(), before)
}
