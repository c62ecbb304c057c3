package torchpe

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// kernelSizes are the sizes at which warps, tiles and chunks of the kernels end or do not end.
func kernelSizes() []sizes {
	return []sizes{
		{E: 1, B: 1, H: 1, N: 1, M: 1, Dh: 1, O: 1},
		{E: 3, B: 2, H: 1, N: 5, M: 3, Dh: 3, O: 7},
		{E: 1, B: 3, H: 2, N: 16, M: 16, Dh: 32, O: 33},
		{E: 3, B: 1, H: 1, N: 16, M: 17, Dh: 160, O: 64},
		{E: 1, B: 1, H: 4, N: 3, M: 9, Dh: 160, O: 5},   // rows of 640
		{E: 1, B: 1, H: 5, N: 2, M: 32, Dh: 200, O: 3},  // rows of 1000
		{E: 3, B: 5, H: 2, N: 29, M: 29, Dh: 5, O: 40},  // 145 rows: chunks of 32 and of 64 with a rest
		{E: 1, B: 41, H: 1, N: 7, M: 7, Dh: 2, O: 3},    // 287 rows
		{E: 2, B: 1, H: 1, N: 32, M: 32, Dh: 256, O: 2}, // the most that few tokens are
		{E: 1, B: 1, H: 1, N: 33, M: 5, Dh: 8, O: 2},    // and one more
		{E: 2, B: 1, H: 2, N: 70, M: 70, Dh: 24, O: 2},  // libtorch's attention
	}
}

// compareKernels compares f as a GPU computes it with the CPU's loops, which TestFusedTwins holds
// against the composed form, with the operands in layout l.
func compareKernels(t *testing.T, c function, l layout, name string) {
	t.Helper()
	for _, dtype := range []DType{Float64, Float32} {
		name := fmt.Sprintf("%s, %s, %s, %s", c.name, dtype, l, name)
		var have outcome
		emulated(func() { have = c.run(l, dtype, nil, 1) })
		have.near(t, name, c.run(l, dtype, nil, 1), twinTolerance[dtype])
	}
}

func TestKernels(t *testing.T) {
	list := kernelSizes()
	if testing.Short() {
		list = list[:7]
	}
	for k, z := range list {
		for i, c := range fusedFunctions(z) {
			if strings.HasPrefix(c.name, "Rotate") ||
				strings.HasPrefix(c.name, "AttentionLogits") ||
				strings.HasPrefix(c.name, "AttentionValues") {
				continue // have no kernel
			}
			l := layout((i + k) % 3)
			if strings.Contains(c.name, "Block") {
				l = dense // else it is left to others
			}
			compareKernels(t, c, l, fmt.Sprintf("%+v", z))
			if t.Failed() {
				return // one size says enough
			}
		}
	}
}

// TestKernelLayerNorm goes through widths at which a row is a warp's or a block's, and numbers of
// rows at which chunks of them end.
func TestKernelLayerNorm(t *testing.T) {
	for k, z := range [][3]int{{2, 1, 1}, {1, 33, 31}, {3, 70, 32}, {1, 9, 65}, {2, 40, 161},
		{1, 5, 256}, {1, 3, 257}, {1, 40, 1024}, {2, 3, 1025}, {1, 2, 4096}, {1, 2, 4097},
		{1, 9000, 2}} {
		if testing.Short() && k%2 == 1 {
			continue
		}
		x, gain := []int{z[0], z[1], z[2]}, []int{z[0], z[2]}
		compareKernels(t, function{"AddLayerNorm", inputs(73, x, x, gain, gain), func(x []Tensor) Tensor {
			return AddLayerNorm(x[0], x[1], normed(x[2], x[3], normEps))
		}}, layout(k%3), fmt.Sprint(z))
	}
}

// TestKernelAttention checks biases of all shapes, -inf among them, and gradients that are wanted
// in part.
func TestKernelAttention(t *testing.T) {
	for k, z := range []sizes{{E: 3, B: 2, H: 2, N: 16, M: 16, Dh: 5, O: 5},
		{E: 1, B: 2, H: 3, N: 7, M: 30, Dh: 40, O: 66},
		{E: 2, B: 1, H: 1, N: 32, M: 2, Dh: 1, O: 256}} {
		for b, bias := range attentionBiases(z) {
			c := attention(z, bias, []float64{0.3, -0.7}[k%2])
			compareKernels(t, c, layout((k+b)%3), fmt.Sprintf("%+v", z))
			want := make([]bool, len(c.inputs))
			want[b%3] = true
			emulated(func() {
				some := c.run(dense, Float64, want, 1)
				c.run(dense, Float64, nil, 1).identical(t, fmt.Sprintf("%s, wanted %v", c.name, want), some)
			})
			if t.Failed() {
				return
			}
		}
	}
}

// TestKernelSelfAttention checks a projection with the attention over it, whose gradients need not
// be copied together, and with what keeps the gradients from lying as they should: an operation
// between, or a part that is not used.
func TestKernelSelfAttention(t *testing.T) {
	for k, z := range []sizes{{E: 2, B: 3, H: 2, N: 16, Dh: 5}, {E: 1, B: 1, H: 1, N: 1, Dh: 1},
		{E: 3, B: 2, H: 1, N: 20, Dh: 33}} {
		D := z.H * z.Dh
		scale := 0.4 / float64(D) // logits of size 1: each of q and k is a sum of D products
		in := inputs(70, []int{z.E, z.B, z.N, D}, []int{z.E, 3 * D, D}, []int{z.E, 3 * D})
		for name, f := range map[string]func(q, k, v Tensor) Tensor{
			"alone":        func(q, k, v Tensor) Tensor { return Attention(q, k, v, Tensor{}, scale) },
			"turned round": func(q, k, v Tensor) Tensor { return Attention(k, q, v, Tensor{}, scale) },
			"scaled before": func(q, k, v Tensor) Tensor {
				return Attention(q, k.MulScalar(2), v, Tensor{}, scale)
			},
			"keys as values":    func(q, k, _ Tensor) Tensor { return Attention(q, k, k, Tensor{}, scale) },
			"queries elsewhere": func(q, k, v Tensor) Tensor { return Attention(q, k, v, Tensor{}, scale).Add(q) },
		} {
			compareKernels(t, function{"self-attention, " + name, in, func(x []Tensor) Tensor {
				q, k, v := ProjectQKV(x[0], x[1], x[2], z.H)
				return f(q, k, v)
			}}, layout(k), fmt.Sprintf("%+v", z))
		}
	}
}

