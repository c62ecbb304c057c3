package ctorch

import (
	"strings"
	"testing"
)

func init() { systemCases["tp_fail_allocation"] = testFailingAllocations }

// testFailingAllocations lets the n-th allocation of each operation fail, for n = 1, 2, ... until it
// passes: an error each time that says so, no tensor left behind, and a result afterwards.
func testFailingAllocations(t *testing.T) {
	defer FailAllocation(0)
	failed, open := 0, Live()
	for _, o := range operations {
		passed := false
		for n := 1; n < 100 && !passed; n++ {
			a := o.good()
			FailAllocation(n)
			err := o.call(t, a)
			FailAllocation(0)
			switch {
			case err == nil:
				passed = true
			case !strings.Contains(err.Error(), "can't allocate memory"):
				t.Errorf("%s, allocation %d: %v", o.c, n, err)
			default:
				failed++
			}
			a.free()
			if now := Live(); now != open {
				t.Fatalf("%s, allocation %d: %d tensors are left", o.c, n, now-open)
			}
		}
		if !passed {
			t.Errorf("%s does not pass", o.c)
		}
	}
	if failed < len(operations) {
		t.Errorf("only %d allocations of %d operations failed", failed, len(operations))
	}
	t.Logf("%d allocations of %d operations failed one by one", failed, len(operations))
}
