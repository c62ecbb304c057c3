// Package faulttest makes operations on files fail in tests, one by one. It imports the standard
// library and atomicfile.
package faulttest

import (
	"errors"
	"sync"

	"torchpe/internal/atomicfile"
)

// ErrCrash stands for the death of the process at an operation.
var ErrCrash = errors.New("the process is dead")

// Faults fails the N-th operation on files with an error, counted from 1. From an ErrCrash on all
// operations fail; with atomicfile.ErrShort only reads count.
type Faults struct {
	N     int
	Err   error
	Of    func(operation, name string) bool // those that count; nil: all
	Done  int                               // operations
	First string                            // which failed
}

// During calls f while operations fail.
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

// Reads reports whether an operation reads.
func Reads(operation, _ string) bool {
	return operation == "open" || operation == "read" || operation == "lstat"
}