// TestCountCorrect counts by hand, in all forms: the first of equal logits answers, and NaN is the
// largest of all.
func TestCountCorrect(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	rows := [][]float64{{1, 3, 2}, {2, 2, 1}, {-inf, -inf, -inf}, {nan, inf, nan}, {0, nan, 5}, {-1, -2, inf}}
	answers := []int64{1, 0, 0, 0, 1, 2}
	eachForm(func(form int) {
		for _, dtype := range []DType{Float64, Float32} {
			for _, B := range []int{1, 6, 300, 1000} { // rows of a block: fewer, and more than its threads
				s := NewScope()
				var logits, want []float64
				var target []int64
				for e := range 3 {
					right := 0.0
					for b := range B {
						row, class := (e+b)%len(rows), int64((e*b)%3)
						logits, target = append(logits, rows[row]...), append(target, class)
						if class == answers[row] {
							right++
						}
					}
					want = append(want, right)
				}
				have := CountCorrect(Of(s, CPU, logits, 3, B, 3).To(dtype, CPU), Of(s, CPU, target, 3, B)).Float64s()
				identical(t, fmt.Sprintf("%d rows of %s, form %d", B, dtype, form), have, want)
				s.Close()
			}
		}
	})
}

// TestKernelCrossEntropy goes through numbers of rows and classes at which a block's threads have
// none, one or more, and large logits.
func TestKernelCrossEntropy(t *testing.T) {
	for k, z := range [][3]int{{1, 1, 1}, {3, 255, 4}, {2, 257, 3}, {1, 700, 128}, {1, 5, 129}} {
		compareKernels(t, one("CrossEntropy", inputs(uint64(74+k), z[:]), func(x Tensor) Tensor {
			return CrossEntropy(x.MulScalar(30), classes(x, sizes{E: z[0], B: z[1], O: z[2]}))
		}), layout(k%3), fmt.Sprint(z))
	}
	// A class that there is not, which a GPU cannot report: NaN for its member alone, and nothing
	// read beside the row.
	emulated(func() {
		s := NewScopeNoGrad()
		defer s.Close()
		for _, class := range []int64{-1, 3, math.MaxInt64} {
			loss := CrossEntropy(Full(s, 1, Float64, CPU, 2, 2, 3),
				Of(s, CPU, []int64{0, 2, 1, class}, 2, 2)).Float64s()
			if math.Abs(loss[0]-math.Log(3)) > 1e-15 || !math.IsNaN(loss[1]) {
				t.Errorf("with class %d of 3 the losses are %v", class, loss)
			}
		}
	})
}

// TestDropoutDrawn checks in all forms that the gradient is the mask, bit by bit, and that a tensor that
// starts between two vectors has the mask of another.
func TestDropoutDrawn(t *testing.T) {
	eachForm(func(form int) {
		for _, n := range []int{1, 4, 39, 1100} {
			for _, dtype := range []DType{Float64, Float32} {
				s := NewScope()
				draws, p := Of(s, CPU, []int64{3, 7, -4, 1 << 33}, 4), 0.3
				name := fmt.Sprintf("%d of %s, form %d", n, dtype, form)
				x := Full(s, 1, dtype, CPU, 3, n).RequireGrad()
				y := x.dropout(p, draws, 5)
				want := y.Float64s()
				y.Sum().Backward()
				identical(t, name+", back", x.Grad().Float64s(), want)
				odd := Full(s, 1, dtype, CPU, 3*n+1).Narrow(0, 1, 3*n).Reshape(3, n)
				identical(t, name+", unaligned", odd.dropout(p, draws, 5).Float64s(), want)
				for _, bad := range []Tensor{draws.Narrow(0, 0, 3), draws.Unsqueeze(1), Zeros(s, Float64, CPU, 4)} {
					if Catch(func() { x.dropout(p, bad, 5) }) == nil {
						t.Errorf("%s: draws %v are taken", name, bad.Shape())
					}
				}
				s.Close()
			}
		}
	})
}

// TestKernelsRepeat: the same bits each time, of each gradient wanted alone too, and without a
// gradient the same result.
func TestKernelsRepeat(t *testing.T) {
	for _, c := range fusedFunctions(sizes{E: 2, B: 3, H: 2, N: 17, M: 17, Dh: 10, O: 33}) {
		if strings.HasPrefix(c.name, "Rotate") {
			continue
		}
		emulated(func() {
			want := c.run(dense, Float32, nil, 1)
			c.run(dense, Float32, nil, 1).identical(t, c.name, want)
			for i := range c.inputs {
				alone := make([]bool, len(c.inputs))
				alone[i] = true
				want.identical(t, fmt.Sprint(c.name, ", input ", i, " alone"), c.run(dense, Float32, alone, 1))
			}
			s := NewScopeNoGrad()
			defer s.Close()
			x := c.tensors(s, dense, Float32)
			identical(t, c.name+" without a gradient", c.f(x).Float64s(), want[0])
		})
	}
}
