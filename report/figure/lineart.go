package figure

import (
	"cmp"
	"fmt"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// lineArt draws the lines, bands and references of a panel between its axes.
type lineArt struct {
	Lines
	lines   []summary // from the highest final value to the lowest
	members tally
}

// art reduces the lines over their members, gives them styles and sorts them by their final values.
func (l Lines) art() lineArt {
	a := lineArt{Lines: l}
	styles := labels(l.labels).styles(len(l.Series), true)
	for i, series := range l.Series {
		s := summarize(series, l.Band)
		s.style = styles[i]
		a.lines = append(a.lines, s)
		a.members.add(s.members, s.missing, s.total)
	}
	slices.SortStableFunc(a.lines, func(s, t summary) int {
		return cmp.Or(cmp.Compare(t.last().mean, s.last().mean), cmp.Compare(s.label, t.label))
	})
	return a
}

// Plot implements plot.Plotter: bands under lines, the best line on top.
func (a lineArt) Plot(c draw.Canvas, p *plot.Plot) {
	trX, trY := p.Transforms(&c)
	at := func(m meanPoint, y float64) vg.Point { return vg.Point{X: trX(m.x), Y: trY(y)} }
	drawReferences(c, p, a.References)
	for _, s := range slices.Backward(a.lines) {
		switch {
		case s.each != nil:
			thin := draw.LineStyle{Color: mix(s.style.color, rgb(0xffffff), 0.4), Width: 0.5}
			for _, member := range s.each {
				for _, points := range member.stretches() {
					strokeMeans(c, thin, points, at)
				}
			}
		case s.members > 1 && a.Band != "":
			drawBand(c, s, at)
		}
	}
	for _, s := range slices.Backward(a.lines) {
		a.drawLine(c, s, at)
	}
}

// drawBand fills the area between the ends of the band.
func drawBand(c draw.Canvas, s summary, at func(meanPoint, float64) vg.Point) {
	for _, points := range s.stretches() {
		var outline []vg.Point
		for _, m := range points {
			outline = append(outline, at(m, m.hi))
		}
		for _, m := range slices.Backward(points) {
			outline = append(outline, at(m, m.lo))
		}
		if !isInside(c, outline) {
			outline = c.ClipPolygonXY(outline)
		}
		c.FillPolygon(translucent(s.style.color), outline)
	}
}

// drawLine draws the means of a line, with its markers. A point alone has no line and needs a dot.
func (a lineArt) drawLine(c draw.Canvas, s summary, at func(meanPoint, float64) vg.Point) {
	every := (len(s.points) + 24) / 25
	for _, points := range s.stretches() {
		for i, m := range points {
			pt := at(m, m.mean)
			if (len(points) == 1 || a.Markers && i%every == 0) && isInside(c, []vg.Point{pt}) {
				circle(c, s.style.color, 1.5, pt)
			}
		}
		strokeMeans(c, draw.LineStyle{Color: s.style.color, Width: lineWidth, Dashes: s.style.dashes}, points, at)
	}
}

// strokeMeans strokes the part of a line through means that lies within c.
func strokeMeans(c draw.Canvas, style draw.LineStyle, points []meanPoint,
	at func(meanPoint, float64) vg.Point) {
	var line []vg.Point
	for _, m := range points {
		line = append(line, at(m, m.mean))
	}
	lines := [][]vg.Point{line}
	if !isInside(c, line) {
		lines = c.ClipLinesXY(line)
	}
	c.StrokeLines(style, lines...)
}

// isInside reports whether all points lie within c.
func isInside(c draw.Canvas, points []vg.Point) bool {
	const slack = 1e-6
	for _, p := range points {
		if p.X < c.Min.X-slack || p.X > c.Max.X+slack ||
			p.Y < c.Min.Y-slack || p.Y > c.Max.Y+slack {
			return false
		}
	}
	return true
}

// cutNote says whether a fixed y axis cuts lines off.
func (a lineArt) cutNote(y axis) string {
	for _, s := range a.lines {
		for _, p := range slices.Concat(s.stretches()...) {
			if a.YMin < a.YMax && !y.contains(p.mean) {
				return "The y axis cuts lines off"
			}
		}
	}
	return ""
}

// name returns the label of a line, with its n if that differs between lines.
func (a lineArt) name(s summary) string {
	if a.members.lo == a.members.hi {
		return s.label
	}
	return fmt.Sprintf("%s (n=%d)", s.label, s.members)
}

// endLabels returns the labels of lines and references from top to bottom.
func (a lineArt) endLabels(x, y axis) []endLabel {
	var labels []endLabel
	for _, s := range a.lines {
		end := s.last()
		labels = append(labels, endLabel{text: a.name(s), x: x.norm(end.x),
			y: min(max(y.norm(end.mean), 0), 1), color: s.style.color})
	}
	return insertReferences(labels, a.References, y)
}

// legend returns a legend of lines and references, used if end labels do not fit.
func (a lineArt) legend() legend {
	var l legend
	for _, s := range a.lines {
		l = append(l, legendEntry{text: a.name(s), color: s.style.color, line: true, dashes: s.style.dashes})
	}
	for _, r := range a.References {
		l = append(l, legendEntry{text: r.Label, color: grey, line: true,
			dashes: referenceStyle.Dashes})
	}
	return l
}
