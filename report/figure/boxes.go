package figure

import (
	"cmp"
	"errors"
	"fmt"
	"image/color"
	"math"
	"slices"

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
	HollowNote            string     // meaning of hollow dots, such as "hollow: not fitted"; required if any
	Beside                []string   // names of the measures shown beside boxes, at most two
	Dots                  string     // plural noun for the dots; "models" if empty
	Covers                [2]float64 // numbers that the y axis covers, such as 0 and 1; both 0 for none
}

// Group holds the values of one box.
type Group struct {
	Label   string    // shown below the box; selects the colour
	ColorOf string    // label that selects the colour instead: "learn σ=0.2" for the Label "0.2"
	Values  []float64 // one per member; NaN is left out and counted in the note
	Hollow  []bool    // marks the values drawn as hollow dots; nil for none
	Beside  []float64 // means of other measures, in the order of Boxes.Beside; NaN draws nothing
	Chance  *Chance   // null distribution; nil for none

	Interval *stats.Interval // of the mean, 95 %; drawn beside the box; nil for none
}

// Chance is the null distribution of a test of a group. It is drawn as a grey band behind the box, with
// a star above it where P is below 0.05.
type Chance struct {
	Low, High float64 // 2.5 % and 97.5 % quantiles
	P         float64
}

// besideShapes lists the glyphs of Boxes.Beside with their names in the note.
var besideShapes = []struct {
	name  string
	shape draw.GlyphDrawer
}{{"triangle", draw.PyramidGlyph{}}, {"square", draw.BoxGlyph{}}}

const (
	minBoxValues = 5  // smallest number of values drawn as a box, because quartiles of fewer mislead
	maxCounted   = 12 // most groups whose labels show n if it differs; else the note gives its range
)

func (b Boxes) heading() string { return b.Title }

func (b Boxes) labels(i int) (label, colorOf string) { return b.Groups[i].Label, b.Groups[i].ColorOf }

func (b Boxes) check() error {
	if err := labels(b.labels).check("group", len(b.Groups)); err != nil {
		return err
	}
	for _, g := range b.Groups {
		if err := g.check(); err != nil {
			return fmt.Errorf("group %q: %w", g.Label, err)
		}
	}
	return checkReferences(b.References)
}

func (g Group) check() error {
	if g.Interval != nil {
		if _, err := checkValues("its interval", []float64{g.Interval.Low, g.Interval.High}); err != nil {
			return err
		}
	}
	present, err := checkValues("its values", g.Values)
	if err == nil && present == 0 {
		err = errors.New("it has no values: leave it out")
	}
	return err
}

// members counts the members of the groups.
func (b Boxes) members() (n tally) {
	for _, g := range b.Groups {
		present := len(finite(g.Values))
		n.add(present, len(g.Values)-present, len(g.Values))
	}
	return n
}

// categories returns the labels of the groups, with the number of values if it differs and the groups are few.
func (b Boxes) categories() (all []category) {
	n := b.members()
	for _, g := range b.Groups {
		one := category{text: g.Label}
		if n.lo != n.hi && len(b.Groups) <= maxCounted {
			one.n = len(finite(g.Values))
		}
		all = append(all, one)
	}
	return all
}

// axis returns the y axis, which covers values, glyphs beside boxes, intervals and references.
func (b Boxes) axis() axis {
	values := levels(b.References)
	for _, g := range b.Groups {
		values = append(append(values, finite(g.Values)...), finite(g.Beside)...)
		if g.Chance != nil {
			values = append(values, g.Chance.Low, g.Chance.High)
		}
		if g.Interval != nil {
			values = append(values, g.Interval.Low, g.Interval.High)
		}
	}
	return rangeOf(b.YLabel, covering(values, b.Covers), 0.04, false).widened()
}

