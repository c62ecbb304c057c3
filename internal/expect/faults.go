package expect

import (
	"errors"
	"sync"

	"torchpe/internal/atomicfile"
)

// ErrCrash simulates the death of the process at an operation.
var ErrCrash = errors.New("the process is dead")

// Faults makes the N-th file operation fail with Err. N counts from 1. After an ErrCrash all later
// operations fail too. With atomicfile.ErrShort only reads are counted.
type Faults struct {
	N     int
	Err   error
	Of    func(operation, name string) bool // selects the operations to count; nil for all
	Done  int                               // operations counted so far
	First string                            // the N-th operation and its file
}

// During calls f with the faults in effect.
func (x *Faults) During(f func() error) error {
	var mutex sync.Mutex
	atomicfile.Fault = func(operation, name string) error {
		mutex.Lock()
		defer mutex.Unlock()
		if x.Of != nil && !x.Of(operation, name) || operation != "read" && errors.Is(x.Err, atomicfile.ErrShort) {
			return nil
		}
		x.Done++
		if x.Done == x.N {
			x.First = operation + " " + name
		}
		if x.Done == x.N || errors.Is(x.Err, ErrCrash) && x.Done > x.N {
			return x.Err
		}
		return nil
	}
	defer func() { atomicfile.Fault = nil }()
	return f()
}

// Changes reports whether an operation writes to a file or changes a name.
func Changes(operation, name string) bool { return !Reads(operation, name) }

// Reads reports whether an operation opens, reads or describes a file.
func Reads(operation, _ string) bool {
	return operation == "open" || operation == "read" || operation == "lstat"
}
