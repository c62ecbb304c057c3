package main

import (
	"fmt"
	"os"
	"runtime/debug"

	"torchpe/data/array"
)

// memoryVariable passes --max-memory to the workers of a sweep.
const memoryVariable = "TORCHPE_MAX_MEMORY"

// memoryFlag is --max-memory, which bounds the memory used to read files.
type memoryFlag struct{ text string }

// newMemoryFlag returns the flag with the value passed by a parent process, if any.
func newMemoryFlag() *memoryFlag {
	f := new(memoryFlag)
	if text := os.Getenv(memoryVariable); text != "" {
		if err := f.Set(text); err != nil {
			fmt.Fprintf(os.Stderr, "torchpe: %s has no effect: %v\n", memoryVariable, err)
		}
	}
	return f
}

func (f *memoryFlag) String() string { return f.text }
func (f *memoryFlag) Type() string   { return "size" }

// Set reads a size. It also limits the heap, so that garbage is collected in time.
func (f *memoryFlag) Set(text string) error {
	bytes, err := array.ParseBytes(text)
	if err != nil {
		return err
	}
	f.text = text
	array.SetLimit(bytes)
	debug.SetMemoryLimit(bytes + bytes/2)
	return os.Setenv(memoryVariable, text)
}
