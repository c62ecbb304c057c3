package figure

import (
	"errors"
	"fmt"
	"sort"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// AccuracyOptions sets how AccuracyCurves looks. Start from DefaultAccuracyOptions.
type AccuracyOptions struct {
	Width, Height float64 // inches
	Title         string  // none where empty
	YLabel        string
	Chance        float64 // accuracy of guessing, drawn as a dashed line; 0 draws none
	Band          Band
	Markers       bool // a dot at the epochs, thinned out to 25 a line
}

// DefaultAccuracyOptions returns the options for the validation accuracy of the Latin square task in one column of a paper.
// Chance is 0.25: four symbols.
func DefaultAccuracyOptions() AccuracyOptions {
	return AccuracyOptions{
		Width: ColumnWidth, Height: 2.3,
		YLabel: "Validation accuracy",
		Chance: 0.25,
		Band:   BandMinMax,
	}
}

// Validate reports the first option that cannot be drawn.
func (o AccuracyOptions) Validate() error {
	if !(o.Width >= 2 && o.Width <= 20 && o.Height >= 1.5 && o.Height <= 20) {
		return fmt.Errorf("size of %g x %g in: want 2 to 20 in of width and 1.5 to 20 of height", o.Width, o.Height)
	}
	for _, text := range []string{o.Title, o.YLabel} {
		if err := checkText(text); err != nil {
			return err
		}
	}
	if !(o.Chance >= 0 && o.Chance <= 1) {
		return fmt.Errorf("chance level %g: want 0 (no line) to 1", o.Chance)
	}
	if o.Band != BandMinMax && o.Band != BandSD && o.Band != BandNone {
		return fmt.Errorf("band %q: want %q, %q or %q", o.Band, BandMinMax, BandSD, BandNone)
	}
	return nil
}

// accuracyCurves is what AccuracyCurves draws.
type accuracyCurves struct {
	AccuracyOptions
	lines  []summary // from the best final accuracy to the worst
	styles map[string]lineStyle
}

// AccuracyCurves draws accuracy against epoch, one line per curve (paper, Figure 2B). A line is the mean over the curve's
// members and is labelled at its end; from top to bottom the labels follow the final accuracy. The note below states n, the
// band and how many values are missing, which leave gaps.
func AccuracyCurves(curves []Curve, o AccuracyOptions) (*Figure, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("accuracy figure: %w", err)
	}
	if len(curves) == 0 {
		return nil, errors.New("accuracy figure: no curves: give at least one")
	}
	a := accuracyCurves{AccuracyOptions: o}
	var names []string
	seen := map[string]bool{}
	for _, c := range curves {
		if err := c.check(); err != nil {
			return nil, fmt.Errorf("accuracy figure: %w", err)
		}
		if seen[c.Label] {
			return nil, fmt.Errorf("accuracy figure: two curves are labelled %q: join their members or rename one", c.Label)
		}
		seen[c.Label] = true
		names = append(names, c.Label)
		a.lines = append(a.lines, summarize(c, o.Band))
	}
	a.styles = lineStyles(names)
	sort.SliceStable(a.lines, func(i, j int) bool {
		x, y := a.lines[i], a.lines[j]
		if fx, fy := x.last().mean, y.last().mean; fx != fy {
			return fx > fy
		}
		return x.label < y.label
	})
	if err := a.checkRoom(); err != nil {
		return nil, fmt.Errorf("accuracy figure: %w", err)
	}
	return &Figure{width: vg.Length(o.Width) * vg.Inch, height: vg.Length(o.Height) * vg.Inch, draw: a.draw}, nil
}

