package stats

import (
	"math"
	"testing"
)

// What is left after the means of groups and blocks, by hand; adding to a group or block changes
// nothing.
func TestResidualSD(t *testing.T) {
	x := [][]float64{{1, -1, 0}, {-1, 1, 0}, {0, 0, 0}} // the squares sum to 4
	for i := range x {
		for j := range x[i] {
			x[i][j] += 10*float64(i) - 7*float64(j)
		}
	}
	if sd, df, err := ResidualSD(x); err != nil || df != 4 || math.Abs(sd-1) > 1e-12 {
		t.Errorf("SD %g, want 1; %g degrees of freedom, want 4; %v", sd, df, err)
	}
	for name, x := range map[string][][]float64{"one group": {{1, 2}}, "one block": {{1}, {2}},
		"unequal": {{1, 2}, {1, 2, 3}}, "NaN": {{1, 2}, {1, math.NaN()}}} {
		if _, _, err := ResidualSD(x); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// Of two groups it is the spread of the paired t-test.
func TestResidualSDOfPairs(t *testing.T) {
	x, y := []float64{1.2, 3.1, 2.2, 7.5}, []float64{2.1, 3.3, 3.9, 7.1}
	sd, df, err := ResidualSD([][]float64{x, y})
	test, err2 := PairedT(x, y)
	if got := (Mean(x) - Mean(y)) / (sd * math.Sqrt(2./4)); err != nil || err2 != nil ||
		math.Abs(got-test.Statistic) > 1e-12 || df != test.DF {
		t.Errorf("t = %g with %g degrees of freedom, want %g with %g; %v, %v", got, df, test.Statistic, test.DF,
			err, err2)
	}
}
