package main

import (
	"testing"

	"torchpe/data/array"
)

// The flag sets the readers' budget, for this process and for those that it starts.
func TestMaxMemory(t *testing.T) {
	t.Setenv(memoryVariable, "") // and back to what it was at the end
	before := array.Limit()
	defer array.SetLimit(before)
	if err := newMemoryFlag().Set("3G"); err != nil || array.Limit() != 3e9 {
		t.Errorf("the budget is %d, %v", array.Limit(), err)
	}
	array.SetLimit(before)
	if f := newMemoryFlag(); f.String() != "3G" || array.Limit() != 3e9 {
		t.Errorf("a process that was started has %q, a budget of %d", f, array.Limit())
	}
	if err := newMemoryFlag().Set("much"); err == nil || array.Limit() != 3e9 {
		t.Errorf("the budget is %d, %v", array.Limit(), err)
	}
}
