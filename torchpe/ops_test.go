package torchpe

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"torchpe/internal/expect"
)

// TestUnary compares the operators on elements with Go's math, and their gradients with differences,
// where they have a derivative.
func TestUnary(t *testing.T) {
	s := kept(t, NewScope())
	m := []int{2, 3, 2}
	free, positive, chosen := inputs(1, m), between(0.3, 3, inputs(2, m)), apart(inputs(3, m))
	for _, c := range []struct {
		name string
		x    []point
		op   func(Tensor) Tensor
		want func(float64) float64
	}{
		{"Neg", free, Tensor.Neg, func(x float64) float64 { return -x }},
		{"Abs", chosen, Tensor.Abs, math.Abs}, {"Exp", free, Tensor.Exp, math.Exp},
		{"Log1p", positive, Tensor.Log1p, math.Log1p},
		{"Sqrt", positive, Tensor.Sqrt, math.Sqrt},
		{"Square", free, Tensor.Square, func(x float64) float64 { return x * x }},
		{"Sin", free, Tensor.Sin, math.Sin}, {"Cos", free, Tensor.Cos, math.Cos},
		{"Sigmoid", free, Tensor.Sigmoid, func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }},
		{"Softplus", free, Tensor.Softplus, func(x float64) float64 { return math.Log1p(math.Exp(x)) }},
		{"ReLU", chosen, Tensor.ReLU, func(x float64) float64 { return max(x, 0) }},
		{"GELU", free, Tensor.GELU, gelu},
		{"Floor", free, Tensor.Floor, math.Floor},
		{"Contiguous", free, Tensor.Contiguous, func(x float64) float64 { return x }},
		{"Clone", free, Tensor.Clone, func(x float64) float64 { return x }},
		{"AddScalar", free, func(x Tensor) Tensor { return x.AddScalar(-3) }, func(x float64) float64 { return x - 3 }},
		{"MulScalar", free, func(x Tensor) Tensor { return x.MulScalar(-3) },
			func(x float64) float64 { return -3 * x }},
		{"Clamp", chosen, func(x Tensor) Tensor { return x.Clamp(-0.95, 1.25) },
			func(x float64) float64 { return min(max(x, -0.95), 1.25) }},
	} {
		checkGradients(t, one(c.name, c.x, c.op))
		want := make([]float64, len(c.x[0].values))
		for i, x := range c.x[0].values {
			want[i] = c.want(x)
		}
		near(t, c.name, c.op(dense.tensor(s, c.x[0], Float64)).Float64s(), want, 2e-15)
	}
}

// operatorCase is an operator under test, with the shape and values of its result.
type operatorCase struct {
	function
	shape []int
	want  []float64
}

