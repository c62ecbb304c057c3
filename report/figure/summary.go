package figure

import (
	"math"
	"slices"

	"torchpe/internal/stats"
)

// Band selects the extent of the shaded area around a mean line. The zero Band and lines of one member
// have no area.
type Band string

// The kinds of band.
const (
	BandMinMax Band = "min-max" // from the lowest member to the highest
	// BandSD spans one sample standard deviation (divisor n−1) to either side. Two members are drawn
	// as a line each instead.
	BandSD Band = "sd"
)

// summary is a line reduced over its members.
type summary struct {
	label          string
	members        int
	missing, total int         // number of NaN values and of all values
	points         []meanPoint // one per x; all NaN where no member has a value
	each           []summary   // lines of the members, drawn if there are too few for an SD
}

// minSD is the smallest number of members whose SD is drawn.
const minSD = 3

// meanPoint is the mean over the members at one x (an epoch, say), with the ends of the band.
type meanPoint struct {
	x, mean, lo, hi float64
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
	if n := len(l.Values); band == BandSD && n > 1 && n < minSD {
		for _, values := range l.Values {
			s.each = append(s.each, summarize(LineSeries{Label: l.Label, X: l.X, Values: [][]float64{values}}, ""))
		}
	}
	return s
}

// reduce returns the mean and band of the values at one x. The band of a single value is that value.
func reduce(x float64, values []float64, band Band) meanPoint {
	mean := stats.Mean(values) // NaN without values
	p := meanPoint{x, mean, mean, mean}
	switch {
	case len(values) < 2 || band == "":
	case band == BandMinMax, len(values) < minSD:
		p.lo, p.hi = slices.Min(values), slices.Max(values)
	case band == BandSD:
		sd := stats.SD(values)
		p.lo, p.hi = mean-sd, mean+sd
	}
	return p
}

// last returns the last point that has a value.
func (s summary) last() meanPoint {
	for i := len(s.points) - 1; i > 0; i-- {
		if !math.IsNaN(s.points[i].mean) {
			return s.points[i]
		}
	}
	return s.points[0]
}

// stretches splits the points at missing values.
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
