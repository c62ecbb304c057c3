package torchpe

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
)

// twinErrors holds the largest error of each operator and type of numbers against its twin, so that
// all are told before a test fails.
type twinErrors map[string]*twinError

type twinError struct {
	absolute, relative, allowed float64 // relative to the twin's largest value, or to 1 where that is less
	at                          string  // where it was
}

// add compares a result and its gradients with the twin's.
func (e twinErrors) add(operator string, dtype DType, at string, have, want [][]float64) {
	worst := e[operator+", "+dtype.String()]
	if worst == nil {
		worst = &twinError{allowed: twinTolerance[dtype]}
		e[operator+", "+dtype.String()] = worst
	}
	for i := range want {
		absolute, relative := math.Inf(1), math.Inf(1) // of another length
		if len(have[i]) == len(want[i]) {
			absolute, relative = largestError(have[i], want[i])
		}
		worst.absolute = max(worst.absolute, absolute)
		if relative > worst.relative {
			worst.relative, worst.at = relative, at
			if i > 0 {
				worst.at = fmt.Sprintf("%s, gradient %d", at, i-1)
			}
		}
	}
}

// largestError returns the largest difference, and that relative to the largest element of want, or
// to 1 where that is less. A NaN that the other list lacks is infinitely far away.
func largestError(have, want []float64) (absolute, relative float64) {
	scale := 1.0
	for i, w := range want {
		scale = max(scale, math.Abs(w))
		switch d := math.Abs(have[i] - w); {
		case !math.IsNaN(d):
			absolute = max(absolute, d)
		case math.IsNaN(have[i]) != math.IsNaN(w):
			return math.Inf(1), math.Inf(1)
		}
	}
	return absolute, absolute / scale
}

// report logs every operator's error, then fails for those beyond what is allowed.
func (e twinErrors) report(t *testing.T) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(e)) {
		w := e[name]
		t.Logf("twin %s: off by at most %.2g, relative %.2g (allowed %.2g)", name, w.absolute, w.relative, w.allowed)
	}
	for _, name := range slices.Sorted(maps.Keys(e)) {
		if w := e[name]; !(w.relative <= w.allowed) {
			t.Errorf("%s: relative error %.2g, allowed %.2g, at %s", name, w.relative, w.allowed, w.at)
		}
	}
}