// checkRoom reports text that would overlap or leave the page.
func (a accuracyCurves) checkRoom() error {
	c := draw.NewCanvas(nil, vg.Length(a.Width)*vg.Inch, vg.Length(a.Height)*vg.Inch)
	l := a.layout(c)
	if w := newWriter(sans(labelSize), ink).width(a.YLabel); w > l.panel.Size().Y {
		return fmt.Errorf("label of the y axis %q is too long for a figure %g in high: shorten it or make the figure higher", a.YLabel, a.Height)
	}
	if l.panel.Size().X < 1.3*vg.Inch {
		return fmt.Errorf("the labels of the lines leave too little of a figure %g in wide: shorten them or widen it", a.Width)
	}
	if w := newWriter(bold(sans(titleSize)), ink).width(a.Title); l.data.Min.X+w > c.Max.X {
		return fmt.Errorf("title %q is too long for a figure %g in wide: shorten it or widen the figure", a.Title, a.Width)
	}
	if need := vg.Length(len(l.labels)) * labelPitch; need > l.data.Size().Y {
		return fmt.Errorf("%d labels do not fit one above the other in a figure %g in high: make it %.1f in or draw fewer curves",
			len(l.labels), a.Height, a.Height+float64((need-l.data.Size().Y)/vg.Inch)+0.05)
	}
	return nil
}

// accuracyLayout is where things go.
type accuracyLayout struct {
	plot   *plot.Plot
	panel  draw.Canvas // axes and data
	data   draw.Canvas // the data alone
	labels []endLabel
}

func (a accuracyCurves) draw(c draw.Canvas) {
	paintBackground(c)
	l := a.layout(c)
	inner := inset(c)
	drawTitle(inner, a.Title, l.data.Min.X)
	drawNote(inner, a.note())
	l.plot.Draw(l.panel)
	drawEndLabels(c, l.labels, l.data)
}

// layout needs no canvas to draw on: it only measures.
func (a accuracyCurves) layout(c draw.Canvas) accuracyLayout {
	var l accuracyLayout
	l.labels = a.endLabels()
	l.panel = cropNote(cropTitle(inset(c), a.Title), a.note())
	l.panel = draw.Crop(l.panel, 0, -endLabelsWidth(l.labels), 0, -smallSize/2)
	first, last := a.epochs()
	for ticks := 6; ; ticks-- {
		l.plot = a.plot(integerTicks(first, last, ticks))
		l.data = l.plot.DataCanvas(l.panel)
		if ticks == 2 || ticksFit(l.plot, l.data) {
			return l
		}
	}
}

func (a accuracyCurves) plot(xTicks plot.Ticker) *plot.Plot {
	p := newPlot()
	first, last := a.epochs()
	p.X.Label.Text = "Epoch"
	p.X.Tick.Marker = xTicks
	p.X.Min, p.X.Max = float64(first), float64(last)
	if first == last {
		p.X.Min, p.X.Max = p.X.Min-0.5, p.X.Max+0.5
	}
	p.Y.Label.Text = a.YLabel
	p.Y.Min, p.Y.Max = 0, 1
	p.Y.Tick.Marker = accuracyTicks
	p.Add(a) // Min and Max stay: a is no DataRanger
	return p
}

var accuracyTicks = plot.ConstantTicks{
	{Value: 0, Label: "0.0"}, {Value: 0.2, Label: "0.2"}, {Value: 0.4, Label: "0.4"},
	{Value: 0.6, Label: "0.6"}, {Value: 0.8, Label: "0.8"}, {Value: 1, Label: "1.0"},
}

func (a accuracyCurves) epochs() (first, last int) {
	first, last = a.lines[0].points[0].epoch, a.lines[0].points[0].epoch
	for _, l := range a.lines {
		first = min(first, l.points[0].epoch)
		last = max(last, l.points[len(l.points)-1].epoch)
	}
	return first, last
}

// Plot implements plot.Plotter: bands under lines, the best line on top.
func (a accuracyCurves) Plot(c draw.Canvas, p *plot.Plot) {
	trX, trY := p.Transforms(&c)
	at := func(m meanPoint, y float64) vg.Point { return vg.Point{X: trX(float64(m.epoch)), Y: trY(y)} }
	if a.Chance > 0 {
		c.StrokeLine2(draw.LineStyle{Color: grey, Width: 0.8, Dashes: []vg.Length{3, 2}}, c.Min.X, trY(a.Chance), c.Max.X, trY(a.Chance))
	}
	for i := len(a.lines) - 1; i >= 0; i-- {
		if a.lines[i].members > 1 && a.Band != BandNone {
			a.drawBand(c, a.lines[i], at)
		}
	}
	for i := len(a.lines) - 1; i >= 0; i-- {
		a.drawLine(c, a.lines[i], at)
	}
}

