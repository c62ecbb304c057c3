package ctorch

import "math"

// operation is a C function with arguments that it accepts. The tests then put bad ones in their
// place, one kind of argument at a time, and all at random.
type operation struct {
	c       string // its name in functions.h
	tensors []sample
	ints    []integer
	list    []int // a shape or a list of axes; nil where it takes none
	run     func(a arguments) ([]Handle, error)
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
	on   bool // every flag
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
func none(err error) ([]Handle, error)          { return nil, err }

func unary(c string, f Unary) operation {
	return operation{c: c, tensors: []sample{float(2, 3)},
		run: func(a arguments) ([]Handle, error) { return one(f(a.t[0], a.grad)) }}
}

func binary(c string, f Binary, x, y sample) operation {
	return operation{c: c, tensors: []sample{x, y},
		run: func(a arguments) ([]Handle, error) { return one(f(a.t[0], a.t[1], a.grad)) }}
}

func scalar(c string, f func(x Handle, v float64, grad bool) (Handle, error)) operation {
	return operation{c: c, tensors: []sample{float(2, 3)},
		run: func(a arguments) ([]Handle, error) { return one(f(a.t[0], a.f, a.grad)) }}
}

func alongAxis(c string, f func(x Handle, dim int, grad bool) (Handle, error), x sample) operation {
	return operation{c: c, tensors: []sample{x}, ints: []integer{axis}, run: func(a arguments) ([]Handle, error) {
		return one(f(a.t[0], a.i[0], a.grad))
	}}
}

func shaped(c string, f func(x Handle, list []int, grad bool) (Handle, error), list ...int) operation {
	return operation{c: c, tensors: []sample{float(2, 3)}, list: list, run: func(a arguments) ([]Handle, error) {
		return one(f(a.t[0], a.list, a.grad))
	}}
}

func reduction(c string, f Reduction) operation {
	return operation{c: c, tensors: []sample{float(2, 3)}, list: []int{0, -1},
		run: func(a arguments) ([]Handle, error) {
			return one(f(a.t[0], a.list, a.on, a.grad))
		}}
}

// leafWithGradient makes a parameter that Backward has reached.
func leafWithGradient() Handle {
	x := must(Full([]int{2}, 1, Float64, CPU))
	check(SetRequiresGrad(x, true))
	sum := must(Sum(x, nil, false, true))
	check(Backward(sum))
	check(Release([]Handle{sum}))
	return x
}

// wanted makes a scalar that wants a gradient, and so is a loss.
func wanted() Handle {
	x := must(Full(nil, 1, Float64, CPU))
	check(SetRequiresGrad(x, true))
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
	case s.shape == nil && s.optional:
		return 0
	case s.dtype == Int64:
		return must(Full(s.shape, 0, Int64, CPU))
	}
	return must(RandN(s.shape, 1, s.dtype, CPU))
}

func (s sample) orNone() sample { s.optional = true; return s }

var shared [6]float32

