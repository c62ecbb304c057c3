package figure

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg/draw"
)

// Panel is a drawing that Compose puts on a page: Lines, Boxes, Bars, Scatter, Matrix, Map, Puzzle,
// Strip or Schematic.
type Panel interface {
	check() error              // returns an error for numbers and texts that cannot be drawn at any size
	heading() string           // returns the title
	note(c draw.Canvas) string // explains the marks and states what is left out in c
	draw(c draw.Canvas) error  // draws the panel, or returns an error for marks that do not fit in c
}

// Reference is a level to compare data with, such as chance, drawn as a dashed grey line.
type Reference struct {
	Label string
	Y     float64 // in the units of the y axis
}

// largest is the largest magnitude that can be drawn. The arithmetic of ticks would overflow beyond it.
const largest = 1e100

// checkTexts returns an error for the first text that checkText refuses.
func checkTexts(texts ...string) error {
	for _, s := range texts {
		if err := checkText(s); err != nil {
			return err
		}
	}
	return nil
}

// checkNumber returns an error for a number that cannot be drawn, such as NaN.
func checkNumber(what string, v float64) error {
	if !(math.Abs(v) <= largest) {
		return fmt.Errorf("%s is %g: want a finite number of magnitude at most %g", what, v, largest)
	}
	return nil
}

// checkValues counts the values that are not NaN, which marks a missing value. It returns an error for
// the first value that cannot be drawn.
func checkValues(what string, values []float64) (present int, err error) {
	for i, v := range values {
		if math.IsNaN(v) {
			continue
		}
		if err := checkNumber(fmt.Sprintf("%s, value %d", what, i), v); err != nil {
			return 0, err
		}
		present++
	}
	return present, nil
}

// checkReferences returns an error for the first reference that cannot be drawn.
func checkReferences(references []Reference) error {
	for _, r := range references {
		if r.Label == "" {
			return fmt.Errorf("a reference line at %g has no label: name it", r.Y)
		}
		if err := checkText(r.Label); err != nil {
			return err
		}
		if err := checkNumber(fmt.Sprintf("reference %q", r.Label), r.Y); err != nil {
			return err
		}
	}
	return nil
}

// finite returns the values that are not NaN.
func finite(values []float64) []float64 {
	var out []float64
	for _, v := range values {
		if !math.IsNaN(v) {
			out = append(out, v)
		}
	}
	return out
}

// missingNote returns a note with the number of missing values, or nothing if none is missing.
func missingNote(missing, total int) []string {
	if missing == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d of %d values missing", missing, total)}
}

// sentences joins the non-empty parts of a note and ends each with a full stop.
func sentences(parts ...string) string {
	var all []string
	for _, s := range parts {
		if s = strings.TrimSpace(s); s == "" {
			continue
		}
		if !strings.HasSuffix(s, ".") {
			s += "."
		}
		all = append(all, s)
	}
	return strings.Join(all, " ")
}

// jitter returns the i-th point of a low-discrepancy sequence in -0.5 to 0.5: the fractional parts of
// multiples of the golden ratio.
func jitter(i int) float64 {
	_, f := math.Modf(float64(i)*math.Phi + 0.5)
	return f - 0.5
}

// plotterFunc is a plot.Plotter that does not set the range of the axes.
type plotterFunc func(c draw.Canvas, p *plot.Plot)

// Plot implements plot.Plotter.
func (f plotterFunc) Plot(c draw.Canvas, p *plot.Plot) { f(c, p) }

// insertReferences inserts the labels of references into labels, which are sorted from top to bottom.
func insertReferences(labels []endLabel, references []Reference, y axis) []endLabel {
	for _, r := range references {
		at := y.norm(r.Y)
		below := 0
		for below < len(labels) && labels[below].y >= at {
			below++
		}
		label := endLabel{text: r.Label, x: 1, y: at, color: grey}
		labels = slices.Insert(labels, below, label)
	}
	return labels
}

// drawReferences draws the dashed lines.
func drawReferences(c draw.Canvas, p *plot.Plot, references []Reference) {
	_, trY := p.Transforms(&c)
	for _, r := range references {
		c.StrokeLine2(referenceStyle, c.Min.X, trY(r.Y), c.Max.X, trY(r.Y))
	}
}
