package torchpe

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"torchpe/internal/expect"
)

// devices are the CPU, and a GPU where there is one.
func devices(t *testing.T) []Device {
	t.Helper()
	if !DescribeSystem().CUDA {
		return []Device{CPU}
	}
	return []Device{CPU, CUDA(0)}
}

// ownStream gives the goroutine a thread and a stream of its own, until the function that it returns.
func ownStream(d Device) (back func()) {
	runtime.LockOSThread()
	before := expect.Must(OwnStream(d))
	return func() {
		before()
		runtime.UnlockOSThread()
	}
}

// What is recorded is done by each Replay and by nothing else, on what is at its places then.
func TestGraph(t *testing.T) {
	for _, d := range devices(t) {
		back := ownStream(d)
		outer := NewScopeNoGrad()
		x, sum := Zeros(outer, Float64, d, 3), Zeros(outer, Float64, d, 3)
		g := expect.Must(Record(d, nil, func() {
			s := outer.Child()
			defer s.Close()
			sum.CopyFrom(sum.In(s).Add(x.In(s).Square()))
		}))
		expect.Equal(t, fmt.Sprintf("%s: recording computed", d), sum.Float64s(), []float64{0, 0, 0})
		for _, v := range []float64{1, 2, 3} {
			values := []float64{v, 2 * v, -v}
			Write(x, values)
			clear(values) // they were taken
			expect.NoError(t, g.Replay())
		}
		expect.Equal(t, fmt.Sprintf("%s: three replays give", d), sum.Float64s(), []float64{14, 56, 14})
		expect.NoError(t, errors.Join(g.Close(), g.Close()))
		expect.Error(t, g.Replay(), "closed")
		outer.Close()
		back()
	}
}

// An error while recording is returned, and the device is usable afterwards.
func TestGraphOfAnError(t *testing.T) {
	for _, d := range devices(t) {
		back := ownStream(d)
		g, err := Record(d, nil, func() {
			s := NewScopeNoGrad()
			defer s.Close()
			Zeros(s, Float64, d, 2).Add(Zeros(s, Float64, d, 3))
		})
		if err == nil {
			err = g.Replay()
		}
		expect.Error(t, err, "Add")
		s := NewScopeNoGrad()
		expect.Equal(t, fmt.Sprintf("%s: afterwards 2 + 2 =", d), Full(s, 2, Float64, d, 2).Sum().Item(), 4)
		s.Close()
		back()
	}
}

// Write refuses what does not fit.
func TestWriteErrors(t *testing.T) {
	s := NewScopeNoGrad()
	defer s.Close()
	x := Zeros(s, Float64, CPU, 2, 3)
	for name, write := range map[string]func(){
		"too few": func() { Write(x, []float64{1}) }, "another dtype": func() { Write(x, make([]int64, 6)) },
		"strides":   func() { Write(x.Transpose(0, 1), make([]float64, 6)) },
		"no tensor": func() { Write(Tensor{}, []float64{1}) },
	} {
		if Catch(write) == nil {
			t.Errorf("%s is taken", name)
		}
	}
	Write(x, []float64{1, 2, 3, 4, 5, 6})
	expect.Equal(t, "after writing", x.Float64s(), []float64{1, 2, 3, 4, 5, 6})
}

// Dropout from the step and the seeds on the device drops what it drops from those on the host.
func TestSeedFrom(t *testing.T) {
	seeds := []uint64{7, 1<<63 + 5, 0}
	for _, d := range devices(t) {
		s := NewScopeNoGrad()
		x := Full(s, 1, Float64, d, 3, 50, 7)
		drop := func(c *Scope) []float64 {
			x.In(c).Dropout(0.3) // the second call is another
			return x.In(c).Dropout(0.3).Float64s()
		}
		host, device := s.Child(), s.Child()
		host.Seed(seeds, 12)
		drawn := []int64{12}
		for _, v := range seeds {
			drawn = append(drawn, int64(v))
		}
		device.SeedFrom(Of(s, d, drawn, 4))
		want, got := drop(host), drop(device)
		if !slices.Equal(want, got) || !slices.Contains(got, 0) {
			t.Errorf("%s: another mask", d)
		}
		host.Close()
		device.Close()
		s.Close()
	}
}

// A step whose settings were prepared, with a gate, is a step in which the gated member is not
// active.
func TestOptimizerGate(t *testing.T) {
	for _, method := range []Method{Adam, AdamW, SGD} {
		step := func(active bool, gate []float64) []float64 {
			ps := parameters(t, 2, 5, Float64)
			defer ps.Close()
			o := optimizerOf(method, ps)
			defer o.Close()
			expect.Refused(t, "a step that was not prepared", o.Apply(Tensor{}))
			s := NewScopeNoGrad()
			defer s.Close()
			for range 3 {
				setGradients(ps, []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
				err := o.Prepare(StepSettings{LR: []float64{0.1, 0.2},
					WeightDecay: []float64{0.1, 0}, Active: []bool{true, active}, ClipNorm: 3})
				if err == nil {
					err = o.Apply(Of(s, CPU, gate, 2))
				}
				expect.NoError(t, err)
			}
			return flat(ps)
		}
		identical(t, string(method)+" with a gate", step(true, []float64{1, 0}), step(false, []float64{1, 1}))
	}
}
