package torchpe

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// childVariable makes a process of this test program a child that describes the system and ends.
const childVariable = "TORCHPE_TEST_DESCRIBE"

func runAsChild() bool {
	if os.Getenv(childVariable) == "" {
		return false
	}
	json.NewEncoder(os.Stdout).Encode(DescribeSystem())
	return true
}

// again runs this test program anew with settings in its environment and arguments.
func again(t *testing.T, settings []string, args ...string) []byte {
	t.Helper()
	c := exec.Command(os.Args[0], args...)
	c.Env = append(os.Environ(), settings...)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v %v: %v\n%s", settings, args, err, out)
	}
	return out
}

// describedWith returns what a new process with these settings says of the system.
func describedWith(t *testing.T, settings ...string) (s System) {
	t.Helper()
	expect.NoError(t, json.Unmarshal(again(t, append(settings, childVariable+"=1")), &s))
	return s
}

// TestBLASRepair starts the program as on a machine whose CPU OpenBLAS does not know, with its
// slowest kernel: the kernel is put right, and DescribeSystem says so; switched off, it stays and
// is listed as a problem.
func TestBLASRepair(t *testing.T) {
	here := DescribeSystem()
	if !strings.Contains(here.BLAS, "OpenBLAS") || here.BLASKernel == "" {
		t.Skipf("the BLAS is %q, not an OpenBLAS that chooses its kernel", here.BLAS)
	}
	if !strings.HasPrefix(here.FusedKernels, "avx") {
		t.Skip("this CPU has no AVX2")
	}
	const slow = "Prescott"
	left := describedWith(t, "OPENBLAS_CORETYPE="+slow, "TORCHPE_BLAS_REPAIR=0")
	if left.BLASKernel != slow {
		t.Skipf("OpenBLAS uses %s, told to use %s: it has no such kernel", left.BLASKernel, slow)
	}
	expect.Equal(t, "switched off, yet", left.BLASRepair, "")
	if !slices.ContainsFunc(left.Problems, func(p string) bool {
		return strings.Contains(p, slow) &&
			strings.Contains(p, "OPENBLAS_CORETYPE")
	}) {
		t.Errorf("a slow kernel is no problem: %q", left.Problems)
	}
	right := describedWith(t, "OPENBLAS_CORETYPE="+slow)
	if right.BLASKernel == slow || !strings.Contains(right.BLASRepair, slow) ||
		!strings.Contains(right.BLASRepair, right.BLASKernel) {
		t.Errorf("kernel %s, repair %q", right.BLASKernel, right.BLASRepair)
	}
	if slices.ContainsFunc(right.Problems, func(p string) bool { return strings.Contains(p, "OpenBLAS") }) {
		t.Errorf("put right, yet a problem: %q", right.Problems)
	}
	// A repaired BLAS must still multiply.
	again(t, []string{"OPENBLAS_CORETYPE=" + slow}, "-test.run=^(TestOperators|TestMatMulLarge)$")
}

// TestMatMulLarge checks a product that BLAS computes in blocks, through a vector: (A B) v = A (B
// v).
func TestMatMulLarge(t *testing.T) {
	s := kept(t, NewScopeNoGrad())
	for _, dtype := range []DType{Float32, Float64} {
		a, b, v := RandN(s, 1, dtype, CPU, 211, 307), RandN(s, 2, dtype, CPU, 307, 173), RandN(s, 3, dtype, CPU, 173, 1)
		near(t, "product in "+dtype.String(), a.MatMul(b).MatMul(v).Float64s(),
			a.MatMul(b.MatMul(v)).Float64s(),
			map[DType]float64{Float32: 1e-5, Float64: 1e-13}[dtype])
	}
}

// TestOtherKernels runs the tests of the fused loops with the other instruction sets that the CPU
// has: every machine uses the best only.
func TestOtherKernels(t *testing.T) {
	best := DescribeSystem().FusedKernels
	for _, set := range []string{"avx2", "generic"} {
		if set == best || !strings.HasPrefix(best, "avx") {
			continue
		}
		expect.Equal(t, "kernels of", describedWith(t, "TORCHPE_KERNELS="+set).FusedKernels, set)
		again(t, []string{"TORCHPE_KERNELS=" + set}, "-test.short",
			"-test.run=^(TestFusedTwins|TestAttention(Direct|Extremes|Weights|Hidden)|TestGELU.*|TestNotANumberPasses|"+
				"TestOptimizers)$")
	}
}
