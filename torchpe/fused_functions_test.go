package torchpe

import (
	"math"
	"math/rand/v2"
)

// normEps is larger than a model's 1e-5: a row of one element has variance 0, and 1/sqrt(eps)
// magnifies its rounding.
const normEps = 1e-3

// blockEps is that of the blocks, in which rounding comes to the norm from further away.
const blockEps = 1

func normed(gain, bias Tensor, eps float64) Norm { return Norm{Gain: gain, Bias: bias, Eps: eps} }

// sizes of the operands of the fused operators.
type sizes struct{ E, B, H, N, M, Dh, O int }

// fusedFunctions returns the fused operators as functions of their operands, all of which have the
// leading axis E. Those that need an even Dh are left out where it is odd.
func fusedFunctions(z sizes) []function {
	D := z.H * z.Dh
	x, w, b := []int{z.E, z.B, z.N, D}, []int{z.E, z.O, D}, []int{z.E, z.O}
	wqkv, bqkv := []int{z.E, 3 * D, D}, []int{z.E, 3 * D}
	q, k := []int{z.E, z.B, z.H, z.N, z.Dh}, []int{z.E, z.B, z.H, z.M, z.Dh}
	weights, gain := []int{z.E, z.B, z.H, z.N, z.M}, []int{z.E, D}
	seeds := make([]uint64, z.E)
	for e := range seeds {
		seeds[e] = uint64(100 + e)
	}
	narrow := 1 / math.Sqrt(float64(D)) // so that sums of D products are of size 1
	rows := []int{z.E, z.H + 2, z.N, D}
	// block is AttentionBlock of x, with biases or without, as changed by more operands.
	block := func(name string, seed uint64, x []int, biases bool,
		change func(x Tensor, more []Tensor, a *SelfAttention, n *Norm), more ...[]int) function {
		shapes := [][]int{x, wqkv, {z.E, D, D}, gain, gain}
		if biases {
			shapes = append(shapes, bqkv, gain)
		}
		own := len(shapes)
		return function{name, inputs(seed, append(shapes, more...)...), func(x []Tensor) Tensor {
			a := SelfAttention{QKVWeight: x[1], OutWeight: x[2], Heads: z.H, Folds: z.H == 1, Scale: 0.4 / float64(D)}
			n := normed(x[3], x[4], blockEps)
			if biases {
				a.QKVBias, a.OutBias = x[5], x[6]
			}
			change(x[0], x[own:], &a, &n)
			if a.Rows.All.Defined() {
				return AttentionBlock(TakeRows(a.Rows), a, n)
			}
			return AttentionBlock(x[0], a, n)
		}}
	}
	list := []function{
		two("Linear without bias", inputs(20, x, w), func(x, w Tensor) Tensor { return Linear(x, w, Tensor{}) }),
		two("LinearGELU without bias", inputs(21, x, w),
			func(x, w Tensor) Tensor { return LinearGELU(x, w, Tensor{}) }),
		{"Linear", inputs(22, x, w, b), func(x []Tensor) Tensor { return Linear(x[0], x[1], x[2]) }},
		{"LinearGELU", inputs(23, x, w, b), func(x []Tensor) Tensor { return LinearGELU(x[0], x[1], x[2]) }},
		{"Linear of one row", inputs(24, []int{z.E, D}, w, b),
			func(x []Tensor) Tensor { return Linear(x[0], x[1], x[2]) }},
		{"ProjectQKV", inputs(25, x, wqkv, bqkv), func(x []Tensor) Tensor {
			q, k, v := ProjectQKV(x[0], x[1], x[2], z.H)
			return Stack(1, q, k, v)
		}},
		{"ProjectQKV without bias", inputs(26, x, wqkv), func(x []Tensor) Tensor {
			q, k, v := ProjectQKV(x[0], x[1], Tensor{}, z.H)
			return Stack(1, q, k, v)
		}},
		{"ProjectQKV, keys only", inputs(27, x, wqkv, bqkv), func(x []Tensor) Tensor {
			_, k, _ := ProjectQKV(x[0], x[1], x[2], z.H)
			return k
		}},
		two("AttentionLogits", inputs(28, q, k), func(q, k Tensor) Tensor { return AttentionLogits(q, k, 0.37) }),
		two("AttentionValues", inputs(29, weights, k), AttentionValues),
		two("AttentionValues, heads merged", inputs(30, weights, k), func(w, v Tensor) Tensor {
			return AttentionValues(w, v).Permute(0, 1, 3, 2, 4).Reshape(z.E, z.B, z.N, D)
		}),
		{"attention", inputs(31, q, k, k), func(x []Tensor) Tensor {
			return AttentionValues(AttentionLogits(x[0], x[1], 0.5).Softmax(-1), x[2])
		}},
		{"Attention", inputs(40, q, k, k), func(x []Tensor) Tensor {
			return Attention(x[0], x[1], x[2], Tensor{}, 0.5)
		}},
		{"Attention with bias, heads merged", inputs(41, q, k, k), func(x []Tensor) Tensor {
			hidden := normals(rand.New(rand.NewPCG(42, 0)), z.N*z.M)
			for i := range hidden {
				if i%z.M > i/z.M { // no row is hidden as a whole
					hidden[i] = math.Inf(-1)
				}
			}
			bias := Of(x[0].Scope(), CPU, hidden, z.N, z.M).To(x[0].DType(), x[0].Device())
			return Attention(x[0], x[1], x[2], bias, 0.5).Permute(0, 1, 3, 2, 4).Reshape(z.E, z.B, z.N, D)
		}},
		{"AddLayerNorm", inputs(32, x, x, gain, gain),
			func(x []Tensor) Tensor { return AddLayerNorm(x[0], x[1], normed(x[2], x[3], normEps)) }},
		{"AddLayerNorm of one", inputs(33, x, gain, gain),
			func(x []Tensor) Tensor { return AddLayerNorm(x[0], Tensor{}, normed(x[1], x[2], normEps)) }},
		{"AddLayerNorm of one twice", inputs(34, x, gain, gain),
			func(x []Tensor) Tensor { return AddLayerNorm(x[0], x[0], normed(x[1], x[2], normEps)) }},
		{"AddLayerNorm with a table", inputs(48, x, x, gain, gain, []int{z.E, z.N, D}), func(x []Tensor) Tensor {
			return AddLayerNorm(x[0], x[1], Norm{x[2], x[3], normEps, x[4]})
		}},
		{"MLPBlock with a table", inputs(49, x, w, b, []int{z.E, D, z.O}, gain, gain, gain, []int{z.E, z.N, D}),
			func(x []Tensor) Tensor {
				return MLPBlock(x[0].MulScalar(narrow), MLP{x[1], x[2], x[3], x[4]}, Norm{x[5], x[6], blockEps, x[7]})
			}},
		{"MLPBlock", inputs(43, x, w, b, []int{z.E, D, z.O}, gain, gain, gain), func(x []Tensor) Tensor {
			return MLPBlock(x[0].MulScalar(narrow), MLP{x[1], x[2], x[3], x[4]}, normed(x[5], x[6], blockEps))
		}},
		{"MLPBlock without biases", inputs(44, x, w, []int{z.E, D, z.O}, gain, gain), func(x []Tensor) Tensor {
			return MLPBlock(x[0].MulScalar(narrow), MLP{x[1], Tensor{}, x[2], Tensor{}}, normed(x[3], x[4], blockEps))
		}},
		block("AttentionBlock", 45, x, true, func(Tensor, []Tensor, *SelfAttention, *Norm) {}),
		block("AttentionBlock with a table", 50, x, false, func(_ Tensor, more []Tensor, _ *SelfAttention, n *Norm) {
			n.Table = more[0]
		}, []int{z.E, z.N, D}),
		block("AttentionBlock without biases, causal backwards", 46, x, false,
			func(x Tensor, _ []Tensor, a *SelfAttention, _ *Norm) { a.Mask = causal(x, z).Transpose(0, 1) }),
		block("AttentionBlock of some tokens", 47, x, true, func(x Tensor, _ []Tensor, a *SelfAttention, _ *Norm) {
			a.Read = someTokens(x, z)
		}),
		block("Causal: AttentionBlock of some tokens", 53, x, true,
			func(x Tensor, _ []Tensor, a *SelfAttention, _ *Norm) {
				a.Mask, a.Read = causal(x, z), someTokens(x, z)
			}),
		block("Shared rows: AttentionBlock", 54, rows, true,
			func(all Tensor, more []Tensor, a *SelfAttention, _ *Norm) {
				a.Rows = TokenRows{All: all, Index: tokenRows(all, z), Values: tokenValues(all, z),
					Slope: more[0].MulScalar(0.1)}
			}, gain),
		block("Shared rows: AttentionBlock of some tokens, without biases", 55, rows, false,
			func(all Tensor, _ []Tensor, a *SelfAttention, _ *Norm) {
				a.Rows, a.Read = TokenRows{All: all, Index: tokenRows(all, z)}, someTokens(all, z)
			}),
		block("Causal, shared rows: AttentionBlock of some tokens", 57, rows, true,
			func(all Tensor, more []Tensor, a *SelfAttention, _ *Norm) {
				a.Mask, a.Read = causal(all, z), someTokens(all, z)
				a.Rows = TokenRows{All: all, Index: tokenRows(all, z), Values: tokenValues(all, z),
					Slope: more[0].MulScalar(0.1)}
			}, gain),
		two("ProjectQKV of shared rows", inputs(56, rows, wqkv), func(rows, w Tensor) Tensor {
			q, k, v := ProjectRows(TokenRows{All: rows, Index: tokenRows(rows, z)}, w, Tensor{}, z.H)
			return Cat(-1, q, k, v)
		}),
		one("TakeRows", inputs(51, []int{z.E, z.H + 2, z.N, z.Dh}), func(x Tensor) Tensor {
			return TakeRows(TokenRows{All: x, Index: tokenRows(x, z)})
		}),
		{"TakeRows of heads, with values", inputs(52, []int{z.E, z.H + 2, z.H, z.N, z.Dh}, []int{z.E, z.H * z.Dh}),
			func(x []Tensor) Tensor {
				return TakeRows(TokenRows{All: x[0], Index: tokenRows(x[0], z), Values: tokenValues(x[0], z),
					Slope: x[1]})
			}},
		one("Dropout", inputs(35, x), func(x Tensor) Tensor {
			x.Scope().Seed(seeds, 7)
			return x.Dropout(0.4)
		}),
		one("CrossEntropy", inputs(36, []int{z.E, z.B, z.O}), func(x Tensor) Tensor {
			return CrossEntropy(x, classes(x, z))
		}),
	}
	if z.Dh%2 == 0 {
		list = append(list, rotations(z, q)...)
	}
	return list
}

