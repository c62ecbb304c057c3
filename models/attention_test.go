package models_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"torchpe/internal/expect"
	"torchpe/models"
	"torchpe/models/arch"
	"torchpe/models/pe"
	"torchpe/models/pe/petest"
	"torchpe/torchpe"
)

// TestUnseenAttention: a model whose attention weights nobody asks for, which are then never made
// for this many tokens, gives the predictions and gradients of the one whose weights are traced;
// also for the tokens that are read alone, and with dropout, which the weights must exist for.
func TestUnseenAttention(t *testing.T) {
	for _, name := range []string{"learn", "rope", "c-nope", "relative", "relative-bias", "alibi", "kerple", "tener",
		"transformer-xl", "deberta", "forgetting"} {
		for _, fidelity := range []string{"code", "text"} {
			t.Run(name+"/"+fidelity+"/read", func(t *testing.T) { checkUnseen(t, name, fidelity, true, 0) })
			t.Run(name+"/"+fidelity+"/all", func(t *testing.T) { checkUnseen(t, name, fidelity, false, 0) })
			t.Run(name+"/"+fidelity+"/dropout", func(t *testing.T) { checkUnseen(t, name, fidelity, true, 0.1) })
		}
	}
}

func checkUnseen(t *testing.T, name, fidelity string, read bool, dropout float64) {
	const n = 150 // with heads of width 12, more than 64^3 multiplications
	m := scalarModel(t, name, fidelity, n, 24, func(c *models.Config) { c.Dropout = dropout })
	x := drawScalars(2, 2, n, 61)
	if !read {
		x.read = nil
	}
	trace := models.NewTrace("attention/*", "hidden/*")
	want := passScalars(m, x, trace)
	expect.Equal(t, fmt.Sprint("traced: ", trace.Names()), len(trace.Names()), 4)
	have := passScalars(m, x, nil)
	petest.Near(t, "predictions", have.result, want.result, 5e-12)
	petest.Near(t, "gradients", have.gradients, want.gradients, 5e-12)
}

// TestSharedValues: the projection of the first block, once for each token that is hidden and each that
// is not, with what their values add, gives predictions and gradients of each token's own projection,
// which a traced pass makes.
func TestSharedValues(t *testing.T) {
	for i := range 32 {
		name, fidelity := []string{"learn", "rope", "nope", "relative"}[i%4], []string{"code", "text"}[i/4%2]
		token, x := []string{arch.LearnedMask, arch.ZeroMask}[i/8%2], drawScalars(2, 5, 9, 4)
		if i/16 == 1 {
			x.read = nil
		}
		m := scalarModel(t, name, fidelity, 9, 12, func(c *models.Config) { c.MaskToken, c.MaskSD = token, 0.5 })
		want, have := passScalars(m, x, models.NewTrace()), passScalars(m, x, nil)
		title := fmt.Sprintf("%s, %s, mask token %s, read %v: ", name, fidelity, token, x.read != nil)
		if have.taken <= want.taken {
			t.Errorf("%stokens share no rows", title)
		}
		petest.Near(t, title+"predictions", have.result, want.result, 5e-13)
		petest.Near(t, title+"gradients", have.gradients, want.gradients, 5e-12)
	}
}

// scalarModel builds a model of masked prediction of n tokens.
func scalarModel(t *testing.T, name, fidelity string, n, width int, change func(*models.Config)) *models.Model {
	t.Helper()
	return petest.Spec{Scheme: name, Fidelity: fidelity, Positions: pe.Line(n), Heads: 2, DModel: width,
		Seeds: []uint64{1, 2}, Sigma: []float64{0.2, 1}, Change: func(c *models.Config) {
			c.Classes, c.TokenInput, c.MaskToken, c.ReadOut = 1, arch.Scalar, arch.LearnedMask, arch.ReadTokens
			change(c)
		}}.Model(t)
}

// scalars are samples [E,B,N] of masked prediction, with M tokens masked in each.
type scalars struct {
	shape          []int // [E,B,N]
	values, masked []float64
	read           []int64 // [E,B,M]; nil to read all
}

func drawScalars(members, batch, n, m int) scalars {
	rng := rand.New(rand.NewPCG(3, 4))
	x := scalars{shape: []int{members, batch, n}, masked: make([]float64, members*batch*n)}
	for sample := range members * batch {
		for range n {
			x.values = append(x.values, rng.NormFloat64())
		}
		for _, token := range rng.Perm(n)[:m] {
			x.masked[sample*n+token] = 1
			x.read = append(x.read, int64(token))
		}
	}
	return x
}

func (x scalars) input(s *torchpe.Scope, m *models.Model) models.Input {
	in := models.Input{Values: torchpe.Of(s, torchpe.CPU, x.values, x.shape...),
		Masked: torchpe.Of(s, torchpe.CPU, x.masked, x.shape...), Positions: m.Config.Positions}
	if x.read != nil {
		members, batch := x.shape[0], x.shape[1]
		in.Read = torchpe.Of(s, torchpe.CPU, x.read, members, batch, len(x.read)/members/batch)
	}
	return in
}

// passScalars returns what the model predicts in a training step, and its gradients.
func passScalars(m *models.Model, x scalars, trace *models.Trace) passed {
	return pass(m, trace, func(s *torchpe.Scope) models.Input {
		s.Seed(m.Config.Seeds, 0)
		return x.input(s, m)
	}, func(y torchpe.Tensor) torchpe.Tensor { return y.Square().Sum() })
}