// note explains the marks that the groups have.
func (b Boxes) note() string {
	n := b.members()
	any := func(has func(Group) bool) bool { return slices.ContainsFunc(b.Groups, has) }
	parts := []string{"Line: median"}
	if n.hi >= minBoxValues {
		parts = []string{"Box: quartiles and median; whiskers: up to 1.5 IQR"}
	}
	parts = append(parts, "dots: "+cmp.Or(b.Dots, "models"))
	if any(func(g Group) bool { return slices.Contains(g.Hollow, true) }) {
		parts = append(parts, b.HollowNote)
	}
	for i, name := range b.Beside {
		parts = append(parts, besideShapes[i].name+": mean "+name)
	}
	if any(func(g Group) bool { return g.Chance != nil }) {
		parts = append(parts, "grey: central 95 % under chance")
	}
	if any(func(g Group) bool { return g.Chance != nil && g.Chance.P < 0.05 }) {
		parts = append(parts, "star: p < .05")
	}
	if any(func(g Group) bool { return g.Interval != nil }) {
		parts = append(parts, "black: mean with 95 % confidence interval")
	}
	if n.lo < minBoxValues && n.hi >= minBoxValues {
		parts = append(parts, fmt.Sprintf("n < %d: median only", minBoxValues))
	}
	switch {
	case n.lo == n.hi && len(b.Groups) > 1:
		parts = append(parts, fmt.Sprintf("n = %d each", n.lo))
	case n.lo == n.hi:
		parts = append(parts, fmt.Sprintf("n = %d", n.lo))
	case len(b.Groups) > maxCounted:
		parts = append(parts, fmt.Sprintf("n = %d to %d", n.lo, n.hi))
	}
	return n.note(parts...)
}

// draw draws the groups at 0, 1, 2 ... with labels below, and the labels of the references on the right.
func (b Boxes) draw(c draw.Canvas) (note string, err error) {
	y := b.axis()
	right := insertReferences(nil, b.References, y)
	area := draw.Crop(c, 0, 0, 0, -smallSize/2)
	if len(right) > 0 {
		area.Max.X -= endLabelsWidth(right)
	}
	if area.Size().X < 60 || area.Size().Y < 40 {
		return "", errors.New("too little room is left between the axes: make the panel larger")
	}
	p := newPlot()
	p.X.Min, p.X.Max = -0.6, float64(len(b.Groups))-0.4
	p.X.Tick.Marker, p.X.Tick.Length, p.X.Padding = plot.ConstantTicks{}, 0, 0 // names has them
	y.set(&p.Y, yTicks(area.Size().Y-30))
	styles := labels(b.labels).styles(len(b.Groups), false)
	p.Add(plotterFunc(func(c draw.Canvas, p *plot.Plot) {
		drawReferences(c, p, b.References)
		for i, g := range b.Groups {
			boxMark{i, g, styles[i]}.draw(c, p)
		}
	}))
	first := p.DataCanvas(area)
	names := fitCategories(b.categories(), first.Size().X, first.Min.X-c.Min.X)
	title := vg.Length(0)
	if b.XLabel != "" {
		title = labelSize*leading + 1
	}
	whole := area
	area.Min.Y += names.height + title
	if area.Size().Y < 0.35*c.Size().Y {
		return "", fmt.Errorf("the labels of the %d groups leave too little of the panel: shorten them",
			len(b.Groups))
	}
	y.set(&p.Y, yTicks(area.Size().Y-10))
	data := p.DataCanvas(area)
	if need := labelPitch * vg.Length(len(right)); need > data.Size().Y {
		return "", fmt.Errorf("the labels of %d references do not fit: make the panel higher or "+
			"leave some out", len(right))
	}
	p.Draw(area)
	names.draw(data)
	drawXLabel(whole, data, b.XLabel)
	if len(right) > 0 {
		drawEndLabels(c, right, data)
	}
	return sentences(names.note(), b.note()), nil
}

// boxMark draws a group at x = i.
type boxMark struct {
	i     int
	group Group
	style lineStyle
}

