package stats

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// Numbers that differ only in their last digits, against exact fractions.
func TestAgainstFractions(t *testing.T) {
	b := expect.Must(os.ReadFile("testdata/exact.json"))
	var cases []struct {
		Name                 string
		X, Y                 []float64
		Paired, Welch, ANOVA []float64 // statistic and p
	}
	if err := json.Unmarshal(b, &cases); err != nil || len(cases) < 5 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	for _, c := range cases {
		last := len(c.Y) - 1
		for name, one := range map[string]struct {
			want []float64
			got  func() (Test, error)
		}{
			"PairedT": {c.Paired, func() (Test, error) { return PairedT(c.X, c.Y) }},
			"Welch":   {c.Welch, func() (Test, error) { return welch(c.X, c.Y[:last]) }},
			"ANOVA":   {c.ANOVA, func() (Test, error) { return ANOVA(c.X, c.Y[:last], c.Y[1:]) }},
		} {
			if one.want == nil {
				continue
			}
			got, err := one.got()
			if err != nil || !near(got.Statistic, one.want[0], 1e-9) || !near(got.P, one.want[1], 1e-9) {
				t.Errorf("%s of %s: %v with p %v (%v), want %v", name, c.Name, got.Statistic, got.P, err, one.want)
			}
		}
	}
}

// What differs by rounding alone is said to be constant; what differs by more is measured. In exact
// numbers all differences of the first pair are .1, and t has no value.
func TestRoundingIsNoSpread(t *testing.T) {
	for _, c := range []struct {
		name, want string
		err        error
	}{
		{"equal differences", "all equal up to rounding",
			expect.ErrorOf(PairedT([]float64{0.3, 0.4, 0.5}, []float64{0.2, 0.3, 0.4}))},
		{"of 1/3", "all equal up to rounding",
			expect.ErrorOf(PairedT([]float64{4.0 / 3, 7.0 / 3, 100.0 / 3}, []float64{1, 2, 33}))},
		{"equal ranks", "y is constant", expect.ErrorOf(Spearman([]float64{1, 2, 3}, []float64{3, 3, 3}))},
		{"flat groups", "no group varies",
			expect.ErrorOf(ANOVA([]float64{sum(0.1, 0.2), 0.3}, []float64{0.5, 0.5}, []float64{2}))},
		{"F beyond float64", "overflows float64", expect.ErrorOf(ANOVA([]float64{0, 1e-200}, []float64{1e200, 1e200}))},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, c.err, c.want)
		}
	}
	// Ten units in the last place are no rounding: differences 0 and 10 of them have mean 5 and SD
	// 10/sqrt(2), so t = 1.
	got, err := PairedT([]float64{1, 1 + 10*0x1p-52}, []float64{1, 1})
	if err != nil || got.Statistic != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	// A pair of large numbers, equal, does not hide what the small ones differ by.
	if got, err = PairedT([]float64{1e20, 1, 2, 4}, []float64{1e20, 0.5, 1, 3}); err != nil ||
		!near(got.Statistic, 0.625/(sdOf(0, 0.5, 1, 1)/2), 1e-12) {
		t.Errorf("%+v, %v", got, err)
	}
}

func sum(a, b float64) float64 { return a + b } // at run time: the compiler's constants are exact

// sdOf is the textbook's formula for small numbers.
func sdOf(x ...float64) float64 {
	var one, two float64
	for _, v := range x {
		one, two = one+v, two+v*v
	}
	n := float64(len(x))
	return math.Sqrt((two - one*one/n) / (n - 1))
}

// Numbers in the same order correlate with exactly 1 or -1, however many are tied.
func TestSpearmanOfMonotoneNumbers(t *testing.T) {
	for n := 3; n < 60; n++ {
		var x, up, down []float64
		for i := range n {
			v := float64(i / 3)
			x, up, down = append(x, v), append(up, math.Exp(v/7)), append(down, -v*v*v)
		}
		if x[0] == x[n-1] {
			continue
		}
		if got, err := Spearman(x, up); err != nil || got.Statistic != 1 || (got.P == 0) != (n > 9) {
			t.Errorf("%d rising numbers: %+v, %v", n, got, err)
		}
		if got, err := Spearman(x, down); err != nil || got.Statistic != -1 || (got.P == 0) != (n > 9) {
			t.Errorf("%d falling numbers: %+v, %v", n, got, err)
		}
	}
}

// Of the n! orders of n different numbers two are as far from chance as the rising one.
func TestExactSpearman(t *testing.T) {
	for n, orders := range map[int]float64{3: 6, 4: 24, 5: 120, 9: 362880} {
		x := make([]float64, n)
		for i := range x {
			x[i] = float64(i * i)
		}
		expect.Equal(t, fmt.Sprintf("%d pairs", n), expect.Must(Spearman(x, x)).P, 2/orders)
	}
}

// With two pairs t has one degree of freedom, a Cauchy distribution: differences 1 and 3 give t = 2
// and p = 1 - 2 atan(2)/pi.
func TestTwoPairs(t *testing.T) {
	got, err := PairedT([]float64{2, 5}, []float64{1, 2})
	if err != nil || !near(got.Statistic, 2, 1e-15) || got.DF != 1 || !near(got.P, 1-2*math.Atan(2)/math.Pi, 1e-12) {
		t.Errorf("%+v, %v", got, err)
	}
}

// A message names the input once, and counts in words that agree.
func TestMessages(t *testing.T) {
	for want, err := range map[string]error{
		"x and y make 2 pairs: at least 3 are needed": expect.ErrorOf(
			Spearman([]float64{1, 2}, []float64{1, 2})),
		"x and y make 1 pair: at least 2 are needed": expect.ErrorOf(
			PairedT([]float64{1}, []float64{1})),
		"x has 1 number: at least 2 are needed": expect.ErrorOf(
			MeanInterval([]float64{1}, 0.95)),
		"1 group: at least two are needed":     expect.ErrorOf(ANOVA([]float64{1, 2})),
		"group 2 has no numbers: leave it out": expect.ErrorOf(ANOVA([]float64{1, 2}, nil)),
		"number 1 of y is +Inf: leave it out": expect.ErrorOf(
			Spearman([]float64{1, 2, 3}, []float64{1, math.Inf(1), 3})),
		"x has 2 numbers but y 3: pairs are needed": expect.ErrorOf(
			PairedT([]float64{1, 2}, []float64{1, 2, 3})),
		"neither x nor y varies: there is no variance to test against": expect.ErrorOf(
			WelchTFrom(Summary{1, 0, 2}, Summary{2, 0, 2})),
		"y is a group of 1 with mean 2 and SD 1: at least 2 numbers with a mean": expect.ErrorOf(
			WelchTFrom(Summary{1, 1, 2}, Summary{2, 1, 1})),
	} {
		if err == nil || strings.Count(err.Error(), want) != 1 || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
