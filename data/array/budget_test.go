package array_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"torchpe/data/array"
	"torchpe/internal/expect"
)

func TestBudget(t *testing.T) {
	b := array.NewBudget()
	most := array.Limit()
	expect.NoError(t, b.Take(most, "all"))
	var large *array.TooLargeError
	if err := b.Take(1, "a byte more"); !errors.As(err, &large) || large.Need != most+1 ||
		large.Limit != most || !strings.HasPrefix(err.Error(), "a byte more: ") {
		t.Errorf("%v", err)
	}
	b.Give(1)
	if err := b.Fits(1, "a byte"); err != nil {
		t.Error(err)
	}
	for _, n := range []int64{-1, math.MaxInt64} {
		expect.Refused(t, n, b.Take(n, "overflow"))
	}
	if _, err := array.Make[[2]float64](b, math.MaxInt, "overflow"); err == nil {
		t.Error("a slice beyond int64 is granted")
	}
}

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]int64{"8G": 8e9, "500M": 500e6, "1.5 GB": 1.5e9, "2tb": 2e12,
		"1000000": 1e6, "64 mb": 64e6, "3000k": 3e6} {
		expect.Equal(t, text, expect.Must(array.ParseBytes(text)), want)
	}
	for _, text := range []string{"", "G", "8X", "-8G", "0", "NaN", "Inf", "nanG", "1", "1e30", "8GG",
		"99999999T"} {
		expect.Refused(t, text, expect.ErrorOf(array.ParseBytes(text)))
	}
	for n, want := range map[int64]string{999: "999 bytes", 1500: "1.5 kB", 4e9: "4 GB",
		math.MaxInt64: "9.22 EB"} {
		expect.Equal(t, fmt.Sprintf("%d is shown as", n), array.Bytes(n), want)
	}
}
