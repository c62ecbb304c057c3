package figure

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"torchpe/internal/stats"
)

// Boxes compares groups of values as box plots with a dot for each value.
type Boxes struct {
	Title, XLabel, YLabel string
	Groups                []Group // from left to right
	References            []Reference
	HollowNote            string   // meaning of hollow dots, such as "hollow: not fitted"; required if any
	Beside                []string // names of the measures shown beside boxes, at most two
	Dots                  string   // plural noun for the dots; "members" if empty
	MinRange              float64  // smallest range of the y axis, which then includes 0; 0 for none
}

// Group holds the values of one box.
type Group struct {
	Label   string    // shown below the box; selects the colour
	ColorOf string    // label that selects the colour instead: "learn σ=0.2" for the Label "0.2"
	Values  []float64 // one per member; NaN is left out and counted in the note
	Hollow  []bool    // marks the values drawn as hollow dots; nil for none
	Beside  []float64 // means of other measures, in the order of Boxes.Beside; NaN draws nothing
	Chance  *Chance   // null distribution; nil for none

	Interval *Interval // drawn beside the box; nil for none
}

// Interval is a mean and its 95 % confidence interval.
type Interval struct{ Mean, Low, High float64 }

// Chance is the null distribution of a test of a group. It is drawn as a grey band behind the box, with
// a star above where P is below 0.05.
type Chance struct {
	Low, High float64 // 2.5 % and 97.5 % quantiles
	P         float64
}

// besideShapes lists the glyphs of Boxes.Beside with their names in the note.
var besideShapes = []struct {
	name  string
	shape draw.GlyphDrawer
}{{"triangle", draw.PyramidGlyph{}}, {"square", draw.BoxGlyph{}}}

// minBoxValues is the smallest number of values drawn as a box, because quartiles of fewer mislead.
const minBoxValues = 5

func (b Boxes) heading() string { return b.Title }

func (b Boxes) check() error {
	if err := checkTexts(b.XLabel, b.YLabel); err != nil {
		return err
	}
	if err := checkGroupLabels(len(b.Groups), func(i int) (label, colorOf string) {
		return b.Groups[i].Label, b.Groups[i].ColorOf
	}); err != nil {
		return err
	}
	for _, g := range b.Groups {
		present, err := checkValues(fmt.Sprintf("group %q", g.Label), g.Values)
		if err != nil {
			return err
		}
		if present == 0 {
			return fmt.Errorf("group %q has no values: leave it out", g.Label)
		}
		if g.Hollow != nil && len(g.Hollow) != len(g.Values) ||
			slices.Contains(g.Hollow, true) && b.HollowNote == "" {
			return fmt.Errorf("group %q: %d flags of hollow dots for %d values, note %q", g.Label,
				len(g.Hollow), len(g.Values), b.HollowNote)
		}
		if g.Chance != nil {
			if ch := *g.Chance; !(ch.Low <= ch.High) || math.IsInf(ch.High-ch.Low, 0) || !(ch.P >= 0 && ch.P <= 1) {
				return fmt.Errorf("group %q: chance from %v to %v with p = %v", g.Label, ch.Low, ch.High, ch.P)
			}
		}
		if i := g.Interval; i != nil {
			if !(-largest <= i.Low && i.Low <= i.Mean && i.Mean <= i.High && i.High <= largest) {
				return fmt.Errorf("group %q: a mean of %g with an interval from %g to %g", g.Label, i.Mean,
					i.Low, i.High)
			}
		}
		if len(g.Beside) > len(b.Beside) || len(b.Beside) > len(besideShapes) {
			return fmt.Errorf("group %q: %d glyphs beside the box, but %d are named and %d "+
				"exist", g.Label, len(g.Beside), len(b.Beside), len(besideShapes))
		}
	}
	return checkReferences(b.References)
}

// axis returns the y axis, which covers values, glyphs beside boxes, intervals and references.
func (b Boxes) axis() axis {
	var values []float64
	for _, g := range b.Groups {
		values = append(append(values, finite(g.Values)...), finite(g.Beside)...)
		if g.Chance != nil {
			values = append(values, g.Chance.Low, g.Chance.High)
		}
		if g.Interval != nil {
			values = append(values, g.Interval.Low, g.Interval.High)
		}
	}
	for _, r := range b.References {
		values = append(values, r.Y)
	}
	if b.MinRange > 0 {
		values = append(values, 0)
	}
	return rangeOf(b.YLabel, values, 0.04, false).widened().atLeast(b.MinRange)
}

