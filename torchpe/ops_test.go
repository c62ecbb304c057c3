package torchpe

import (
	"math"
	"slices"
	"testing"
)

// TestUnary compares the operators on elements with Go's math, and their gradients with differences,
// where they have a derivative.
func TestUnary(t *testing.T) {
	s := NewScope()
	defer s.Close()
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

// TestBinaryValues compares the operators on two operands with Go, row by column.
func TestBinaryValues(t *testing.T) {
	s := NewScope()
	defer s.Close()
	a, b := []float64{0.5, 2, 3}, []float64{2, 0.5, 1, 3}
	x, y := Of(s, CPU, a, 3, 1), Of(s, CPU, b, 4)
	for _, c := range []struct {
		name string
		have Tensor
		want func(a, b float64) float64
	}{
		{"Add", x.Add(y), func(a, b float64) float64 { return a + b }},
		{"Sub", x.Sub(y), func(a, b float64) float64 { return a - b }},
		{"Mul", x.Mul(y), func(a, b float64) float64 { return a * b }},
		{"Div", x.Div(y), func(a, b float64) float64 { return a / b }},
		{"Maximum", x.Maximum(y), math.Max},
	} {
		var want []float64
		for _, a := range a {
			for _, b := range b {
				want = append(want, c.want(a, b))
			}
		}
		if shape := c.have.Shape(); !slices.Equal(shape, []int{3, 4}) {
			t.Errorf("%s has shape %v", c.name, shape)
		}
		near(t, c.name, c.have.Float64s(), want, 1e-15)
	}
}

// TestShapeValues moves the numbers 0 to 5 about and compares with what stands where.
func TestShapeValues(t *testing.T) {
	s := NewScope()
	defer s.Close()
	x := Of(s, CPU, []float64{0, 1, 2, 3, 4, 5}, 2, 3)
	logs := Of(s, CPU, []float64{math.Inf(-1), 0, math.Log(2), math.Log(3), math.Log(4), math.Log(5)}, 2, 3)
	index := func(v ...int64) Tensor { return Of(s, CPU, v, len(v)) }
	for _, c := range []struct {
		name  string
		have  Tensor
		shape []int
		want  []float64
	}{
		{"Reshape", x.Reshape(3, -1), []int{3, 2}, []float64{0, 1, 2, 3, 4, 5}},
		{"Expand", x.Narrow(0, 1, 1).Expand(2, 2, 3), []int{2, 2, 3}, []float64{3, 4, 5, 3, 4, 5, 3, 4, 5, 3, 4, 5}},
		{"Permute", x.Unsqueeze(0).Permute(2, 0, 1), []int{3, 1, 2}, []float64{0, 3, 1, 4, 2, 5}},
		{"Transpose", x.Transpose(0, -1), []int{3, 2}, []float64{0, 3, 1, 4, 2, 5}},
		{"Unsqueeze", x.Unsqueeze(-1), []int{2, 3, 1}, []float64{0, 1, 2, 3, 4, 5}},
		{"Squeeze", x.Unsqueeze(1).Squeeze(1), []int{2, 3}, []float64{0, 1, 2, 3, 4, 5}},
		{"Narrow", x.Narrow(1, 1, 2), []int{2, 2}, []float64{1, 2, 4, 5}},
		{"Unbind", x.Unbind(1)[1], []int{2}, []float64{1, 4}},
		{"Select", x.Select(1, -1), []int{2}, []float64{2, 5}},
		{"Cat", Cat(0, x, x.Narrow(0, 0, 1)), []int{3, 3}, []float64{0, 1, 2, 3, 4, 5, 0, 1, 2}},
		{"Stack", Stack(-1, x, x.Neg()), []int{2, 3, 2}, []float64{0, 0, 1, -1, 2, -2, 3, -3, 4, -4, 5, -5}},
		{"Flip", x.Flip(1), []int{2, 3}, []float64{2, 1, 0, 5, 4, 3}},
		{"Pad", x.Pad(1, 1, 2, 7), []int{2, 6}, []float64{7, 0, 1, 2, 7, 7, 7, 3, 4, 5, 7, 7}},
		{"Pad of the first axis", x.Pad(0, 1, 0, 7), []int{3, 3}, []float64{7, 7, 7, 0, 1, 2, 3, 4, 5}},
		{"IndexSelect", x.IndexSelect(1, index(2, 0, 2, 1)), []int{2, 4}, []float64{2, 0, 2, 1, 5, 3, 5, 4}},
		{"Gather", x.Gather(1, index(2, 0).Reshape(2, 1)), []int{2, 1}, []float64{2, 3}},
		{"OneHot", index(2, 0).OneHot(3, Float64), []int{2, 3}, []float64{0, 0, 1, 1, 0, 0}},
		{"Sum", x.Sum(0), []int{3}, []float64{3, 5, 7}},
		{"Sum of all", x.Sum(), []int{}, []float64{15}},
		{"SumKeep", x.SumKeep(-1), []int{2, 1}, []float64{3, 12}},
		{"Mean", x.Mean(1), []int{2}, []float64{1, 4}},
		{"Argmax", x.Neg().Argmax(1), []int{2}, []float64{0, 0}},
		{"Cumsum", x.Cumsum(1), []int{2, 3}, []float64{0, 1, 3, 3, 7, 12}},
		{"Softmax", logs.Softmax(1), []int{2, 3},
			[]float64{0, 1. / 3, 2. / 3, 3. / 12, 4. / 12, 5. / 12}},
		{"LogSoftmax", x.MulScalar(0).LogSoftmax(0), []int{2, 3}, slices.Repeat([]float64{-math.Ln2}, 6)},
		{"MatMul", x.MatMul(x.Transpose(0, 1)), []int{2, 2}, []float64{5, 14, 14, 50}},
	} {
		if shape := c.have.Shape(); !slices.Equal(shape, c.shape) {
			t.Errorf("%s has shape %v, want %v", c.name, shape, c.shape)
		}
		near(t, c.name, c.have.Float64s(), c.want, 1e-15)
	}
	failing(t, "Squeeze", func() { x.Squeeze(0) })
	failing(t, "Pad", func() { x.Sum().Pad(0, 1, 1, 0) })
	failing(t, "IndexSelect", func() { x.Sum().IndexSelect(0, index(0, 0, 0)) })
	failing(t, "IndexSelect", func() { x.IndexSelect(1, index(3)) })
	failing(t, "OneHot", func() { index(3).OneHot(3, Float64) })
}

// TestAttentionValues compares logits and values with sums in Go, and the memory of the values:
// merging heads copies nothing, so that writing to the merged tensor writes to them.
func TestAttentionValues(t *testing.T) {
	const E, B, H, N, M, D = 2, 2, 3, 4, 5, 3
	p := inputs(92, []int{E, B, H, N, D}, []int{E, B, H, M, D})
	var logits, values []float64
	for head := range E * B * H {
		q, k := p[0].values[head*N*D:], p[1].values[head*M*D:]
		rows := make([]float64, N*M)
		for n := range N {
			for m := range M {
				for d := range D {
					rows[n*M+m] += 0.5 * q[n*D+d] * k[m*D+d]
				}
			}
		}
		for n := range N {
			for d := range D {
				sum := 0.0
				for m := range M {
					sum += rows[n*M+m] * k[m*D+d]
				}
				values = append(values, sum)
			}
		}
		logits = append(logits, rows...)
	}
	s := NewScopeNoGrad()
	defer s.Close()
	for _, l := range []layout{dense, turned, spaced} {
		q, k := l.tensor(s, p[0], Float64), l.tensor(s, p[1], Float64)
		w := AttentionLogits(q, k, 0.5)
		near(t, "logits, "+l.String(), w.Float64s(), logits, 1e-15)
		v := AttentionValues(w, k)
		near(t, "values, "+l.String(), v.Float64s(), values, 1e-15)
		v.Permute(0, 1, 3, 2, 4).Reshape(E, B, N, H*D).Fill(1)
		near(t, "values after writing to the merged heads", v.Float64s(), slices.Repeat([]float64{1}, len(values)), 0)
	}
}

// TestProjectQKV compares with a linear map whose result is cut in three and then into heads.
func TestProjectQKV(t *testing.T) {
	const E, B, N, D = 2, 3, 5, 12
	p := inputs(93, []int{E, B, N, D}, []int{E, 3 * D, D}, []int{E, 3 * D})
	s := NewScopeNoGrad()
	defer s.Close()
	x, w, b := turned.tensor(s, p[0], Float64), turned.tensor(s, p[1], Float64), turned.tensor(s, p[2], Float64)
	whole := x.Reshape(E, B*N, D).MatMul(w.Transpose(1, 2)).Add(b.Unsqueeze(1))
	for _, heads := range []int{1, 2, 3, 4, 12} {
		q, k, v := ProjectQKV(x, w, b, heads)
		for i, part := range []Tensor{q, k, v} {
			want := whole.Narrow(2, i*D, D).Reshape(E, B, N, heads, D/heads).Transpose(2, 3)
			if !slices.Equal(part.Shape(), want.Shape()) {
				t.Errorf("%d heads: shape %v, want %v", heads, part.Shape(), want.Shape())
			}
			near(t, "part of the projection", part.Float64s(), want.Float64s(), 1e-14)
		}
	}
	for _, heads := range []int{0, -1, 5, 24} {
		failing(t, "ProjectQKV", func() { ProjectQKV(x, w, b, heads) })
	}
}
