// Package stats compares groups of numbers, such as the accuracies of runs that differ in one
// setting: correlations, t-tests, analysis of variance, correction for many tests,
// intervals. Each test gives its statistic, its degrees of freedom and its two-sided p-value, also
// where that is far below the rounding of 1.
//
// It imports gonum's special functions and package wording. Input that has no answer (too
// few numbers, no variance, differences that are rounding alone, a NaN) is an error that says so,
// never a NaN or a panic; messages call the inputs x and y, and groups by their number from 1.
// Numbers may be of any size. Results agree with scipy 1.10.
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
	DF        float64 `json:"df"`            // degrees of freedom; of an F test those between groups
	DF2       float64 `json:"df2,omitempty"` // of an F test those within groups
	P         float64 `json:"p"`             // two-sided; of an F test the upper tail
	N         int     `json:"n"`             // numbers, or pairs of them
}

// Mean returns the mean of x; NaN for none.
func Mean(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	e := exponent(x)
	return math.Ldexp(plainMean(times(x, -e)), e)
}

// plainMean is Mean of numbers whose sum does not overflow.
func plainMean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	mean := sum / float64(len(x))
	rest := 0.0 // what rounding left
	for _, v := range x {
		rest += v - mean
	}
	return mean + rest/float64(len(x))
}

// SD returns the standard deviation of a sample (divided by n-1); NaN for fewer than two numbers.
func SD(x []float64) float64 {
	if len(x) < 2 {
		return math.NaN()
	}
	e := exponent(x)
	return math.Ldexp(math.Sqrt(squares(times(x, -e))/float64(len(x)-1)), e)
}

// squares returns the sum of squared differences from the mean, of numbers whose squares do not
// overflow.
func squares(x []float64) float64 {
	mean, sum := plainMean(x), 0.0
	for _, v := range x {
		sum += (v - mean) * (v - mean)
	}
	return sum
}

// check returns an error where x, which messages call name, has fewer than least numbers, or one
// that is not finite.
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
		return fmt.Errorf("x has %s and y %d: pairs are needed", wording.Count(len(x), "number"), len(y))
	}
	if len(x) < least {
		return fmt.Errorf("x and y make %s: at least %d are needed", wording.Count(len(x), "pair"), least)
	}
	return errors.Join(check("x", x, least), check("y", y, least))
}

// errBeyond is the error of groups that differ more than 1e308 times as much as they vary.
var errBeyond = errors.New("the numbers vary so little beside their size that the test has no value in float64")

// known refuses a statistic beyond float64.
func known(t Test) (Test, error) {
	if math.IsInf(t.Statistic, 0) || math.IsNaN(t.Statistic) || math.IsNaN(t.P) || math.IsNaN(t.DF) {
		return Test{}, errBeyond
	}
	return t, nil
}

// tailT returns the two-sided p-value of a t with df degrees of freedom.
func tailT(t, df float64) float64 {
	switch {
	case math.IsNaN(t) || math.IsNaN(df):
		return math.NaN()
	case math.IsInf(t, 0):
		return 0
	}
	return mathext.RegIncBeta(df/2, 0.5, df/(df+t*t))
}

// correlation returns the correlation of numbers [n] of mean 0.
func correlation(dx, dy []float64) Test {
	var xx, yy, xy float64
	for i := range dx {
		xx, yy, xy = xx+dx[i]*dx[i], yy+dy[i]*dy[i], xy+dx[i]*dy[i]
	}
	r := xy / math.Sqrt(xx) / math.Sqrt(yy)
	if xx == yy { // no roots, whose rounding makes less of 1
		r = xy / xx
	}
	r = min(1, max(-1, r))
	df := float64(len(dx) - 2)
	return Test{Statistic: r, DF: df, P: tailT(r*math.Sqrt(df/((1-r)*(1+r))), df), N: len(dx)}
}

// Spearman returns the correlation of the ranks of pairs, ties sharing their mean rank, with the
// p-value by Student's t.
func Spearman(x, y []float64) (Test, error) {
	if err := checkPairs(x, y, 3); err != nil {
		return Test{}, err
	}
	for i, values := range [][]float64{x, y} {
		if slices.Max(values) == slices.Min(values) {
			return Test{}, fmt.Errorf("%c is constant: it correlates with nothing", "xy"[i])
		}
	}
	return correlation(centredRanks(x), centredRanks(y)), nil
}

