package torchpe

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// withPrecision runs f with that precision of products, in each form of the fused operators.
func withPrecision(t *testing.T, name string, f func(form int)) {
	t.Helper()
	defer SetPrecision("fp32")
	eachForm(func(form int) {
		expect.NoError(t, SetPrecision(name))
		f(form)
	})
}

// mantissas are the bits behind the point that each precision keeps: IEEE 754 for float32, 10 for
// NVIDIA's TensorFloat-32, 7 for bfloat16.
var mantissas = map[string]int{"fp32": 23, "tf32": 10, "bf16": 7}

// roundTo is v to the nearest number with that many bits behind the point, of two the even one; v
// far from overflow.
func roundTo(v float64, bits int) float64 {
	if v == 0 {
		return 0
	}
	step := math.Ldexp(1, math.Ilogb(v)-bits)
	return math.RoundToEven(v/step) * step
}

func roundAll(v []float64, bits int) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = roundTo(x, bits)
	}
	return out
}

// TestRounding multiplies numbers by one: what comes out is what the product took, which rounds them
// itself or has them rounded from the layer norm that left them. The halves
// between two numbers go to the even one; infinity and NaN stay; the largest float32 is rounded up
// to infinity, as IEEE 754 has it.
func TestRounding(t *testing.T) {
	for _, precision := range []string{"tf32", "bf16"} {
		n := mantissas[precision]
		half, one := math.Ldexp(1, -n-1), math.Ldexp(1, -n)
		in := []float64{1, 1 + half, 1 + 3*half, 1 + half*1.01, 1 + half*0.99, -1 - half,
			-1 - 3*half, 2 - half, 0, math.Copysign(0, -1), math.Inf(1),
			math.Inf(-1), math.NaN(), math.MaxFloat32, math.Ldexp(1+half, -100), math.Ldexp(1+3*half, 100), 1 + one}
		want := []float64{1, 1, 1 + 2*one, 1 + one, 1, -1, -1 - 2*one, 2, 0, math.Copysign(0, -1),
			math.Inf(1), math.Inf(-1), math.NaN(), math.Inf(1),
			math.Ldexp(1, -100), math.Ldexp(1+2*one, 100), 1 + one}
		withPrecision(t, precision, func(form int) {
			s := NewScopeNoGrad()
			defer s.Close()
			x := Of(s, CPU, in, 1, len(in), 1).To(Float32, CPU)
			zeros := func(shape ...int) Tensor { return Zeros(s, Float32, CPU, shape...) }
			unit := Full(s, 1, Float32, CPU, 1, 1, 1)
			left := AddLayerNorm(zeros(1, 1, len(in), 1), Tensor{}, Norm{zeros(1, 1), zeros(1, 1), 1, x})
			q, _, _ := ProjectQKV(left, Full(s, 1, Float32, CPU, 1, 3, 1), Tensor{}, 1)
			for k, have := range [][]float64{Linear(x, unit, Tensor{}).Float64s(),
				Linear(unit, x, Tensor{}).Float64s(), q.Float64s()} {
				for i, v := range have {
					if v != want[i] && !(math.IsNaN(v) && math.IsNaN(want[i])) {
						t.Errorf("%s, form %d, operand %d: %g becomes %.10g, want %.10g", precision,
							form, k, in[i], v, want[i])
					}
				}
			}
		})
	}
}

// TestPrecisionOfLinear holds linear maps against sums in Go over rounded operands: the result, and
// the gradients, for which the gradient of the result is rounded too. Sums, and with them the bias
// and its gradient, are not rounded.
func TestPrecisionOfLinear(t *testing.T) {
	const E, rows, I, O = 3, 101, 17, 9
	in := inputs(80, []int{E, rows, I}, []int{E, O, I}, []int{E, O})
	for _, p := range in {
		copy(p.values, roundAll(p.values, 23))
	}
	for _, precision := range Precisions() {
		n := mantissas[precision]
		x, w := roundAll(in[0].values, n), roundAll(in[1].values, n)
		all := outcome{make([]float64, E*rows*O), make([]float64, len(x)), make([]float64, len(w)),
			make([]float64, E*O)}
		want, gradients := all[0], all[1:]
		for e := range E {
			for r := range rows {
				for o := range O {
					at := (e*rows+r)*O + o
					dy := roundTo(weight(at), 23)
					want[at] = in[2].values[e*O+o]
					gradients[2][e*O+o] += dy
					dy = roundTo(dy, n)
					for i := range I {
						xi, wi := (e*rows+r)*I+i, (e*O+o)*I+i
						want[at] += x[xi] * w[wi]
						gradients[0][xi] += dy * w[wi]
						gradients[1][wi] += dy * x[xi]
					}
				}
			}
		}
		withPrecision(t, precision, func(form int) {
			for _, l := range []layout{dense, turned, spaced} {
				c := function{"Linear", in, func(x []Tensor) Tensor { return Linear(x[0], x[1], x[2]) }}
				c.run(l, Float32, nil, 1).near(t, fmt.Sprintf("%s, form %d, %s", precision, form, l), all, 2e-6)
			}
		})
	}
}

