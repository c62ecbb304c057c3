package torchpe

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// inForm runs f with attention over many tokens in a form.
func inForm(t *testing.T, form string, f func()) {
	t.Helper()
	before := AttentionForm()
	defer SetAttentionForm(before)
	expect.NoError(t, SetAttentionForm(form))
	f()
}

// hasProducts says whether f computes attention by products and a softmax of torchpe's own, by the
// operators of libtorch that it calls.
func hasProducts(t *testing.T, f func()) bool {
	t.Helper()
	var err error
	calls := Operators(func() { err = Catch(f) })
	if err != nil {
		t.Fatal(err)
	}
	others := calls["aten::_softmax"] + calls["aten::_efficient_attention_forward"] +
		calls["aten::_flash_attention_forward"]
	return calls["aten::bmm"] > 0 && others == 0
}

// productSizes are sizes at which rows of logits are a warp's or a block's, and end or do not end
// with its threads; the last but one takes three chunks forward and five backward, the last of fewer
// samples.
func productSizes() []sizes {
	return []sizes{
		{E: 1, B: 1, H: 1, N: 33, M: 1, Dh: 3, O: 2},
		{E: 2, B: 1, H: 2, N: 40, M: 31, Dh: 5, O: 7},
		{E: 1, B: 2, H: 1, N: 9, M: 128, Dh: 4, O: 4},
		{E: 1, B: 1, H: 3, N: 5, M: 129, Dh: 8, O: 3},
		{E: 2, B: 2, H: 1, N: 36, M: 360, Dh: 16, O: 16},
		{E: 1, B: 1, H: 2, N: 7, M: 385, Dh: 2, O: 2},
		{E: 1, B: 3, H: 1, N: 3, M: 769, Dh: 2, O: 5},
		{E: 1, B: 1, H: 1, N: 9, M: 1000, Dh: 6, O: 1},
		{E: 3, B: 13, H: 2, N: 720, M: 700, Dh: 2, O: 1},
		{E: 1, B: 1, H: 1, N: 2, M: 4096, Dh: 2, O: 2},
	}
}

// TestAttentionProducts holds attention by products, with the kernel between them emulated, and its
// three operators one after the other against attention by its definition in float64.
func TestAttentionProducts(t *testing.T) {
	for k, z := range productSizes() {
		scale := []float64{0.5, -0.3}[k%2]
		c := attention(z, point{}, scale)
		want := directAttention(z, c.inputs, point{}, scale)[:4]
		steps := function{"one after the other", c.inputs, func(x []Tensor) Tensor {
			return AttentionValues(AttentionLogits(x[0], x[1], scale).Softmax(-1), x[2])
		}}
		for _, dtype := range []DType{Float64, Float32} {
			if chunks := z.N == 720; chunks && (testing.Short() || dtype == Float64) {
				continue
			}
			name := fmt.Sprintf("%s, %+v", dtype, z)
			var have outcome
			inForm(t, "products", func() {
				emulated(func() {
					if !hasProducts(t, func() { have = c.run(layout(k%3), dtype, nil, 1) }) {
						t.Errorf("%s: no products", name)
					}
				})
			})
			have.near(t, name, want, twinTolerance[dtype])
			steps.run(layout(k%3), dtype, nil, 1).near(t, name+", "+steps.name, want, twinTolerance[dtype])
		}
	}
	c := attention(productSizes()[4], point{}, 0.5)
	inForm(t, "products", func() {
		emulated(func() {
			all := c.run(dense, Float64, nil, 1)
			for only := range 3 {
				some := c.run(dense, Float64, []bool{only == 0, only == 1, only == 2}, 1)
				all.identical(t, fmt.Sprint("gradient ", only, " alone"), some)
			}
		})
	})
	if hasProducts(t, func() { c.run(dense, Float64, nil, 1) }) {
		t.Error("the CPU's loops are not left alone")
	}
}

// TestAttentionProductsExtremes: where one logit is far above the others its key has all the weight,
// equal logits of any size have equal weights, and an infinite one makes its row alone NaN. Keys and
// values are 0 to M-1, of mean (M-1) / 2 and variance (M^2 - 1) / 12; rows are a warp's and a block's.
func TestAttentionProductsExtremes(t *testing.T) {
	for dtype, large := range map[DType]float64{Float32: 1e30, Float64: 1e300} {
		for _, M := range []int{360, 1000} {
			inForm(t, "products", func() {
				emulated(func() {
					extremeLogits(t, dtype, M, large, 0)
					extremeLogits(t, dtype, M, large, math.Inf(1))
				})
			})
		}
	}
}

