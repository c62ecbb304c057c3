package wording

import "testing"

func TestUnits(t *testing.T) {
	for seconds, want := range map[float64]string{0.2: "0.2 seconds", 61.4: "61.4 seconds", 1800: "30 minutes",
		36.04 * 3600: "36.0 hours", 20e6: "231.5 days"} {
		if got := Seconds(seconds); got != want {
			t.Errorf("%g s: %s, want %s", seconds, got, want)
		}
	}
	for mb, want := range map[float64]string{0.25: "256 kB", 30.2: "30 MB", 2560: "2.5 GB"} {
		if got := Megabytes(mb); got != want {
			t.Errorf("%g MB: %s, want %s", mb, got, want)
		}
	}
}
