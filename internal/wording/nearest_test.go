package wording

import "testing"

func TestNearest(t *testing.T) {
	names := []string{"learn", "1d-fixed", "2d-fixed", "relative", "rope", "nope", "c-nope", "random"}
	for given, want := range map[string]string{
		"lern": "learn", "2dfixed": "2d-fixed", "relativ": "relative", "ropee": "rope",
		"transformer": "", "": "", "raandom": "random", "2d": "", "rel": "relative",
	} {
		if got := Nearest(given, names); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", given, got, want)
		}
	}
}

func TestDistance(t *testing.T) { // the textbook pairs
	for _, c := range []struct {
		a, b string
		d    int
	}{{"kitten", "sitting", 3}, {"saturday", "sunday", 3}, {"", "abc", 3}, {"same", "same", 0},
		{"ca", "abc", 3}, {"sedes", "seeds", 1}, {"sotr", "sort", 1}} {
		if d := distance(c.a, c.b); d != c.d {
			t.Errorf("distance(%q, %q) = %d, want %d", c.a, c.b, d, c.d)
		}
		if d := distance(c.b, c.a); d != c.d {
			t.Errorf("distance(%q, %q) = %d, want %d", c.b, c.a, d, c.d)
		}
	}
}
