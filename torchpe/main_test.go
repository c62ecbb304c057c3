package torchpe

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"torchpe/internal/expect"
	"torchpe/torchpe/internal/ctorch"
)

// TestMain fails the package where a tensor outlives its test. Other processes that tests start are
// this program again; they go to their part at once.
func TestMain(m *testing.M) {
	if runAsChild() {
		return
	}
	code := m.Run()
	if n := Live(); n != 0 {
		fmt.Println(n, "tensors are still alive")
		code = 1
	}
	os.Exit(code)
}

// near fails where two lists differ by more than tolerance, relative to the largest value wanted
// (at least 1).
func near(t *testing.T, what string, have, want []float64, tolerance float64) {
	t.Helper()
	if len(have) != len(want) {
		t.Errorf("%s: %d values, want %d", what, len(have), len(want))
		return
	}
	scale := 1.0
	for _, w := range want {
		scale = max(scale, math.Abs(w))
	}
	for i, w := range want {
		if d := math.Abs(have[i] - w); !(d <= tolerance*scale) && !(math.IsNaN(w) && math.IsNaN(have[i])) {
			t.Errorf("%s: value %d is %.17g, want %.17g (off by %.2g, allowed %.2g)", what, i,
				have[i], w, d, tolerance*scale)
			return
		}
	}
}

// identical fails where two lists differ in a bit.
func identical(t *testing.T, what string, have, want []float64) {
	t.Helper()
	if !slices.EqualFunc(have, want, func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }) {
		t.Errorf("%s: not the same bits", what)
	}
}

// failing returns the error of f, which must be an *Error of the named operator.
func failing(t *testing.T, op string, f func()) *Error {
	t.Helper()
	err := Catch(f)
	e, ok := err.(*Error)
	if !ok {
		t.Errorf("%s: %v is no *Error", op, err)
		return &Error{}
	}
	if e.Op != op || e.Msg == "" {
		t.Errorf("the error of %s says %q, operator %q", op, e.Msg, e.Op)
	}
	return e
}

// kept returns a scope that is closed when the test ends.
func kept(t *testing.T, s *Scope) *Scope {
	t.Cleanup(s.Close)
	return s
}

// optimizerOf makes an optimizer; close it.
func optimizerOf(method Method, ps *ParamSet) *Optimizer {
	return expect.Must(NewOptimizer(method, ps))
}

// valuesOf returns the values of a parameter.
func valuesOf(ps *ParamSet, name string) []float64 {
	return expect.Must(ps.Values(name))
}

func normals(rng *rand.Rand, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = rng.NormFloat64()
	}
	return v
}

// withThreads runs f with a number of threads and then puts back what was.
func withThreads(n int, f func()) {
	before := ctorch.Threads()
	SetThreads(n)
	defer SetThreads(before)
	f()
}

// composed runs f with the fused loops off.
func composed(f func()) {
	SetFused(false)
	defer SetFused(true)
	f()
}

// emulated runs f with the fused operators as a GPU computes them, its kernels compiled for the CPU
// (shim/cuda_emulate.h).
func emulated(f func()) {
	ctorch.SetFusedForm(ctorch.Emulated)
	defer ctorch.SetFusedForm(ctorch.Fused)
	f()
}

// eachForm runs f in the three forms of the fused operators: composed of libtorch's, the CPU's loops,
// and a GPU's kernels, emulated.
func eachForm(f func(form int)) {
	defer ctorch.SetFusedForm(ctorch.Fused)
	for _, form := range []int{ctorch.Composed, ctorch.Fused, ctorch.Emulated} {
		ctorch.SetFusedForm(form)
		f(form)
	}
}
