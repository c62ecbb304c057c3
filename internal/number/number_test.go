package number

import (
	"fmt"
	"math"
	"testing"

	"torchpe/internal/expect"
)

// The examples of P are APA's: p = .043, p < .001.
func TestNumbers(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct{ got, want string }{
		{Fixed(0.9995, 3), "1.000"}, // 0.9995 is a little more in binary
		{Fixed(-0.0004, 3), "0.000"},
		{Fixed(-0.0006, 3), "−0.001"},
		{Fixed(math.Copysign(0, -1), 0), "0"},
		{Fixed(12.5, 0), "12"}, // to even
		{Fixed(1e15, 1), "1.0e+15"},
		{Fixed(-2e-300, 2), "0.00"},
		{Fixed(-inf, 2), "−∞"},
		{Fixed(nan, 2), "–"},
		{Percent(0.5), "50\u00a0%"},
		{Bare(-0.05, 2), "−.05"},
		{Bare(1, 2), "1.00"},
		{P(0.0432), ".043"},
		{P(0.001), ".001"},
		{P(0.00099), "< .001"},
		{P(0), "< .001"},
		{P(0.9999), "1.000"},
		{P(nan), "–"},
		{PText(0.0432), "p = .043"},
		{PText(0.0001), "p < .001"},
		{Short(0.12345, 4), "0.1235"},
		{Short(-1e-5, 4), "-1e-05"},
		{Short(inf, 4), "–"},
		{Exact(0.1), "0.1"},
		{Exact(1e-7), "1e-07"},
		{Exact(nan), ""},
		{Digits(0.123, 2), "0.12"},
		{Digits(99.9, 2), "100"},
		{Digits(9.96, 2), "10"}, // and not 10.0
		{Digits(9.9999e-6, 2), "1.0×10^−5"},
		{Digits(12345678, 2), "1.2×10^7"},
		{Digits(0, 2), "0"},
		{Digits(-0.5, 2), "−0.50"},
		{Step(0.6000000001, 0.2, false), "0.6"},
		{Step(-1e-9, 1, false), "0"},
		{Step(5e5, 5e5, true), "5×10^5"},
		{Canonical("1e4,.50,-0"), "10000,0.5,0"},
		{Canonical("+04,1e-7,1e300"), "4,1e-07,1e+300"},
		{Canonical("0_2,0x10,inf,half"), "0_2,0x10,inf,half"},
	} {
		expect.Equal(t, "written", c.got, c.want)
	}
}

func TestNeedsPowers(t *testing.T) {
	for _, c := range []struct {
		size, step float64
		want       bool
	}{
		{1e6, 100, true}, {9.9e5, 100, false}, {-1e6, 100, true}, {1e7, 1, false}, {1e15, 1, true}, {9e14, 1, false},
		{9e-4, 1e-4, true}, {1e-3, 1e-4, false}, {1, 9e-10, true}, {1, 1e-9, false},
	} {
		expect.Equal(t, fmt.Sprintf("%v in steps of %v", c.size, c.step), NeedsPowers(c.size, c.step), c.want)
	}
}

// A number is not shown as 0 unless it is.
func TestDecimalsFor(t *testing.T) {
	for _, c := range []struct {
		v        float64
		decimals int
	}{{.956, 3}, {0, 3}, {6e-5, 6}, {-6e-5, 6}, {.0005, 3}, {.00049, 5}, {1e-17, 3}, {1e-8, 9}} {
		expect.Equal(t, fmt.Sprint(c.v), DecimalsFor(c.v, 3), c.decimals)
	}
}
