package torchpe

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"torchpe/torchpe/internal/ctorch"
)

// Rates holds the speeds that a machine's CPU reaches with the threads that are set.
type Rates struct {
	Operations float64 // a second, in products whose operands are in cache
	Bytes      float64 // a second, read and written, in copies that are larger than a cache
}

// MachineRates measures Rates for numbers of a type, in about a third of a second.
func MachineRates(dtype DType) (Rates, error) {
	operations, bytes, err := ctorch.MachineRates(dtype == Float64)
	if err != nil {
		return Rates{}, &Error{Op: "MachineRates", Msg: err.Error()}
	}
	return Rates{operations, bytes}, nil
}

// Trace runs f under libtorch's profiler and writes its trace to a file, for viewers as ui.perfetto.dev:
// the operators that the calling goroutine's thread calls, and on a GPU the kernels and copies. f must
// wait for the device before it returns. A libtorch that was built without Kineto writes no trace.
func Trace(path string, f func() error) error {
	runtime.LockOSThread() // libtorch profiles a thread
	defer runtime.UnlockOSThread()
	if err := ctorch.TraceBegin(true); err != nil {
		return &Error{Op: "Trace", Msg: err.Error()}
	}
	if err := f(); err != nil {
		_, end := ctorch.TraceEnd("")
		return errors.Join(err, end)
	}
	if _, err := ctorch.TraceEnd(path); err != nil {
		return &Error{Op: "Trace", Msg: err.Error() + "; perf and nsys need nothing of libtorch"}
	}
	if _, err := os.Stat(path); err != nil { // libtorch only logs that it cannot write
		return fmt.Errorf("trace: libtorch wrote none: %w", err)
	}
	return nil
}

// Operators runs f and returns how often the calling goroutine called each of libtorch's operators
// meanwhile, in f, in backward passes or by other operators. Names are libtorch's, as "aten::bmm".
func Operators(f func()) (calls map[string]int) {
	runtime.LockOSThread() // libtorch profiles a thread
	defer runtime.UnlockOSThread()
	if err := ctorch.TraceBegin(false); err != nil {
		fail("Operators", err.Error())
	}
	calls = map[string]int{}
	defer func() { // also where f fails
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