// TestOperators compares operators on the numbers 0 to 5 and on two operands that broadcast with what
// they give, and their gradients with differences.
func TestOperators(t *testing.T) {
	x := []point{{[]int{2, 3}, []float64{0, 1, 2, 3, 4, 5}}}
	logs := []point{{[]int{2, 3}, []float64{0, math.Log(2), math.Log(3), math.Log(4), math.Log(5), math.Log(6)}}}
	pair := []point{{[]int{3, 1}, []float64{0.5, 2, 3}}, {[]int{2}, []float64{1, 4}}}
	index := func(x Tensor, v ...int64) Tensor { return Of(x.Scope(), CPU, v, len(v)) }
	up, down := -math.Log1p(math.Exp(3)), -math.Log1p(math.Exp(-3))
	for _, c := range []operatorCase{
		{two("Add", pair, Tensor.Add), []int{3, 2}, []float64{1.5, 4.5, 3, 6, 4, 7}},
		{two("Sub", pair, Tensor.Sub), []int{3, 2}, []float64{-0.5, -3.5, 1, -2, 2, -1}},
		{two("Mul", pair, Tensor.Mul), []int{3, 2}, []float64{0.5, 2, 2, 8, 3, 12}},
		{two("Div", pair, Tensor.Div), []int{3, 2}, []float64{0.5, 0.125, 2, 0.5, 3, 0.75}},
		{two("Maximum", pair, Tensor.Maximum), []int{3, 2}, []float64{1, 4, 2, 4, 3, 4}},
		{two("MatMul", pair, func(a, b Tensor) Tensor { return a.MatMul(b.Unsqueeze(0)) }), []int{3, 2},
			[]float64{0.5, 2, 2, 8, 3, 12}},
		{two("Cat", pair, func(a, b Tensor) Tensor { return Cat(0, a, b.Unsqueeze(1), a) }), []int{8, 1},
			[]float64{0.5, 2, 3, 1, 4, 0.5, 2, 3}},

		{one("Reshape", x, func(x Tensor) Tensor { return x.Reshape(3, -1) }), []int{3, 2}, x[0].values},
		{one("Expand", x, func(x Tensor) Tensor { return x.Narrow(0, 1, 1).Expand(2, 2, 3) }), []int{2, 2, 3},
			[]float64{3, 4, 5, 3, 4, 5, 3, 4, 5, 3, 4, 5}},
		{one("Permute", x, func(x Tensor) Tensor { return x.Unsqueeze(0).Permute(2, 0, 1) }), []int{3, 1, 2},
			[]float64{0, 3, 1, 4, 2, 5}},
		{one("Transpose", x, func(x Tensor) Tensor { return x.Transpose(0, -1) }), []int{3, 2},
			[]float64{0, 3, 1, 4, 2, 5}},
		{one("Unsqueeze", x, func(x Tensor) Tensor { return x.Unsqueeze(-1) }), []int{2, 3, 1}, x[0].values},
		{one("Squeeze", x, func(x Tensor) Tensor { return x.Unsqueeze(1).Squeeze(1) }), []int{2, 3}, x[0].values},
		{one("Narrow", x, func(x Tensor) Tensor { return x.Narrow(1, 1, 2) }), []int{2, 2}, []float64{1, 2, 4, 5}},
		{one("Unbind", x, func(x Tensor) Tensor { return x.Unbind(1)[2].Mul(x.Unbind(1)[1]) }), []int{2},
			[]float64{2, 20}},
		{one("Select", x, func(x Tensor) Tensor { return x.Select(1, -1) }), []int{2}, []float64{2, 5}},
		{one("Stack", x, func(x Tensor) Tensor { return Stack(-1, x, x.Neg()) }), []int{2, 3, 2},
			[]float64{0, 0, 1, -1, 2, -2, 3, -3, 4, -4, 5, -5}},
		{one("Flip", x, func(x Tensor) Tensor { return x.Flip(1) }), []int{2, 3}, []float64{2, 1, 0, 5, 4, 3}},
		{one("Pad", x, func(x Tensor) Tensor { return x.Pad(1, 1, 2, 7) }), []int{2, 6},
			[]float64{7, 0, 1, 2, 7, 7, 7, 3, 4, 5, 7, 7}},
		{one("Pad of the first axis", x, func(x Tensor) Tensor { return x.Pad(0, 1, 0, 7) }), []int{3, 3},
			[]float64{7, 7, 7, 0, 1, 2, 3, 4, 5}},
		{one("Pad by less than nothing", x, func(x Tensor) Tensor { return x.Pad(1, -1, 2, 7) }), []int{2, 4},
			[]float64{1, 2, 7, 7, 4, 5, 7, 7}},
		{one("IndexSelect", x, func(x Tensor) Tensor { return x.IndexSelect(1, index(x, 2, 0, 2, 1)) }), []int{2, 4},
			[]float64{2, 0, 2, 1, 5, 3, 5, 4}},
		{one("Gather", x, func(x Tensor) Tensor { return x.Gather(1, index(x, 2, 2, 0, 1).Reshape(2, 2)) }),
			[]int{2, 2}, []float64{2, 2, 3, 4}},
		{one("To", x, func(x Tensor) Tensor { return x.To(Float64, CPU) }), []int{2, 3}, x[0].values},
		{one("Sum", x, func(x Tensor) Tensor { return x.Sum(0) }), []int{3}, []float64{3, 5, 7}},
		{one("Sum of all", x, func(x Tensor) Tensor { return x.Sum() }), []int{}, []float64{15}},
		{one("SumKeep", x, func(x Tensor) Tensor { return x.SumKeep(-1) }), []int{2, 1}, []float64{3, 12}},
		{one("Mean", x, func(x Tensor) Tensor { return x.Mean(1) }), []int{2}, []float64{1, 4}},
		{one("Mean of all", x, func(x Tensor) Tensor { return x.Mean() }), []int{}, []float64{2.5}},
		{one("Cumsum", x, func(x Tensor) Tensor { return x.Cumsum(1) }), []int{2, 3}, []float64{0, 1, 3, 3, 7, 12}},
		{one("Softmax", logs, func(x Tensor) Tensor { return x.Softmax(1) }), []int{2, 3},
			[]float64{1. / 6, 2. / 6, 3. / 6, 4. / 15, 5. / 15, 6. / 15}},
		{one("LogSoftmax", x, func(x Tensor) Tensor { return x.LogSoftmax(0) }), []int{2, 3},
			[]float64{up, up, up, down, down, down}},
	} {
		s := NewScope()
		y := c.f(c.tensors(s, dense, Float64))
		expect.Equal(t, c.name+" has shape", y.Shape(), c.shape)
		near(t, c.name, y.Float64s(), c.want, 2e-15)
		s.Close()
		checkGradients(t, c.function)
	}
	s := kept(t, NewScope())
	y := dense.tensor(s, x[0], Float64)
	failing(t, "Squeeze", func() { y.Squeeze(0) })
	failing(t, "Pad", func() { y.Sum().Pad(0, 1, 1, 0) })
	failing(t, "IndexSelect", func() { y.Sum().IndexSelect(0, index(y, 0, 0, 0)) })
	failing(t, "IndexSelect", func() { y.IndexSelect(1, index(y, 3)) })
	failing(t, "OneHot", func() { index(y, 3).OneHot(3, Float64) })
}

