package petest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"torchpe/models"
	"torchpe/torchpe"
)

// checkGradients checks that every trained parameter gets a finite gradient. That of the encoding's
// own must agree with finite differences and not be zero for any member. That of the other
// parameters is compared at one size, by its largest entry.
func checkGradients(tr trial) error {
	m, err := tr.spec().New()
	if err != nil {
		return err
	}
	defer m.Close()
	b := newBatch(m, m.Config.Positions)
	gradients := backward(m, b)
	rng := rand.New(rand.NewPCG(1, 1))
	for _, p := range m.Params.All() {
		if !p.Trainable {
			continue
		}
		g, own := gradients[p.Name], strings.HasPrefix(p.Name, "pe.")
		if !finite(g.Values) {
			return fmt.Errorf("the gradient of %s is not finite", p.Name)
		}
		for e := range tr.members {
			if own && largest(g.Row(e)) < 1e-12 && !slices.Contains(tr.Unfelt, p.Name) {
				return fmt.Errorf("the gradient of %s is zero for member %d", p.Name, e)
			}
		}
		picked := entries(g.Values, rng)
		switch {
		case own:
		case tr.heads == 2 && tr.members == 3:
			picked = picked[:1]
		default:
			picked = nil
		}
		for _, i := range picked {
			e := entry{p.Name, i, g.Values[i], 2e-5, 1e-7}
			if tr.Kinks {
				e.step, e.tolerance = 2e-7, 1e-5
			}
			if err := checkEntry(m, b, e); err != nil {
				return err
			}
		}
	}
	return nil
}

// largest returns the largest magnitude.
func largest(values []float64) (most float64) {
	for _, v := range values {
		most = max(most, math.Abs(v))
	}
	return most
}

// entries picks the entry of the largest gradient, and two at random.
func entries(gradient []float64, rng *rand.Rand) []int {
	top := 0
	for i, g := range gradient {
		if math.Abs(g) > math.Abs(gradient[top]) {
			top = i
		}
	}
	return []int{top, rng.IntN(len(gradient)), rng.IntN(len(gradient))}
}

// loss returns a random linear function of the last hidden states and the logits: no gradient
// vanishes by symmetry.
func loss(s *torchpe.Scope, m *models.Model, b batch) torchpe.Tensor {
	s.Seed(m.Config.Seeds, noiseStep)
	last := fmt.Sprintf("hidden/%d", m.Config.Layers-1)
	trace := models.NewTrace(last)
	logits := m.Forward(s, b.input(s, m), trace)
	hidden, _ := trace.Get(last)
	weighed := func(x torchpe.Tensor, seed uint64) torchpe.Tensor {
		return x.Mul(torchpe.RandN(s, seed, x.DType(), x.Device(), x.Shape()...)).Sum()
	}
	return weighed(hidden, 1).Add(weighed(logits, 2))
}

// backward returns the gradients of the loss by parameter.
func backward(m *models.Model, b batch) map[string]Array {
	s := torchpe.NewScope()
	defer s.Close()
	m.Params.Grads(s).Fill(0)
	loss(s, m, b).Backward()
	found := map[string]Array{}
	for _, p := range m.Params.All() {
		if p.Trainable {
			found[p.Name] = ArrayOf(p.In(s).Grad())
		}
	}
	return found
}

// entry is one element of a parameter, with the gradient to check.
type entry struct {
	parameter string
	index     int
	gradient  float64
	step      float64 // of the differences
	tolerance float64 // of the gradient, relative above 1
}

// checkEntry compares with the five-point difference (f(-2h) - 8 f(-h) + 8 f(h) - f(2h)) / 12h: its
// error goes with h^4, which the steep softmax of a low temperature needs.
func checkEntry(m *models.Model, b batch, e entry) error {
	values, err := m.Params.Values(e.parameter)
	if err != nil {
		return err
	}
	h, start, difference := e.step, values[e.index], 0.0
	at := func(step float64) error {
		values[e.index] = start + step
		return m.Params.Set(e.parameter, values)
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
	if d := math.Abs(difference - e.gradient); !(d <= e.tolerance*max(1, math.Abs(e.gradient))) {
		return fmt.Errorf("the gradient of %s[%d] is %g, finite differences give %g (off by %.1e)",
			e.parameter, e.index, e.gradient, difference, d)
	}
	return nil
}