// operations lists every C function of functions.h that takes or makes tensors.
var operations = []operation{
	{c: "tp_share_data", ints: []integer{dtypes}, list: []int{2, 3}, run: func(a arguments) ([]Handle, error) {
		return one(ShareData(shared[:], a.list, a.i[0]))
	}},
	{c: "tp_from_data", ints: []integer{dtypes, devices}, list: []int{2, 3}, run: func(a arguments) ([]Handle, error) {
		return one(FromData(make([]float32, 6), a.list, a.i[0], a.i[1]))
	}},
	{c: "tp_full", ints: []integer{dtypes, devices}, list: []int{2, 3}, run: func(a arguments) ([]Handle, error) {
		return one(Full(a.list, a.f, a.i[0], a.i[1]))
	}},
	{c: "tp_randn", ints: []integer{dtypes, devices}, list: []int{2, 3}, run: func(a arguments) ([]Handle, error) {
		return one(RandN(a.list, 7, a.i[0], a.i[1]))
	}},
	{c: "tp_info", tensors: []sample{float(2, 3)},
		run: func(a arguments) ([]Handle, error) { _, err := Describe(a.t[0]); return nil, err }},
	{c: "tp_read", tensors: []sample{float(2, 3)},
		run: func(a arguments) ([]Handle, error) { return none(Read(a.t[0], make([]float32, 6))) }},
	{c: "tp_copy_", tensors: []sample{float(2, 3), double(2, 3)},
		run: func(a arguments) ([]Handle, error) { return none(Copy(a.t[0], a.t[1])) }},
	{c: "tp_fill_", tensors: []sample{float(2, 3)},
		run: func(a arguments) ([]Handle, error) { return none(Fill(a.t[0], a.f)) }},

	unary("tp_neg", Neg), unary("tp_abs", Abs), unary("tp_exp", Exp), unary("tp_log1p", Log1p),
	unary("tp_sqrt", Sqrt), unary("tp_square", Square), unary("tp_sin", Sin),
	unary("tp_cos", Cos), unary("tp_sigmoid", Sigmoid), unary("tp_softplus", Softplus),
	unary("tp_relu", ReLU), unary("tp_gelu", GELU), unary("tp_floor", Floor), unary("tp_contiguous", Contiguous),
	unary("tp_detach", Detach), unary("tp_clone", Clone),

	binary("tp_add", Add, float(2, 3), float(3)), binary("tp_sub", Sub, float(2, 3), float(1, 3)),
	binary("tp_mul", Mul, float(2, 3), double(3)), binary("tp_div", Div, float(2, 3), float(2, 1)),
	binary("tp_maximum", Maximum, float(2, 3), float(3)),
	binary("tp_matmul", MatMul, float(2, 3), float(3, 4)),
	scalar("tp_add_scalar", AddScalar), scalar("tp_mul_scalar", MulScalar),
	{c: "tp_clamp", tensors: []sample{float(2, 3)}, run: func(a arguments) ([]Handle, error) {
		return one(Clamp(a.t[0], -a.f, a.f, a.grad))
	}},

	shaped("tp_reshape", Reshape, 3, 2), shaped("tp_expand", Expand, 4, 2, 3), shaped("tp_permute", Permute, 1, 0),
	{c: "tp_transpose", tensors: []sample{float(2, 3)}, ints: []integer{axis, axis},
		run: func(a arguments) ([]Handle, error) {
			return one(Transpose(a.t[0], a.i[0], a.i[1], a.grad))
		}},
	alongAxis("tp_unsqueeze", Unsqueeze, float(2, 3)), alongAxis("tp_squeeze", Squeeze, float(1, 3)),
	{c: "tp_narrow", tensors: []sample{float(2, 3)},
		ints: []integer{axis, {1, []int{3, -3, math.MaxInt, math.MinInt}}, size},
		run:  func(a arguments) ([]Handle, error) { return one(Narrow(a.t[0], a.i[0], a.i[1], a.i[2], a.grad)) }},
	{c: "tp_select", tensors: []sample{float(2, 3)}, ints: []integer{axis, {1, []int{2, -3, math.MaxInt, math.MinInt}}},
		run: func(a arguments) ([]Handle, error) { return one(Select(a.t[0], a.i[0], a.i[1], a.grad)) }},
	{c: "tp_unbind", tensors: []sample{float(2, 3)}, ints: []integer{axis, {2, []int{-1, 0, 1, 3, 1000}}},
		run: func(a arguments) ([]Handle, error) { return Unbind(a.t[0], a.i[0], min(max(0, a.i[1]), 1000), a.grad) }},
	{c: "tp_cat", tensors: []sample{float(2, 3), float(1, 3)}, ints: []integer{axis},
		run: func(a arguments) ([]Handle, error) {
			return one(Cat(a.t, a.i[0], a.grad))
		}},
	{c: "tp_stack", tensors: []sample{float(2, 3), float(2, 3)}, ints: []integer{axis},
		run: func(a arguments) ([]Handle, error) {
			return one(Stack(a.t, a.i[0], a.grad))
		}},
	alongAxis("tp_flip", Flip, float(2, 3)),
	{c: "tp_pad", tensors: []sample{float(2, 3)},
		ints: []integer{axis, {1, []int{-5, 1 << 59, math.MaxInt, math.MinInt}},
			{1, []int{-5, 1 << 59, math.MaxInt, math.MinInt}}},
		run: func(a arguments) ([]Handle, error) { return one(Pad(a.t[0], a.i[0], a.i[1], a.i[2], a.f, a.grad)) }},
	{c: "tp_index_select", tensors: []sample{float(2, 3), indices(4)}, ints: []integer{axis},
		run: func(a arguments) ([]Handle, error) {
			return one(IndexSelect(a.t[0], a.i[0], a.t[1], a.grad))
		}},
	{c: "tp_gather", tensors: []sample{float(2, 3), indices(2, 2)}, ints: []integer{axis},
		run: func(a arguments) ([]Handle, error) {
			return one(Gather(a.t[0], a.i[0], a.t[1], a.grad))
		}},
	{c: "tp_one_hot", tensors: []sample{indices(2, 3)}, ints: []integer{size, dtypes},
		run: func(a arguments) ([]Handle, error) {
			return one(OneHot(a.t[0], a.i[0], a.i[1], a.grad))
		}},
	{c: "tp_to", tensors: []sample{float(2, 3)}, ints: []integer{dtypes, devices},
		run: func(a arguments) ([]Handle, error) {
			return one(To(a.t[0], a.i[0], a.i[1], a.grad))
		}},

	reduction("tp_sum", Sum), reduction("tp_mean", Mean),
	alongAxis("tp_argmax", Argmax, float(2, 3)), alongAxis("tp_cumsum", Cumsum, float(2, 3)),
	alongAxis("tp_softmax", Softmax, float(2, 3)), alongAxis("tp_log_softmax", LogSoftmax, float(2, 3)),

	{c: "tp_linear", tensors: []sample{float(2, 5, 3), float(2, 4, 3), float(2, 4).orNone()},
		run: func(a arguments) ([]Handle, error) {
			return one(Linear(a.t[0], a.t[1], a.t[2], a.on, a.grad))
		}},
	{c: "tp_project_qkv", tensors: []sample{float(2, 1, 3, 4), float(2, 12, 4), float(2, 12).orNone()},
		ints: []integer{{2, []int{0, -1, 3, 1 << 40, math.MaxInt, math.MinInt}}},
		run: func(a arguments) ([]Handle, error) {
			qkv, err := ProjectQKV(a.t[0], Rows{}, a.t[1], a.t[2], a.i[0], a.grad)
			return qkv[:], err
		}},
	{c: "tp_project_qkv", tensors: []sample{float(2, 5, 3, 4), indices(2, 7, 3), float(2, 7, 3), float(2, 4),
		float(2, 12, 4), float(2, 12).orNone()}, run: func(a arguments) ([]Handle, error) {
		qkv, err := ProjectQKV(0, Rows{All: a.t[0], Index: a.t[1], Values: a.t[2], Slope: a.t[3]}, a.t[4], a.t[5], 2,
			a.grad)
		return qkv[:], err
	}},
	{c: "tp_take_rows", tensors: []sample{float(2, 5, 3, 4), indices(2, 7, 3), float(2, 7, 3),
		float(2, 4)},
		run: func(a arguments) ([]Handle, error) {
			return one(TakeRows(Rows{All: a.t[0], Index: a.t[1], Values: a.t[2], Slope: a.t[3]}, a.grad))
		}},
	binary("tp_attention_logits",
		func(q, k Handle, grad bool) (Handle, error) { return AttentionLogits(q, k, 0.5, grad) },
		float(2, 1, 2, 3, 4), float(2, 1, 2, 5, 4)),
	binary("tp_attention_values", AttentionValues, float(2, 1, 2, 3, 5), float(2, 1, 2, 5, 4)),
	{c: "tp_attention", tensors: []sample{float(2, 1, 2, 67, 8), float(2, 1, 2, 500, 8),
		float(2, 1, 2, 500, 5), float(2, 1, 1, 1, 500).orNone()},
		run: func(a arguments) ([]Handle, error) {
			return one(Attention(a.t[0], a.t[1], a.t[2], a.t[3], a.f, a.grad))
		}},
	{c: "tp_rotate", tensors: []sample{float(2, 1, 2, 3, 4), float(3, 2), float(3, 2)},
		run: func(a arguments) ([]Handle, error) {
			return one(Rotate(a.t[0], a.t[1], a.t[2], a.on, a.grad))
		}},
	{c: "tp_add_layer_norm", tensors: []sample{float(2, 3, 5, 4), float(2, 3, 5, 4).orNone(), float(2, 4),
		float(2, 4), float(2, 5, 4).orNone()}, run: func(a arguments) ([]Handle, error) {
		return one(AddLayerNorm(a.t[0], a.t[1], Norm{a.t[2], a.t[3], a.t[4], 1e-5}, a.grad))
	}},
	{c: "tp_attention_block", tensors: []sample{float(2, 3, 5, 4), float(2, 12, 4),
		float(2, 12).orNone(), float(5, 5).orNone(), float(2, 4, 4), float(2, 4).orNone(),
		indices(2, 3, 1).orNone(), float(2, 4), float(2, 4), {optional: true}},
		run: func(a arguments) ([]Handle, error) {
			return one(AttentionBlock(a.t[0], SelfAttention{QKVWeight: a.t[1], QKVBias: a.t[2], Mask: a.t[3],
				OutWeight: a.t[4], OutBias: a.t[5], Read: a.t[6], Heads: 2, Scale: 0.5},
				Norm{a.t[7], a.t[8], a.t[9], 1e-5}, a.grad))
		}},
	{c: "tp_attention_block", tensors: []sample{float(2, 3, 5, 4), float(2, 12, 4), float(2, 12).orNone(),
		float(5, 5).orNone(), float(2, 4, 4), float(2, 4).orNone(), indices(2, 3, 1).orNone(), float(2, 4), float(2, 4),
		float(2, 5, 5, 4), indices(2, 3, 5), float(2, 3, 5), float(2, 4)},
		run: func(a arguments) ([]Handle, error) {
			return one(AttentionBlock(a.t[0], SelfAttention{QKVWeight: a.t[1], QKVBias: a.t[2], Mask: a.t[3],
				OutWeight: a.t[4], OutBias: a.t[5], Read: a.t[6], Heads: 1, Scale: 0.5,
				Rows: Rows{All: a.t[9], Index: a.t[10], Values: a.t[11], Slope: a.t[12]}},
				Norm{Gain: a.t[7], Bias: a.t[8], Eps: 1e-5}, a.grad))
		}},
	{c: "tp_mlp_block", tensors: []sample{float(2, 3, 5, 4), float(2, 6, 4), float(2, 6).orNone(),
		float(2, 4, 6), float(2, 4).orNone(), float(2, 4), float(2, 4), float(2, 5, 4).orNone()},
		run: func(a arguments) ([]Handle, error) {
			return one(MLPBlock(a.t[0], MLP{a.t[1], a.t[2], a.t[3], a.t[4]},
				Norm{a.t[5], a.t[6], a.t[7], 1e-5}, a.grad))
		}},
	{c: "tp_dropout", tensors: []sample{float(2, 3, 4)}, run: func(a arguments) ([]Handle, error) {
		return one(Dropout(a.t[0], a.f, []uint64{1, 2}, 3, 4, a.grad))
	}},
	{c: "tp_dropout_drawn", tensors: []sample{float(2, 3, 4), indices(3)}, run: func(a arguments) ([]Handle, error) {
		return one(DropoutDrawn(a.t[0], a.f, a.t[1], 4, a.grad))
	}},
	binary("tp_cross_entropy", CrossEntropy, float(2, 3, 4), indices(2, 3)),
	{c: "tp_right_answers", tensors: []sample{float(2, 3, 4), indices(2, 3)},
		run: func(a arguments) ([]Handle, error) { return one(CountCorrect(a.t[0], a.t[1])) }},

	{c: "tp_backward", tensors: []sample{{make: wanted}},
		run: func(a arguments) ([]Handle, error) { return none(Backward(a.t[0])) }},
	{c: "tp_set_requires_grad", tensors: []sample{float(2, 3)}, run: func(a arguments) ([]Handle, error) {
		return none(SetRequiresGrad(a.t[0], a.on))
	}},
	{c: "tp_grad", tensors: []sample{{make: leafWithGradient}},
		run: func(a arguments) ([]Handle, error) { return one(Grad(a.t[0])) }},
	{c: "tp_zero_gradients", tensors: []sample{float(2, 20), {make: leafWithGradient}},
		run: func(a arguments) ([]Handle, error) { return none(ZeroGradients(a.t[0], a.t[1:])) }},
	{c: "tp_settle_gradients", tensors: []sample{{make: leafWithGradient}},
		run: func(a arguments) ([]Handle, error) { return none(SettleGradients(a.t)) }},
	{c: "tp_leaf", tensors: []sample{float(2, 20), float(2, 20).orNone()},
		ints: []integer{{3, []int{-1, 15, 20, 21, math.MaxInt, math.MinInt}}},
		list: []int{2, 3, 2},
		run:  func(a arguments) ([]Handle, error) { return one(Leaf(a.t[0], a.i[0], a.list, a.t[1])) }},

	{c: "tp_adam_", tensors: []sample{float(2, 5), float(2, 5), float(2, 5), float(2, 5), double(2, 6)},
		run: func(a arguments) ([]Handle, error) {
			return none(Adam(AdamState{a.t[0], a.t[1], a.t[2], a.t[3]}, a.t[4], AdamRule{0.9, 0.999, 1e-8, a.on}))
		}},
	{c: "tp_sgd_", tensors: []sample{float(2, 5), float(2, 5), double(2, 6)}, run: func(a arguments) ([]Handle, error) {
		return none(SGD(a.t[0], a.t[1], a.t[2]))
	}},
	{c: "tp_account_", tensors: []sample{float(2), double(2).orNone(), indices(1), double(5, 2)},
		run: func(a arguments) ([]Handle, error) {
			return none(Account(a.t[0], a.t[1], 3, a.t[2], a.t[3]))
		}},
	unary("tp_member_norm", MemberNorm),
}
