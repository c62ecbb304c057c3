package pe_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"torchpe/models"
	"torchpe/models/pe/petest"
	"torchpe/torchpe"
)

// checkGradients checks that every trained parameter gets a finite gradient. That of each of the
// encoding's own must agree with finite differences, along a direction of all its entries, and not be
// zero for any member. Those of the other parameters are compared together, at one size.
func checkGradients(tr trial, m *models.Model) error {
	b := newBatch(m, m.Config.Positions)
	gradients := backward(m, b)
	var others []string
	for _, p := range m.Params.All() {
		if !p.Trainable {
			continue
		}
		g := gradients[p.Name]
		if !finite(g.Values) {
			return fmt.Errorf("the gradient of %s is not finite", p.Name)
		}
		if !strings.HasPrefix(p.Name, "pe.") {
			others = append(others, p.Name)
			continue
		}
		rows, layers := g, 1 // of each layer, too, where it has parameters of its own
		if len(g.Shape) > 1 && g.Shape[1] == m.Config.Layers && !tr.Kinks {
			layers = m.Config.Layers
			rows = g.Reshaped(tr.members*layers, len(g.Values)/(tr.members*layers))
		}
		for i := range tr.members * layers {
			if largest(rows.Row(i)) < 1e-12 && !slices.Contains(tr.Unfelt, p.Name) {
				return fmt.Errorf("the gradient of %s is zero for member %d, part %d of %d", p.Name, i/layers,
					i%layers, layers)
			}
		}
		if err := tr.checkDirection(m, b, gradients, p.Name); err != nil {
			return err
		}
	}
	if tr.heads != 2 || tr.members != 3 {
		return nil
	}
	return tr.checkDirection(m, b, gradients, others...)
}

// largest returns the largest magnitude.
func largest(values []float64) (most float64) {
	for _, v := range values {
		most = max(most, math.Abs(v))
	}
	return most
}

// loss returns a random linear function of the last hidden states and the logits: no gradient
// vanishes by symmetry.
func loss(s *torchpe.Scope, m *models.Model, b petest.Batch) torchpe.Tensor {
	s.Seed(m.Config.Seeds, noiseStep)
	last := fmt.Sprintf("hidden/%d", m.Config.Layers-1)
	trace := models.NewTrace(last)
	logits := m.Forward(s, b.Input(s, m), trace)
	hidden, _ := trace.Get(last)
	weighed := func(x torchpe.Tensor, seed uint64) torchpe.Tensor {
		return x.Mul(torchpe.RandN(s, seed, x.DType(), x.Device(), x.Shape()...)).Sum()
	}
	return weighed(hidden, 1).Add(weighed(logits, 2))
}

// backward returns the gradients of the loss by parameter.
func backward(m *models.Model, b petest.Batch) map[string]petest.Array {
	s := torchpe.NewScope()
	defer s.Close()
	m.Params.Grads(s).Fill(0)
	loss(s, m, b).Backward()
	found := map[string]petest.Array{}
	for _, p := range m.Params.All() {
		if p.Trainable {
			found[p.Name] = petest.ArrayOf(p.In(s).Grad())
		}
	}
	return found
}

// checkDirection compares the derivative of the loss along a random direction of norm 1 in the
// values of parameters with the five-point difference (f(-2h) - 8 f(-h) + 8 f(h) - f(2h)) / 12h: its
// error goes with h^4, which the steep softmax of a low temperature needs.
func (tr trial) checkDirection(m *models.Model, b petest.Batch, gradients map[string]petest.Array,
	names ...string) error {
	h, tolerance := 2e-5, 2e-8
	if tr.Kinks {
		h, tolerance = 2e-7, 2e-6
	}
	rng, start, direction := rand.New(rand.NewPCG(1, 1)), map[string][]float64{}, map[string][]float64{}
	size, derivative, difference := 0.0, 0.0, 0.0
	for _, name := range names {
		values, err := m.Params.Values(name)
		if err != nil {
			return err
		}
		start[name], direction[name] = values, make([]float64, len(values))
		for i, g := range gradients[name].Values {
			d := rng.NormFloat64()
			direction[name][i], size, derivative = d, math.Hypot(size, d), derivative+d*g
		}
	}
	derivative /= size
	at := func(step float64) error {
		for _, name := range names {
			moved := slices.Clone(start[name])
			for i, d := range direction[name] {
				moved[i] += step / size * d
			}
			if err := m.Params.Set(name, moved); err != nil {
				return err
			}
		}
		return nil
	}
	for step, weight := range map[float64]float64{-2 * h: 1, -h: -8, h: 8, 2 * h: -1} {
		if err := at(step); err != nil {
			return err
		}
		s := torchpe.NewScopeNoGrad()
		difference += weight * loss(s, m, b).Item() / (12 * h)
		s.Close()
	}
	if err := at(0); err != nil {
		return err
	}
	// Rounding of the loss, about 1e-15 times its size of 10, is divided by h.
	if d := math.Abs(difference - derivative); !(d <= tolerance*max(1, math.Abs(derivative))) {
		return fmt.Errorf("the gradient of %s is %g along a direction, finite differences give %g (off by %.1e)",
			strings.Join(names, ", "), derivative, difference, d)
	}
	return nil
}
