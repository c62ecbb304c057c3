package torchpe

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"torchpe/torchpe/internal/ctorch"
)

// Part holds the time and the work of the fused operators of one kind on a CPU.
type Part struct {
	Name       string
	Time       time.Duration
	Operations float64 // of products, two a multiplication
	Bytes      float64 // read from memory and written, caches left out
}

// StartProfile starts measuring the fused CPU operators.
func StartProfile() { ctorch.Profile(true) }

// StopProfile stops measuring and returns each part.
func StopProfile() ([]Part, error) {
	ctorch.Profile(false)
	var parts []Part
	for i, name := range []string{"products", "bias and GELU", "attention", "layer norm", "optimizer"} {
		ns, operations, bytes, err := ctorch.ProfilePart(i)
		if err != nil {
			return nil, &Error{Op: "StopProfile", Msg: err.Error()}
		}
		parts = append(parts, Part{name, time.Duration(ns), float64(operations), float64(bytes)})
	}
	return parts, nil
}

// Rates holds what a machine's CPU reaches with all threads that are set.
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

// Floor returns the least time that a machine of these rates needs for a part: that of its products or
// that of its bytes, whichever is longer.
func (p Part) Floor(r Rates) time.Duration {
	return time.Duration(max(p.Operations/r.Operations, p.Bytes/r.Bytes) * float64(time.Second))
}

// Traced is the time of all calls of one operator, or of all runs of one of a GPU's kernels.
type Traced struct {
	GPU   bool
	Name  string
	Calls int
	Time  time.Duration // an operator's has that of the operators that it calls
}

// Trace runs f under libtorch's profiler and returns what it took time for, the longest first: the
// kernels and copies of a GPU, and the operators that the calling goroutine's thread called. f must
// wait for the device before it returns.
func Trace(f func() error) ([]Traced, error) {
	runtime.LockOSThread() // libtorch profiles a thread
	defer runtime.UnlockOSThread()
	if err := ctorch.TraceBegin(); err != nil {
		return nil, &Error{Op: "Trace", Msg: err.Error()}
	}
	err := f()
	text, endErr := ctorch.TraceEnd()
	if err != nil {
		return nil, err
	}
	if endErr != nil {
		return nil, &Error{Op: "Trace", Msg: endErr.Error()}
	}
	sums := map[Traced]*Traced{}
	for line := range strings.Lines(text) {
		fields := strings.SplitN(strings.TrimSpace(line), "\t", 3)
		ns, err := strconv.ParseInt(fields[1], 10, 64)
		if err != nil {
			return nil, &Error{Op: "Trace", Msg: err.Error()}
		}
		key := Traced{GPU: fields[0] == "gpu", Name: fields[2]}
		if sums[key] == nil {
			sums[key] = &Traced{GPU: key.GPU, Name: key.Name}
		}
		sums[key].Calls++
		sums[key].Time += time.Duration(ns)
	}
	all := make([]Traced, 0, len(sums))
	for _, sum := range sums {
		all = append(all, *sum)
	}
	slices.SortFunc(all, func(a, b Traced) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), strings.Compare(a.Name, b.Name))
	})
	return all, nil
}

// Moved holds the bytes that one of torchpe's own GPU kernels reads and writes in all its calls, or all
// products together ("products"): each operand once.
type Moved struct {
	Kernel string
	Calls  int
	Bytes  float64
}

// CountMoved runs f and returns what kernels that it launches on a GPU move. It counts nothing where a
// Graph is replayed.
func CountMoved(f func() error) (all []Moved, err error) {
	ctorch.CountMoved(true)
	defer ctorch.CountMoved(false)
	if err := f(); err != nil {
		return nil, err
	}
	for line := range strings.Lines(ctorch.Moved()) {
		var m Moved
		if _, err := fmt.Sscan(line, &m.Kernel, &m.Calls, &m.Bytes); err != nil {
			return nil, &Error{Op: "CountMoved", Msg: err.Error()}
		}
		all = append(all, m)
	}
	return all, nil
}

// Runs says whether a GPU's kernel called name is one of m.
func (m Moved) Runs(name string) bool {
	if m.Kernel != "products" {
		return strings.Contains(name, "::"+m.Kernel+"<")
	}
	return !strings.Contains(name, "fmha") && !strings.Contains(name, "flash") &&
		slices.ContainsFunc([]string{"gemm", "cutlass", "xmma", "nvjet"},
			func(part string) bool { return strings.Contains(name, part) })
}

// Operators runs f and returns how often each of libtorch's operators was called meanwhile, by this
// program or by other operators; names are libtorch's, as "aten::bmm". Calls of other goroutines
// count too.
func Operators(f func()) map[string]int {
	ctorch.CountOperators(true)
	defer ctorch.CountOperators(false)
	f()
	calls := map[string]int{}
	for line := range strings.Lines(ctorch.Operators()) {
		line = strings.TrimSpace(line)
		end := strings.LastIndexByte(line, ' ') // names of backward passes have spaces
		n, err := strconv.Atoi(line[end+1:])
		if err != nil {
			panic(&Error{Op: "Operators", Msg: err.Error()})
		}
		calls[line[:end]] = n
	}
	return calls
}
