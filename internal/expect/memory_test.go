package expect

import "testing"

var sink []byte

// Memory that is freed at once counts too, and one call of three within the bound is enough.
func TestAllocationsAtMost(t *testing.T) {
	calls := 0
	for name, test := range map[string]struct {
		f    func()
		want bool
	}{
		"less": {func() { sink = make([]byte, 100<<10) }, false},
		"more": {func() { sink = make([]byte, 300<<10) }, true},
		"in parts": {func() {
			for range 100 {
				sink = make([]byte, 3<<10)
			}
		}, true},
		"once": {func() {
			if calls++; calls == 1 {
				sink = make([]byte, 300<<10)
			}
		}, false},
	} {
		r := &recorder{}
		if AllocationsAtMost(r, 200<<10, test.f); (r.said != nil) != test.want {
			t.Errorf("%s: %q", name, r.said)
		}
	}
	Equal(t, "calls", calls, 2)
	always := 0
	AllocationsAtMost(&recorder{}, 200<<10, func() { always, sink = always+1, make([]byte, 300<<10) })
	Equal(t, "calls of what is always too much", always, 3)
}
