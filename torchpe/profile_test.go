package torchpe

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"torchpe/internal/expect"
)

// TestTrace writes a trace in which each operator comes as often as Operators counts it. A libtorch
// without Kineto, as Debian's, writes none and says so.
func TestTrace(t *testing.T) {
	s := kept(t, NewScope())
	x := RandN(s, 1, Float32, CPU, 2, 30, 40)
	work := func() {
		for range 3 {
			x.MatMul(x.Transpose(1, 2)).Exp().Sum().Item()
		}
	}
	want := Operators(work)
	path := filepath.Join(t.TempDir(), "trace.json")
	err := Trace(path, func() error { work(); return nil })
	if err != nil && strings.Contains(err.Error(), "Kineto") {
		return
	}
	expect.NoError(t, err)
	data := expect.Must(os.ReadFile(path))
	for _, name := range []string{"aten::exp", "aten::sum", "aten::transpose"} {
		if calls := strings.Count(string(data), `"`+name+`"`); calls != want[name] || calls < 3 {
			t.Errorf("%s: %d calls in the trace, %d counted", name, calls, want[name])
		}
	}
	expect.Refused(t, "a trace in a folder that is not there",
		Trace(filepath.Join(t.TempDir(), "no", "folder"), func() error { return nil }))
}

var errWrong = errors.New("wrong")

// TestTraceStaysOnItsThread checks that a goroutine that waits inside a trace ends it, after an error, on
// the thread that libtorch profiles, though Go would have continued it on another.
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
		err := Trace("", func() error { time.Sleep(time.Millisecond); return errWrong })
		if err == nil || err.Error() != errWrong.Error() {
			t.Fatal(err)
		}
	}
}