// groups returns copies of the groups without missing values.
func (b Boxes) groups() []Group {
	groups := slices.Clone(b.Groups)
	for i, g := range groups {
		groups[i].Values, groups[i].Hollow = finite(g.Values), nil
		for k, hollow := range g.Hollow {
			if !math.IsNaN(g.Values[k]) {
				groups[i].Hollow = append(groups[i].Hollow, hollow)
			}
		}
	}
	return groups
}

// maxCounted limits the number of groups that show n in their labels where n differs. For more groups
// the note gives the range of n.
const maxCounted = 12

// counts returns the smallest and the largest n of the groups.
func (b Boxes) counts() (lo, hi int) {
	lo = math.MaxInt
	for _, g := range b.Groups {
		n := len(finite(g.Values))
		lo, hi = min(lo, n), max(hi, n)
	}
	return lo, hi
}

func (b Boxes) note(draw.Canvas) string {
	var missing, total int
	for _, g := range b.Groups {
		missing, total = missing+len(g.Values)-len(finite(g.Values)), total+len(g.Values)
	}
	lo, hi := b.counts()
	var parts []string
	if hi >= minBoxValues {
		parts = append(parts, "Box: quartiles and median; whiskers: up to 1.5 IQR")
	} else {
		parts = append(parts, "Line: median")
	}
	parts = append(parts, "dots: "+cmp.Or(b.Dots, "members"))
	hasHollow := func(g Group) bool { return slices.Contains(g.Hollow, true) }
	if slices.ContainsFunc(b.Groups, hasHollow) {
		parts = append(parts, b.HollowNote)
	}
	for i, name := range b.Beside {
		parts = append(parts, besideShapes[i].name+": mean "+name)
	}
	if slices.ContainsFunc(b.Groups, func(g Group) bool { return g.Chance != nil }) {
		parts = append(parts, "grey: central 95 % under chance")
	}
	if slices.ContainsFunc(b.Groups, func(g Group) bool { return g.Chance != nil && g.Chance.P < 0.05 }) {
		parts = append(parts, "*: p < .05")
	}
	if slices.ContainsFunc(b.Groups, func(g Group) bool { return g.Interval != nil }) {
		parts = append(parts, "black: mean with 95 % confidence interval")
	}
	if lo < minBoxValues && hi >= minBoxValues {
		parts = append(parts, fmt.Sprintf("n < %d: median only", minBoxValues))
	}
	switch {
	case lo == hi && len(b.Groups) > 1:
		parts = append(parts, fmt.Sprintf("n = %d each", lo))
	case lo == hi:
		parts = append(parts, fmt.Sprintf("n = %d", lo))
	case len(b.Groups) > maxCounted:
		parts = append(parts, fmt.Sprintf("n = %d to %d", lo, hi))
	}
	return strings.Join(append(parts, missingNote(missing, total)...), "; ") + "."
}

func (b Boxes) draw(c draw.Canvas) error {
	groups := b.groups()
	var labels []string
	var categories []category
	colorOf := map[string]string{}
	lo, hi := b.counts()
	for _, g := range groups {
		labels = append(labels, g.Label)
		colorOf[g.Label] = g.ColorOf
		place := category{text: g.Label}
		if lo != hi && len(groups) <= maxCounted {
			place.n = len(g.Values)
		}
		categories = append(categories, place)
	}
	styles := stylesOf(labels, colorOf)
	o := categoryPlot{xLabel: b.XLabel, y: b.axis(), references: b.References}
	o.categories = categories
	o.marks = func(c draw.Canvas, p *plot.Plot) {
		for i, g := range groups {
			boxMark{i, g, styles[g.Label]}.draw(c, p)
		}
	}
	return o.draw(c)
}

// boxMark draws a group at x = i.
type boxMark struct {
	i     int
	group Group
	style lineStyle
}

