package wording

import "testing"

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 runs", 1: "1 run", 2: "2 runs"} {
		if got := Count(n, "run"); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

func TestList(t *testing.T) {
	for most, want := range map[int]string{1: "a and 2 more", 2: "a, b and 1 more", 3: "a, b, c"} {
		if got := List(most, []string{"a", "b", "c"}); got != want {
			t.Errorf("at most %d: %s, want %s", most, got, want)
		}
	}
}
