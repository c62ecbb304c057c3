package figure

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Schematic shows the steps of a model or a pipeline as boxes joined by arrows, from left to right.
type Schematic struct {
	Title    string
	Boxes    []SchematicBox
	Arrows   []string // beside the arrow from each box to the next; none, or one fewer than boxes
	Vertical bool     // from top to bottom instead
}

// SchematicBox is one step.
type SchematicBox struct {
	Text     string // broken into lines between words, and at \n
	Emphasis bool   // in colour: what the figure is about
}

const (
	boxPad     = 5  // round the text of a box
	leastArrow = 15 // length of an arrow
	boxLead    = leading * labelSize
)

func (s Schematic) heading() string { return s.Title }

func (s Schematic) check() error {
	switch {
	case len(s.Boxes) == 0:
		return errors.New("no boxes: give at least one")
	case len(s.Boxes) > 100:
		return fmt.Errorf("%d boxes: at most 100 can be read", len(s.Boxes))
	case len(s.Arrows) != 0 && len(s.Arrows) != len(s.Boxes)-1:
		return fmt.Errorf("%d arrows between %d boxes: want %d texts, or none", len(s.Arrows), len(s.Boxes), len(s.Boxes)-1)
	}
	for i, b := range s.Boxes {
		if strings.TrimSpace(b.Text) == "" {
			return fmt.Errorf("box %d has no text: say what it does", i)
		}
		if err := checkText(strings.ReplaceAll(b.Text, "\n", " ")); err != nil {
			return err
		}
	}
	return checkTexts(s.Arrows...)
}

func (s Schematic) note() string { return "" }

// arrow is the text beside the i-th arrow.
func (s Schematic) arrow(i int) string {
	if i < len(s.Arrows) {
		return s.Arrows[i]
	}
	return ""
}

func (s Schematic) draw(c draw.Canvas) error {
	if s.Vertical {
		return s.drawDown(c)
	}
	return s.drawAcross(c)
}

// fitBoxes breaks the texts at the longest line with which the boxes come out no wider than free together, or at every word.
func (s Schematic) fitBoxes(free vg.Length) (lines [][]string, widths []vg.Length, used vg.Length) {
	text := newWriter(sans(labelSize), ink)
	longest := vg.Length(0)
	for _, b := range s.Boxes {
		longest = max(longest, widest(text, wrapLines(text, b.Text, vg.Length(math.Inf(1)))))
	}
	for most := longest + 0.01; ; most -= max(1, longest/100) {
		lines, widths, used = nil, nil, 0
		for _, b := range s.Boxes {
			broken := wrapLines(text, b.Text, most)
			width := widest(text, broken) + 2*boxPad
			lines, widths, used = append(lines, broken), append(widths, width), used+width
		}
		if used <= free || most <= 0 {
			return lines, widths, used
		}
	}
}

// drawAcross gives all boxes the same height.
func (s Schematic) drawAcross(c draw.Canvas) error {
	small := newWriter(sans(smallSize), noteColor)
	n := len(s.Boxes)
	arrows := make([]vg.Length, n-1)
	free := c.Size().X - 2
	for i := range arrows {
		arrows[i] = max(leastArrow, widest(small, small.wrap(s.arrow(i), 50))+8)
		free -= arrows[i]
	}
	lines, widths, used := s.fitBoxes(free)
	if used > free {
		return fmt.Errorf("%d boxes are %.1f in too wide for their panel: shorten their texts or the arrows', or set Vertical", n, float64((used-free)/vg.Inch))
	}
	high := 0
	for i := range lines {
		high = max(high, len(lines[i]))
	}
	height := vg.Length(high)*boxLead + 2*boxPad
	if height > c.Size().Y {
		return fmt.Errorf("the boxes need %.1f in and have %.1f in of height: shorten their texts or make the panel larger", float64(height/vg.Inch), float64(c.Size().Y/vg.Inch))
	}
	if n > 1 { // the arrows take what is left, up to a point
		more := min((free-used)/vg.Length(n-1), 14)
		for i := range arrows {
			arrows[i] += more
		}
	}
	x, y := c.Min.X+1, (c.Min.Y+c.Max.Y)/2
	for i := range s.Boxes {
		s.drawBox(c, i, lines[i], rectangle{x, y - height/2, x + widths[i], y + height/2})
		x += widths[i]
		if i == n-1 {
			break
		}
		drawArrow(c, vg.Point{X: x + 2, Y: y}, vg.Point{X: x + arrows[i] - 2, Y: y})
		words := small.wrap(s.arrow(i), arrows[i]-6)
		for k, line := range words {
			small.centred(c, x+arrows[i]/2-1, y+4.5+smallSize*leading*(vg.Length(len(words)-1-k)+0.4), line)
		}
		x += arrows[i]
	}
	return nil
}