// draw draws the box (if there are enough values), the glyphs beside it, the median and the values.
func (b boxMark) draw(c draw.Canvas, p *plot.Plot) {
	g, values := b.group, finite(b.group.Values)
	trX, trY := p.Transforms(&c)
	pitch := trX(1) - trX(0)
	half := min(0.31*pitch, 11)
	x := trX(float64(b.i))
	edge := b.style.color
	if g.Chance != nil {
		wide := min(0.46*pitch, 2*half)
		fill(c, rgb(0xd9d9d9), rect(x-wide, trY(g.Chance.Low), x+wide, trY(g.Chance.High)))
		if g.Chance.P < 0.05 {
			top := trY(max(g.Chance.High, slices.Max(values)))
			star(c, ink, 3, vg.Point{X: x, Y: top + 6})
		}
	}
	q := quartiles(values)
	if len(values) >= minBoxValues {
		line := draw.LineStyle{Color: edge, Width: 0.6}
		lo, hi := whiskers(values, q)
		c.StrokeLine2(line, x, trY(lo), x, trY(q[0]))
		c.StrokeLine2(line, x, trY(q[2]), x, trY(hi))
		c.StrokeLine2(line, x-half/2, trY(lo), x+half/2, trY(lo))
		c.StrokeLine2(line, x-half/2, trY(hi), x+half/2, trY(hi))
		box := rect(x-half, trY(q[0]), x+half, trY(q[2]))
		fill(c, mix(b.style.color, rgb(0xffffff), 0.72), box)
		line.Dashes = halved(b.style.dashes)
		outline(c, line, box)
	}
	step := min(max(pitch-2*half-5, 0), 3.4) // to the second glyph, which stays clear of the next box
	for k, v := range g.Beside {
		if !math.IsNaN(v) {
			at := vg.Point{X: x + min(half+1.6, 0.48*pitch) + step*vg.Length(k), Y: trY(v)}
			c.DrawGlyph(draw.GlyphStyle{Color: edge, Radius: 1.7, Shape: besideShapes[k].shape}, at)
		}
	}
	few := len(values) < minBoxValues // the dots suffice
	c.StrokeLine2(draw.LineStyle{Color: edge, Width: 1.5}, x-half, trY(q[1]), x+half, trY(q[1]))
	drawDots(c, trX, trY, dots{x: float64(b.i), values: g.Values, hollow: g.Hollow,
		spread: 1.3 * float64(half/max(pitch, 1e-9)), color: edge, few: few}) // above the median
	if g.Interval != nil { // a bar with a dot at the mean
		x, line := x+min(half+5, 0.48*pitch), draw.LineStyle{Color: black, Width: 0.8}
		low, high := trY(g.Interval.Low), trY(g.Interval.High)
		c.StrokeLine2(line, x, low, x, high)
		c.StrokeLine2(line, x-1.5, low, x+1.5, low)
		c.StrokeLine2(line, x-1.5, high, x+1.5, high)
		circle(c, black, 1.6, vg.Point{X: x, Y: trY(stats.Mean(values))})
	}
}

// star paints a star with five points, which lie on a circle of the given radius.
func star(c draw.Canvas, col color.Color, radius vg.Length, middle vg.Point) {
	var corners []vg.Point
	for k := range 10 {
		r, angle := radius, math.Pi/2+float64(k)*math.Pi/5
		if k%2 == 1 {
			r *= 0.42
		}
		corners = append(corners, middle.Add(vg.Point{X: r * vg.Length(math.Cos(angle)),
			Y: r * vg.Length(math.Sin(angle))}))
	}
	c.FillPolygon(col, corners)
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
	values    []float64 // NaN draws nothing
	color     color.NRGBA
	few       bool   // draws larger dots with a thin white ring
	hollow    []bool // marks hollow dots; nil for none
}

// drawDots draws small, slightly transparent dots, so that overlaps show.
func drawDots(c draw.Canvas, trX, trY func(float64) vg.Length, d dots) {
	d.color.A = 0xb4
	radius := vg.Length(1.1)
	switch {
	case trX(d.x+d.spread)-trX(d.x) < 4:
		radius = 0.8
	case d.few:
		radius = 2
	case d.hollow != nil:
		radius = 1.5 // large enough for the hole to show
	}
	n := len(finite(d.values))
	drawn := 0
	for i, v := range d.values {
		if math.IsNaN(v) {
			continue
		}
		x := d.x
		if n > 1 {
			x += d.spread * jitter(drawn)
		}
		drawn++
		at := vg.Point{X: trX(x), Y: trY(v)}
		if d.few {
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
