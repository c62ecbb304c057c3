package figure

import (
	"fmt"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Puzzle shows a puzzle of the Latin square task: 4 x 4 cells with symbols, blanks and the probe.
type Puzzle struct {
	Title  string
	Cells  [16]int // row by row: 0 blank, 1 to 4 symbols, or Probe
	Answer int     // symbol of the probe, shown below the grid; 0 shows none
}

// Probe is the value of the probe, the cell whose symbol is the answer. It is shown as a question mark.
const Probe = 5

// probeColor lies behind the question mark.
var probeColor = rgb(0xfdf0d0)

func (p Puzzle) heading() string { return p.Title }

func (p Puzzle) check() error { return nil }

func (p Puzzle) draw(c draw.Canvas) (note string, err error) {
	foot := vg.Length(0)
	if p.Answer != 0 {
		foot = 14
	}
	side := min(c.Size().X, c.Size().Y-foot) - 1
	if side < 40 {
		return "", fmt.Errorf("%.1f in are too little for a puzzle: make the panel larger",
			float64(side/vg.Inch))
	}
	side = min(side, 1.6*vg.Inch)
	x, y := c.Min.X+0.5, c.Max.Y-0.5-side
	cell := side / 4
	for i, v := range p.Cells {
		cx, cy := x+cell*(vg.Length(i%4)+0.5), y+side-cell*(vg.Length(i/4)+0.5)
		if v == Probe {
			fill(c, probeColor, rect(cx-cell/2, cy-cell/2, cx+cell/2, cy+cell/2))
			w := newWriter(bold(sans(max(0.62*cell, smallSize))), ink)
			w.centred(c, cx, cy, "?")
			continue
		}
		drawSymbol(c, v, vg.Point{X: cx, Y: cy}, 0.3*cell)
	}
	line := hairlineOf(axisColor)
	for k := 1; k < 4; k++ {
		at := cell * vg.Length(k)
		c.StrokeLine2(line, x+at, y, x+at, y+side)
		c.StrokeLine2(line, x, y+at, x+side, y+at)
	}
	line.Width = 1
	frame := corners(rect(x, y, x+side, y+side))
	c.StrokeLines(line, append(frame, frame[:2]...)) // joins the line at its start too
	if p.Answer != 0 {
		const text = "answer:"
		radius := min(0.3*cell, 5)
		left := x + (side-smallText.width(text)-4-2*radius)/2
		smallText.left(c, left, y-foot/2-1, text)
		drawSymbol(c, p.Answer, vg.Point{X: left + smallText.width(text) + 4 + radius, Y: y - foot/2 - 1},
			radius)
	}
	return "", nil
}

// drawSymbol draws one of the four symbols, which differ in shape and colour, within a circle of
// the given radius.
func drawSymbol(c draw.Canvas, symbol int, at vg.Point, r vg.Length) {
	polygon := func(n int, radius vg.Length, start float64) []vg.Point {
		var points []vg.Point
		for k := range n {
			sin, cos := math.Sincos(start + 2*math.Pi*float64(k)/float64(n))
			points = append(points,
				vg.Point{X: at.X + radius*vg.Length(cos), Y: at.Y + radius*vg.Length(sin)})
		}
		return points
	}
	switch symbol {
	case 1:
		circle(c, blue, 0.92*r, at)
	case 2:
		c.FillPolygon(vermillion, polygon(4, 1.15*r, math.Pi/4))
	case 3:
		at.Y -= 0.15 * r
		c.FillPolygon(green, polygon(3, 1.2*r, math.Pi/2))
	case 4: // a plus
		const arm = 0.34
		var points []vg.Point
		for _, p := range [][2]vg.Length{{arm, 1}, {arm, arm}, {1, arm}, {1, -arm}, {arm, -arm},
			{arm, -1}, {-arm, -1}, {-arm, -arm}, {-1, -arm}, {-1, arm}, {-arm, arm}, {-arm, 1}} {
			points = append(points, vg.Point{X: at.X + p[0]*r, Y: at.Y + p[1]*r})
		}
		c.FillPolygon(purple, points)
	}
}
