package figure

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"torchpe/internal/stats"
)

// Lines shows means over members against x with bands, such as measures during training or against a
// hyperparameter.
type Lines struct {
	Title, XLabel, YLabel string
	Series                []LineSeries
	Band                  Band
	Markers               bool // draws dots at up to 25 points of a line
	LogX                  bool
	YMin, YMax            float64    // range of the y axis: has references, may cut lines; 0 for automatic
	Covers                [2]float64 // numbers that an automatic y axis covers, such as 0 and 1; both 0 for none
	References            []Reference
	NoMembers             bool // omits the number of members from the note, for lines without members
}

// LineSeries is one line.
type LineSeries struct {
	Label   string      // unique; selects the colour
	ColorOf string      // label that selects the colour instead: "learn σ=0.2" for the Label "0.2"
	X       []float64   // strictly increasing; positive on a logarithmic axis
	Values  [][]float64 // [member][x]; NaN where a member has no value
}

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

// minSD is the smallest number of members whose SD is drawn.
const minSD = 3

func (l Lines) heading() string { return l.Title }

func (l Lines) labels(i int) (label, colorOf string) { return l.Series[i].Label, l.Series[i].ColorOf }

func (l Lines) check() error {
	if err := labels(l.labels).check("line", len(l.Series)); err != nil {
		return err
	}
	for _, s := range l.Series {
		if err := s.check(); err != nil {
			return fmt.Errorf("line %q: %w", s.Label, err)
		}
	}
	return checkReferences(l.References)
}

func (s LineSeries) check() error {
	for i, x := range s.X {
		if err := checkNumber(fmt.Sprintf("x of point %d", i), x); err != nil {
			return err
		}
	}
	total := 0
	for m, values := range s.Values {
		present, err := checkValues(fmt.Sprintf("member %d", m), values)
		if err != nil {
			return err
		}
		total += present
	}
	if total == 0 {
		return errors.New("all its values are NaN: leave it out")
	}
	return nil
}

// axes returns the axes, which cover lines, bands and references.
func (l Lines) axes(a lineArt) (x, y axis) {
	var xs []float64
	values := levels(l.References)
	isWhole := true // x counts epochs or steps, for example
	for _, s := range a.lines {
		xs = append(xs, s.points[0].x, s.points[len(s.points)-1].x)
		for _, p := range s.points {
			isWhole = isWhole && p.x == math.Trunc(p.x)
		}
		for _, p := range slices.Concat(s.stretches()...) {
			values = append(values, p.lo, p.hi)
		}
	}
	x = rangeOf(l.XLabel, xs, 0, l.LogX)
	x.whole = isWhole
	y = rangeOf(l.YLabel, covering(values, l.Covers), 0.04, false).widened()
	if l.YMin < l.YMax {
		y.lo, y.hi = l.YMin, l.YMax
	}
	return x, y
}

// ShareY gives all panels a common y axis that covers their lines and references.
func ShareY(panels ...*Lines) {
	shared := axis{lo: math.Inf(1), hi: math.Inf(-1)}
	for _, l := range panels {
		_, y := l.axes(l.art())
		shared.lo, shared.hi = min(shared.lo, y.lo), max(shared.hi, y.hi)
	}
	for _, l := range panels {
		l.YMin, l.YMax = shared.lo, shared.hi
	}
}

// note describes the lines and bands, and counts missing values.
func (l Lines) note(a lineArt, y axis) string {
	n := a.members
	var parts []string
	switch {
	case l.NoMembers:
	case n.hi == 1:
		parts = append(parts, "One member per line (n = 1)")
	case n.lo == n.hi:
		parts = append(parts, fmt.Sprintf("Mean of n = %d models", n.hi))
	default:
		parts = append(parts, fmt.Sprintf("Mean of n = %d to %d models", n.lo, n.hi))
	}
	switch {
	case n.hi == 1:
	case l.Band == BandMinMax:
		parts = append(parts, "band: minimum to maximum")
	case l.Band == BandSD && n.hi >= minSD:
		parts = append(parts, "band: ±1 SD")
	}
	switch {
	case n.hi < 2 || l.Band != BandSD || n.lo >= minSD:
	case n.hi < minSD:
		parts = append(parts, "thin lines are the models")
	default:
		parts = append(parts, "where n = 2, thin lines are the models")
	}
	return sentences(n.note(parts...), a.cutNote(y))
}

func (l Lines) draw(c draw.Canvas) (note string, err error) {
	a := l.art()
	x, y := l.axes(a)
	ends := a.endLabels(x, y)
	area := draw.Crop(c, 0, 0, 0, -smallSize/2)
	width := endLabelsWidth(ends)
	direct := width <= 0.42*c.Size().X && labelPitch*vg.Length(len(ends)) <= 0.72*c.Size().Y
	names := a.legend()
	height := names.height(c.Size().X)
	switch {
	case direct:
		area.Max.X -= width
	case height <= 0.4*c.Size().Y:
		names.drawRows(c, c.Min.X, c.Max.Y, c.Size().X)
		area.Max.Y -= height + 3
	default:
		note = fmt.Sprintf("No room for the labels of %d lines", len(names))
	}
	p := newPlot()
	y.set(&p.Y, yTicks(area.Size().Y-30))
	p.Add(a)
	data, err := drawAxes(p, area, x)
	if err != nil {
		return "", err
	}
	if direct {
		drawEndLabels(c, ends, data)
	}
	return sentences(note, l.note(a, y)), nil
}

// summary is a line reduced over its members.
type summary struct {
	label          string
	style          lineStyle
	members        int
	missing, total int         // number of NaN values and of all values
	points         []meanPoint // one per x; all NaN where no member has a value
	each           []summary   // lines of the members, drawn if there are too few for an SD
}

// meanPoint is the mean over the members at one x (such as an epoch), with the ends of the band.
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
		here := band
		if band == BandSD && len(l.Values) < minSD {
			here = BandMinMax
		}
		s.points = append(s.points, reduce(x, present, here))
	}
	if n := len(l.Values); band == BandSD && n > 1 && n < minSD {
		for _, values := range l.Values {
			s.each = append(s.each, summarize(LineSeries{X: l.X, Values: [][]float64{values}}, ""))
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
	case band == BandMinMax:
		p.lo, p.hi = slices.Min(values), slices.Max(values)
	case band == BandSD:
		sd := stats.SD(values)
		p.lo, p.hi = mean-sd, mean+sd
	}
	return p
}

// last returns the last point that has a value.
func (s summary) last() meanPoint {
	for _, p := range slices.Backward(s.points) {
		if !math.IsNaN(p.mean) {
			return p
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
