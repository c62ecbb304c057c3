package torchpe

import "testing"

// one and two make functions of operators with one and two operands.
func one(name string, ps []point, f func(Tensor) Tensor) function {
	return function{name, ps, func(x []Tensor) Tensor { return f(x[0]) }}
}

func two(name string, ps []point, f func(a, b Tensor) Tensor) function {
	return function{name, ps, func(x []Tensor) Tensor { return f(x[0], x[1]) }}
}

// TestBinaryGradients checks the operators with two operands over shapes that broadcast in
// different ways.
func TestBinaryGradients(t *testing.T) {
	for _, shapes := range [][][]int{{{2, 3}, {2, 3}}, {{2, 3}, {3}}, {{2, 1}, {1, 3}},
		{{2, 3}, {}}, {{1}, {2, 3}}, {{4, 1, 3}, {2, 1}}} {
		free, positive, chosen := inputs(4, shapes...), between(0.3, 3, inputs(5, shapes...)),
			apart(inputs(6, shapes...))
		for _, c := range []function{
			two("Add", free, Tensor.Add), two("Sub", free, Tensor.Sub), two("Mul", free, Tensor.Mul),
			two("Div", positive, Tensor.Div),
			two("Maximum", chosen, Tensor.Maximum),
		} {
			checkGradients(t, c)
		}
	}
}

// TestShapeGradients checks what moves elements about.
func TestShapeGradients(t *testing.T) {
	m, flat := inputs(7, []int{2, 3, 2}), inputs(8, []int{1, 3, 1})
	list := func(ints ...int64) func(s *Scope) Tensor {
		return func(s *Scope) Tensor { return Of(s, CPU, ints, len(ints)) }
	}
	repeated := list(2, 0, 2, 2) // an index that comes three times gathers three gradients
	for _, c := range []function{
		one("Reshape", m, func(x Tensor) Tensor { return x.Reshape(3, -1) }),
		one("Expand", flat, func(x Tensor) Tensor { return x.Expand(4, 2, 3, 2) }),
		one("Permute", m, func(x Tensor) Tensor { return x.Permute(2, 0, 1) }),
		one("Transpose", m, func(x Tensor) Tensor { return x.Transpose(0, -1) }),
		one("Unsqueeze", m, func(x Tensor) Tensor { return x.Unsqueeze(1) }),
		one("Squeeze", flat, func(x Tensor) Tensor { return x.Squeeze(0) }),
		one("Narrow", m, func(x Tensor) Tensor { return x.Narrow(1, 1, 2) }),
		one("Unbind", m, func(x Tensor) Tensor { parts := x.Unbind(1); return parts[2].Mul(parts[0]) }),
		one("Select", m, func(x Tensor) Tensor { return x.Select(1, -2) }),
		one("Flip", m, func(x Tensor) Tensor { return x.Flip(1) }),
		one("Pad", m, func(x Tensor) Tensor { return x.Pad(1, 2, 1, 7) }),
		one("Pad by less than nothing", m, func(x Tensor) Tensor { return x.Pad(1, -1, 2, 7) }),
		one("To", m, func(x Tensor) Tensor { return x.To(Float64, CPU) }),
		one("IndexSelect", m, func(x Tensor) Tensor { return x.IndexSelect(1, repeated(x.Scope())) }),
		one("Gather", m, func(x Tensor) Tensor {
			return x.Gather(1, repeated(x.Scope()).Reshape(2, 2, 1))
		}),
		two("Cat", inputs(9, []int{2, 1, 2}, []int{2, 3, 2}), func(a, b Tensor) Tensor { return Cat(1, a, b, a) }),
		two("Stack", inputs(10, []int{2, 3}, []int{2, 3}), func(a, b Tensor) Tensor { return Stack(-1, a, b, a) }),
	} {
		checkGradients(t, c)
	}
}

// TestReductionGradients checks reductions over one, some and all axes, and what normalises along
// an axis.
func TestReductionGradients(t *testing.T) {
	m := inputs(11, []int{2, 3, 2})
	for _, dims := range [][]int{nil, {1}, {0, 2}, {-1, 0, 1}} {
		for _, c := range []function{
			one("Sum", m, func(x Tensor) Tensor { return x.Sum(dims...) }),
			one("SumKeep", m, func(x Tensor) Tensor { return x.SumKeep(dims...) }),
			one("Mean", m, func(x Tensor) Tensor { return x.Mean(dims...) }),
		} {
			checkGradients(t, c)
		}
	}
	for _, dim := range []int{0, 1, -1} {
		for _, c := range []function{
			one("Cumsum", m, func(x Tensor) Tensor { return x.Cumsum(dim) }),
			one("Softmax", m, func(x Tensor) Tensor { return x.Softmax(dim) }),
			one("LogSoftmax", m, func(x Tensor) Tensor { return x.LogSoftmax(dim) }),
		} {
			checkGradients(t, c)
		}
	}
}

// TestMatMulGradients checks the product of matrices, of stacks that broadcast, and with vectors.
func TestMatMulGradients(t *testing.T) {
	for _, shapes := range [][][]int{{{2, 3}, {3, 4}}, {{5, 2, 3}, {5, 3, 4}},
		{{2, 1, 2, 3}, {4, 3, 2}}, {{3}, {3, 2}}, {{2, 2, 3}, {3}}} {
		checkGradients(t, two("MatMul", inputs(13, shapes...), Tensor.MatMul))
	}
}

// TestDetach checks that no gradient flows through Detach: the derivative of x * detached(x) is x,
// not 2 x.
func TestDetach(t *testing.T) {
	c := one("Detach", inputs(14, []int{5}), func(x Tensor) Tensor { return x.Mul(x.Detach()) })
	_, gradients := c.run(dense, Float64, nil, 1)
	var want []float64
	for i, x := range c.inputs[0].values {
		want = append(want, weight(i)*x)
	}
	near(t, "gradient of x * detached(x)", gradients[0], want, 1e-15)
}

// TestNotDifferentiable checks that indices and what is made of them carry no gradient, and that
// Backward of such a result is an error.
func TestNotDifferentiable(t *testing.T) {
	s := NewScope()
	defer s.Close()
	x := Of(s, CPU, []float64{1, 2, 3}, 3).RequireGrad()
	for name, r := range map[string]Tensor{"Argmax": x.Argmax(0), "OneHot": x.Argmax(0).OneHot(3, Float64)} {
		if r.RequiresGrad() {
			t.Errorf("the result of %s wants a gradient", name)
		}
		failing(t, "Backward", func() { r.To(Float64, CPU).Sum().Backward() })
	}
}