func extremeLogits(t *testing.T, dtype DType, M int, large, most float64) {
	const N, far, equal, infinite = 35, 3, 4, 5
	q, k, v := make([]float64, N*2), make([]float64, M*2), make([]float64, M)
	for m := range M {
		k[2*m], k[2*m+1], v[m] = float64(m), 1, float64(m)
	}
	q[2*far], q[2*equal+1], q[2*infinite] = large, -large, most
	s := NewScope()
	defer s.Close()
	leaf := func(values []float64, rows int) Tensor {
		return Of(s, CPU, values, 1, 1, 1, rows, len(values)/rows).To(dtype, CPU).RequireGrad()
	}
	queries, values := leaf(q, N), leaf(v, M)
	y := Attention(queries, leaf(k, M), values, Tensor{}, 1)
	for n, have := range y.Float64s() {
		want := float64(M-1) / 2
		if n == far {
			want = float64(M - 1)
		} else if n == infinite && most > 0 {
			want = math.NaN()
		}
		near(t, fmt.Sprintf("%s, %d keys, row %d", dtype, M, n), []float64{have}, []float64{want}, 1e-6)
	}
	if most > 0 {
		return
	}
	y.Narrow(3, far, 2).Sum().Backward()
	dq := make([]float64, N*2)
	dq[2*equal] = float64(M*M-1) / 12
	near(t, fmt.Sprint(dtype, ", gradient of q"), queries.Grad().Float64s(), dq, 1e-6)
	dv := slices.Repeat([]float64{1 / float64(M)}, M)
	dv[M-1]++
	near(t, fmt.Sprint(dtype, ", gradient of v"), values.Grad().Float64s(), dv, 1e-6)
}

// TestAttentionBlockProducts checks the whole block with products inside it, as one operator, against
// the composed one and the loops.
func TestAttentionBlockProducts(t *testing.T) {
	for _, z := range []sizes{{E: 2, B: 3, H: 2, N: 35, M: 35, Dh: 5, O: 1},
		{E: 1, B: 2, H: 1, N: 70, M: 70, Dh: 16, O: 1}} {
		for _, c := range fusedFunctions(z) {
			if !strings.HasPrefix(c.name, "AttentionBlock") || strings.Contains(c.name, "causal") {
				continue
			}
			inForm(t, "products", func() {
				compareKernels(t, c, dense, fmt.Sprintf("%+v", z))
				passes := emulatedPasses(c, dense, "AttentionBlockOnGpu")
				expect.Equal(t, fmt.Sprintf("%s, %+v is left to others", c.name, z), passes, 1)
			})
		}
	}
}

// Blocks and attention over many tokens on a GPU in each form and precision, against float64 on the
// CPU to what the precision allows; the same bits a second time.
func TestAttentionFormsOnGPU(t *testing.T) {
	if s := DescribeSystem(); !s.CUDA || !s.CUDAKernels {
		t.Skip("needs an NVIDIA GPU and kernels for it: " + s.CUDAReason)
	}
	SetDeterministic(true)
	defer SetDeterministic(false)
	for _, z := range []sizes{{E: 2, B: 3, H: 2, N: 41, M: 41, Dh: 8, O: 8},
		{E: 1, B: 2, H: 1, N: 130, M: 130, Dh: 32, O: 32}} {
		for _, c := range append(fusedFunctions(z), attention(z, point{}, 0.2)) {
			block := strings.HasPrefix(c.name, "AttentionBlock") && !strings.Contains(c.name, "causal")
			if !block && !strings.HasPrefix(c.name, "Attention with bias []") {
				continue
			}
			exact := c.run(dense, Float64, nil, 1)
			for precision, eps := range map[string]float64{"fp32": twinTolerance[Float32], "tf32": 4 * 0x1p-10} {
				for _, form := range AttentionForms() {
					if form == "flash" && !LibtorchAtLeast(2, 6) {
						continue
					}
					if form == "flash" {
						eps = 4 * 0x1p-7
					}
					name := fmt.Sprintf("%s, %s, %s, %+v", c.name, form, precision, z)
					have := attentionOnGPU(t, c, form, precision)
					again := attentionOnGPU(t, c, form, precision)
					have.near(t, name, exact, eps)
					again.identical(t, name, have)
				}
			}
		}
	}
}

// attentionOnGPU runs c in a form and a precision, and checks that it is computed so.
func attentionOnGPU(t *testing.T, c function, form, precision string) (all outcome) {
	t.Helper()
	defer SetPrecision(Precision())
	SetPrecision(precision)
	inForm(t, form, func() {
		used := hasProducts(t, func() { all = c.runOn(CUDA(0), dense, Float32, nil, 1) })
		expect.Equal(t, fmt.Sprintf("%s, %s: products are used", c.name, form), used, form == "products")
	})
	return all
}
