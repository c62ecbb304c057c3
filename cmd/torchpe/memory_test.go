package main

import (
	"fmt"
	"testing"

	"torchpe/data/array"
	"torchpe/internal/expect"
)

// The flag sets the readers' budget, for this process and for those that it starts.
func TestMaxMemory(t *testing.T) {
	t.Setenv(memoryVariable, "") // and back to what it was at the end
	before := array.Limit()
	defer array.SetLimit(before)
	expect.Equal(t, "the budget", fmt.Sprint(newMemoryFlag().Set("3G"), array.Limit()), "<nil> 3000000000")
	array.SetLimit(before)
	if f := newMemoryFlag(); f.String() != "3G" || array.Limit() != 3e9 {
		t.Errorf("a process that was started has %q, a budget of %d", f, array.Limit())
	}
	if err := newMemoryFlag().Set("much"); err == nil || array.Limit() != 3e9 {
		t.Errorf("the budget is %d, %v", array.Limit(), err)
	}
}
