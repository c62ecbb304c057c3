package wording

import (
	"fmt"
	"testing"

	"torchpe/internal/expect"
)

func TestNearest(t *testing.T) {
	names := []string{"learn", "1d-fixed", "2d-fixed", "relative", "rope", "nope", "c-nope", "random"}
	for given, want := range map[string]string{
		"lern": "learn", "2dfixed": "2d-fixed", "relativ": "relative", "ropee": "rope",
		"transformer": "", "": "", "raandom": "random", "2d": "", "rel": "relative",
	} {
		expect.Equal(t, fmt.Sprintf("Nearest(%q)", given), Nearest(given, names), want)
	}
}

func TestDistance(t *testing.T) { // the textbook pairs
	for _, c := range []struct {
		a, b string
		d    int
	}{{"kitten", "sitting", 3}, {"saturday", "sunday", 3}, {"", "abc", 3}, {"same", "same", 0},
		{"ca", "abc", 3}, {"sedes", "seeds", 1}, {"sotr", "sort", 1}} {
		expect.Equal(t, fmt.Sprintf("distance(%q, %q)", c.a, c.b), distance(c.a, c.b), c.d)
		expect.Equal(t, fmt.Sprintf("distance(%q, %q)", c.b, c.a), distance(c.b, c.a), c.d)
	}
}
