package catalogue

import (
	"slices"
	"strings"
	"testing"
)

// Heat maps have round numbers along their edges, from 0.
func TestTicks(t *testing.T) {
	for n, want := range map[int]string{3: "0 1 2", 5: "0 1 2 3 4", 16: "0 5 10 15", 32: "0 10 20 30",
		160: "0 50 100 150", 900: "0 200 400 600 800"} {
		labels := ticks(n)
		shown := slices.DeleteFunc(slices.Clone(labels), func(s string) bool { return s == "" })
		if got := strings.Join(shown, " "); got != want || len(labels) != n {
			t.Errorf("%d places: %q, want %q", n, got, want)
		}
	}
}
