package torchpe

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"torchpe/torchpe/internal/ctorch"
)

// Trace runs f under libtorch's profiler and writes its trace to a file, for viewers such as
// ui.perfetto.dev: the operators called by the calling goroutine's thread, and on a GPU the kernels
// and copies. f must wait for the device before it returns. A libtorch that was built without
// Kineto writes no trace.
func Trace(path string, f func() error) error {
	runtime.LockOSThread() // libtorch profiles one thread
	defer runtime.UnlockOSThread()
	if err := ctorch.TraceBegin(true); err != nil {
		return &Error{Op: "Trace", Msg: err.Error()}
	}
	if err := f(); err != nil {
		_, end := ctorch.TraceEnd("")
		return errors.Join(err, end)
	}
	if _, err := ctorch.TraceEnd(path); err != nil {
		return &Error{Op: "Trace", Msg: err.Error() + "; perf and nsys do not need libtorch's profiler"}
	}
	if _, err := os.Stat(path); err != nil { // libtorch only logs that it cannot write
		return fmt.Errorf("trace: libtorch wrote none: %w", err)
	}
	return nil
}

// Operators runs f and returns how often the calling goroutine called each of libtorch's operators
// meanwhile: in f, in backward passes or through other operators. Names are libtorch's, such as "aten::bmm".
func Operators(f func()) (calls map[string]int) {
	runtime.LockOSThread() // libtorch profiles one thread
	defer runtime.UnlockOSThread()
	if err := ctorch.TraceBegin(false); err != nil {
		fail("Operators", err.Error())
	}
	calls = map[string]int{}
	defer func() { // also if f fails
		names, err := ctorch.TraceEnd("")
		if err != nil {
			fail("Operators", err.Error())
		}
		for name := range strings.Lines(names) {
			calls[strings.TrimSpace(name)]++
		}
	}()
	f()
	return calls
}
