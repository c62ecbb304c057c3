package figure

import (
	"fmt"
	"math"
)

// Curve is one line of a figure over training: a positional encoding, say, with the members of its ensemble.
type Curve struct {
	Label  string      // for example "learn σ=0.2"; it decides the line's colour
	Epochs []int       // strictly rising
	Values [][]float64 // [member][epoch]; NaN where a member has no value
}

// Band says what the shaded area around a mean line spans.
type Band string

// The kinds of band. A curve with one member has none.
const (
	BandMinMax Band = "min-max" // from the worst member to the best
	BandSD     Band = "sd"      // one standard deviation (of the sample, n−1) to either side
	BandNone   Band = "none"
)

// maxEpoch is beyond any training and keeps the arithmetic of the ticks from overflowing.
const maxEpoch = 1_000_000_000

// check reports the first thing wrong with c, whose values must lie in [0, 1].
func (c Curve) check() error {
	if c.Label == "" {
		return fmt.Errorf("a curve has no label: give it the name of its encoding")
	}
	if err := checkText(c.Label); err != nil {
		return err
	}
	if len(c.Epochs) == 0 || len(c.Values) == 0 {
		return fmt.Errorf("curve %q has %d epochs and %d members: it needs at least one of each", c.Label, len(c.Epochs), len(c.Values))
	}
	if first, last := c.Epochs[0], c.Epochs[len(c.Epochs)-1]; first < 0 || last > maxEpoch {
		return fmt.Errorf("curve %q runs from epoch %d to %d: want 0 to %d", c.Label, first, last, maxEpoch)
	}
	for i := 1; i < len(c.Epochs); i++ {
		if c.Epochs[i] <= c.Epochs[i-1] {
			return fmt.Errorf("curve %q: epoch %d follows epoch %d: epochs must rise", c.Label, c.Epochs[i], c.Epochs[i-1])
		}
	}
	present := 0
	for m, values := range c.Values {
		if len(values) != len(c.Epochs) {
			return fmt.Errorf("curve %q, member %d: %d values for %d epochs: give one per epoch, NaN where there is none", c.Label, m, len(values), len(c.Epochs))
		}
		for i, v := range values {
			if v < 0 || v > 1 {
				return fmt.Errorf("curve %q, member %d, epoch %d: accuracy %g is outside 0 to 1: give a fraction, not a percentage",
					c.Label, m, c.Epochs[i], v)
			}
			if !math.IsNaN(v) {
				present++
			}
		}
	}
	if present == 0 {
		return fmt.Errorf("curve %q: all its values are NaN: leave it out", c.Label)
	}
	return nil
}

// summary is a curve reduced over its members.
type summary struct {
	label          string
	members        int
	missing, total int         // values that are NaN, of all
	points         []meanPoint // one per x; NaN throughout where no member has a value
}

// meanPoint is the mean over the members at one x (an epoch, say), with the ends of the band.
type meanPoint struct {
	x, mean, lo, hi float64
}

// summary reduces c; its band ends where accuracy does.
func (c Curve) summary(band Band) summary {
	var x []float64
	for _, epoch := range c.Epochs {
		x = append(x, float64(epoch))
	}
	s := summarize(LineSeries{Label: c.Label, X: x, Values: c.Values}, band)
	for i := range s.points {
		s.points[i].lo, s.points[i].hi = max(s.points[i].lo, 0), min(s.points[i].hi, 1)
	}
	return s
}

// summarize reduces a series over its members.
func summarize(l LineSeries, band Band) summary {
	s := summary{label: l.Label, members: len(l.Values), total: len(l.Values) * len(l.X)}
	for i, x := range l.X {
		var present []float64
		for _, values := range l.Values {
			if !math.IsNaN(values[i]) {
				present = append(present, values[i])
			}
		}
		s.missing += len(l.Values) - len(present)
		s.points = append(s.points, reduce(x, present, band))
	}
	return s
}

// reduce returns the mean and band of the values at one x; the band of a single value is that value.
func reduce(x float64, values []float64, band Band) meanPoint {
	n := float64(len(values))
	var sum float64
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		sum += v
		lo, hi = min(lo, v), max(hi, v)
	}
	if len(values) == 0 {
		nan := math.NaN()
		return meanPoint{x, nan, nan, nan}
	}
	mean := sum / n
	if band != BandMinMax {
		lo, hi = mean, mean
	}
	if band == BandSD && n > 1 {
		var squares float64
		for _, v := range values {
			squares += (v - mean) * (v - mean)
		}
		sd := math.Sqrt(squares / (n - 1))
		lo, hi = mean-sd, mean+sd
	}
	return meanPoint{x, mean, lo, hi}
}

// last is the last point that has a value.
func (s summary) last() meanPoint {
	for i := len(s.points) - 1; i > 0; i-- {
		if !math.IsNaN(s.points[i].mean) {
			return s.points[i]
		}
	}
	return s.points[0]
}

// stretches cuts the points at the epochs without a value.
func (s summary) stretches() [][]meanPoint {
	var all [][]meanPoint
	open := false
	for _, p := range s.points {
		if math.IsNaN(p.mean) {
			open = false
			continue
		}
		if !open {
			all = append(all, nil)
			open = true
		}
		all[len(all)-1] = append(all[len(all)-1], p)
	}
	return all
}