// tokenRows are the rows [E,B,N] of H+2 that the tokens of a batch take, the same for each member;
// not all are taken.
func tokenRows(rows Tensor, z sizes) Tensor {
	v := make([]int64, z.E*z.B*z.N)
	for i := range v {
		v[i] = int64(i % (z.B * z.N) * 3 % (z.H + 1))
	}
	return Of(rows.Scope(), rows.Device(), v, z.E, z.B, z.N)
}

// tokenValues are the values [E,B,N] of the tokens of a batch, the same for each member.
func tokenValues(rows Tensor, z sizes) Tensor {
	v := make([]float64, z.E*z.B*z.N)
	for i := range v {
		v[i] = float64(i%(z.B*z.N)*5%11) - 4
	}
	return Of(rows.Scope(), CPU, v, z.E, z.B, z.N).To(rows.DType(), rows.Device())
}

// someTokens are half of the tokens of x and one more, one of them twice, the same for each member.
func someTokens(x Tensor, z sizes) Tensor {
	read := make([]int64, z.E*z.B*(1+z.N/2))
	for i := range read {
		read[i] = int64(i % (len(read) / z.E) * 5 % z.N)
	}
	return Of(x.Scope(), x.Device(), read, z.E, z.B, 1+z.N/2)
}

// causal is the mask [N,N] of x's tokens that hides the keys behind each query.
func causal(x Tensor, z sizes) Tensor {
	hidden := make([]float64, z.N*z.N)
	for i := range hidden {
		if i%z.N > i/z.N {
			hidden[i] = math.Inf(-1)
		}
	}
	return Of(x.Scope(), CPU, hidden, z.N, z.N).To(x.DType(), x.Device())
}

