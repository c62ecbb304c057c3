package figure

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Lines shows means over members against x with bands, such as measures during training or against a
// hyperparameter.
type Lines struct {
	Title, XLabel, YLabel string
	Series                []LineSeries
	Band                  Band
	Markers               bool // draws dots at up to 25 points of a line
	LogX                  bool
	YMin, YMax            float64 // range of the y axis, which may cut lines off; both 0 for automatic
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

func (l Lines) heading() string { return l.Title }

func (l Lines) check() error {
	if err := checkTexts(l.XLabel, l.YLabel); err != nil {
		return err
	}
	if len(l.Series) == 0 {
		return errors.New("no lines: give at least one")
	}
	switch l.Band {
	case BandMinMax, BandSD, "":
	default:
		return fmt.Errorf("band %q: want %q, %q or none", l.Band, BandMinMax, BandSD)
	}
	if err := checkFixed("Y", l.YMin, l.YMax); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, s := range l.Series {
		if seen[s.Label] {
			return fmt.Errorf("two lines are labelled %q: join their members or rename one",
				s.Label)
		}
		seen[s.Label] = true
		if err := s.check(l.LogX); err != nil {
			return err
		}
	}
	if err := checkReferences(l.References); err != nil {
		return err
	}
	_, y := l.axes(l.art())
	for _, r := range l.References {
		if !y.contains(r.Y) {
			return fmt.Errorf("reference %q at %g lies outside the y axis, %g to %g: widen it",
				r.Label, r.Y, y.lo, y.hi)
		}
	}
	return nil
}

func (s LineSeries) check(logX bool) error {
	if s.Label == "" {
		return errors.New("a line has no label: name it")
	}
	if err := checkTexts(s.Label, s.ColorOf); err != nil {
		return err
	}
	if len(s.X) == 0 || len(s.Values) == 0 {
		return fmt.Errorf("line %q has %d points and %d members: it needs at least one of each",
			s.Label, len(s.X), len(s.Values))
	}
	for i, x := range s.X {
		if err := checkNumber(fmt.Sprintf("line %q: x of point %d", s.Label, i), x); err != nil {
			return err
		}
		if i > 0 && x <= s.X[i-1] {
			return fmt.Errorf("line %q: x = %g follows x = %g: x must increase", s.Label, x, s.X[i-1])
		}
		if logX && x < 1/largest {
			return fmt.Errorf("line %q: x = %g on a logarithmic axis: x must be positive", s.Label,
				x)
		}
	}
	total := 0
	for m, values := range s.Values {
		name := fmt.Sprintf("line %q, member %d", s.Label, m)
		if len(values) != len(s.X) {
			return fmt.Errorf("%s: %d values for %d points: give one per point, NaN where there "+
				"is none", name, len(values), len(s.X))
		}
		present, err := checkValues(name, values)
		if err != nil {
			return err
		}
		total += present
	}
	if total == 0 {
		return fmt.Errorf("line %q: all its values are NaN: leave it out", s.Label)
	}
	return nil
}

func (l Lines) art() lineArt {
	var lines []summary
	colorOf := map[string]string{}
	for _, s := range l.Series {
		lines = append(lines, summarize(s, l.Band))
		colorOf[s.Label] = s.ColorOf
	}
	a := newLineArt(lines, l.Band, colorOf)
	a.references, a.markers, a.noMembers = l.References, l.Markers, l.NoMembers
	return a
}

func (l Lines) axes(a lineArt) (x, y axis) {
	first, last := a.xRange()
	x = rangeOf(l.XLabel, []float64{first, last}, 0, l.LogX)
	x.whole = l.hasWholeX()
	var values []float64
	for _, s := range a.lines {
		for _, p := range slices.Concat(s.stretches()...) {
			values = append(values, p.lo, p.hi)
		}
	}
	for _, r := range l.References {
		values = append(values, r.Y)
	}
	return x, rangeOf(l.YLabel, values, 0.04, false).widened().withEnds(l.YMin, l.YMax)
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

// hasWholeX reports whether all x are integers, such as epochs or steps.
func (l Lines) hasWholeX() bool {
	for _, s := range l.Series {
		for _, x := range s.X {
			if x != math.Trunc(x) {
				return false
			}
		}
	}
	return true
}

func (l Lines) note(draw.Canvas) string {
	a := l.art()
	note := a.note()
	if _, y := l.axes(a); l.YMin < l.YMax {
		for _, s := range a.lines {
			for _, p := range slices.Concat(s.stretches()...) {
				if !y.contains(p.mean) {
					return strings.TrimSpace(note + " The y axis cuts lines off.")
				}
			}
		}
	}
	return note
}

func (l Lines) draw(c draw.Canvas) error {
	a := l.art()
	x, y := l.axes(a)
	labels := a.endLabels(x, y)
	area := draw.Crop(c, 0, 0, 0, -smallSize/2)
	width := endLabelsWidth(labels)
	direct := width <= 0.42*c.Size().X && labelPitch*vg.Length(len(labels)) <= 0.72*c.Size().Y
	if direct {
		area.Max.X -= width
	} else {
		names := a.legend()
		height := names.height(c.Size().X)
		if height > 0.4*c.Size().Y {
			return fmt.Errorf("the labels of %d lines do not fit: shorten them or draw fewer lines",
				len(names))
		}
		names.drawRows(c, c.Min.X, c.Max.Y, c.Size().X)
		area.Max.Y -= height + 3
	}
	p := newPlot()
	y.set(&p.Y, yTicks(area.Size().Y-30))
	p.Add(a)
	data, err := drawAxes(p, area, x)
	if err != nil {
		return err
	}
	if direct {
		drawEndLabels(c, labels, data)
	}
	return nil
}
