package figure

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Schematic shows the steps of a model or a pipeline as boxes joined by arrows, from left to right.
type Schematic struct {
	Title string
	Boxes []SchematicBox
}

// SchematicBox is one step.
type SchematicBox struct {
	Text     string // wrapped between words and at \n
	Emphasis bool   // draws the box in colour
}

const (
	boxPad   = 5  // around the text of a box
	minArrow = 15 // smallest length of an arrow
	boxLead  = leading * labelSize
)

func (s Schematic) heading() string { return s.Title }

func (s Schematic) check() error { return nil }

// fitBoxes wraps the texts at the largest line width for which the boxes together are no wider than free,
// or at every word if there is none.
func (s Schematic) fitBoxes(free vg.Length) (lines [][]string, widths []vg.Length, used vg.Length) {
	longest := vg.Length(0)
	for _, b := range s.Boxes {
		longest = max(longest, widest(labelText, wrapLines(b.Text, vg.Length(math.Inf(1)))))
	}
	for limit := longest + 0.01; ; limit -= max(1, longest/100) {
		lines, widths, used = nil, nil, 0
		for _, b := range s.Boxes {
			broken := wrapLines(b.Text, limit)
			width := widest(labelText, broken) + 2*boxPad
			lines, widths, used = append(lines, broken), append(widths, width), used+width
		}
		if used <= free || limit <= 0 {
			return lines, widths, used
		}
	}
}

// draw draws boxes of equal height joined by arrows.
func (s Schematic) draw(c draw.Canvas) (note string, err error) {
	arrows := vg.Length(len(s.Boxes) - 1)
	free := c.Size().X - 2 - minArrow*arrows
	lines, widths, used := s.fitBoxes(free)
	if used > free {
		return "", fmt.Errorf("%d boxes are %.1f in too wide for their panel: shorten their texts",
			len(s.Boxes), float64((used-free)/vg.Inch))
	}
	high := 0
	for i := range lines {
		high = max(high, len(lines[i]))
	}
	height := vg.Length(high)*boxLead + 2*boxPad
	if height > c.Size().Y {
		return "", fmt.Errorf("the boxes need %.1f in and have %.1f in of height: shorten their texts",
			float64(height/vg.Inch), float64(c.Size().Y/vg.Inch))
	}
	arrow := vg.Length(minArrow)
	if arrows > 0 { // arrows share the remaining width, up to 14 points each
		arrow += min((free-used)/arrows, 14)
	}
	x, y := c.Min.X+1, (c.Min.Y+c.Max.Y)/2
	for i := range s.Boxes {
		if i > 0 {
			drawArrow(c, vg.Point{X: x + 2, Y: y}, arrow-4)
			x += arrow
		}
		s.drawBox(c, i, lines[i], rect(x, y-height/2, x+widths[i], y+height/2))
		x += widths[i]
	}
	return "", nil
}

// wrapLines wraps text that may contain line breaks to a width.
func wrapLines(s string, width vg.Length) []string {
	var lines []string
	for part := range strings.SplitSeq(s, "\n") {
		lines = append(lines, labelText.wrap(part, width)...)
	}
	return lines
}

func (s Schematic) drawBox(c draw.Canvas, i int, lines []string, r vg.Rectangle) {
	body, edge := rgb(0xf2f2f2), rgb(0x8a8a8a)
	col, width := ink, hairline
	if s.Boxes[i].Emphasis {
		body, edge = mix(blue, rgb(0xffffff), 0.86), blue
		col, width = mix(blue, black, 0.55), 1
	}
	path := rounded(r, 3)
	c.SetColor(body)
	c.Fill(path)
	c.SetColor(edge)
	c.SetLineWidth(width)
	c.SetLineDash(nil, 0)
	c.Stroke(path)
	w := labelText.in(col)
	middle := (r.Min.Y + r.Max.Y) / 2
	for k, line := range lines {
		w.centred(c, (r.Min.X+r.Max.X)/2, middle+boxLead*(vg.Length(len(lines)-1)/2-vg.Length(k)), line)
	}
}

// rounded returns the outline of a box with round corners.
func rounded(r vg.Rectangle, radius vg.Length) vg.Path {
	var p vg.Path
	p.Move(vg.Point{X: r.Min.X + radius, Y: r.Min.Y})
	p.Line(vg.Point{X: r.Max.X - radius, Y: r.Min.Y})
	p.QuadTo(vg.Point{X: r.Max.X, Y: r.Min.Y}, vg.Point{X: r.Max.X, Y: r.Min.Y + radius})
	p.Line(vg.Point{X: r.Max.X, Y: r.Max.Y - radius})
	p.QuadTo(vg.Point{X: r.Max.X, Y: r.Max.Y}, vg.Point{X: r.Max.X - radius, Y: r.Max.Y})
	p.Line(vg.Point{X: r.Min.X + radius, Y: r.Max.Y})
	p.QuadTo(vg.Point{X: r.Min.X, Y: r.Max.Y}, vg.Point{X: r.Min.X, Y: r.Max.Y - radius})
	p.Line(vg.Point{X: r.Min.X, Y: r.Min.Y + radius})
	p.QuadTo(vg.Point{X: r.Min.X, Y: r.Min.Y}, vg.Point{X: r.Min.X + radius, Y: r.Min.Y})
	p.Close()
	return p
}

// drawArrow draws an arrow to the right.
func drawArrow(c draw.Canvas, from vg.Point, length vg.Length) {
	const head, half = 4, 1.8
	tip := vg.Point{X: from.X + length, Y: from.Y}
	back := vg.Point{X: tip.X - head, Y: from.Y}
	c.StrokeLine2(draw.LineStyle{Color: axisColor, Width: 0.8}, from.X, from.Y, back.X, back.Y)
	side := vg.Point{Y: half}
	c.FillPolygon(axisColor, []vg.Point{tip, back.Add(side), back.Sub(side)})
}
