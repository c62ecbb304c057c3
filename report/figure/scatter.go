package figure

import (
	"errors"
	"fmt"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Scatter shows one measure against another.
type Scatter struct {
	Title, XLabel, YLabel  string
	Points                 []ScatterPoint
	Annotation             string // above the axes: "Spearman ρ = .96, p < .001, n = 20 σ levels"
	LogX, LogY             bool
	XMin, XMax, YMin, YMax float64 // the axes; from the numbers where both ends are 0
	ErrorNote              string  // what the error bars are, such as "±1 SD of 15 seeds"; needed where there are any
	HideLabels             bool    // colours alone
}

// ScatterPoint is one point.
type ScatterPoint struct {
	Label      string // written beside the point or at the end of a leader, where there is room; it decides the colour; may be empty
	ColorOf    string // the label whose colour it has instead
	X, Y       float64
	XErr, YErr float64 // half lengths of the error bars; 0 draws none
}

func (s Scatter) heading() string { return s.Title }

func (s Scatter) check() error {
	if err := checkTexts(s.XLabel, s.YLabel, s.Annotation, s.ErrorNote); err != nil {
		return err
	}
	if len(s.Points) == 0 {
		return errors.New("no points: give at least one")
	}
	if err := checkFixed("X", s.XMin, s.XMax, s.LogX); err != nil {
		return err
	}
	if err := checkFixed("Y", s.YMin, s.YMax, s.LogY); err != nil {
		return err
	}
	bars := false
	for i, p := range s.Points {
		if err := checkTexts(p.Label, p.ColorOf); err != nil {
			return err
		}
		for _, v := range []float64{p.X, p.Y, p.XErr, p.YErr} {
			if err := checkNumber(fmt.Sprintf("a number of point %d (%q)", i, p.Label), v); err != nil {
				return fmt.Errorf("%w; leave points without numbers out", err)
			}
		}
		if p.XErr < 0 || p.YErr < 0 {
			return fmt.Errorf("point %d (%q) has error bars of %g and %g: want 0 or more", i, p.Label, p.XErr, p.YErr)
		}
		if s.LogX && p.X < 1/largest || s.LogY && p.Y < 1/largest {
			return fmt.Errorf("point %d (%q) at (%g, %g) has no place on a logarithmic axis: its numbers must be positive", i, p.Label, p.X, p.Y)
		}
		bars = bars || p.XErr > 0 || p.YErr > 0
	}
	if bars && s.ErrorNote == "" {
		return errors.New("the points have error bars: say in ErrorNote what they are")
	}
	x, y := s.axes()
	for i, p := range s.Points {
		if !x.holds(p.X) || !y.holds(p.Y) {
			return fmt.Errorf("point %d (%q) at (%g, %g) lies outside the axes: widen them", i, p.Label, p.X, p.Y)
		}
	}
	return nil
}

func (s Scatter) axes() (x, y axis) {
	var xs, ys []float64
	for _, p := range s.Points {
		xs, ys = append(xs, ends(p.X, p.XErr, s.LogX)...), append(ys, ends(p.Y, p.YErr, s.LogY)...)
	}
	return rangeOf(s.XLabel, xs, 0.06, s.LogX).fixed(s.XMin, s.XMax), rangeOf(s.YLabel, ys, 0.06, s.LogY).fixed(s.YMin, s.YMax)
}

// ends are those of an error bar, as far as a logarithmic axis has a place for them.
func ends(v, err float64, log bool) []float64 {
	if log && v-err < v/1000 {
		return []float64{v, v + err}
	}
	return []float64{v - err, v + err}
}

func (s Scatter) note() string {
	if s.ErrorNote == "" {
		return ""
	}
	return "Error bars: " + s.ErrorNote + "."
}

func (s Scatter) noteIn(body draw.Canvas) string {
	left, err := s.paint(body)
	if err != nil {
		return s.note()
	}
	return sentences(s.note(), unlabelled(left, len(s.Points)))
}

func (s Scatter) draw(c draw.Canvas) error {
	_, err := s.paint(c)
	return err
}

// paint draws the panel and returns how many labels found no place.
func (s Scatter) paint(c draw.Canvas) (left int, err error) {
	area := draw.Crop(c, 0, 0, 0, -smallSize/2)
	small := newWriter(sans(smallSize), ink)
	lines := small.wrap(s.Annotation, c.Size().X-30)
	area.Max.Y -= vg.Length(len(lines)) * smallSize * leading
	x, y := s.axes()
	p := newPlot()
	y.set(&p.Y, yTicks(area.Size().Y-30))
	p.Add(plotterFunc(func(c draw.Canvas, p *plot.Plot) { left = s.marks(c, p) }))
	data, err := drawAxes(p, area, x)
	if err != nil {
		return 0, err
	}
	for i, line := range lines {
		small.left(c, data.Min.X, c.Max.Y-smallSize*leading*(vg.Length(i)+0.5), line)
	}
	return left, nil
}

func (s Scatter) colors() []color.NRGBA {
	var labels []string
	colorOf := map[string]string{}
	for _, p := range s.Points {
		if p.Label != "" || p.ColorOf != "" {
			labels = append(labels, p.Label)
			colorOf[p.Label] = p.ColorOf
		}
	}
	styles := stylesOf(labels, colorOf)
	var colors []color.NRGBA
	for _, p := range s.Points {
		style, ok := styles[p.Label]
		if p.ColorOf != "" { // points may share a label and not the colour
			style = lineStyles([]string{p.ColorOf})[p.ColorOf]
		}
		if !ok {
			style.color = blue
		}
		colors = append(colors, style.color)
	}
	return colors
}

// marks draws the points and as many of their labels as have room, and returns how many have none.
func (s Scatter) marks(c draw.Canvas, p *plot.Plot) (left int) {
	trX, trY := p.Transforms(&c)
	colors := s.colors()
	const radius = 2.2
	var spots []spot
	var bars []segment
	clampX := func(v float64) vg.Length { return min(max(trX(v), c.Min.X), c.Max.X) }
	clampY := func(v float64) vg.Length { return min(max(trY(v), c.Min.Y), c.Max.Y) }
	for i, pt := range s.Points {
		at := vg.Point{X: trX(pt.X), Y: trY(pt.Y)}
		bar := func(from, to vg.Point) {
			bars = append(bars, segment{from, to})
			c.StrokeLine2(draw.LineStyle{Color: colors[i], Width: 0.7}, from.X, from.Y, to.X, to.Y)
		}
		if pt.XErr > 0 {
			bar(vg.Point{X: clampX(pt.X - pt.XErr), Y: at.Y}, vg.Point{X: clampX(pt.X + pt.XErr), Y: at.Y})
		}
		if pt.YErr > 0 {
			bar(vg.Point{X: at.X, Y: clampY(pt.Y - pt.YErr)}, vg.Point{X: at.X, Y: clampY(pt.Y + pt.YErr)})
		}
		text := pt.Label
		if s.HideLabels {
			text = ""
		}
		spots = append(spots, spot{at: at, radius: radius, text: text, color: readable(colors[i])})
	}
	for i, at := range spots {
		c.DrawGlyph(draw.GlyphStyle{Color: color.White, Radius: radius + 0.5, Shape: draw.CircleGlyph{}}, at.at)
		c.DrawGlyph(draw.GlyphStyle{Color: colors[i], Radius: radius, Shape: draw.CircleGlyph{}}, at.at)
	}
	l := labelling{c: c, spots: spots, avoid: bars, over: 40} // a label across an error bar is hard to read: rather a leader of 50 points
	placed, left := l.place()
	l.draw(placed)
	return left
}
