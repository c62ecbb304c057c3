package ctorch

import (
	"math"
	"slices"
)

// operation is an operator, or another C function that makes or reads a tensor, with arguments that it
// accepts. The tests then put bad ones in their place, one kind of argument at a time, and all at random.
type operation struct {
	name    string // of the operator, or in functions.h
	tensors []sample
	ints    []integer
	list    []int // a shape or a list of axes, after ints; nil where it takes none
	numbers int   // arguments.f as often
	results int
	run     func(a arguments) ([]Handle, error) // nil for an operator
}

// sample says how a tensor that the operation accepts is made. The shape is nil for an operand that
// may be missing and is not given.
type sample struct {
	shape    []int
	dtype    int
	optional bool
	make     func() Handle // instead of shape and dtype
}

// integer is an integer argument: a value that is accepted and those that must be refused.
type integer struct {
	good    int
	refused []int
}

// arguments of one call.
type arguments struct {
	t    []Handle
	i    []int
	list []int
	f    float64
	grad bool
}

var (
	axis    = integer{0, []int{math.MinInt, -10, 10, math.MaxInt}}
	size    = integer{1, []int{math.MinInt, -1, 1 << 59, math.MaxInt}}
	dtypes  = integer{Float32, []int{-1, 4, math.MaxInt32, math.MinInt32}}
	devices = integer{CPU, []int{-1, 1 + DescribeSystem().GPUs, 128, 129, math.MaxInt32, math.MinInt32}}
)

func float(shape ...int) sample   { return sample{shape: shape, dtype: Float32} }
func double(shape ...int) sample  { return sample{shape: shape, dtype: Float64} }
func indices(shape ...int) sample { return sample{shape: shape, dtype: Int64} }

func one(h Handle, err error) ([]Handle, error) { return []Handle{h}, err }

// operand lists the tensors of an operator.
func operand(samples ...sample) []sample { return samples }

// made calls the operation and returns what it made.
func (o operation) made(a arguments) ([]Handle, error) {
	if o.run != nil {
		return o.run(a)
	}
	results := make([]Handle, o.results)
	err := Run(o.name, Operands{a.t, slices.Concat(a.i, a.list), slices.Repeat([]float64{a.f}, o.numbers)}, a.grad,
		results)
	return results, err
}

// apply runs an operator with one result on one tensor.
func apply(name string, x Handle, grad bool, ints ...int) (Handle, error) {
	var h [1]Handle
	err := Run(name, Operands{Tensors: []Handle{x}, Ints: ints}, grad, h[:])
	return h[0], err
}

func backward(x Handle) error { return Act("Backward", Operands{Tensors: []Handle{x}}) }

func requireGrad(x Handle) error { return Act("RequireGrad", Operands{Tensors: []Handle{x}}) }

// leafWithGradient makes a parameter that Backward has reached.
func leafWithGradient() Handle {
	x := must(Full([]int{2}, 1, Float64, CPU))
	check(requireGrad(x))
	sum := must(apply("Sum", x, true, 0))
	check(backward(sum))
	check(Release([]Handle{sum}))
	return x
}

// wanted makes a scalar that wants a gradient, and so is a loss.
func wanted() Handle {
	x := must(Full(nil, 1, Float64, CPU))
	check(requireGrad(x))
	return x
}

