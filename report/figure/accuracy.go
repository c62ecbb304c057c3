package figure

import (
	"errors"
	"fmt"

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
	art lineArt
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
	var lines []summary
	seen := map[string]bool{}
	for _, c := range curves {
		if err := c.check(); err != nil {
			return nil, fmt.Errorf("accuracy figure: %w", err)
		}
		if seen[c.Label] {
			return nil, fmt.Errorf("accuracy figure: two curves are labelled %q: join their members or rename one", c.Label)
		}
		seen[c.Label] = true
		lines = append(lines, c.summary(o.Band))
	}
	a := accuracyCurves{o, newLineArt(lines, o.Band, nil)}
	a.art.markers = o.Markers
	if o.Chance > 0 {
		a.art.references = []Reference{{Label: "chance", Y: o.Chance}}
	}
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
	drawNote(inner, a.art.note())
	l.plot.Draw(l.panel)
	drawEndLabels(c, l.labels, l.data)
}

// layout needs no canvas to draw on: it only measures.
func (a accuracyCurves) layout(c draw.Canvas) accuracyLayout {
	var l accuracyLayout
	x, y := a.axes()
	l.labels = a.art.endLabels(x, y)
	l.panel = cropNote(cropTitle(inset(c), a.Title), a.art.note())
	l.panel = draw.Crop(l.panel, 0, -endLabelsWidth(l.labels), 0, -smallSize/2)
	first, last := a.art.span()
	for ticks := 6; ; ticks-- {
		l.plot = a.plot(integerTicks(int(first), int(last), ticks))
		l.data = l.plot.DataCanvas(l.panel)
		if ticks == 2 || ticksFit(l.plot, l.data) {
			return l
		}
	}
}

func (a accuracyCurves) axes() (x, y axis) {
	first, last := a.art.span()
	x = axis{label: "Epoch", lo: first, hi: last}
	if first == last {
		x.lo, x.hi = first-0.5, last+0.5
	}
	return x, axis{label: a.YLabel, lo: 0, hi: 1}
}

func (a accuracyCurves) plot(xTicks plot.Ticker) *plot.Plot {
	p := newPlot()
	x, y := a.axes()
	x.set(&p.X, 2)
	y.set(&p.Y, 6)
	p.X.Tick.Marker, p.Y.Tick.Marker = xTicks, accuracyTicks
	p.Add(a.art) // Min and Max stay: it is no DataRanger
	return p
}

var accuracyTicks = plot.ConstantTicks{
	{Value: 0, Label: "0.0"}, {Value: 0.2, Label: "0.2"}, {Value: 0.4, Label: "0.4"},
	{Value: 0.6, Label: "0.6"}, {Value: 0.8, Label: "0.8"}, {Value: 1, Label: "1.0"},
}
