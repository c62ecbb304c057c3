package item

import (
	"fmt"
	"math"
	"slices"

	"torchpe/internal/number"
	"torchpe/internal/stats"
	"torchpe/train/runlog"
)

// The smallest number of models whose mean has an interval (that of two spans everything), and the smallest
// number that is tested.
const (
	FewestForInterval = 3
	FewestForP        = 5
)

// Interval returns Student's 95 % confidence interval of the mean; ok is false for fewer than FewestForInterval
// values, or for equal ones.
func Interval(values []float64) (i stats.Interval, ok bool) {
	if len(values) < FewestForInterval || stats.SD(values) == 0 {
		return i, false
	}
	i, err := stats.MeanInterval(values, 0.95)
	return i, err == nil
}

// Difference is the mean difference of pairs, with Student's 95 % interval.
type Difference struct {
	stats.Interval         // 0 to 0 if unknown, or if wider than all values of the measure
	P              float64 // of Welch's test, if the spread is pooled with others; else NaN
	Text           string  // "difference .012, 95 % .005 to .019, paired t(4) = 4.68, p = .009"; "" for fewer pairs
}

// Compare compares two lists of a measure, x and y, pair by pair. It tests at least FewestForP pairs. If the
// comparison was chosen out of several, its interval holds for all of them at once (Bonferroni) and replaces
// the test. The spread is pooled over x, y and others, which have the same seeds.
func Compare(measure string, x, y []float64, outOf int, others ...[]float64) Difference {
	d := Difference{P: math.NaN()}
	between := make([]float64, len(x))
	for i := range x {
		between[i] = x[i] - y[i]
	}
	if len(x) < FewestForInterval {
		return d
	}
	d.Text = "difference " + Text(measure, stats.Mean(between))
	test, err := stats.PairedT(x, y)
	if err != nil && others == nil {
		d.Text += fmt.Sprintf(" in each of %d pairs, which is no test", len(x))
		return d
	}
	sd, df, err := stats.ResidualSD(append([][]float64{x, y}, others...))
	if err != nil {
		return Difference{}
	}
	interval, err := stats.StudentInterval(stats.Mean(between), sd*math.Sqrt(2/float64(len(x))), df,
		1-0.05/float64(outOf))
	if err != nil {
		return Difference{}
	}
	if ends := Covers(measure); ends[1] == 1 && interval.High-interval.Low > 1 {
		d.Text += ", whose interval is wider than the scale"
		return d
	}
	d.Interval = interval
	if others != nil {
		d.P = WelchP(x, y)
	}
	if outOf > 1 {
		d.Text += fmt.Sprintf(", %s (95 %% for all %d pairs of encodings at once)", IntervalText(measure, d.Interval),
			outOf)
		if !WelchTells(d.P) {
			d.Text += ", and Welch's test of the two alone has " + number.PText(d.P)
		}
		return d
	}
	d.Text += ", 95 % " + IntervalText(measure, d.Interval)
	if len(x) >= FewestForP {
		d.Text += fmt.Sprintf(", paired t(%g) = %s, %s", test.DF, Decimals(test.Statistic, 2), number.PText(test.P))
	}
	return d
}

// Summary returns the mean, SD and size of a group of numbers.
func Summary(x []float64) stats.Summary {
	return stats.Summary{Mean: stats.Mean(x), SD: stats.SD(x), N: len(x)}
}

// WelchP returns p of Welch's test of two groups of numbers, or NaN if neither varies, so that there is no
// test.
func WelchP(x, y []float64) float64 {
	test, err := stats.WelchTFrom(Summary(x), Summary(y))
	if err != nil {
		return math.NaN()
	}
	return test.P
}

// WelchTells reports whether Welch's test allows two groups to differ: p is below 5 %, or there is no test.
func WelchTells(p float64) bool { return !(p >= 0.05) }

// DecimalsOf returns the decimals of a measure in reports, at most three, as in the paper.
func DecimalsOf(measure string) int {
	const most = 3
	if decimals, ok := runlog.DecimalsOf(measure); ok {
		return min(decimals, most)
	}
	return most
}

// Text formats a number of a measure for texts: ".956".
func Text(measure string, v float64) string {
	if math.IsNaN(v) {
		return notMeasured
	}
	return Decimals(v, decimalsFor(measure, v))
}

// decimalsFor returns DecimalsOf, or more for an error that would be shown as 0: its unit is that of the data.
func decimalsFor(measure string, v float64) int {
	if m, ok := runlog.FindMeasure(measure); ok && m.Scale.Falls {
		return number.DecimalsFor(v, DecimalsOf(measure))
	}
	return DecimalsOf(measure)
}

const notMeasured = "not measured"

// IntervalText returns "−.012 to .034".
func IntervalText(measure string, v stats.Interval) string {
	decimals := decimalsFor(measure, max(math.Abs(v.Low), math.Abs(v.High)))
	return Decimals(v.Low, decimals) + " to " + Decimals(v.High, decimals)
}

// MeanText returns ".956 ± .039", or ".956" for one value.
func MeanText(measure string, values []float64) string {
	mean := stats.Mean(values)
	text := Text(measure, mean)
	if len(values) > 1 {
		text += " ± " + Decimals(stats.SD(values), decimalsFor(measure, mean))
	}
	return text
}

// RangeText returns ".31", or ".31 to .36": the smallest and the largest number, with one decimal less.
func RangeText(measure string, values []float64) string {
	if len(values) == 0 {
		return notMeasured
	}
	decimals := DecimalsOf(measure) - 1
	low, high := Decimals(slices.Min(values), decimals), Decimals(slices.Max(values), decimals)
	if low == high {
		return low
	}
	return low + " to " + high
}

// Decimals writes a number from -1 to 1 like papers, without the zero before the point. Unlike number.Bare it
// keeps the sign of −.000, which says on which side of 0 an interval ends.
func Decimals(v float64, digits int) string {
	text := fmt.Sprintf("%.*f", digits, math.Abs(v))
	if math.Abs(v) < 1 && text[0] == '0' {
		text = text[1:]
	}
	if v < 0 {
		return "−" + text
	}
	return text
}
