package torchpe

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"torchpe/torchpe/internal/ctorch"
)

// The kernels for GPUs, emulated on the CPU (shim/cuda_emulate.h), against the same operators
// composed of libtorch's and against the CPU's loops.

// emulated runs f with the fused operators as a GPU computes them.
func emulated(f func()) {
	ctorch.SetFusedForm(ctorch.Emulated)
	defer ctorch.SetFusedForm(ctorch.Fused)
	f()
}

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
		var want, have []float64
		var gradients, haveGradients [][]float64
		emulated(func() { have, haveGradients = c.run(l, dtype, nil, 1) })
		want, gradients = c.run(l, dtype, nil, 1)
		near(t, name, have, want, twinTolerance[dtype])
		for i := range gradients {
			near(t, fmt.Sprint(name, ", gradient ", i), haveGradients[i], gradients[i], twinTolerance[dtype])
		}
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
			var some, all [][]float64
			emulated(func() {
				_, some = c.run(dense, Float64, want, 1)
				_, all = c.run(dense, Float64, nil, 1)
			})
			identical(t, fmt.Sprintf("%s, gradient %d alone", c.name, b%3), some[b%3], all[b%3])
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
				return Attention(q, k.MulScalar(2),
					v, Tensor{}, scale)
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

// TestKernelParameters checks gradients in the flat buffer of a ParamSet, as TestParameterGradients
// does those of the loops.
func TestKernelParameters(t *testing.T) {
	for _, E := range []int{1, 3} {
		for _, c := range fusedFunctions(smallSizes(E, 2)) {
			_, want := c.run(dense, Float64, nil, 1)
			emulated(func() { checkParameterGradients(t, c, E, want) })
		}
	}
}

// TestKernelOptimizers holds the kernels against the optimizers in Go, and all forms against the
// loops.
func TestKernelOptimizers(t *testing.T) {
	for _, method := range []Method{Adam, AdamW, SGD} {
		for _, dtype := range []DType{Float64, Float32} {
			emulated(func() {
				for _, n := range []int{4, 37, 1029} { // with one, some and more parameters than a block takes
					compareOptimizer(t, fmt.Sprintf("%s %s, emulated", method, dtype),
						parameters(t, 3, n, dtype), method, 0.5)
				}
			})
			for _, form := range []int{ctorch.Composed, ctorch.Emulated} {
				compareForms(t, method, dtype, form)
			}
		}
	}
}