// draw draws the box (if there are enough values), the glyphs beside it, the values and the median.
func (b boxMark) draw(c draw.Canvas, p *plot.Plot) {
	g, style, values := b.group, b.style, b.group.Values
	trX, trY := p.Transforms(&c)
	pitch := trX(1) - trX(0)
	half := min(0.31*pitch, 11)
	x := trX(float64(b.i))
	q := quartiles(values)
	edge := readable(style.color)
	if g.Chance != nil {
		wide := min(0.46*pitch, 2*half)
		band := rectangle{x - wide, trY(g.Chance.Low), x + wide, trY(g.Chance.High)}
		fill(c, rgb(0xd9d9d9), band)
		if g.Chance.P < 0.05 {
			top := trY(max(g.Chance.High, slices.Max(values)))
			newWriter(sans(smallSize), ink).centred(c, x, top+smallSize/2, "*")
		}
	}
	if len(values) >= minBoxValues {
		line := draw.LineStyle{Color: edge, Width: 0.6}
		lo, hi := whiskers(values, q)
		c.StrokeLine2(line, x, trY(lo), x, trY(q[0]))
		c.StrokeLine2(line, x, trY(q[2]), x, trY(hi))
		c.StrokeLine2(line, x-half/2, trY(lo), x+half/2, trY(lo))
		c.StrokeLine2(line, x-half/2, trY(hi), x+half/2, trY(hi))
		box := rectangle{x - half, trY(q[0]), x + half, trY(q[2])}
		fill(c, mix(style.color, rgb(0xffffff), 0.72), box)
		line.Dashes = halved(style.dashes)
		c.StrokeLines(line, box.closed())
	}
	for k, v := range g.Beside {
		if !math.IsNaN(v) {
			at := vg.Point{X: x + min(half+1.6, 0.48*pitch), Y: trY(v)}
			c.DrawGlyph(draw.GlyphStyle{Color: edge, Radius: 1.7, Shape: besideShapes[k].shape}, at)
		}
	}
	drawDots(c, trX, trY, dots{x: float64(b.i), values: values,
		spread: 1.3 * float64(half/max(pitch, 1e-9)), color: edge, hollow: g.Hollow})
	c.StrokeLine2(draw.LineStyle{Color: edge, Width: 1.5}, x-half, trY(q[1]), x+half, trY(q[1]))
	if g.Interval != nil {
		g.Interval.draw(c, trY, x+min(half+5, 0.48*pitch))
	}
}

// draw draws the interval as a bar with a dot at the mean.
func (i Interval) draw(c draw.Canvas, trY func(float64) vg.Length, x vg.Length) {
	line := draw.LineStyle{Color: black, Width: 0.8}
	low, high := trY(i.Low), trY(i.High)
	c.StrokeLine2(line, x, low, x, high)
	c.StrokeLine2(line, x-1.5, low, x+1.5, low)
	c.StrokeLine2(line, x-1.5, high, x+1.5, high)
	circle(c, black, 1.6, vg.Point{X: x, Y: trY(i.Mean)})
}

// halved returns dashes of half the length, for the outlines of small shapes.
func halved(dashes []vg.Length) []vg.Length {
	var out []vg.Length
	for _, d := range dashes {
		out = append(out, d/2)
	}
	return out
}

// dots holds values drawn one by one around x, spread over a width in units of x.
type dots struct {
	x, spread float64
	values    []float64
	color     color.NRGBA
	halo      bool   // draws a thin white ring, for dots on strong colours
	hollow    []bool // marks hollow dots; nil for none
}

// drawDots draws small, slightly transparent dots, so that overlaps show.
func drawDots(c draw.Canvas, trX, trY func(float64) vg.Length, d dots) {
	d.color.A = 0xb4
	radius := vg.Length(1.1)
	if d.hollow != nil {
		radius = 1.5 // large enough for the hole to show
	}
	if trX(d.x+d.spread)-trX(d.x) < 4 {
		radius = 0.8
	}
	for i, v := range d.values {
		x := d.x
		if len(d.values) > 1 {
			x += d.spread * jitter(i)
		}
		at := vg.Point{X: trX(x), Y: trY(v)}
		if d.halo {
			circle(c, color.NRGBA{0xff, 0xff, 0xff, 0xc8}, radius+0.35, at)
		}
		circle(c, d.color, radius, at)
		if d.hollow != nil && d.hollow[i] {
			circle(c, rgb(0xffffff), 0.6*radius, at)
		}
	}
}

// quartiles returns the first quartile, the median and the third quartile, interpolated as R (type 7)
// and NumPy do by default.
func quartiles(values []float64) (q [3]float64) {
	sorted := slices.Sorted(slices.Values(values))
	for i := range q {
		q[i] = stats.Quantile(sorted, float64(i+1)/4)
	}
	return q
}

// whiskers returns the furthest values within 1.5 interquartile ranges of the quartiles.
func whiskers(values []float64, q [3]float64) (lo, hi float64) {
	reach := 1.5 * (q[2] - q[0])
	lo, hi = q[0], q[2]
	for _, v := range values {
		if v >= q[0]-reach {
			lo = min(lo, v)
		}
		if v <= q[2]+reach {
			hi = max(hi, v)
		}
	}
	return lo, hi
}
