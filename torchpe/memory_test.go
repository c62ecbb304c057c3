package torchpe

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"torchpe/internal/expect"
)

// flatMemory runs f n times after a tenth as many to warm up, and fails where the process has grown
// by more than 1 MiB: less than a tensor's header (some 200 bytes) each in 8,000 times.
func flatMemory(t *testing.T, n int, f func(k int)) {
	t.Helper()
	for k := range n/10 + 1 {
		f(k)
	}
	before, tensors := expect.Resident(t), Live()
	for k := range n {
		f(k)
	}
	if grown := expect.Resident(t) - before; grown > 1<<20 {
		t.Errorf("%d times: %d KiB more", n, grown>>10)
	}
	expect.Equal(t, fmt.Sprintf("%d times", n), Live()-tensors, 0)
}

// TestTrainingKeepsMemory makes 8,000 steps of a small model: linear maps, layer norm, dropout,
// cross-entropy and Adam, with failing calls and child scopes between.
func TestTrainingKeepsMemory(t *testing.T) {
	steps := 8000
	if testing.Short() {
		steps = 2000
	}
	const E, B, N, D, C = 2, 4, 3, 8, 5
	ps := NewParamSet(E, Float32, CPU)
	w1, b1 := ps.Add("w1", true, FanIn(D), D, D), ps.Add("b1", true, FanIn(D), D)
	gain, bias := ps.Add("gain", true, Constant(1), D), ps.Add("bias", true, Constant(0), D)
	w2, b2 := ps.Add("w2", true, FanIn(D), C, D), ps.Add("b2", true, FanIn(D), C)
	seeds := []uint64{1, 2}
	expect.NoError(t, ps.Build(seeds))
	defer ps.Close()
	o := optimizerOf(Adam, ps)
	defer o.Close()
	x := inputs(80, []int{E, B, N, D})[0].values
	last := 0.0
	flatMemory(t, steps, func(k int) {
		s := NewScope()
		defer s.Close()
		s.Seed(seeds, k)
		in := Of(s, CPU, x, E, B, N, D).To(Float32, CPU)
		h := s.Do(func(c *Scope) Tensor {
			in := in.In(c)
			inner := LinearGELU(in, w1.In(c), b1.In(c)).Dropout(0.1)
			return AddLayerNorm(in, inner, normed(gain.In(c), bias.In(c), 1e-5))
		})
		logits := Linear(h.Mean(2), w2.In(s), b2.In(s))
		loss := CrossEntropy(logits, classes(logits, sizes{E: E, B: B, O: C})).Sum()
		if k%8 == 0 && Catch(func() { logits.MatMul(in) }) == nil {
			t.Fatal("a product that does not fit")
		}
		expect.NoError(t, o.ZeroGrad())
		loss.Backward()
		expect.NoError(t, o.Step(StepSettings{LR: []float64{1e-3, 1e-3}, WeightDecay: []float64{0, 0},
			Active: []bool{true, true}, ClipNorm: 1}))
		last = loss.Item()
	})
	if !(last < 1) { // two members; untrained each has log 5 = 1.6
		t.Errorf("after the steps the loss is %g", last)
	}
}

// TestParamSetsKeepMemory makes and closes sets with optimizers; some of the sets cannot be built.
func TestParamSetsKeepMemory(t *testing.T) {
	flatMemory(t, 1000, func(k int) {
		ps := NewParamSet(3, Float32, CPU)
		for i := range 5 {
			ps.Add(fmt.Sprint(i), i%2 == 0, Normal(0, 1), 20, 10)
		}
		if k%10 == 0 {
			ps.Add("bad", true, Constant(0), -1)
		}
		err := ps.Build([]uint64{1, 2, 3})
		defer ps.Close()
		expect.Equal(t, fmt.Sprintf("an error (%v)", err), err != nil, k%10 == 0)
		if err != nil {
			return
		}
		o := optimizerOf(AdamW, ps)
		o.Close()
	})
}

// TestShare: a tensor that shares the memory of an array sees it, keeps it through collections of garbage, and
// lets go of it when its scope is closed.
func TestShare(t *testing.T) {
	const n = 1 << 20
	freed := make(chan bool, 1)
	s := NewScope()
	x := func() Tensor {
		data := new([n]float32)
		runtime.SetFinalizer(data, func(*[n]float32) { freed <- true })
		x := Share(s, data[:], 2, n/2)
		data[n-1] = 7
		return x
	}()
	for range 3 {
		runtime.GC()
		_ = make([]float32, n)
	}
	if got := x.Sum().Item(); got != 7 || len(freed) > 0 {
		t.Errorf("the sum is %g, not 7; freed %d times", got, len(freed))
	}
	s.Close()
	for range 100 {
		runtime.GC()
		select {
		case <-freed:
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
	t.Error("the array is never freed")
}
