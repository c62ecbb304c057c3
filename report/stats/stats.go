// Package stats compares groups of numbers, such as the accuracies of runs that differ in one setting: correlations, t-tests,
// analysis of variance, correction for many tests, bootstrap intervals. Each test gives its statistic, its degrees of freedom and
// its two-sided p-value, also where that is far below the rounding of 1.
//
// It imports gonum's special functions, and nothing of the module. Input that has no answer (too few numbers, no variance,
// a NaN) is an error that says so, never a NaN or a panic. Results agree with scipy 1.10.
package stats

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
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
func SD(x []float64) float64 { return math.Sqrt(variance(x)) }

func variance(x []float64) float64 {
	if len(x) < 2 {
		return math.NaN()
	}
	return squares(x) / float64(len(x)-1)
}

// squares returns the sum of squared differences from the mean.
func squares(x []float64) float64 {
	mean, sum := Mean(x), 0.0
	for _, v := range x {
		sum += (v - mean) * (v - mean)
	}
	return sum
}

// check returns an error where x has fewer than least numbers, or one that is not finite.
func check(x []float64, least int) error {
	if len(x) < least {
		return fmt.Errorf("%d numbers: at least %d are needed", len(x), least)
	}
	for i, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("number %d is %v: leave it out", i, v)
		}
	}
	return nil
}

func checkPairs(x, y []float64, least int) error {
	if len(x) != len(y) {
		return fmt.Errorf("%d and %d numbers: pairs are needed", len(x), len(y))
	}
	return errors.Join(check(x, least), check(y, least))
}

// tailT is the two-sided p-value of a t with df degrees of freedom.
func tailT(t, df float64) float64 {
	if math.IsInf(t, 0) {
		return 0
	}
	return mathext.RegIncBeta(df/2, 0.5, df/(df+t*t))
}

// Pearson returns the correlation of pairs, with the p-value of no correlation by Student's t (at least 3 pairs).
func Pearson(x, y []float64) (Test, error) {
	if err := checkPairs(x, y, 3); err != nil {
		return Test{}, err
	}
	mx, my := Mean(x), Mean(y)
	var xx, yy, xy float64
	for i := range x {
		dx, dy := x[i]-mx, y[i]-my
		xx, yy, xy = xx+dx*dx, yy+dy*dy, xy+dx*dy
	}
	if xx == 0 || yy == 0 {
		return Test{}, errors.New("one of the two is constant: it correlates with nothing")
	}
	r := min(1, max(-1, xy/math.Sqrt(xx)/math.Sqrt(yy)))
	df := float64(len(x) - 2)
	return Test{Statistic: r, DF: df, P: tailT(r*math.Sqrt(df/((1-r)*(1+r))), df), N: len(x)}, nil
}

// Spearman returns the correlation of the ranks of pairs, ties sharing their mean rank, with the p-value by Student's t.
func Spearman(x, y []float64) (Test, error) {
	if err := checkPairs(x, y, 3); err != nil {
		return Test{}, err
	}
	return Pearson(ranks(x), ranks(y))
}

// ranks returns the rank of each number, from 1; equal ones share their mean.
func ranks(x []float64) []float64 {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case x[a] < x[b]:
			return -1
		case x[a] > x[b]:
			return 1
		}
		return 0
	})
	r := make([]float64, len(x))
	for from := 0; from < len(order); {
		to := from + 1
		for to < len(order) && x[order[to]] == x[order[from]] {
			to++
		}
		for _, i := range order[from:to] {
			r[i] = float64(from+to+1) / 2
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
	d := make([]float64, len(x))
	for i := range x {
		d[i] = x[i] - y[i]
	}
	sd := SD(d)
	if sd == 0 {
		return Test{}, errors.New("all differences are the same: there is nothing to test against")
	}
	t, df := Mean(d)/(sd/math.Sqrt(float64(len(d)))), float64(len(d)-1)
	return Test{Statistic: t, DF: df, P: tailT(t, df), N: len(d)}, nil
}

// WelchT tests whether two groups, of variances that may differ, have the same mean.
func WelchT(x, y []float64) (Test, error) {
	if err := errors.Join(check(x, 2), check(y, 2)); err != nil {
		return Test{}, err
	}
	return WelchTFrom(Summary{Mean(x), SD(x), len(x)}, Summary{Mean(y), SD(y), len(y)})
}

// Summary is what a paper prints of a group.
type Summary struct {
	Mean, SD float64
	N        int
}

// WelchTFrom is WelchT where only means, standard deviations and counts are known.
func WelchTFrom(x, y Summary) (Test, error) {
	if x.N < 2 || y.N < 2 || math.IsNaN(x.Mean+y.Mean+x.SD+y.SD) || x.SD < 0 || y.SD < 0 {
		return Test{}, fmt.Errorf("groups of %d and %d with SD %g and %g: at least 2 numbers with a mean and an SD are needed", x.N, y.N, x.SD, y.SD)
	}
	a, b := x.SD*x.SD/float64(x.N), y.SD*y.SD/float64(y.N)
	if a+b == 0 {
		return Test{}, errors.New("neither group varies: there is nothing to test against")
	}
	t := (x.Mean - y.Mean) / math.Sqrt(a+b)
	df := (a + b) * (a + b) / (a*a/float64(x.N-1) + b*b/float64(y.N-1))
	return Test{Statistic: t, DF: df, P: tailT(t, df), N: x.N + y.N}, nil
}

// ANOVA tests whether groups have the same mean (one-way analysis of variance).
func ANOVA(groups ...[]float64) (Test, error) {
	if len(groups) < 2 {
		return Test{}, fmt.Errorf("%d groups: at least two are needed", len(groups))
	}
	var all []float64
	within := 0.0
	for i, g := range groups {
		if err := check(g, 1); err != nil {
			return Test{}, fmt.Errorf("group %d: %w", i, err)
		}
		all = append(all, g...)
		within += squares(g)
	}
	df, df2 := float64(len(groups)-1), float64(len(all)-len(groups))
	if df2 < 1 || within == 0 {
		return Test{}, errors.New("no group varies: there is nothing to test against")
	}
	mean, between := Mean(all), 0.0
	for _, g := range groups {
		d := Mean(g) - mean
		between += float64(len(g)) * d * d
	}
	f := (between / df) / (within / df2)
	return Test{Statistic: f, DF: df, DF2: df2, P: mathext.RegIncBeta(df2/2, df/2, df2/(df2+df*f)), N: len(all)}, nil
}

// Holm returns p-values corrected for their number (Holm 1979): the chance that any true hypothesis among them is rejected
// stays below the level that they are compared with.
func Holm(p []float64) ([]float64, error) {
	order := make([]int, len(p))
	for i, v := range p {
		if !(v >= 0 && v <= 1) {
			return nil, fmt.Errorf("p-value %d is %v: want 0 to 1", i, v)
		}
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case p[a] < p[b]:
			return -1
		case p[a] > p[b]:
			return 1
		}
		return 0
	})
	out := make([]float64, len(p))
	largest := 0.0
	for k, i := range order {
		largest = max(largest, min(1, float64(len(p)-k)*p[i]))
		out[i] = largest
	}
	return out, nil
}