func must(h Handle, err error) Handle {
	check(err)
	return h
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// tensor makes the sample's tensor: numbers from N(0,1), or index 0.
func (s sample) tensor() Handle {
	switch {
	case s.make != nil:
		return s.make()
	case s.isLeftOut():
		return 0
	case s.dtype == Int64:
		return must(Full(s.shape, 0, Int64, CPU))
	}
	return must(RandN(s.shape, 1, s.dtype, CPU))
}

// isLeftOut reports whether the operand is not given.
func (s sample) isLeftOut() bool { return s.shape == nil && s.make == nil && s.optional }

func (s sample) orNone() sample { s.optional = true; return s }

var shared [6]float32

// flagged is an integer argument that is 0 or 1; none is an operand that is left out.
var (
	flagged = integer{good: 1}
	none    = sample{optional: true}
)

// operations lists every operator, and every C function of functions.h that takes or makes tensors.
var operations = []operation{
	{name: "tp_share_data", ints: []integer{dtypes}, list: []int{2, 3}, run: func(a arguments) ([]Handle, error) {
		return one(ShareData(shared[:], a.list, a.i[0]))
	}},
	{name: "tp_from_data", ints: []integer{dtypes, devices}, list: []int{2, 3},
		run: func(a arguments) ([]Handle, error) {
			return one(FromData(make([]float32, 6), a.list, a.i[0], a.i[1]))
		}},
	{name: "tp_full", ints: []integer{dtypes, devices}, list: []int{2, 3}, run: func(a arguments) ([]Handle, error) {
		return one(Full(a.list, a.f, a.i[0], a.i[1]))
	}},
	{name: "tp_randn", ints: []integer{dtypes, devices}, list: []int{2, 3}, run: func(a arguments) ([]Handle, error) {
		return one(RandN(a.list, 7, a.i[0], a.i[1]))
	}},
	{name: "tp_info", tensors: operand(float(2, 3)),
		run: func(a arguments) ([]Handle, error) { _, err := Describe(a.t[0]); return nil, err }},
	{name: "tp_read", tensors: operand(float(2, 3)),
		run: func(a arguments) ([]Handle, error) { return nil, Read(a.t[0], make([]float32, 6)) }},

	unary("Neg"), unary("Abs"), unary("Exp"), unary("Log1p"), unary("Sqrt"), unary("Square"), unary("Sin"),
	unary("Cos"), unary("Sigmoid"), unary("Softplus"), unary("ReLU"), unary("GELU"), unary("Floor"),
	unary("Contiguous"), unary("Detach"), unary("Clone"), unary("MemberNorm"),
	{name: "AddScalar", tensors: operand(float(2, 3)), numbers: 1, results: 1},
	{name: "MulScalar", tensors: operand(float(2, 3)), numbers: 1, results: 1},
	{name: "Clamp", tensors: operand(float(2, 3)), numbers: 2, results: 1},
	binary("Add", float(2, 3), float(3)), binary("Sub", float(2, 3), float(1, 3)),
	binary("Mul", float(2, 3), double(3)), binary("Div", float(2, 3), float(2, 1)),
	binary("Maximum", float(2, 3), float(3)), binary("MatMul", float(2, 3), float(3, 4)),

	{name: "Reshape", tensors: operand(float(2, 3)), list: []int{3, 2}, results: 1},
	{name: "Expand", tensors: operand(float(2, 3)), list: []int{4, 2, 3}, results: 1},
	{name: "Permute", tensors: operand(float(2, 3)), list: []int{1, 0}, results: 1},
	{name: "Transpose", tensors: operand(float(2, 3)), ints: []integer{axis, axis}, results: 1},
	alongAxis("Unsqueeze", float(2, 3)), alongAxis("Squeeze", float(1, 3)), alongAxis("Flip", float(2, 3)),
	{name: "Narrow", tensors: operand(float(2, 3)),
		ints: []integer{axis, {1, []int{3, -3, math.MaxInt, math.MinInt}}, size}, results: 1},
	{name: "Select", tensors: operand(float(2, 3)), ints: []integer{axis, {1, []int{2, -3, math.MaxInt, math.MinInt}}},
		results: 1},
	{name: "Unbind", tensors: operand(float(2, 3)), ints: []integer{axis}, results: 2},
	{name: "Cat", tensors: operand(float(2, 3), float(1, 3)), ints: []integer{axis}, results: 1},
	{name: "Stack", tensors: operand(float(2, 3), float(2, 3)), ints: []integer{axis}, results: 1},
	{name: "Pad", tensors: operand(float(2, 3)),
		ints: []integer{axis, {1, []int{-5, 1 << 59, math.MaxInt, math.MinInt}},
			{1, []int{-5, 1 << 59, math.MaxInt, math.MinInt}}}, numbers: 1, results: 1},
	{name: "IndexSelect", tensors: operand(float(2, 3), indices(4)), ints: []integer{axis}, results: 1},
	{name: "Gather", tensors: operand(float(2, 3), indices(2, 2)), ints: []integer{axis}, results: 1},
	{name: "OneHot", tensors: operand(indices(2, 3)), ints: []integer{size, dtypes}, results: 1},
	{name: "To", tensors: operand(float(2, 3)), ints: []integer{dtypes, devices}, results: 1},

	{name: "Sum", tensors: operand(float(2, 3)), ints: []integer{flagged}, list: []int{0, -1}, results: 1},
	{name: "Mean", tensors: operand(float(2, 3)), ints: []integer{flagged}, list: []int{0, -1}, results: 1},
	alongAxis("Argmax", float(2, 3)), alongAxis("Cumsum", float(2, 3)), alongAxis("Softmax", float(2, 3)),
	alongAxis("LogSoftmax", float(2, 3)),

	{name: "Linear", tensors: operand(float(2, 5, 3), float(2, 4, 3), float(2, 4).orNone()), results: 1},
	{name: "LinearGELU", tensors: operand(float(2, 5, 3), float(2, 4, 3), float(2, 4).orNone()), results: 1},
	{name: "ProjectQKV", tensors: operand(float(2, 1, 3, 4), none, none, none, none, float(2, 12, 4),
		float(2, 12).orNone()), ints: []integer{{2, []int{0, -1, 3, 1 << 40, math.MaxInt, math.MinInt}}}, results: 3},
	{name: "ProjectQKV", tensors: operand(none, float(2, 5, 3, 4), indices(2, 7, 3), float(2, 7, 3), float(2, 4),
		float(2, 12, 4), float(2, 12).orNone()), ints: []integer{{good: 2}}, results: 3},
	{name: "TakeRows", tensors: operand(float(2, 5, 3, 4), indices(2, 7, 3), float(2, 7, 3), float(2, 4)), results: 1},
	{name: "AttentionLogits", tensors: operand(float(2, 1, 2, 3, 4), float(2, 1, 2, 5, 4)), numbers: 1, results: 1},
	binary("AttentionValues", float(2, 1, 2, 3, 5), float(2, 1, 2, 5, 4)),
	{name: "Attention", tensors: operand(float(2, 1, 2, 67, 8), float(2, 1, 2, 500, 8), float(2, 1, 2, 500, 5),
		float(2, 1, 1, 1, 500).orNone()), numbers: 1, results: 1},
	{name: "RotatePairs", tensors: operand(float(2, 1, 2, 3, 4), float(3, 2), float(3, 2)), ints: []integer{flagged},
		results: 1},
	{name: "AddLayerNorm", tensors: operand(float(2, 3, 5, 4), float(2, 3, 5, 4).orNone(), float(2, 4), float(2, 4),
		float(2, 5, 4).orNone()), numbers: 1, results: 1},
	{name: "AttentionBlock", tensors: operand(float(2, 3, 5, 4), float(2, 12, 4), float(2, 12).orNone(),
		float(2, 4, 4), float(2, 4).orNone(), float(5, 5).orNone(), indices(2, 3, 1).orNone(), none, none, none, none,
		float(2, 4), float(2, 4), none), ints: []integer{{good: 2}, flagged}, numbers: 2, results: 1},
	{name: "AttentionBlock", tensors: operand(float(2, 3, 5, 4), float(2, 12, 4), float(2, 12).orNone(),
		float(2, 4, 4), float(2, 4).orNone(), float(5, 5).orNone(), indices(2, 3, 1).orNone(), float(2, 5, 5, 4),
		indices(2, 3, 5), float(2, 3, 5), float(2, 4), float(2, 4), float(2, 4), none),
		ints:    []integer{{good: 1}, flagged},
		numbers: 2, results: 1},
	{name: "MLPBlock", tensors: operand(float(2, 3, 5, 4), float(2, 6, 4), float(2, 6).orNone(), float(2, 4, 6),
		float(2, 4).orNone(), float(2, 4), float(2, 4), float(2, 5, 4).orNone()), numbers: 1, results: 1},
	{name: "Dropout", tensors: operand(float(2, 3, 4), indices(3)), ints: []integer{{good: 4}}, numbers: 1, results: 1},
	binary("CrossEntropy", float(2, 3, 4), indices(2, 3)), binary("CountCorrect", float(2, 3, 4), indices(2, 3)),

	{name: "CopyFrom", tensors: operand(float(2, 3), double(2, 3))},
	{name: "Fill", tensors: operand(float(2, 3)), numbers: 1},
	{name: "Backward", tensors: operand(sample{make: wanted})},
	{name: "RequireGrad", tensors: operand(float(2, 3))},
	{name: "Grad", tensors: operand(sample{make: leafWithGradient}), results: 1},
	{name: "ZeroGradients", tensors: operand(float(2, 20), sample{make: leafWithGradient})},
	{name: "SettleGradients", tensors: operand(sample{make: leafWithGradient})},
	{name: "Leaf", tensors: operand(float(2, 20), float(2, 20).orNone()),
		ints: []integer{{3, []int{-1, 15, 20, 21, math.MaxInt, math.MinInt}}}, list: []int{2, 3, 2}, results: 1},
	{name: "Adam", tensors: operand(float(2, 5), float(2, 5), float(2, 5), float(2, 5), double(2, 6)),
		ints: []integer{flagged}, numbers: 3},
	{name: "SGD", tensors: operand(float(2, 5), float(2, 5), double(2, 6))},
	{name: "Account", tensors: operand(float(2), double(2).orNone(), indices(1), double(5, 2)), numbers: 1},
}

func unary(name string) operation {
	return operation{name: name, tensors: operand(float(2, 3)), results: 1}
}

func binary(name string, x, y sample) operation {
	return operation{name: name, tensors: operand(x, y), results: 1}
}

func alongAxis(name string, x sample) operation {
	return operation{name: name, tensors: operand(x), ints: []integer{axis}, results: 1}
}