// classes are the targets [E,B] of a cross-entropy of logits over O classes, beside them.
func classes(logits Tensor, z sizes) Tensor {
	v := make([]int64, z.E*z.B)
	for i := range v {
		v[i] = int64(i * 3 % z.O)
	}
	return Of(logits.Scope(), logits.Device(), v, z.E, z.B)
}

// rotations are RotatePairs in both layouts, by constant angles that broadcast in different ways
// and by angles that have gradients themselves. Cosine and sine are free numbers here: the operator
// is linear in them.
func rotations(z sizes, q []int) (list []function) {
	for _, half := range []bool{false, true} {
		name := map[bool]string{false: "RotatePairs", true: "RotatePairs of halves"}[half]
		for _, shape := range [][]int{{z.N, z.Dh / 2}, {z.E, 1, 1, z.N, z.Dh / 2},
			{z.E, z.B, z.H, z.N, z.Dh / 2}, {1, z.Dh / 2}, {z.Dh / 2}} {
			angles := normals(rand.New(rand.NewPCG(37, 0)), 2*product(shape))
			n := product(shape)
			list = append(list, one(name, inputs(38, q), func(x Tensor) Tensor {
				of := func(v []float64) Tensor { return Of(x.Scope(), CPU, v, shape...).To(x.DType(), x.Device()) }
				return RotatePairs(x, of(angles[:n]), of(angles[n:]), half)
			}))
		}
		own := []int{z.E, 1, 1, z.N, z.Dh / 2}
		list = append(list, function{name + " by learned angles", inputs(39, q, own, own), func(x []Tensor) Tensor {
			return RotatePairs(x[0], x[1], x[2], half)
		}})
	}
	return list
}
