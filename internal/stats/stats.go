// Package stats compares groups of numbers, such as the accuracies of runs that differ in one
// setting. It has correlations, t-tests, analysis of variance, correction for multiple tests and
// confidence intervals. Each test returns its statistic, its degrees of freedom and its two-sided
// p-value, which is also accurate far below 1e-16.
//
// Tests return an error if they have no answer: for too few numbers, no variance, differences that
// are only rounding errors, or NaN. Messages call the inputs x and y, and count groups from 1.
// Results agree with scipy 1.10.
package stats

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"

	"torchpe/internal/wording"
)

// Test is the outcome of a test of a hypothesis.
type Test struct {
	Statistic float64 `json:"statistic"`
	DF        float64 `json:"df"`            // degrees of freedom; between groups for an F test
	DF2       float64 `json:"df2,omitempty"` // degrees of freedom within groups, F test only
	P         float64 `json:"p"`             // two-sided; upper tail for an F test
	N         int     `json:"n"`             // count of numbers or pairs
}

// Mean returns the mean of x, NaN for an empty x.
func Mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	mean := sum / float64(len(x))
	rest := 0.0 // rounding error of the sum
	for _, v := range x {
		rest += v - mean
	}
	return mean + rest/float64(len(x))
}

// SD returns the standard deviation of a sample, with divisor n-1. It is NaN for fewer than two
// numbers.
func SD(x []float64) float64 {
	if len(x) < 2 {
		return math.NaN()
	}
	return math.Sqrt(squares(x) / float64(len(x)-1))
}

// squares returns the sum of the squared differences from the mean.
func squares(x []float64) float64 {
	mean, sum := Mean(x), 0.0
	for _, v := range x {
		sum += (v - mean) * (v - mean)
	}
	return sum
}

// check returns an error if x has fewer than least numbers or one that is not finite. Messages call
// x by name.
func check(name string, x []float64, least int) error {
	if len(x) < least {
		return fmt.Errorf("%s has %s: at least %d are needed", name, wording.Count(len(x), "number"), least)
	}
	for i, v := range x {
		if v-v != 0 {
			return fmt.Errorf("number %d of %s is %v: leave it out", i, name, v)
		}
	}
	return nil
}

func checkPairs(x, y []float64, least int) error {
	if len(x) != len(y) {
		return fmt.Errorf("x has %s but y %d: pairs are needed", wording.Count(len(x), "number"), len(y))
	}
	if len(x) < least {
		return fmt.Errorf("x and y make %s: at least %d are needed", wording.Count(len(x), "pair"), least)
	}
	return errors.Join(check("x", x, least), check("y", y, least))
}

// errOverflow is returned for groups whose difference is more than 1e308 times their variation.
var errOverflow = errors.New("the numbers vary so little relative to their size that the statistic overflows float64")

// finite returns t, or errOverflow if its statistic is not a finite float64.
func finite(t Test) (Test, error) {
	if math.IsInf(t.Statistic, 0) || math.IsNaN(t.Statistic) || math.IsNaN(t.P) || math.IsNaN(t.DF) {
		return Test{}, errOverflow
	}
	return t, nil
}

// tailT returns the two-sided p-value of Student's t with df degrees of freedom.
func tailT(t, df float64) float64 {
	switch {
	case math.IsNaN(t) || math.IsNaN(df):
		return math.NaN()
	case math.IsInf(t, 0):
		return 0
	}
	return mathext.RegIncBeta(df/2, 0.5, df/(df+t*t))
}

// correlation returns the correlation of dx and dy [n], which have mean 0.
func correlation(dx, dy []float64) Test {
	var xx, yy, xy float64
	for i := range dx {
		xx, yy, xy = xx+dx[i]*dx[i], yy+dy[i]*dy[i], xy+dx[i]*dy[i]
	}
	r := xy / math.Sqrt(xx) / math.Sqrt(yy)
	if xx == yy { // without roots, whose rounding would give less than 1
		r = xy / xx
	}
	r = min(1, max(-1, r))
	df := float64(len(dx) - 2)
	return Test{Statistic: r, DF: df, P: tailT(r*math.Sqrt(df/((1-r)*(1+r))), df), N: len(dx)}
}

// fewOrders is the largest number of pairs for which all orders are tried: 9! = 362,880. Student's
// t is a poor approximation for so few: for three pairs in the same order it gives p = 0, although
// one in three random orders is as extreme.
const fewOrders = 9

// Spearman returns the rank correlation of x and y. Its p-value is exact for up to nine pairs, and that of
// Student's t for more. Equal numbers share their mean rank.
func Spearman(x, y []float64) (Test, error) {
	if err := checkPairs(x, y, 3); err != nil {
		return Test{}, err
	}
	for i, values := range [][]float64{x, y} {
		if slices.Max(values) == slices.Min(values) {
			return Test{}, fmt.Errorf("%c is constant: it correlates with nothing", "xy"[i])
		}
	}
	a, b := centredRanks(x), centredRanks(y)
	test := correlation(a, b)
	if len(x) <= fewOrders {
		test.P = shareOfOrders(a, b)
	}
	return test, nil
}

