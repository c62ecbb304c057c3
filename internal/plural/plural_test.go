package plural

import "testing"

func TestOf(t *testing.T) {
	for n, want := range map[int]string{0: "0 runs", 1: "1 run", 2: "2 runs"} {
		if got := Of(n, "run"); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