func (a accuracyCurves) drawBand(c draw.Canvas, s summary, at func(meanPoint, float64) vg.Point) {
	for _, points := range s.stretches() {
		var outline []vg.Point
		for _, m := range points {
			outline = append(outline, at(m, m.hi))
		}
		for i := len(points) - 1; i >= 0; i-- {
			outline = append(outline, at(points[i], points[i].lo))
		}
		c.FillPolygon(pale(a.styles[s.label].color), outline)
	}
}

func (a accuracyCurves) drawLine(c draw.Canvas, s summary, at func(meanPoint, float64) vg.Point) {
	style := a.styles[s.label]
	dot := draw.GlyphStyle{Color: style.color, Radius: 1.5, Shape: draw.CircleGlyph{}}
	every := (len(s.points) + 24) / 25
	for _, points := range s.stretches() {
		var line []vg.Point
		for i, m := range points {
			pt := at(m, m.mean)
			line = append(line, pt)
			if len(points) == 1 || a.Markers && i%every == 0 { // a point on its own has no line to show it
				c.DrawGlyph(dot, pt)
			}
		}
		c.StrokeLines(draw.LineStyle{Color: style.color, Width: lineWidth, Dashes: style.dashes}, line)
	}
}

// endLabels returns the labels from top to bottom. The chance level is labelled like a line.
func (a accuracyCurves) endLabels() []endLabel {
	var labels []endLabel
	for _, s := range a.lines {
		text := s.label
		if lo, hi := a.memberRange(); lo != hi {
			text = fmt.Sprintf("%s (n=%d)", s.label, s.members)
		}
		end := s.last()
		labels = append(labels, endLabel{text: text, x: a.fractionOfX(end.epoch), y: end.mean, color: a.styles[s.label].color})
	}
	if a.Chance > 0 {
		below := sort.Search(len(labels), func(i int) bool { return labels[i].y < a.Chance })
		chance := endLabel{text: "chance", x: 1, y: a.Chance, color: grey}
		labels = append(labels[:below], append([]endLabel{chance}, labels[below:]...)...)
	}
	return labels
}

// fractionOfX is where on the x axis an epoch lies, 0 to 1.
func (a accuracyCurves) fractionOfX(epoch int) float64 {
	first, last := a.epochs()
	if first == last {
		return 0.5
	}
	return float64(epoch-first) / float64(last-first)
}

func (a accuracyCurves) memberRange() (lo, hi int) {
	lo, hi = a.lines[0].members, a.lines[0].members
	for _, s := range a.lines {
		lo, hi = min(lo, s.members), max(hi, s.members)
	}
	return lo, hi
}

// note says what a line is, what the band is and what is missing.
func (a accuracyCurves) note() string {
	var missing, total int
	for _, s := range a.lines {
		missing, total = missing+s.missing, total+s.total
	}
	var parts []string
	switch lo, hi := a.memberRange(); {
	case hi == 1:
		parts = append(parts, "One member per line (n = 1)")
	case lo == hi:
		parts = append(parts, fmt.Sprintf("Mean of n = %d members", hi))
	default:
		parts = append(parts, fmt.Sprintf("Mean of n = %d to %d members", lo, hi))
	}
	if _, hi := a.memberRange(); hi > 1 {
		switch a.Band {
		case BandMinMax:
			parts = append(parts, "band: minimum to maximum")
		case BandSD:
			parts = append(parts, "band: ±1 SD")
		}
	}
	if missing > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d values missing", missing, total))
	}
	return strings.Join(parts, "; ") + "."
}
