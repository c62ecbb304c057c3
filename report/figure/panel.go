package figure

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg/draw"
)

// Panel is a drawing that Compose puts on a page: Lines, Boxes, Scatter, Matrix, Map, Puzzle, Strip
// or Schematic.
type Panel interface {
	heading() string // returns the title
	// check returns an error for numbers and names that cannot be drawn at any size. Parts that do not fit
	// together, such as two labels for three rows, are a mistake of the caller and not checked.
	check() error
	// draw draws the panel in c. It returns the note below the panel, which explains the marks and
	// states what is left out, or an error for marks that do not fit. It is called several times.
	draw(c draw.Canvas) (note string, err error)
}

// Reference is a level to compare data with, such as chance, drawn as a dashed grey line.
type Reference struct {
	Label string
	Y     float64 // in the units of the y axis
}

// largest is the largest magnitude that can be drawn. The arithmetic of ticks would overflow beyond it.
const largest = 1e100

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

// labels returns the label of the i-th mark of a panel, and the label whose colour it takes if not its own:
// "learn σ=0.2" for the label "0.2".
type labels func(i int) (label, colorOf string)

// check returns an error unless n marks, called by a noun, have distinct labels.
func (l labels) check(noun string, n int) error {
	if n == 0 {
		return fmt.Errorf("no %ss: give at least one", noun)
	}
	seen := map[string]bool{}
	for i := range n {
		label, _ := l(i)
		if label == "" {
			return fmt.Errorf("a %s has no label: name it", noun)
		}
		if seen[label] {
			return fmt.Errorf("two %ss are labelled %q: join them or rename one", noun, label)
		}
		seen[label] = true
	}
	return nil
}

// styles returns the styles of n marks. A mark without any label is blue. Lines of learned encodings of
// similar colours differ in their dashes.
func (l labels) styles(n int, areLines bool) []lineStyle {
	owners := make([]string, n)
	for i := range owners {
		label, colorOf := l(i)
		owners[i] = cmp.Or(colorOf, label)
	}
	byOwner := lineStyles(owners)
	if areLines {
		distinguish(byOwner)
	}
	byOwner[""] = lineStyle{color: blue}
	styles := make([]lineStyle, n)
	for i, owner := range owners {
		styles[i] = byOwner[owner]
	}
	return styles
}

// tally counts the members of marks and their missing values.
type tally struct {
	lo, hi         int // smallest and largest number of members
	missing, total int
}

// add counts a mark with n members. A mark without members is a gap.
func (t *tally) add(n, missing, total int) {
	t.missing, t.total = t.missing+missing, t.total+total
	if n > 0 {
		t.hi = max(t.hi, n)
		if t.lo == 0 || n < t.lo {
			t.lo = n
		}
	}
}

// note joins the parts of a note to a sentence, which ends with the number of missing values.
func (t tally) note(parts ...string) string {
	if t.missing > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d values missing", t.missing, t.total))
	}
	return sentences(strings.Join(parts, "; "))
}

// finite returns the values that are not NaN.
func finite(values []float64) []float64 { return slices.DeleteFunc(slices.Clone(values), math.IsNaN) }

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

// noteIf returns a part of a note if it applies.
func noteIf(applies bool, note string) string {
	if applies {
		return note
	}
	return ""
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

// checkReferences returns an error for the first reference that cannot be drawn.
func checkReferences(references []Reference) error {
	for _, r := range references {
		if r.Label == "" {
			return fmt.Errorf("a reference line at %g has no label: name it", r.Y)
		}
		if err := checkNumber(fmt.Sprintf("reference %q", r.Label), r.Y); err != nil {
			return err
		}
	}
	return nil
}

// levels returns the y of the references.
func levels(references []Reference) []float64 {
	var all []float64
	for _, r := range references {
		all = append(all, r.Y)
	}
	return all
}

// insertReferences inserts the labels of references into labels, which are sorted from top to bottom.
func insertReferences(labels []endLabel, references []Reference, y axis) []endLabel {
	for _, r := range references {
		at := y.norm(r.Y)
		below := 0
		for below < len(labels) && labels[below].y >= at {
			below++
		}
		labels = slices.Insert(labels, below, endLabel{text: r.Label, x: 1, y: at, color: grey})
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
