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
	Title, XLabel, YLabel string
	Points                []ScatterPoint
	Annotation            string // above the axes: "Spearman ρ = .96, p < .001, n = 20 σ levels"
	Note                  string // what points and error bars are; required if there are error bars
}

// ScatterPoint is one point.
type ScatterPoint struct {
	Label      string // beside the point, or joined to it by a line; selects the colour; may be empty
	ColorOf    string // label that selects the colour instead
	X, Y       float64
	XErr, YErr float64 // half lengths of the error bars; 0 for none
}

// scatterRadius is the radius of the points.
const scatterRadius = 2.2

func (s Scatter) heading() string { return s.Title }

func (s Scatter) check() error {
	if len(s.Points) == 0 {
		return errors.New("no points: give at least one")
	}
	for i, p := range s.Points {
		for _, v := range []float64{p.X, p.Y, p.XErr, p.YErr} {
			if err := checkNumber(fmt.Sprintf("a number of point %d (%q)", i, p.Label),
				v); err != nil {
				return fmt.Errorf("%w; leave points without numbers out", err)
			}
		}
	}
	return nil
}

func (s Scatter) axes() (x, y axis) {
	var xs, ys []float64
	for _, p := range s.Points {
		xs, ys = append(xs, p.X-p.XErr, p.X+p.XErr), append(ys, p.Y-p.YErr, p.Y+p.YErr)
	}
	const pad = 0.06
	return rangeOf(s.XLabel, xs, pad, false).widened(), rangeOf(s.YLabel, ys, pad, false).widened()
}

func (s Scatter) draw(c draw.Canvas) (note string, err error) {
	area := draw.Crop(c, 0, 0, 0, -smallSize/2)
	lines := smallText.wrap(s.Annotation, c.Size().X-30)
	area.Max.Y -= vg.Length(len(lines)) * smallSize * leading
	x, y := s.axes()
	p := newPlot()
	y.set(&p.Y, yTicks(area.Size().Y-30))
	crowded := ""
	p.Add(plotterFunc(func(c draw.Canvas, p *plot.Plot) { crowded = s.drawPoints(c, p) }))
	data, err := drawAxes(p, area, x)
	if err != nil {
		return "", err
	}
	for i, line := range lines {
		smallText.left(c, data.Min.X, c.Max.Y-smallSize*leading*(vg.Length(i)+0.5), line)
	}
	return sentences(crowded, s.Note), nil
}

func (s Scatter) labels(i int) (label, colorOf string) { return s.Points[i].Label, s.Points[i].ColorOf }

// drawPoints draws error bars, points and labels. It returns a note on labels without room.
func (s Scatter) drawPoints(c draw.Canvas, p *plot.Plot) (note string) {
	trX, trY := p.Transforms(&c)
	styles := labels(s.labels).styles(len(s.Points), false)
	l := labeller{area: c.Rectangle, radius: scatterRadius}
	for i, pt := range s.Points {
		at := vg.Point{X: trX(pt.X), Y: trY(pt.Y)}
		bar := func(from, to vg.Point) {
			l.strokes = append(l.strokes, segment{from, to})
			c.StrokeLine2(draw.LineStyle{Color: styles[i].color, Width: 0.7}, from.X, from.Y, to.X, to.Y)
		}
		if pt.XErr > 0 {
			bar(vg.Point{X: trX(pt.X - pt.XErr), Y: at.Y},
				vg.Point{X: trX(pt.X + pt.XErr), Y: at.Y})
		}
		if pt.YErr > 0 {
			bar(vg.Point{X: at.X, Y: trY(pt.Y - pt.YErr)},
				vg.Point{X: at.X, Y: trY(pt.Y + pt.YErr)})
		}
		l.points = append(l.points, labelledPoint{at, pt.Label, readable(styles[i].color)})
	}
	labels, note := l.place()
	clearGround(c, labels)
	for i, point := range l.points {
		circle(c, color.White, scatterRadius+0.5, point.at)
		circle(c, styles[i].color, scatterRadius, point.at)
	}
	drawLabels(c, labels)
	return note
}
