package analysis

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"torchpe/internal/metrics"
	"torchpe/internal/wording"
)

// noDirection says which rows of a table have no direction, and so no distance of this kind from any
// other row. It returns "" if all have one.
func noDirection(t Table, kind metrics.Distance) string {
	what := ""
	switch kind {
	case metrics.Cosine:
		what = "all zeros"
	case metrics.OneMinusCorr2:
		what = "one number throughout"
	default:
		return ""
	}
	first, count := -1, 0
	for i := range t.Tokens {
		row := t.Row(i)
		is := 0.0
		if kind == metrics.OneMinusCorr2 {
			is = row[0]
		}
		if slices.ContainsFunc(row, func(v float64) bool { return v != is }) {
			continue
		}
		if count == 0 {
			first = i
		}
		count++
	}
	switch count {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("row %d is %s and has no direction: its distances by %s have no value", first, what, kind)
	}
	return fmt.Sprintf("row %d and %d more are %s and have no direction: their distances by %s "+
		"have no value", first, count-1, what, kind)
}

// reason returns what an error of package metrics says, or "" for none.
func reason(err error) string {
	if err == nil {
		return ""
	}
	return strings.TrimPrefix(err.Error(), "metrics: ")
}

// noDistances says why distances [n,n] between the rows of a table give neither weights nor a map. It
// returns "" if they do.
func noDistances(t Table, d []float64, kind metrics.Distance) string {
	if why := noDirection(t, kind); why != "" {
		return why
	}
	largest, rounding := 0.0, float64(t.Dim)*0x1p-52 // of 1 - 1, or of the largest number minus itself
	byAngle := kind == metrics.Cosine || kind == metrics.OneMinusCorr2
	if !byAngle {
		rounding *= floats.Norm(t.Values, math.Inf(1))
	}
	for i, v := range d {
		if v-v != 0 {
			return fmt.Sprintf("the distance between rows %d and %d is %v: the numbers are too "+
				"large or too small, scale the table", i/t.Tokens, i%t.Tokens, v)
		}
		largest = max(largest, math.Abs(v))
	}
	if largest > rounding {
		return ""
	}
	if byAngle {
		return fmt.Sprintf("all rows are the same by %s: every distance is 0", kind)
	}
	if norm := floats.Norm(t.Values, math.Inf(1)); norm > 0 { // rows of 1e-200 differ, and their squares are 0
		t.Values = slices.Clone(t.Values)
		for i := range t.Values {
			t.Values[i] /= norm
		}
		if floats.Max(t.Distances(kind)) > float64(t.Dim)*0x1p-52 {
			return "the numbers are too small for their squares: scale the table"
		}
	}
	return "all rows are the same: every distance is 0"
}

// noScore says why weights [n,n] have no modularity or no clustering (metrics.ScoreNetwork). It returns ""
// if they have both.
func noScore(w []float64, modules moduleSet, s metrics.NetworkScore) string {
	if Number(s.Modularity).known() && Number(s.Clustering).known() {
		return ""
	}
	n, total := len(modules.Labels), 0.0
	within, pairs := map[int]float64{}, map[int]int{}
	for i, l := range modules.Labels {
		for j, other := range modules.Labels {
			if i == j {
				continue
			}
			total += w[i*n+j]
			if l == other {
				within[l], pairs[l] = within[l]+w[i*n+j], pairs[l]+1
			}
		}
	}
	switch {
	case total-total != 0:
		return "the weights are too large to add up: scale them"
	case total == 0:
		return "the weights add up to 0: modularity Q, a share of their sum, has no value"
	case len(pairs) == 0:
		return "no module has two tokens: clustering C, which needs weights within modules, has no value"
	}
	for l, name := range modules.Names {
		if pairs[l] > 0 && within[l] == 0 {
			return fmt.Sprintf("the mean weight within module %s is 0: clustering C, which is "+
				"divided by it, has no value", name)
		}
	}
	return "the weights are too large or too small for their scores in float64: scale them"
}

// diagonalNote returns a note on weights that connect nodes with themselves.
func diagonalNote(source string, w []float64, n int) string {
	low, high := math.Inf(1), math.Inf(-1)
	for i, v := range w {
		if i%(n*n)%(n+1) == 0 {
			low, high = min(low, v), max(high, v)
		}
	}
	if low >= 0 && high <= 0 {
		return ""
	}
	return fmt.Sprintf("%s: the diagonal, %.4g to %.4g, is taken as 0: Q and C use weights between two "+
		"nodes (bctpy's modularity_und and community_louvain keep it in Q)", source, low, high)
}

// negativeWeightsNote returns a note on weights below 0.
func negativeWeightsNote(source string, w []float64, n int) string {
	count, lowest := 0, 0.0
	for i, v := range w {
		if i%(n*n)/n != i%n && v < 0 {
			count, lowest = count+1, min(lowest, v)
		}
	}
	if count == 0 {
		return ""
	}
	return fmt.Sprintf("%s: %s below 0, to %.4g: Q and C are defined for weights of at least 0, and may leave "+
		"their range if sums in their denominators cancel; weights are used unchanged: set negative ones "+
		"to 0 if they mean no connection", source, wording.Count(count, "weight"), lowest)
}
