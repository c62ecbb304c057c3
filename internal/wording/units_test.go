package wording

import (
	"fmt"
	"testing"

	"torchpe/internal/expect"
)

func TestUnits(t *testing.T) {
	for seconds, want := range map[float64]string{0.2: "0.2 seconds", 61.4: "61.4 seconds", 1800: "30 minutes",
		36.04 * 3600: "36.0 hours", 20e6: "231.5 days"} {
		expect.Equal(t, fmt.Sprintf("%g s", seconds), Seconds(seconds), want)
	}
	for mb, want := range map[float64]string{0.25: "256 kB", 30.2: "30 MB", 2560: "2.5 GB"} {
		expect.Equal(t, fmt.Sprintf("%g MB", mb), Megabytes(mb), want)
	}
}
