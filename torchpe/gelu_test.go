package torchpe

import (
	"math"
	"testing"
)

// phi is the distribution function of N(0,1), from Go's erfc, and gelu and its slope follow from
// it.
func phi(x float64) float64  { return 0.5 * math.Erfc(-x/math.Sqrt2) }
func gelu(x float64) float64 { return x * phi(x) }
func geluSlope(x float64) float64 {
	return phi(x) + x*math.Exp(-x*x/2)/math.Sqrt(2*math.Pi)
}

// geluOf returns GELU and its slope as the fused linear map computes them: of one input 1, so that
// the weights come through as they are, and the gradient of a weight is the slope. In rows they lie
// along the axis that is vectorised; otherwise each is a row of its own.
func geluOf(dtype DType, along bool, x []float64) (y, slope []float64) {
	s := NewScope()
	defer s.Close()
	w := Of(s, CPU, x, 1, len(x), 1).To(dtype, CPU)
	unit := Full(s, 1, dtype, CPU, 1, 1, 1)
	if !along {
		w, unit = unit, w
	}
	free := w
	if !along {
		free = unit
	}
	free.RequireGrad()
	out := LinearGELU(unit, w, Tensor{})
	out.Sum().Backward()
	return out.Float64s(), free.Grad().Float64s()
}

// TestGELU compares GELU and its slope, of the loops and of the kernels, with float64 erfc over [-12,12]
// in steps of 1/256, which float32 holds exactly. float32 itself resolves 6e-8 of a value. Beyond -5.5
// the value is below 1e-7 and only its absolute error counts.
func TestGELU(t *testing.T) {
	var x []float64
	for i := -12 * 256; i <= 12*256; i++ {
		x = append(x, float64(i)/256)
	}
	for dtype, allowed := range map[DType]float64{Float64: 1e-15, Float32: 1.2e-7} {
		check := func(how string, along bool) {
			y, slope := geluOf(dtype, along, x)
			for i, v := range x {
				if d := math.Abs(y[i] - gelu(v)); d > math.Abs(v)*allowed+math.Abs(gelu(v))*allowed {
					t.Fatalf("%s %s GELU(%g) = %g, want %g: off by %.2g", how, dtype, v, y[i], gelu(v), d)
				}
				if d := math.Abs(slope[i] - geluSlope(v)); d > 4*allowed {
					t.Fatalf("%s %s GELU'(%g) = %g, want %g: off by %.2g", how, dtype, v, slope[i], geluSlope(v), d)
				}
			}
		}
		check("loops", true)
		check("loops", false)
		emulated(func() { check("kernels", true) })
	}
}

// TestGELUFarOut checks the limits in all forms: far right GELU is the identity, far left it is zero, also
// where x^2 overflows.
func TestGELUFarOut(t *testing.T) {
	eachForm(func(form int) {
		for _, dtype := range []DType{Float32, Float64} {
			x := []float64{13, 20, 100, 1e4, 1e10, 1e20, 1e30, -13, -20, -100, -1e4, -1e10, -1e20, -1e30}
			y, slope := geluOf(dtype, true, x)
			for i, v := range x {
				v = float64(float32(v)) // of float64, a value that float32 can hold
				want, one, near := max(v, 0), 0.0, 0.0
				if v > 0 {
					one = 1
				}
				if math.Abs(v) < 100 {
					near = 1e-7
				}
				if math.Abs(y[i]-want) > 1e-6*math.Abs(want)+near || math.Abs(slope[i]-one) > 1e-6 {
					t.Errorf("form %d, %s GELU(%g) = %g, slope %g; want %g, %g",
						form, dtype, v, y[i], slope[i], want, one)
				}
			}
		}
	})
}

// TestNotANumberPasses puts NaN, and then infinities, into one place of the operators that rewrite
// numbers: what depends on it must not look finite.
func TestNotANumberPasses(t *testing.T) {
	s := kept(t, NewScope())
	eachForm(func(form int) {
		for _, dtype := range []DType{Float32, Float64} {
			for _, place := range []int{0, 15, 16, 36} { // in vectors and behind the last whole one
				for _, poison := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
					checkPoison(t, s, dtype, place, poison)
				}
			}
			nan, slope := geluOf(dtype, true, []float64{1, math.NaN(), 2})
			if !math.IsNaN(nan[1]) || !math.IsNaN(slope[1]) || math.IsNaN(nan[0]+nan[2]+slope[0]+slope[2]) {
				t.Errorf("GELU of 1, NaN, 2 in %s, form %d, is %v, slopes %v", dtype, form, nan, slope)
			}
			if y, _ := geluOf(dtype, true, []float64{math.Inf(1)}); !math.IsInf(y[0], 1) {
				t.Errorf("GELU of +Inf in form %d is %v", form, y)
			}
		}
	})
}

func checkPoison(t *testing.T, s *Scope, dtype DType, place int, poison float64) {
	t.Helper()
	const D = 37
	v := inputs(55, []int{1, 2, D})[0]
	v.values[place] = poison
	x := dense.tensor(s, v, dtype)
	ones := Full(s, 1, dtype, CPU, 1, D)
	for name, y := range map[string]Tensor{
		"AddLayerNorm":        AddLayerNorm(x, Tensor{}, normed(ones, ones, 1e-5)),
		"AddLayerNorm of two": AddLayerNorm(ones.Unsqueeze(0).Expand(1, 2, D), x, normed(ones, ones, 1e-5)),
		"Linear":              Linear(x, ones.Unsqueeze(1), Tensor{}),
		"LinearGELU":          LinearGELU(x, ones.Unsqueeze(1), Tensor{}), "Softmax": x.Softmax(-1),
		"LogSoftmax":      x.LogSoftmax(-1),
		"AttentionLogits": AttentionLogits(x.Reshape(1, 1, 1, 2, D), x.Reshape(1, 1, 1, 2, D), 1).Narrow(3, 0, 1),
	} {
		out := y.Float64s()
		n := len(out) / 2
		if name == "AttentionLogits" {
			n = 1 // the first row's product with itself
		}
		bad := 0
		for _, o := range out[:n] {
			if math.IsNaN(o) || math.IsInf(o, 0) {
				bad++
			}
		}
		swallowed := bad == 0
		if math.IsInf(poison, -1) && (name == "Softmax" || name == "LinearGELU") {
			continue // exp(-Inf) is zero, and so is what is left of the limit of x Phi(x)
		}
		if math.IsNaN(poison) && name != "AttentionLogits" {
			swallowed = bad != n // every element of the row depends on it
		}
		if swallowed {
			t.Errorf("%s in %s: %g at place %d, but %d of %d results are finite", name, dtype, poison, place, n-bad, n)
		}
		for _, o := range out[len(out)-n:] {
			if name != "AttentionLogits" && (math.IsNaN(o) || math.IsInf(o, 0)) {
				t.Errorf("%s in %s: the other row has %g", name, dtype, o)
				break
			}
		}
	}
}