// TestPrecisionOfProjections compares operators that round in between, where the forms may round a
// number in the last place of float32 to neighbours: they agree with each other to that, and with
// float32 to the precision, which shows.
func TestPrecisionOfProjections(t *testing.T) {
	list := fusedFunctions(sizes{E: 2, B: 3, H: 2, N: 40, M: 37, Dh: 10, O: 33})
	for _, c := range fusedFunctions(sizes{E: 2, B: 3, H: 2, N: 17, M: 15, Dh: 10, O: 33}) {
		if c.name == "AttentionBlock" { // another operator for few tokens
			list = append(list, c)
		}
	}
	for _, c := range list {
		exact := c.run(dense, Float64, nil, 1)
		within := map[string]float64{"tf32": 0x1p-10, "bf16": 0x1p-7}
		switch c.name {
		case "LinearGELU", "ProjectQKV", "ProjectQKV, keys only", "Attention",
			"Attention with bias, heads merged", "attention", "MLPBlock", "AttentionBlock":
		default:
			continue
		}
		for precision, eps := range within {
			withPrecision(t, precision, func(form int) {
				have := c.run(dense, Float32, nil, 1)
				name := fmt.Sprintf("%s in %s, form %d", c.name, precision, form)
				have.near(t, name, exact, 4*eps)
				if _, off := largestError(have[0], exact[0]); off < eps/64 {
					t.Errorf("%s is off by %g of the largest value: nothing was rounded", name, off)
				}
			})
		}
	}
}

// TestPrecisionLeavesAlone: float64, attention of few tokens and what is no product have the same
// bits whatever the precision.
func TestPrecisionLeavesAlone(t *testing.T) {
	for _, c := range fusedFunctions(sizes{E: 2, B: 3, H: 2, N: 17, M: 15, Dh: 10, O: 33}) {
		for _, dtype := range []DType{Float64, Float32} {
			if dtype == Float32 && (strings.HasPrefix(c.name, "Linear") ||
				strings.HasPrefix(c.name, "ProjectQKV") || strings.Contains(c.name, "Block")) {
				continue
			}
			for _, precision := range []string{"tf32", "bf16"} {
				withPrecision(t, precision, func(form int) {
					have := c.run(dense, dtype, nil, 1)
					SetPrecision("fp32")
					name := fmt.Sprintf("%s, %s in %s, form %d", c.name, dtype, precision, form)
					have.identical(t, name, c.run(dense, dtype, nil, 1))
				})
			}
		}
	}
}

// TestPrecisionNames checks names, and that an unknown one changes nothing.
func TestPrecisionNames(t *testing.T) {
	defer SetPrecision("fp32")
	for _, name := range Precisions() {
		expect.Equal(t, "precision", fmt.Sprint(SetPrecision(name), Precision()), fmt.Sprint(nil, name))
	}
	if err := SetPrecision("fp8"); err == nil || Precision() != "bf16" {
		t.Errorf("precision fp8: %v, then it is %s", err, Precision())
	}
}

// TestPrecisionInBuffers checks products that add into the flat buffer of a ParamSet, whose members
// lie apart, with rounded operands.
func TestPrecisionInBuffers(t *testing.T) {
	for _, precision := range []string{"tf32", "bf16"} {
		for _, E := range []int{1, 3} {
			for _, c := range fusedFunctions(smallSizes(E, 2)) {
				withPrecision(t, precision, func(form int) {
					want := c.run(dense, Float32, nil, 1)
					checkParameterGradients(t, fmt.Sprintf("%s, form %d", precision, form), c, E, Float32, want, 1e-5)
				})
			}
		}
	}
}
