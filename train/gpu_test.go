package train

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/models/pe"
	"torchpe/torchpe"
	"torchpe/train/config"
)

// needGPU skips a test where there is none: scripts/gpu_check.sh runs them where there is.
func needGPU(t *testing.T) {
	t.Helper()
	if s := torchpe.DescribeSystem(); !s.CUDA {
		t.Skip("needs an NVIDIA GPU: " + s.CUDAReason)
	}
}

// onGPU trains n steps on the first GPU, prepared as Run prepares it.
func onGPU(t *testing.T, c Config, n int, how func(*ensemble)) ([]float64, trainSums) {
	t.Helper()
	c.Device = "cuda:0"
	weights, sums, _ := after(t, c, n, how)
	return weights, sums
}

// emulatedGPU says whether the GPU is an emulated CUDA runtime, which adds up in
// order whatever is asked for.
func emulatedGPU() bool {
	return strings.Contains(torchpe.DescribeSystem().GPUs[0].Name, "on the host")
}

// needRecordedBits skips a test where recorded steps cannot be asked for the same bits each time.
func needRecordedBits(t *testing.T) {
	t.Helper()
	needGPU(t)
	if !recordsDeterministic() && !emulatedGPU() {
		t.Skip("this libtorch cannot record deterministic steps")
	}
}

// furthest is the largest difference between two arrays, relative to the largest element.
func furthest(got, want []float64) float64 {
	most, size := 0.0, 0.0
	for i := range want {
		most, size = math.Max(most, math.Abs(got[i]-want[i])), math.Max(size, math.Abs(want[i]))
	}
	if len(got) != len(want) {
		return math.Inf(1)
	}
	return most / size
}

// perScheme calls f with a small configuration of each scheme, in float64.
func perScheme(t *testing.T, f func(t *testing.T, c Config)) {
	base := tiny(t, "learn")
	base.Batch, base.DType = 120, "float64"
	for _, scheme := range pe.Schemes() {
		t.Run(scheme.Name, func(t *testing.T) {
			c := base
			c.PE, c.Members = scheme.Name, slices.Clone(base.Members)
			f(t, c)
		})
	}
}

// In float64, a GPU trains every scheme as the CPU does but for rounding, which SGD does not
// amplify.
func TestGPUAgreesWithCPU(t *testing.T) {
	needGPU(t)
	const tolerance = 1e-10
	check := func(t *testing.T, name string, c Config) {
		c.Optimizer = string(torchpe.SGD)
		want, wantSums, _ := after(t, c, 9, func(*ensemble) {})
		got, sums := onGPU(t, c, 9, func(*ensemble) {})
		d, losses := furthest(got, want), furthest(sums.loss, wantSums.loss)
		t.Logf("twin %s: parameters off by relative %.2g, losses %.2g (allowed %.2g)", name, d, losses, tolerance)
		if !(d < tolerance) || !(losses < tolerance) || !slices.Equal(sums.correct, wantSums.correct) {
			t.Errorf("%s: parameters differ by %g, losses %v and %v", name, d, sums, wantSums)
		}
	}
	perScheme(t, func(t *testing.T, c Config) { check(t, c.PE, c) })
	for _, draw := range []string{config.ExactMask, config.BernoulliMask} {
		c := tinyMasked(t, "learn")
		c.DType, c.Masked.Draw, c.ClipNorm = "float64", draw, 0.1
		check(t, "masked prediction, "+draw, c)
	}
}

// Replayed steps compute what the same kernels compute when launched one by one: the same bits, in
// every precision.
func TestGPUGraphEqualsEager(t *testing.T) {
	needRecordedBits(t)
	check := func(t *testing.T, c Config) {
		t.Helper()
		c.Deterministic = !emulatedGPU()
		launched, sums := onGPU(t, c, 12, eager)
		replayed, sumsToo := onGPU(t, c, 12, recorded)
		if d := furthest(replayed, launched); d != 0 || !slices.Equal(sums.loss, sumsToo.loss) ||
			!slices.Equal(sums.correct, sumsToo.correct) {
			t.Errorf("%s %s: parameters differ by %g, losses %v and %v", c.PE, c.Precision, d, sums, sumsToo)
		}
	}
	perScheme(t, func(t *testing.T, c Config) { check(t, c) })
	for _, precision := range torchpe.Precisions() {
		c := tiny(t, "learn")
		c.Precision = precision
		check(t, c)
		m := tinyMasked(t, "learn")
		m.Precision = precision
		check(t, m)
		m = manyTokens(t)
		m.Precision = precision
		check(t, m)
	}
	for _, m := range inEachForm(t) {
		check(t, m)
	}
}

// manyTokens returns a configuration whose attention over 40 tokens is inside the block's operator.
func manyTokens(t *testing.T) Config {
	c := tinyMasked(t, "learn")
	c.Masked.NMAR.Nodes, c.Dropout = 40, 0
	return c
}