// one and two make functions of operators with one and two operands.
func one(name string, ps []point, f func(Tensor) Tensor) function {
	return function{name, ps, func(x []Tensor) Tensor { return f(x[0]) }}
}

func two(name string, ps []point, f func(a, b Tensor) Tensor) function {
	return function{name, ps, func(x []Tensor) Tensor { return f(x[0], x[1]) }}
}

// TestDetach checks that no gradient flows through Detach: the derivative of x * detached(x) is x,
// not 2 x.
func TestDetach(t *testing.T) {
	c := one("Detach", inputs(14, []int{5}), func(x Tensor) Tensor { return x.Mul(x.Detach()) })
	gradients := c.run(dense, Float64, nil, 1)[1:]
	var want []float64
	for i, x := range c.inputs[0].values {
		want = append(want, weight(i)*x)
	}
	near(t, "gradient of x * detached(x)", gradients[0], want, 1e-15)
}

// TestNotDifferentiable checks indices and what is made of them, that they carry no gradient, and that
// Backward of such a result is an error.
func TestNotDifferentiable(t *testing.T) {
	s := kept(t, NewScope())
	x := Of(s, CPU, []float64{1, 2, 0, 5, 4, 3}, 2, 3).RequireGrad()
	for name, c := range map[string]struct {
		have  Tensor
		shape []int
		want  []float64
	}{
		"Argmax": {x.Argmax(1), []int{2}, []float64{1, 0}},
		"OneHot": {x.Argmax(1).OneHot(3, Float64), []int{2, 3}, []float64{0, 1, 0, 1, 0, 0}},
	} {
		if c.have.RequiresGrad() || !slices.Equal(c.have.Shape(), c.shape) {
			t.Errorf("the result of %s wants a gradient, or has the shape %v", name, c.have.Shape())
		}
		near(t, name, c.have.Float64s(), c.want, 0)
		failing(t, "Backward", func() { c.have.To(Float64, CPU).Sum().Backward() })
	}
}

// TestMergedHeads checks that merging heads copies nothing: writing to the merged tensor writes to them.
func TestMergedHeads(t *testing.T) {
	s := kept(t, NewScopeNoGrad())
	w, v := RandN(s, 1, Float64, CPU, 2, 2, 3, 4, 5), RandN(s, 2, Float64, CPU, 2, 2, 3, 5, 3)
	values := AttentionValues(w, v)
	values.Permute(0, 1, 3, 2, 4).Reshape(2, 2, 4, 9).Fill(1)
	near(t, "values after writing to the merged heads", values.Float64s(), slices.Repeat([]float64{1}, 144), 0)
}

// TestProjectQKV compares with a linear map whose result is cut in three and then into heads.
func TestProjectQKV(t *testing.T) {
	const E, B, N, D = 2, 3, 5, 12
	p := inputs(93, []int{E, B, N, D}, []int{E, 3 * D, D}, []int{E, 3 * D})
	s := kept(t, NewScopeNoGrad())
	x, w, b := turned.tensor(s, p[0], Float64), turned.tensor(s, p[1], Float64), turned.tensor(s, p[2], Float64)
	whole := x.Reshape(E, B*N, D).MatMul(w.Transpose(1, 2)).Add(b.Unsqueeze(1))
	for _, heads := range []int{1, 2, 3, 4, 12} {
		q, k, v := ProjectQKV(x, w, b, heads)
		for i, part := range []Tensor{q, k, v} {
			want := whole.Narrow(2, i*D, D).Reshape(E, B, N, heads, D/heads).Transpose(2, 3)
			expect.Equal(t, fmt.Sprintf("%d heads: shape", heads), part.Shape(), want.Shape())
			near(t, "part of the projection", part.Float64s(), want.Float64s(), 1e-14)
		}
	}
	for _, heads := range []int{0, -1, 5, 24} {
		failing(t, "ProjectQKV", func() { ProjectQKV(x, w, b, heads) })
	}
}
