package figure

import (
	"cmp"
	"fmt"
	"image/color"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// legendEntry names a colour.
type legendEntry struct {
	text   string
	color  color.NRGBA
	line   bool // draws a stroke rather than a square
	dashes []vg.Length
	more   int // if above 0, the entry stands for this number of omitted names
}

// legend lists colours with their names, in rows or in one column.
type legend []legendEntry

const (
	swatch       = 6 // side of a square
	swatchGap    = 3 // from a square to its text
	entryGap     = 9 // between entries in a row
	legendLead   = leading * smallSize
	strokeSwatch = 12
)

// markWidth returns the width of the colour mark and its gap to the text.
func (e legendEntry) markWidth() vg.Length {
	switch {
	case e.more > 0:
		return 0
	case e.line:
		return strokeSwatch + swatchGap
	}
	return swatch + swatchGap
}

func (e legendEntry) width() vg.Length {
	return e.markWidth() + smallText.width(e.text)
}

func (e legendEntry) draw(c draw.Canvas, x, y vg.Length) {
	switch {
	case e.more > 0:
	case e.line:
		c.StrokeLine2(draw.LineStyle{Color: e.color, Width: lineWidth, Dashes: e.dashes}, x, y,
			x+strokeSwatch, y)
	default:
		square := rect(x, y-swatch/2, x+swatch, y+swatch/2)
		fill(c, e.color, square)
		outline(c, hairlineOf(mix(e.color, black, 0.25)), square)
	}
	smallText.left(c, x+e.markWidth(), y, e.text)
}

// rows breaks the legend into rows no wider than width. If the entries are aligned in columns, pitch is
// the width of a column, else 0.
func (l legend) rows(width vg.Length) (rows []legend, pitch vg.Length) {
	var used vg.Length
	for _, e := range l {
		if len(rows) == 0 || used+e.width() > width {
			rows, used = append(rows, nil), 0
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], e)
		used += e.width() + entryGap
	}
	pitch, _ = l.column()
	pitch += entryGap
	columns := max(1, int((width+entryGap)/pitch))
	if gridded := (len(l) + columns - 1) / columns; len(rows) < 2 || gridded > len(rows)+1 {
		return rows, 0
	}
	return slices.Collect(slices.Chunk(l, columns)), pitch
}

// height returns the height of the legend in rows.
func (l legend) height(width vg.Length) vg.Length {
	rows, _ := l.rows(width)
	return vg.Length(len(rows)) * legendLead
}

// drawRows draws the legend in rows below the upper left corner (x, top). A width of 0 gives one column.
func (l legend) drawRows(c draw.Canvas, x, top, width vg.Length) {
	rows, pitch := l.rows(width)
	for i, row := range rows {
		at := x
		for _, e := range row {
			e.draw(c, at, top-legendLead*(vg.Length(i)+0.5))
			at += cmp.Or(pitch, e.width()+entryGap)
		}
	}
}

// column returns the size of the legend drawn in one column.
func (l legend) column() (width, height vg.Length) {
	for _, e := range l {
		width = max(width, e.width())
	}
	return width, vg.Length(len(l)) * legendLead
}

// withoutLast returns the legend without its last name, ending in the number of names left out. It
// returns nil if no name would be left.
func (l legend) withoutLast() legend {
	more := l[len(l)-1].more
	names := l[:len(l)-min(more, 1)]
	if len(names) < 2 {
		return nil
	}
	return append(slices.Clone(names[:len(names)-1]),
		legendEntry{text: fmt.Sprintf("and %d more", more+1), more: more + 1})
}

// splitOff splits c into the space for a drawing, whose width is at most aspect times its height, and
// the legend. The legend goes to the right of the drawing or in rows below it, whichever leaves the
// larger drawing. It returns the space and a function that draws the legend. Names without room are
// counted instead.
func (l legend) splitOff(c draw.Canvas, aspect vg.Length) (draw.Canvas, func(draw.Canvas), error) {
	if len(l) == 0 {
		return c, func(draw.Canvas) {}, nil
	}
	const gap = 8
	size := c.Size()
	width, height := l.column()
	right := min((size.X-width-gap)/aspect, size.Y)
	if height > size.Y {
		right = 0
	}
	rows := l.height(size.X)
	below := min(size.X/aspect, size.Y-rows-gap)
	if max(right, below) < 0.4*size.Y {
		if fewer := l.withoutLast(); fewer != nil {
			return fewer.splitOff(c, aspect)
		}
		return c, nil, fmt.Errorf(
			"the legend leaves too little room: enlarge the panel or shorten %q", l[0].text)
	}
	if right >= below {
		space := draw.Crop(c, 0, -min(width+gap, size.X), 0, 0)
		drawn := min(space.Size().X, space.Size().Y*aspect)
		x := space.Min.X + drawn + gap
		return space, func(to draw.Canvas) { l.drawRows(to, x, c.Max.Y, 0) }, nil
	}
	space := draw.Crop(c, 0, 0, rows+gap, 0)
	return space, func(to draw.Canvas) { l.drawRows(to, c.Min.X, c.Min.Y+rows, size.X) }, nil
}

// rect returns a rectangle by its lower left and upper right corners.
func rect(x0, y0, x1, y1 vg.Length) vg.Rectangle {
	return vg.Rectangle{Min: vg.Point{X: x0, Y: y0}, Max: vg.Point{X: x1, Y: y1}}
}

// corners returns the corners counter-clockwise from the lower left.
func corners(r vg.Rectangle) []vg.Point {
	return []vg.Point{r.Min, {X: r.Max.X, Y: r.Min.Y}, r.Max, {X: r.Min.X, Y: r.Max.Y}}
}

// fill paints a rectangle.
func fill(c draw.Canvas, col color.Color, r vg.Rectangle) { c.FillPolygon(col, corners(r)) }

// circle paints a disc.
func circle(c draw.Canvas, col color.Color, radius vg.Length, at vg.Point) {
	c.DrawGlyph(draw.GlyphStyle{Color: col, Radius: radius, Shape: draw.CircleGlyph{}}, at)
}

// outline strokes the edges of a rectangle.
func outline(c draw.Canvas, line draw.LineStyle, r vg.Rectangle) {
	c.StrokeLines(line, append(corners(r), r.Min))
}

// hairlineOf returns the style of a hairline.
func hairlineOf(col color.Color) draw.LineStyle { return draw.LineStyle{Color: col, Width: hairline} }
