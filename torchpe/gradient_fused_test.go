package torchpe

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"torchpe/internal/expect"
)

// smallSizes are for differences: most axes have lengths of their own, so that exchanged ones show.
// A layer norm needs more than two elements: of two, it keeps nothing but a sign. Of one head there are
// enough tokens that a block folds its maps.
func smallSizes(E, H int) sizes { return sizes{E: E, B: 3, H: H, N: 3, M: 6, Dh: max(2, 4/H), O: 5} }

// smallFunctions are the fused operators at small sizes, with two heads and with one.
func smallFunctions(E int) []function {
	return append(fusedFunctions(smallSizes(E, 2)), fusedFunctions(smallSizes(E, 1))...)
}

// TestFusedGradients checks the fused operators, as loops and composed, against differences.
func TestFusedGradients(t *testing.T) {
	for _, z := range []sizes{smallSizes(1, 2), smallSizes(3, 1), smallSizes(2, 4)} {
		for _, c := range fusedFunctions(z) {
			t.Run(fmt.Sprintf("%s/E%d/H%d", c.name, z.E, z.H), func(t *testing.T) {
				checkGradients(t, c)
				composed(func() { checkGradients(t, c) })
			})
		}
	}
}

// TestSomeGradients checks that a gradient does not depend on which others are wanted.
func TestSomeGradients(t *testing.T) {
	for _, c := range smallFunctions(3) {
		all := c.run(dense, Float64, nil, 1)
		for subset := 1; subset < 1<<len(c.inputs)-1; subset++ {
			want := make([]bool, len(c.inputs))
			for i := range want {
				want[i] = subset>>i&1 == 1
			}
			all.near(t, fmt.Sprintf("%s, wanted %v", c.name, want), c.run(dense, Float64, want, 1), 1e-13)
		}
	}
}

// TestGradientsAdd checks that a second pass back adds its gradient to the first, whatever the
// layout of the leaf and so of its gradient.
func TestGradientsAdd(t *testing.T) {
	for _, c := range smallFunctions(3) {
		for _, l := range []layout{dense, turned, spaced} {
			once := c.run(l, Float64, nil, 1)
			for i := range once[1:] {
				once[i+1] = scaled(2, once[i+1])
			}
			c.run(l, Float64, nil, 2).near(t, fmt.Sprintf("%s, %s, two passes", c.name, l), once, 1e-13)
		}
	}
}

func scaled(c float64, v []float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = c * x
	}
	return out
}

// filler is a parameter between those of a function, which must stay as it is.
func filler(ps *ParamSet, name string) { ps.Add(name, true, Constant(5), 3) }

// parametersOf makes a set whose parameters are the inputs of c, with fillers before, between and
// after.
func parametersOf(t *testing.T, c function, members int, dtype DType) (ps *ParamSet, params []*Param) {
	t.Helper()
	ps = NewParamSet(members, dtype, CPU)
	filler(ps, "before")
	for i, p := range c.inputs {
		values := p.values
		n := len(values) / members
		init := func(e int, _ *rand.Rand, out []float64) { copy(out, values[e*n:(e+1)*n]) }
		params = append(params, ps.Add(fmt.Sprint("input ", i), true, init, p.shape[1:]...))
		filler(ps, fmt.Sprint("after ", i))
	}
	expect.NoError(t, ps.Build(make([]uint64, members)))
	return ps, params
}

// tensorsOf returns parameters in a scope.
func tensorsOf(s *Scope, params []*Param) []Tensor {
	x := make([]Tensor, len(params))
	for i, p := range params {
		x[i] = p.In(s)
	}
	return x
}

// TestParameterGradients checks the gradients that gather in the flat buffer of a ParamSet, where a
// parameter of three members lies in strides: against those of plain leaves, which
// TestFusedGradients holds against differences.
func TestParameterGradients(t *testing.T) {
	for _, E := range []int{1, 3} {
		for _, c := range smallFunctions(E) {
			want := c.run(dense, Float64, nil, 1)
			eachForm(func(form int) {
				checkParameterGradients(t, fmt.Sprint("form ", form), c, E, Float64, want, 1e-13)
			})
		}
	}
}

