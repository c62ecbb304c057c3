package figure

import (
	"fmt"
	"sort"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// lineArt draws the lines, bands and references of Lines between its axes.
type lineArt struct {
	lines      []summary // from the highest final value to the lowest
	styles     map[string]lineStyle
	references []Reference
	band       Band
	markers    bool
	noMembers  bool // omits the number of members from the note
}

// newLineArt sorts the lines by their final values and assigns their styles. colorOf maps labels to the
// labels whose colours they take.
func newLineArt(lines []summary, band Band, colorOf map[string]string) lineArt {
	var labels []string
	for _, l := range lines {
		labels = append(labels, l.label)
	}
	sort.SliceStable(lines, func(i, j int) bool {
		if fx, fy := lines[i].last().mean, lines[j].last().mean; fx != fy {
			return fx > fy
		}
		return lines[i].label < lines[j].label
	})
	return lineArt{lines: lines, styles: stylesOf(labels, colorOf), band: band}
}

// xRange returns the range of x.
func (a lineArt) xRange() (first, last float64) {
	first, last = a.lines[0].points[0].x, a.lines[0].points[0].x
	for _, l := range a.lines {
		first = min(first, l.points[0].x)
		last = max(last, l.points[len(l.points)-1].x)
	}
	return first, last
}

// Plot implements plot.Plotter: bands under lines, the best line on top.
func (a lineArt) Plot(c draw.Canvas, p *plot.Plot) {
	trX, trY := p.Transforms(&c)
	at := func(m meanPoint, y float64) vg.Point { return vg.Point{X: trX(m.x), Y: trY(y)} }
	drawReferences(c, p, a.references)
	for i := len(a.lines) - 1; i >= 0; i-- {
		if a.lines[i].members > 1 && a.band != "" {
			a.drawBand(c, a.lines[i], at)
		}
	}
	for i := len(a.lines) - 1; i >= 0; i-- {
		a.drawLine(c, a.lines[i], at)
	}
}

func (a lineArt) drawBand(c draw.Canvas, s summary, at func(meanPoint, float64) vg.Point) {
	if s.each != nil {
		a.drawMembers(c, s, at)
		return
	}
	for _, points := range s.stretches() {
		var outline []vg.Point
		for _, m := range points {
			outline = append(outline, at(m, m.hi))
		}
		for i := len(points) - 1; i >= 0; i-- {
			outline = append(outline, at(points[i], points[i].lo))
		}
		if !isInside(c, outline) {
			outline = c.ClipPolygonXY(outline)
		}
		c.FillPolygon(translucent(a.styles[s.label].color), outline)
	}
}

// drawMembers draws the lines of the members.
func (a lineArt) drawMembers(c draw.Canvas, s summary, at func(meanPoint, float64) vg.Point) {
	style := draw.LineStyle{Color: mix(a.styles[s.label].color, rgb(0xffffff), 0.4), Width: 0.5}
	for _, member := range s.each {
		for _, points := range member.stretches() {
			var line []vg.Point
			for _, m := range points {
				line = append(line, at(m, m.mean))
			}
			strokeWithin(c, style, line)
		}
	}
}

func (a lineArt) drawLine(c draw.Canvas, s summary, at func(meanPoint, float64) vg.Point) {
	style := a.styles[s.label]
	every := (len(s.points) + 24) / 25
	for _, points := range s.stretches() {
		var line []vg.Point
		for i, m := range points {
			pt := at(m, m.mean)
			line = append(line, pt)
			alone := len(points) == 1 // needs a dot, because it has no line
			if (alone || a.markers && i%every == 0) && isInside(c, []vg.Point{pt}) {
				circle(c, style.color, 1.5, pt)
			}
		}
		strokeWithin(c,
			draw.LineStyle{Color: style.color, Width: lineWidth, Dashes: style.dashes}, line)
	}
}

// strokeWithin strokes the part of a line that lies within c.
func strokeWithin(c draw.Canvas, style draw.LineStyle, line []vg.Point) {
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

// names returns the labels of the lines, with n where it differs between lines.
func (a lineArt) names() []string {
	lo, hi := a.memberRange()
	var names []string
	for _, s := range a.lines {
		name := s.label
		if lo != hi {
			name = fmt.Sprintf("%s (n=%d)", s.label, s.members)
		}
		names = append(names, name)
	}
	return names
}

// endLabels returns the labels of lines and references from top to bottom.
func (a lineArt) endLabels(x, y axis) []endLabel {
	var labels []endLabel
	for i, name := range a.names() {
		end := a.lines[i].last()
		labels = append(labels, endLabel{text: name, x: x.norm(end.x),
			y: min(max(y.norm(end.mean), 0), 1), color: a.styles[a.lines[i].label].color})
	}
	return insertReferences(labels, a.references, y)
}

// legend returns a legend of lines and references, used where end labels do not fit.
func (a lineArt) legend() legend {
	var l legend
	for i, name := range a.names() {
		style := a.styles[a.lines[i].label]
		l = append(l, legendEntry{text: name, color: style.color, line: true, dashes: style.dashes})
	}
	for _, r := range a.references {
		l = append(l, legendEntry{text: r.Label, color: grey, line: true,
			dashes: referenceStyle.Dashes})
	}
	return l
}

func (a lineArt) memberRange() (lo, hi int) {
	lo, hi = a.lines[0].members, a.lines[0].members
	for _, s := range a.lines {
		lo, hi = min(lo, s.members), max(hi, s.members)
	}
	return lo, hi
}

// note describes the lines and bands and counts missing values.
func (a lineArt) note() string {
	var missing, total int
	for _, s := range a.lines {
		missing, total = missing+s.missing, total+s.total
	}
	var parts []string
	switch lo, hi := a.memberRange(); {
	case a.noMembers:
	case hi == 1:
		parts = append(parts, "One member per line (n = 1)")
	case lo == hi:
		parts = append(parts, fmt.Sprintf("Mean of n = %d members", hi))
	default:
		parts = append(parts, fmt.Sprintf("Mean of n = %d to %d members", lo, hi))
	}
	if lo, hi := a.memberRange(); hi > 1 {
		switch {
		case a.band == BandMinMax:
			parts = append(parts, "band: minimum to maximum")
		case a.band == BandSD && hi >= minSD:
			parts = append(parts, "band: ±1 SD")
		}
		if a.band == BandSD && lo < minSD {
			parts = append(parts, "thin lines: members where n = 2")
		}
	}
	parts = append(parts, missingNote(missing, total)...)
	if parts == nil {
		return ""
	}
	return strings.Join(parts, "; ") + "."
}