// shareOfOrders returns the share of all orders of y in which the sum of x y is at least as far
// from 0 as in the given one. x and y are integers, so that the sums are exact.
func shareOfOrders(x, y []float64) float64 {
	given, orders, far := 0.0, 0, 0
	for i := range x {
		given += x[i] * y[i]
	}
	left := slices.Clone(y)
	var try func(i int, sum float64)
	try = func(i int, sum float64) {
		if i == len(x) {
			orders++
			if math.Abs(sum) >= math.Abs(given) {
				far++
			}
			return
		}
		for k := i; k < len(left); k++ {
			left[i], left[k] = left[k], left[i]
			try(i+1, sum+x[i]*left[i])
			left[i], left[k] = left[k], left[i]
		}
	}
	try(0, 0)
	return float64(far) / float64(orders)
}

// centredRanks returns twice the difference of each number's rank from the mean rank. Equal numbers
// share their mean rank. The results are integers, so that sums of their products are exact and
// numbers in the same order have a correlation of exactly 1.
func centredRanks(x []float64) []float64 {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(x[a], x[b]) })
	r := make([]float64, len(x))
	for from := 0; from < len(order); {
		to := from + 1
		for to < len(order) && x[order[to]] == x[order[from]] {
			to++
		}
		for _, i := range order[from:to] { // ranks from+1 to to; the mean of all is (n+1)/2
			r[i] = float64(from + to - len(x))
		}
		from = to
	}
	return r
}

// PairedT tests whether the differences x-y of pairs have mean 0.
func PairedT(x, y []float64) (Test, error) {
	if err := checkPairs(x, y, 2); err != nil {
		return Test{}, err
	}
	d, size := make([]float64, len(x)), make([]float64, len(x))
	for i := range x {
		d[i], size[i] = x[i]-y[i], math.Abs(x[i])+math.Abs(y[i])
	}
	if isConstantWithin(d, size) {
		return Test{}, errors.New("the differences of x and y are all equal up to rounding: " +
			"there is no variance to test against")
	}
	t, df := Mean(d)/(SD(d)/math.Sqrt(float64(len(d)))), float64(len(d)-1)
	return finite(Test{Statistic: t, DF: df, P: tailT(t, df), N: len(d)})
}

// Summary holds the mean, SD and size of a group, as printed in papers.
type Summary struct {
	Mean, SD float64
	N        int
}

// WelchTFrom tests whether two groups have the same mean, by Welch's t. Their variances may differ.
func WelchTFrom(x, y Summary) (Test, error) {
	for i, s := range []Summary{x, y} {
		if sum := s.Mean + s.SD; s.N < 2 || sum-sum != 0 || s.SD < 0 {
			return Test{}, fmt.Errorf("%c is a group of %d with mean %g and SD %g: at least 2 "+
				"numbers with a mean and an SD are needed", "xy"[i], s.N, s.Mean, s.SD)
		}
	}
	if x.SD == 0 && y.SD == 0 {
		return Test{}, errors.New("neither x nor y varies: there is no variance to test against")
	}
	a, b := x.SD*x.SD/float64(x.N), y.SD*y.SD/float64(y.N)
	t := (x.Mean - y.Mean) / math.Sqrt(a+b)
	df := (a + b) * (a + b) / (a*a/float64(x.N-1) + b*b/float64(y.N-1))
	return finite(Test{Statistic: t, DF: df, P: tailT(t, df), N: x.N + y.N})
}

// ANOVA tests whether groups have the same mean (one-way analysis of variance).
func ANOVA(groups ...[]float64) (Test, error) {
	if len(groups) < 2 {
		return Test{}, fmt.Errorf("%s: at least two are needed", wording.Count(len(groups), "group"))
	}
	n, constant := 0, 0
	for i, g := range groups {
		if len(g) == 0 {
			return Test{}, fmt.Errorf("group %d has no numbers: leave it out", i+1)
		}
		if err := check(fmt.Sprintf("group %d", i+1), g, 1); err != nil {
			return Test{}, err
		}
		n += len(g)
		if isConstant(g) {
			constant++
		}
	}
	if constant == len(groups) {
		return Test{}, errors.New("no group varies by more than rounding: there is no variance to test against")
	}
	within := 0.0
	for _, g := range groups {
		within += squares(g)
	}
	df, df2 := float64(len(groups)-1), float64(n-len(groups))
	mean, between := Mean(slices.Concat(groups...)), 0.0
	for _, g := range groups {
		d := Mean(g) - mean
		between += float64(len(g)) * d * d
	}
	t, err := finite(Test{Statistic: (between / df) / (within / df2), DF: df, DF2: df2, N: n})
	if err == nil {
		t.P = mathext.RegIncBeta(df2/2, df/2, df2/(df2+df*t.Statistic))
	}
	return t, err
}

// Holm returns p-values corrected for multiple tests (Holm 1979). The probability that any true null
// hypothesis is rejected at a level is then at most that level.
func Holm(p []float64) ([]float64, error) {
	order := make([]int, len(p))
	for i, v := range p {
		if !(v >= 0 && v <= 1) {
			return nil, fmt.Errorf("p-value %d is %v: want 0 to 1", i, v)
		}
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	out := make([]float64, len(p))
	largest := 0.0
	for k, i := range order {
		largest = max(largest, min(1, float64(len(p)-k)*p[i]))
		out[i] = largest
	}
	return out, nil
}
