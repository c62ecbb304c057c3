package torchpe

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Gradients against central differences in float64: with step h the difference is off by about h^2
// f”'/6 and by 1e-16 |f|/h, both near 1e-11 at h = 1e-5. That leaves a wide margin below the
// tolerance, which still catches any wrong factor, sign or index.
const (
	differenceStep    = 1e-5
	gradientTolerance = 1e-7
)

// point is an input of a function under test.
type point struct {
	shape  []int
	values []float64
}

// function is a function under test, of leaves with a gradient; its result is any tensor.
type function struct {
	name   string
	inputs []point
	f      func(x []Tensor) Tensor
}

// layout names the strides of an input.
type layout int

const (
	dense  layout = iota
	turned        // the axes in reverse order
	spaced        // every second place, with NaN between
)

func (l layout) String() string { return [...]string{"dense", "turned", "spaced"}[l] }

// tensor makes p's tensor, a leaf without history.
func (l layout) tensor(s *Scope, p point, dtype DType) Tensor {
	switch n := len(p.shape); {
	case l == turned && n > 1:
		var reverse []int
		for i := range n {
			reverse = append(reverse, n-1-i)
		}
		return Of(s, CPU, p.values, p.shape...).To(dtype, CPU).Permute(reverse...).Contiguous().Permute(reverse...)
	case l == spaced:
		gaps := make([]float64, 0, 2*len(p.values))
		for _, v := range p.values {
			gaps = append(gaps, v, math.NaN())
		}
		return Of(s, CPU, gaps, append(slices.Clone(p.shape), 2)...).To(dtype, CPU).Select(-1, 0)
	}
	return Of(s, CPU, p.values, p.shape...).To(dtype, CPU)
}

// weight is the weight of element i of the result in the loss. No two are equal, so that exchanged
// elements show.
func weight(i int) float64 { return math.Cos(1.7*float64(i) + 0.3) }

// weighted is the loss: the weighted sum of y's elements.
func weighted(y Tensor) Tensor {
	w := make([]float64, product(y.Shape()))
	for i := range w {
		w[i] = weight(i)
	}
	return y.Mul(Of(y.Scope(), CPU, w, y.Shape()...).To(y.DType(), CPU)).Sum()
}

// tensors returns the inputs of c in a layout.
func (c function) tensors(s *Scope, l layout, dtype DType) []Tensor {
	x := make([]Tensor, len(c.inputs))
	for i, p := range c.inputs {
		x[i] = l.tensor(s, p, dtype)
	}
	return x
}

// loss computes the loss of c without gradients; the sum is made here.
func (c function) loss(l layout) (sum float64) {
	s := NewScopeNoGrad()
	defer s.Close()
	x := c.tensors(s, l, Float64)
	for i, v := range c.f(x).Float64s() {
		sum += weight(i) * v
	}
	return sum
}

// outcome holds the result of a function and the gradients of its inputs, nil where they are not wanted.
type outcome [][]float64

// each calls f for each list that is wanted.
func (o outcome) each(name string, want outcome, f func(name string, have, want []float64)) {
	for i, w := range want {
		if w == nil {
			continue
		}
		if i > 0 {
			f(fmt.Sprintf("%s, gradient %d", name, i-1), o[i], w)
		} else {
			f(name, o[i], w)
		}
	}
}

func (o outcome) near(t *testing.T, name string, want outcome, tolerance float64) {
	t.Helper()
	o.each(name, want, func(name string, have, want []float64) {
		t.Helper()
		near(t, name, have, want, tolerance)
	})
}

func (o outcome) identical(t *testing.T, name string, want outcome) {
	t.Helper()
	o.each(name, want, func(name string, have, want []float64) {
		t.Helper()
		identical(t, name, have, want)
	})
}

// run runs c on the CPU: see runOn.
func (c function) run(l layout, dtype DType, want []bool, passes int) outcome {
	return c.runOn(CPU, l, dtype, want, passes)
}

// runOn returns the result of c on a device and the gradients of the inputs that are wanted (all where
// want is nil), after as many passes forward and back.
func (c function) runOn(d Device, l layout, dtype DType, want []bool, passes int) outcome {
	s := NewScope()
	defer s.Close()
	all := outcome{nil}
	x := c.tensors(s, l, dtype)
	for i := range x {
		x[i] = x[i].To(dtype, d)
		if want == nil || want[i] {
			x[i].RequireGrad()
		}
	}
	for range passes {
		y := c.f(x)
		all[0] = y.Float64s()
		weighted(y.To(dtype, CPU)).Backward()
	}
	for i := range x {
		if want == nil || want[i] {
			all = append(all, x[i].Grad().Float64s())
		} else {
			all = append(all, nil)
		}
	}
	return all
}

// differences returns the gradients of all inputs by central differences, and no result.
func (c function) differences(l layout) outcome {
	all := outcome{nil}
	for _, p := range c.inputs {
		g := make([]float64, len(p.values))
		for j, v := range p.values {
			p.values[j] = v + differenceStep
			above := c.loss(l)
			p.values[j] = v - differenceStep
			below := c.loss(l)
			p.values[j] = v
			g[j] = (above - below) / (2 * differenceStep)
		}
		all = append(all, g)
	}
	return all
}

// checkGradients compares the gradients of c in all layouts with differences.
func checkGradients(t *testing.T, c function) {
	t.Helper()
	want := c.differences(dense)
	for _, l := range []layout{dense, turned, spaced} {
		c.run(l, Float64, nil, 1).near(t, c.name+", "+l.String(), want, gradientTolerance)
	}
}

// inputs draws the values of inputs of the given shapes from N(0,1).
func inputs(seed uint64, shapes ...[]int) []point {
	rng := rand.New(rand.NewPCG(seed, 5))
	var ps []point
	for _, shape := range shapes {
		ps = append(ps, point{shape, normals(rng, product(shape))})
	}
	return ps
}

// between maps values into (low, high).
func between(low, high float64, ps []point) []point {
	for _, p := range ps {
		for i, v := range p.values {
			p.values[i] = low + (high-low)*(0.5+math.Atan(v)/math.Pi)
		}
	}
	return ps
}

// apart makes all values differ from each other, and from zero, by 0.1 at least: away from the
// kinks of operators that choose.
func apart(ps []point) []point {
	n := 0
	for _, p := range ps {
		for i := range p.values {
			n++
			p.values[i] = 0.1 * float64(n*7%31+1) * float64(1-n%2*2)
		}
	}
	return ps
}