// inEachForm returns manyTokens in each form of attention that this libtorch has.
func inEachForm(t *testing.T) (all []Config) {
	for _, form := range torchpe.AttentionForms() {
		c := manyTokens(t)
		if c.Attention = form; form != "flash" || torchpe.LibtorchAtLeast(2, 6) {
			all = append(all, c)
		}
	}
	return all
}

// Every form of attention over many tokens trains as float64 does on the CPU, to what its precision
// allows, and no two are the same.
func TestGPUAttentionForms(t *testing.T) {
	needGPU(t)
	exact := manyTokens(t)
	exact.DType, exact.Optimizer = "float64", string(torchpe.SGD)
	want, _, _ := after(t, exact, 9, func(*ensemble) {})
	seen := map[float64]bool{}
	for _, c := range inEachForm(t) {
		c.Optimizer = string(torchpe.SGD)
		got, _ := onGPU(t, c, 9, func(*ensemble) {})
		d := furthest(got, want)
		if !(d < 1e-3) || seen[d] {
			t.Errorf("%s: parameters off by relative %.3g", c.Attention, d)
		}
		seen[d] = true
	}
}

// The form that is not given is efficient in fp32 and tf32, and flash in bf16.
func TestGPUAttentionDefault(t *testing.T) {
	needGPU(t)
	for precision, form := range map[string]string{"fp32": "efficient", "tf32": "efficient", "bf16": "flash"} {
		c := manyTokens(t)
		c.Precision, c.Deterministic = precision, !emulatedGPU()
		want, _ := onGPU(t, c, 5, eager)
		if form == "flash" && !torchpe.LibtorchAtLeast(2, 6) {
			continue
		}
		c.Attention = form
		if got, _ := onGPU(t, c, 5, eager); !slices.Equal(got, want) {
			t.Errorf("%s: the default is not %s", precision, form)
		}
	}
}

// The same where steps differ in what the host sends.
func TestGPUVariedSteps(t *testing.T) {
	needRecordedBits(t)
	for name, c := range variedSteps(t) {
		c.Device, c.Deterministic = "cuda:0", !emulatedGPU()
		sameState(t, name, func() ([]float64, trainSums, []int) { return after(t, c, 33, eager) },
			func() ([]float64, trainSums, []int) { return after(t, c, 33, recorded) })
	}
}

// Members of an ensemble are on a GPU what they are alone.
func TestGPUEnsembleEqualsItsMembers(t *testing.T) {
	needGPU(t)
	c := tiny(t, "learn")
	c.DType, c.Optimizer = "float64", string(torchpe.SGD)
	together, _ := onGPU(t, c, 9, func(*ensemble) {})
	all := c.Members
	for m := range all {
		c.Members = all[m : m+1]
		alone, _ := onGPU(t, c, 9, func(*ensemble) {})
		if d := furthest(together[m*len(alone):(m+1)*len(alone)], alone); !(d < 1e-10) {
			t.Errorf("member %d differs by %g", m, d)
		}
	}
}

// With --deterministic a run that was stopped ends on a GPU with the same bits as one that was not,
// or whose steps were not recorded.
func TestGPUResume(t *testing.T) {
	needGPU(t)
	diverges := variedSteps(t)["a member that diverges"]
	for _, c := range []Config{tiny(t, "learn"), tiny(t, "1d-fixed"), tinyMasked(t, "learn"), diverges} {
		c.Device, c.Deterministic = "cuda:0", !emulatedGPU()
		launched := c
		launched.NoGraph = true
		whole, _ := runTiny(t, c)
		plain, _ := runTiny(t, launched)
		sameFinal(t, readFinal(t, plain), readFinal(t, whole))
		if c.Schedule == diverges.Schedule {
			continue // what is kept of a member that diverges depends on where a run stopped
		}
		resumesTo(t, c, whole, 2, 5)
	}
}

// A model that does not fit is an error that says what would help, and what was held is given back.
func TestGPUOutOfMemory(t *testing.T) {
	needGPU(t)
	c := tiny(t, "learn")
	c.Device, c.DModel, c.Batch = "cuda:0", 16384, 256
	c.Layers = 64
	_, err := Run(t.Context(), c, filepath.Join(t.TempDir(), "big"), Options{})
	if err == nil || !outOfMemory(err) || !strings.Contains(err.Error(), "--members") {
		t.Fatalf("%v", err)
	}
	c = tiny(t, "learn") // after that a small one trains
	c.Device = "cuda:0"
	runTiny(t, c)
}

// Training does not take more memory as it goes on.
func TestGPUMemoryIsFlat(t *testing.T) {
	needGPU(t)
	c := tiny(t, "learn")
	c.Device = "cuda:0"
	e := started(t, c)
	var early torchpe.DeviceMemory
	for step := range 3000 {
		expect.NoError(t, e.step(step, 3000))
		if made := step + 1; made == 300 || made == 3000 {
			now := expect.Must(torchpe.MemoryOf(e.device))
			if made == 300 {
				early = now
			} else if now.Allocated != early.Allocated || now.Reserved != early.Reserved {
				t.Errorf("memory after 300 steps %+v, after 3,000 %+v", early, now)
			}
		}
	}
}