// checkParameterGradients checks that two passes give twice the gradient, and that what belongs to other
// parameters stays zero.
func checkParameterGradients(t *testing.T, how string, c function, E int, dtype DType, want outcome,
	tolerance float64) {
	t.Helper()
	ps, params := parametersOf(t, c, E, dtype)
	defer ps.Close()
	for pass := 1; pass <= 2; pass++ {
		s := NewScope()
		x := tensorsOf(s, params)
		weighted(c.f(x)).Backward()
		for i, p := range params {
			name := fmt.Sprintf("%s with %d members, %s, parameter %d after %d passes", c.name, E, how, i, pass)
			sum := scaled(float64(pass), want[i+1])
			near(t, name, p.In(s).Grad().Float64s(), sum, tolerance)
			columns := ps.Grads(s).Narrow(1, p.Offset(), p.PerMember())
			near(t, name+", in the buffer", columns.Float64s(), sum, tolerance)
			columns.Fill(0) // what is left then belongs to no parameter of c
		}
		expect.Equal(t, fmt.Sprintf("%s with %d members, %s", c.name, E, how), ps.Grads(s).Abs().Sum().Item(), 0)
		for i, p := range params { // back for the next pass
			p.In(s).Grad().CopyFrom(Of(s, CPU, scaled(float64(pass), want[i+1]), p.Shape...))
		}
		s.Close()
	}
}

// TestFrozenParameter checks that a parameter that is not trained gets no gradient and lies in a
// buffer of its own.
func TestFrozenParameter(t *testing.T) {
	ps := NewParamSet(2, Float64, CPU)
	w := ps.Add("w", true, Constant(0.5), 3, 4)
	b := ps.Add("b", false, Constant(0.25), 3)
	expect.NoError(t, ps.Build([]uint64{1, 2}))
	defer ps.Close()
	s := kept(t, NewScope())
	Linear(Full(s, 1, Float64, CPU, 2, 5, 4), w.In(s), b.In(s)).Sum().Backward()
	near(t, "gradient of w: five rows of ones", w.In(s).Grad().Float64s(),
		Full(s, 5, Float64, CPU, 2, 3, 4).Float64s(), 0)
	failing(t, "Grad", func() { b.In(s).Grad() })
	if b.In(s).RequiresGrad() || ps.Count() != 12 {
		t.Errorf("b wants a gradient: %v; %d trained parameters, want 12", b.In(s).RequiresGrad(), ps.Count())
	}
	near(t, "b", b.In(s).Float64s(), []float64{0.25, 0.25, 0.25, 0.25, 0.25, 0.25}, 0)
}

// TestZeroGrad checks that gradients that count as zero after ZeroGrad take nothing from what was there:
// those that an operator writes, those that autograd adds, those of two operators, and those that
// nothing reaches.
func TestZeroGrad(t *testing.T) {
	for _, c := range smallFunctions(3) {
		want := c.run(dense, Float64, nil, 1)
		for i, how := range []string{"once", "twice", "by autograd too"} {
			check := func() { checkZeroGrad(t, c, how, scaled(float64(1+min(i, 1)), want[len(want)-1])) }
			check()
			emulated(check)
		}
	}
}

// checkZeroGrad runs c that way and compares the gradient of its last operand.
func checkZeroGrad(t *testing.T, c function, how string, want []float64) {
	t.Helper()
	ps, params := parametersOf(t, c, 3, Float64)
	defer ps.Close()
	o := optimizerOf(SGD, ps)
	defer o.Close()
	s := NewScope()
	defer s.Close()
	for _, p := range ps.All() {
		p.In(s).Grad().Fill(math.NaN())
	}
	expect.NoError(t, o.ZeroGrad())
	x := tensorsOf(s, params)
	last := x[len(x)-1]
	loss := weighted(c.f(x))
	if how == "twice" {
		loss = loss.Add(weighted(c.f(x)))
	}
	if how == "by autograd too" { // this has the other half of the gradient wanted
		loss = loss.Add(last.Mul(Of(s, CPU, scaled(0.5, want), last.Shape()...)).Sum())
	}
	loss.Backward()
	near(t, fmt.Sprintf("%s, %s", c.name, how), last.Grad().Float64s(), want, 1e-12)
	expect.Equal(t, fmt.Sprintf("%s, %s: a parameter that nothing reads has a gradient of", c.name, how),
		ps.Get("before").In(s).Grad().Abs().Sum().Item(), 0)
	if g := ps.Grads(s).Abs().Sum().Item(); !(g < math.Inf(1)) {
		t.Errorf("%s, %s: old gradients are left in the buffer", c.name, how)
	}
}