// drawDown gives every box the width of the widest.
func (s Schematic) drawDown(c draw.Canvas) error {
	text, small := newWriter(sans(labelSize), ink), newWriter(sans(smallSize), noteColor)
	n := len(s.Boxes)
	var beside vg.Length
	for i := range n - 1 {
		beside = max(beside, small.width(s.arrow(i)))
	}
	lines := make([][]string, n)
	var wide, used vg.Length
	for i, b := range s.Boxes {
		lines[i] = wrapLines(text, b.Text, min(c.Size().X-2-2*boxPad, 130))
		wide = max(wide, widest(text, lines[i])+2*boxPad, 2*(beside+6))
		used += vg.Length(len(lines[i]))*boxLead + 2*boxPad
	}
	if wide > c.Size().X {
		return fmt.Errorf("the boxes need %.1f in and have %.1f in of width: shorten their texts or the arrows'", float64(wide/vg.Inch), float64(c.Size().X/vg.Inch))
	}
	gap := vg.Length(0)
	if n > 1 {
		gap = min((c.Size().Y-used)/vg.Length(n-1), 24)
	}
	if used+gap*vg.Length(n-1) > c.Size().Y || n > 1 && gap < 10 {
		return fmt.Errorf("%d boxes do not fit one above the other in %.1f in: make the panel higher or draw fewer", n, float64(c.Size().Y/vg.Inch))
	}
	x, y := c.Min.X+1+wide/2, c.Max.Y-1
	for i := range s.Boxes {
		height := vg.Length(len(lines[i]))*boxLead + 2*boxPad
		s.drawBox(c, i, lines[i], rectangle{x - wide/2, y - height, x + wide/2, y})
		y -= height
		if i < n-1 {
			drawArrow(c, vg.Point{X: x, Y: y - 1.5}, vg.Point{X: x, Y: y - gap + 1.5})
			small.left(c, x+6, y-gap/2, s.arrow(i))
			y -= gap
		}
	}
	return nil
}

// wrapLines is writer.wrap for text with line breaks of its own.
func wrapLines(w writer, s string, width vg.Length) []string {
	var lines []string
	for part := range strings.SplitSeq(s, "\n") {
		lines = append(lines, w.wrap(part, width)...)
	}
	return lines
}

func widest(w writer, lines []string) (width vg.Length) {
	for _, line := range lines {
		width = max(width, w.width(line))
	}
	return width
}

// rectangle is given by its lower left and upper right corners.
type rectangle struct{ x0, y0, x1, y1 vg.Length }

func (s Schematic) drawBox(c draw.Canvas, i int, lines []string, r rectangle) {
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
	w := newWriter(sans(labelSize), col)
	middle := (r.y0 + r.y1) / 2
	for k, line := range lines {
		w.centred(c, (r.x0+r.x1)/2, middle+boxLead*(vg.Length(len(lines)-1)/2-vg.Length(k)), line)
	}
}

// rounded is the outline of a box with round corners.
func rounded(r rectangle, radius vg.Length) vg.Path {
	var p vg.Path
	p.Move(vg.Point{X: r.x0 + radius, Y: r.y0})
	p.Line(vg.Point{X: r.x1 - radius, Y: r.y0})
	p.QuadTo(vg.Point{X: r.x1, Y: r.y0}, vg.Point{X: r.x1, Y: r.y0 + radius})
	p.Line(vg.Point{X: r.x1, Y: r.y1 - radius})
	p.QuadTo(vg.Point{X: r.x1, Y: r.y1}, vg.Point{X: r.x1 - radius, Y: r.y1})
	p.Line(vg.Point{X: r.x0 + radius, Y: r.y1})
	p.QuadTo(vg.Point{X: r.x0, Y: r.y1}, vg.Point{X: r.x0, Y: r.y1 - radius})
	p.Line(vg.Point{X: r.x0, Y: r.y0 + radius})
	p.QuadTo(vg.Point{X: r.x0, Y: r.y0}, vg.Point{X: r.x0 + radius, Y: r.y0})
	p.Close()
	return p
}

// drawArrow draws an arrow along one of the axes.
func drawArrow(c draw.Canvas, from, to vg.Point) {
	const head, half = 4, 1.8
	back, side := vg.Point{X: to.X - head, Y: to.Y}, vg.Point{Y: half}
	if from.X == to.X {
		back, side = vg.Point{X: to.X, Y: to.Y + head}, vg.Point{X: half}
	}
	c.StrokeLine2(draw.LineStyle{Color: axisColor, Width: 0.8}, from.X, from.Y, back.X, back.Y)
	c.FillPolygon(axisColor, []vg.Point{to, back.Add(side), back.Sub(side)})
}