// centredRanks returns twice the difference of each number's rank from the mean rank; equal numbers
// share their mean rank. These are whole numbers, so that sums of their products are exact and
// numbers in the same order correlate with exactly 1.
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
	e := 1 + exponent(x, y) // differences are below 1
	d, size := make([]float64, len(x)), make([]float64, len(x))
	for i := range x {
		a, b := math.Ldexp(x[i], -e), math.Ldexp(y[i], -e)
		d[i], size[i] = a-b, math.Abs(a)+math.Abs(b)
	}
	if flat(d, size) {
		return Test{}, errors.New("the differences of x and y are all the same, but for rounding: " +
			"there is nothing to test against")
	}
	t, df := Mean(d)/(SD(d)/math.Sqrt(float64(len(d)))), float64(len(d)-1)
	return known(Test{Statistic: t, DF: df, P: tailT(t, df), N: len(d)})
}

// Summary has the numbers that a paper prints of a group.
type Summary struct {
	Mean, SD float64
	N        int
}

// WelchTFrom tests whether two groups, of variances that may differ, have the same mean: Welch's t.
func WelchTFrom(x, y Summary) (Test, error) {
	for i, s := range []Summary{x, y} {
		if sum := s.Mean + s.SD; s.N < 2 || sum-sum != 0 || s.SD < 0 {
			return Test{}, fmt.Errorf("%c is a group of %d with mean %g and SD %g: at least 2 "+
				"numbers with a mean and an SD are needed", "xy"[i], s.N, s.Mean, s.SD)
		}
	}
	if x.SD == 0 && y.SD == 0 {
		return Test{}, errors.New("neither x nor y varies: there is nothing to test against")
	}
	e := exponent([]float64{x.SD, y.SD}) // of the SDs alone: their squares must neither overflow nor vanish
	sx, sy := math.Ldexp(x.SD, -e), math.Ldexp(y.SD, -e)
	a, b := sx*sx/float64(x.N), sy*sy/float64(y.N)
	t := (math.Ldexp(x.Mean, -e) - math.Ldexp(y.Mean, -e)) / math.Sqrt(a+b)
	df := (a + b) * (a + b) / (a*a/float64(x.N-1) + b*b/float64(y.N-1))
	return known(Test{Statistic: t, DF: df, P: tailT(t, df), N: x.N + y.N})
}

// ANOVA tests whether groups have the same mean (one-way analysis of variance).
func ANOVA(groups ...[]float64) (Test, error) {
	if len(groups) < 2 {
		return Test{}, fmt.Errorf("%s: at least two are needed", wording.Count(len(groups), "group"))
	}
	n, flatOnes := 0, 0
	for i, g := range groups {
		if len(g) == 0 {
			return Test{}, fmt.Errorf("group %d has no numbers: leave it out", i+1)
		}
		if err := check(fmt.Sprintf("group %d", i+1), g, 1); err != nil {
			return Test{}, err
		}
		n += len(g)
		if constant(g) {
			flatOnes++
		}
	}
	if flatOnes == len(groups) {
		return Test{}, errors.New("no group varies but for rounding: there is nothing to test against")
	}
	e := exponent(groups...)
	var all []float64
	within := 0.0
	scaled := make([][]float64, len(groups))
	for i, g := range groups {
		scaled[i] = times(g, -e)
		all = append(all, scaled[i]...)
		within += squares(scaled[i])
	}
	df, df2 := float64(len(groups)-1), float64(n-len(groups))
	mean, between := plainMean(all), 0.0
	for _, g := range scaled {
		d := plainMean(g) - mean
		between += float64(len(g)) * d * d
	}
	t, err := known(Test{Statistic: (between / df) / (within / df2), DF: df, DF2: df2, N: n})
	if err == nil {
		t.P = mathext.RegIncBeta(df2/2, df/2, df2/(df2+df*t.Statistic))
	}
	return t, err
}

// Holm returns p-values corrected for their number (Holm 1979): the chance that any true hypothesis
// among them is rejected stays below the level that they are compared with.
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
