package wording

import (
	"fmt"
	"testing"

	"torchpe/internal/expect"
)

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 runs", 1: "1 run", 2: "2 runs"} {
		expect.Equal(t, n, Count(n, "run"), want)
	}
}

func TestList(t *testing.T) {
	for most, want := range map[int]string{1: "a and 2 more", 2: "a, b and 1 more", 3: "a, b, c"} {
		expect.Equal(t, fmt.Sprintf("at most %d", most), List(most, []string{"a", "b", "c"}), want)
	}
}
