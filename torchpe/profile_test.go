package torchpe

import (
	"errors"
	"runtime"
	"testing"
	"time"
)

// A trace has every operator as often as libtorch called it, which Operators counts by itself, and
// no operator took longer than all of it.
func TestTrace(t *testing.T) {
	s := NewScope()
	defer s.Close()
	x := RandN(s, 1, Float32, CPU, 2, 30, 40)
	work := func() {
		for range 3 {
			x.MatMul(x.Transpose(1, 2)).Exp().Sum().Item()
		}
	}
	want := Operators(work)
	start := time.Now()
	all, err := Trace(func() error { work(); return nil })
	if err != nil {
		t.Fatal(err)
	}
	took, calls := time.Since(start), map[string]int{}
	for i, x := range all {
		calls[x.Name] = x.Calls
		if x.GPU || x.Time < 0 || x.Time > took || i > 0 && x.Time > all[i-1].Time {
			t.Errorf("%+v, of %v", x, took)
		}
	}
	for _, name := range []string{"aten::exp", "aten::sum", "aten::transpose"} {
		if calls[name] != want[name] || calls[name] < 3 {
			t.Errorf("%s: %d calls in the trace, %d counted", name, calls[name], want[name])
		}
	}
}

// TestTraceStaysOnItsThread checks that a goroutine that waits inside a trace ends it on the thread that
// libtorch profiles, though Go would have continued it on another.
func TestTraceStaysOnItsThread(t *testing.T) {
	done := make(chan bool)
	defer close(done)
	for range 8 {
		go func() {
			for {
				select {
				case <-done:
					return
				default:
					runtime.Gosched()
				}
			}
		}()
	}
	for range 20 {
		if _, err := Trace(func() error { time.Sleep(time.Millisecond); return nil }); err != nil {
			t.Fatal(err)
		}
	}
}

// An error ends the trace, and another can be made.
func TestTraceOfAnError(t *testing.T) {
	wrong := errors.New("wrong")
	for range 2 {
		if _, err := Trace(func() error { return wrong }); !errors.Is(err, wrong) {
			t.Error(err)
		}
	}
}