// compareForms makes three steps on columns of buffers in a form and in loops. Member 1 pauses,
// with gradients that would show.
func compareForms(t *testing.T, method Method, dtype DType, form int) {
	t.Helper()
	const E, n = 3, 21
	s := NewScopeNoGrad()
	defer s.Close()
	rng := rand.New(rand.NewPCG(72, 0))
	start := normals(rng, 4*E*n)
	buffers := func() (views [4]Tensor) {
		for i := range views {
			all := Of(s, CPU, start[i*E*n:(i+1)*E*n], E, n).To(dtype, CPU)
			if i == 3 {
				all = all.Square() // Adam's second moments
			}
			views[i] = all.Narrow(1, 2, n-5)
		}
		views[1].Select(0, 1).Fill(math.NaN())
		return views
	}
	one, other := buffers(), buffers()
	for step := 1; step <= 3; step++ {
		var rows []float64
		for _, lrDecayScaleActive := range [E][]float64{{0.1, 0, 1, 1}, {0.2, 0.1, 1, 0}, {0.03, 0.02, 0.3, 1}} {
			rows = append(append(rows, lrDecayScaleActive...), 1-math.Pow(beta1, float64(step)),
				math.Sqrt(1-math.Pow(beta2, float64(step))))
		}
		settings := Of(s, CPU, rows, E, 6)
		for how, b := range map[int][4]Tensor{ctorch.Fused: one, form: other} {
			ctorch.SetFusedForm(how)
			err := Catch(func() { update(method, b, settings) })
			ctorch.SetFusedForm(ctorch.Fused)
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, i := range []int{0, 2, 3} {
			name := fmt.Sprintf("%s %s in form %d, step %d, buffer %d", method, dtype, form, step, i)
			near(t, name, other[i].Float64s(), one[i].Float64s(),
				map[DType]float64{Float64: 1e-14, Float32: 1e-6}[dtype])
		}
	}
	for name, bad := range map[string]Tensor{"float32": Zeros(s, Float32, CPU, E, 6),
		"five columns": Zeros(s, Float64, CPU, E, 5), "two members": Zeros(s, Float64, CPU, 2, 6)} {
		if Catch(func() { update(SGD, other, bad) }) == nil || Catch(func() { update(Adam, other, bad) }) == nil {
			t.Errorf("settings with %s are taken", name)
		}
	}
}

// TestCountCorrect counts by hand, in all forms: the first of equal logits answers, and NaN is the
// largest of all.
func TestCountCorrect(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	rows := [][]float64{{1, 3, 2}, {2, 2, 1}, {-inf, -inf, -inf}, {nan, inf, nan}, {0, nan, 5}, {-1, -2, inf}}
	answers := []int64{1, 0, 0, 0, 1, 2}
	defer ctorch.SetFusedForm(ctorch.Fused)
	for form := range 3 {
		ctorch.SetFusedForm(form)
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
	}
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

// TestDropoutDrawn checks that draws in a tensor give the mask of draws as arguments, in all forms,
// bit by bit, forward and back.
func TestDropoutDrawn(t *testing.T) {
	defer ctorch.SetFusedForm(ctorch.Fused)
	for _, n := range []int{1, 4, 39, 1100} {
		for _, dtype := range []DType{Float64, Float32} {
			for _, step := range []uint64{3, 1<<40 + 5, math.MaxUint64} {
				seeds, call, p := []uint64{7, math.MaxUint64 - 3, 1 << 33}, step%41, 0.3
				ctorch.SetFusedForm(ctorch.Fused)
				want := mask(t, dtype, n, p, seeds, step, call)
				for form := range 3 {
					ctorch.SetFusedForm(form)
					name := fmt.Sprintf("%d of %s, step %d, form %d", n, dtype, step, form)
					s := NewScope()
					draws := []int64{int64(step)}
					for _, seed := range seeds {
						draws = append(draws, int64(seed))
					}
					x := Full(s, 1, dtype, CPU, 3, n).RequireGrad()
					y := x.dropout(p, Of(s, CPU, draws, 4), int(call))
					identical(t, name, y.Float64s(), want)
					y.Sum().Backward()
					identical(t, name+", back", x.Grad().Float64s(), want)
					identical(t, name+", drawn by arguments", mask(t, dtype, n, p, seeds, step, call), want)
					odd := Full(s, 1, dtype, CPU, 3*n+1).Narrow(0, 1, 3*n).Reshape(3, n) // starts between two vectors
					identical(t, name+", unaligned", odd.dropout(p, Of(s, CPU, draws, 4), int(call)).Float64s(), want)
					for _, bad := range []Tensor{Of(s, CPU, draws[:3], 3), Of(s, CPU, draws, 4, 1),
						Zeros(s, Float64, CPU, 4)} {
						if Catch(func() { x.dropout(p, bad, int(call)) }) == nil {
							t.Errorf("%s: draws %v are taken", name, bad.Shape())
						}
					}
					s.Close()
				}
			}
		}
	}
}

// TestKernelsRepeat: the same bits each time, of each gradient wanted alone too, and without a
// gradient the same result.
func TestKernelsRepeat(t *testing.T) {
	for _, c := range fusedFunctions(sizes{E: 2, B: 3, H: 2, N: 17, M: 17, Dh: 10, O: 33}) {
		if strings.HasPrefix(c.name, "Rotate") {
			continue
		}
		emulated(func() {
			want, gradients := c.run(dense, Float32, nil, 1)
			have, again := c.run(dense, Float32, nil, 1)
			identical(t, c.name, have, want)
			for i := range gradients {
				identical(t, fmt.Sprint(c.name, ", gradient ", i), again[i], gradients[i])
			}
			for i := range gradients {
				alone := make([]bool, len(gradients))
				alone[i] = true
				_, some := c.run(dense, Float32, alone, 1)
				identical(t, fmt.Sprint(c.name, ", gradient ", i, " alone"), some[i], gradients[i])
			}
			s := NewScopeNoGrad()
			defer s.Close()
			x := c.tensors(s, dense, Float32)
			identical(t, c.name+" without a gradient", c.f(x).Float64s(), want)
		})
	}
}

// TestKernelGELU compares the kernels' GELU and its slope with float64 erfc, as TestGELU does those
// of the loops, and their limits.
func TestKernelGELU(t *testing.T) {
	emulated(func() {
		var x []float64
		for i := -12 * 256; i <= 12*256; i += 8 {
			x = append(x, float64(i)/256)
		}
		for dtype, allowed := range map[DType]float64{Float64: 1e-15, Float32: 1.2e-7} {
			y, slope := geluOf(dtype, true, x)
			for i, v := range x {
				if d := math.Abs(y[i] - gelu(v)); d > math.Abs(v)*allowed+math.Abs(gelu(v))*allowed {
					t.Fatalf("%s GELU(%g) = %g, want %g", dtype, v, y[i], gelu(v))
				}
				if d := math.Abs(slope[i] - geluSlope(v)); d > 4*allowed {
					t.Fatalf("%s GELU'(%g) = %g, want %g", dtype, v, slope[i], geluSlope(v))
				}
			}
			far, one := geluOf(dtype, true, []float64{1e4, 1e30, -1e4, -1e30, math.NaN()})
			if far[0] != 1e4 || math.Abs(far[1]/1e30-1) > 1e-6 || far[2] != 0 || far[3] != 0 ||
				!math.IsNaN(far[4]) || one[0] != 1 || one[2] != 0 || !math.IsNaN(one[4]) {
				t.Errorf("%s: GELU far out is %v, its slope %v", dtype, far, one)
			}
		}
	})
}

// TestKernelAttentionExtremes: a row whose keys are all hidden is NaN and no other; a hidden key
// weighs nothing; large logits do not overflow.
func TestKernelAttentionExtremes(t *testing.T) {
	z := sizes{E: 1, B: 1, H: 2, N: 9, M: 11, Dh: 6, O: 6}
	bias := point{[]int{z.N, z.M}, make([]float64, z.N*z.M)}
	const hidden, single, large = 2, 3, 4
	for m := range z.M {
		bias.values[hidden*z.M+m], bias.values[single*z.M+m],
			bias.values[large*z.M+m] = math.Inf(-1), math.Inf(-1), 1e30
	}
	bias.values[single*z.M+7] = 0
	for _, dtype := range []DType{Float32, Float64} {
		c := attention(z, bias, 0.3)
		for i := range c.inputs[2].values {
			c.inputs[2].values[i] = float64(i / z.O % z.M)
		}
		var have, want []float64
		var gradients, others [][]float64
		emulated(func() { have, gradients = c.run(dense, dtype, nil, 1) })
		composed(func() { want, others = c.run(dense, dtype, nil, 1) })
		for i, list := range append(gradients, have) {
			for j, v := range append(others, want)[i] {
				if d := math.Abs(list[j] - v); math.IsNaN(v) != math.IsNaN(list[j]) || d > twinTolerance[dtype]*10 {
					t.Fatalf("%s, list %d: value %d is %g, composed %g", dtype, i, j, list[j], v)
				}
			}
		}
		for i, v := range have {
			switch row := i / z.O % z.N; {
			case math.IsNaN(v) != (row == hidden), row == single && v != 7, row == large && math.Abs(v-5) > 1e-5:
				t.Fatalf("%s: row %d is %g", dtype, row, v)
			}
		}
	}
}
