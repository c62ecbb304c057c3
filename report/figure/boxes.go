package figure

import (
	"errors"
	"fmt"
	"image/color"
	"math"
	"slices"
	"sort"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Boxes compares groups of values by box plots with every value on them.
type Boxes struct {
	Title, XLabel, YLabel string
	Groups                []Group // from left to right
	Sorted                bool    // by falling mean instead
	YMin, YMax            float64 // the y axis; from the numbers where both are 0
	References            []Reference
}

// Group is the values of one box.
type Group struct {
	Label   string    // below the box; it decides the colour
	ColorOf string    // the label whose colour it has instead, such as "learn σ=0.2" where Label is "0.2"
	Values  []float64 // one a member; NaN is left out and counted in the note
}

// fewest is how many values a box takes: quartiles of fewer mislead.
const fewest = 5

func (b Boxes) heading() string { return b.Title }

func (b Boxes) check() error {
	if err := checkTexts(b.XLabel, b.YLabel); err != nil {
		return err
	}
	if len(b.Groups) == 0 {
		return errors.New("no groups: give at least one")
	}
	if err := checkFixed("Y", b.YMin, b.YMax, false); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, g := range b.Groups {
		if g.Label == "" {
			return errors.New("a group has no label: name it")
		}
		if seen[g.Label] {
			return fmt.Errorf("two groups are labelled %q: join them or rename one", g.Label)
		}
		seen[g.Label] = true
		if err := checkTexts(g.Label, g.ColorOf); err != nil {
			return err
		}
		present, err := checkValues(fmt.Sprintf("group %q", g.Label), g.Values)
		if err != nil {
			return err
		}
		if present == 0 {
			return fmt.Errorf("group %q has no values: leave it out", g.Label)
		}
	}
	if err := checkReferences(b.References); err != nil {
		return err
	}
	y := b.axis()
	for _, v := range b.all() {
		if !y.holds(v) {
			return fmt.Errorf("%g lies outside the y axis, %g to %g: widen it", v, y.lo, y.hi)
		}
	}
	return nil
}

// all returns whatever the y axis has to hold.
func (b Boxes) all() []float64 {
	var values []float64
	for _, g := range b.Groups {
		values = append(values, finite(g.Values)...)
	}
	for _, r := range b.References {
		values = append(values, r.Y)
	}
	return values
}

func (b Boxes) axis() axis { return rangeOf(b.YLabel, b.all(), 0.04, false).fixed(b.YMin, b.YMax) }

// groups returns the groups in order, without missing values.
func (b Boxes) groups() []Group {
	groups := slices.Clone(b.Groups)
	for i := range groups {
		groups[i].Values = finite(groups[i].Values)
	}
	if b.Sorted {
		sort.SliceStable(groups, func(i, j int) bool {
			x, _ := meanSD(groups[i].Values)
			y, _ := meanSD(groups[j].Values)
			return x > y
		})
	}
	return groups
}

// mostCounted is how many groups have their n below them where it differs; of more, the note gives the range.
const mostCounted = 12

// counts returns the smallest and the largest n of the groups.
func (b Boxes) counts() (lo, hi int) {
	lo = math.MaxInt
	for _, g := range b.Groups {
		n := len(finite(g.Values))
		lo, hi = min(lo, n), max(hi, n)
	}
	return lo, hi
}

func (b Boxes) note() string {
	var missing, total int
	for _, g := range b.Groups {
		missing, total = missing+len(g.Values)-len(finite(g.Values)), total+len(g.Values)
	}
	lo, hi := b.counts()
	var parts []string
	if hi >= fewest {
		parts = append(parts, "Box: quartiles and median; whiskers: up to 1.5 IQR")
	} else {
		parts = append(parts, "Line: median")
	}
	parts = append(parts, "dots: members")
	if lo < fewest && hi >= fewest {
		parts = append(parts, fmt.Sprintf("n < %d: median alone", fewest))
	}
	switch {
	case lo == hi && len(b.Groups) > 1:
		parts = append(parts, fmt.Sprintf("n = %d each", lo))
	case lo == hi:
		parts = append(parts, fmt.Sprintf("n = %d", lo))
	case len(b.Groups) > mostCounted:
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
		if lo != hi && len(groups) <= mostCounted {
			place.n = len(g.Values)
		}
		categories = append(categories, place)
	}
	styles := stylesOf(labels, colorOf)
	return categoryPlot{xLabel: b.XLabel, y: b.axis(), categories: categories, references: b.References, marks: func(c draw.Canvas, p *plot.Plot) {
		for i, g := range groups {
			drawBox(c, p, i, g.Values, styles[g.Label])
		}
	}}.draw(c)
}

// drawBox draws one group at x = i: its box, unless the values are too few, and the values.
func drawBox(c draw.Canvas, p *plot.Plot, i int, values []float64, style lineStyle) {
	trX, trY := p.Transforms(&c)
	pitch := trX(1) - trX(0)
	half := min(0.31*pitch, 11)
	x := trX(float64(i))
	q := quartiles(values)
	edge := readable(style.color)
	if len(values) >= fewest {
		line := draw.LineStyle{Color: edge, Width: 0.6}
		lo, hi := whiskers(values, q)
		c.StrokeLine2(line, x, trY(lo), x, trY(q[0]))
		c.StrokeLine2(line, x, trY(q[2]), x, trY(hi))
		c.StrokeLine2(line, x-half/2, trY(lo), x+half/2, trY(lo))
		c.StrokeLine2(line, x-half/2, trY(hi), x+half/2, trY(hi))
		fill(c, mix(style.color, rgb(0xffffff), 0.72), x-half, trY(q[0]), x+half, trY(q[2]))
		line.Dashes = finely(style.dashes)
		c.StrokeLines(line, []vg.Point{{X: x - half, Y: trY(q[0])}, {X: x + half, Y: trY(q[0])}, {X: x + half, Y: trY(q[2])},
			{X: x - half, Y: trY(q[2])}, {X: x - half, Y: trY(q[0])}})
	}
	drawDots(c, trX, trY, dots{x: float64(i), values: values, spread: 1.3 * float64(half/max(pitch, 1e-9)), color: edge})
	c.StrokeLine2(draw.LineStyle{Color: edge, Width: 1.5}, x-half, trY(q[1]), x+half, trY(q[1]))
}

// finely shortens dashes for the outlines of small shapes.
func finely(dashes []vg.Length) []vg.Length {
	var out []vg.Length
	for _, d := range dashes {
		out = append(out, d/2)
	}
	return out
}

// dots are values shown one by one about an x, spread over a width of x.
type dots struct {
	x, spread float64
	values    []float64
	color     color.NRGBA
	halo      bool // a thin white ring, for dots on strong colours
}

// drawDots draws them small and a little transparent, so that crowds show.
func drawDots(c draw.Canvas, trX, trY func(float64) vg.Length, d dots) {
	d.color.A = 0xb4
	radius := vg.Length(1.1)
	if trX(d.x+d.spread)-trX(d.x) < 4 {
		radius = 0.8
	}
	glyph := draw.GlyphStyle{Color: d.color, Radius: radius, Shape: draw.CircleGlyph{}}
	for i, v := range d.values {
		x := d.x
		if len(d.values) > 1 {
			x += d.spread * jitter(i)
		}
		at := vg.Point{X: trX(x), Y: trY(v)}
		if d.halo {
			c.DrawGlyph(draw.GlyphStyle{Color: color.NRGBA{0xff, 0xff, 0xff, 0xc8}, Radius: radius + 0.35, Shape: draw.CircleGlyph{}}, at)
		}
		c.DrawGlyph(glyph, at)
	}
}

// quartiles returns the first quartile, the median and the third, interpolated as R (type 7) and NumPy do by default.
func quartiles(values []float64) [3]float64 {
	sorted := slices.Sorted(slices.Values(values))
	var q [3]float64
	for i := range q {
		at := float64(i+1) / 4 * float64(len(sorted)-1)
		k := int(at)
		q[i] = sorted[k]
		if k+1 < len(sorted) {
			q[i] += (at - float64(k)) * (sorted[k+1] - sorted[k])
		}
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
