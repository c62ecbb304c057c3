package figure

import (
	"cmp"
	"errors"
	"fmt"
	"image"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"torchpe/internal/number"
)

// Scale maps a matrix's numbers to colours.
type Scale string

// The scales. Cells without a value (NaN) are grey in both.
const (
	Sequential Scale = "sequential" // viridis: dark for low, light for high
	Diverging  Scale = "diverging"  // blue below 0, white at 0, red above
)

// Matrix shows numbers in rows and columns as a heat map.
type Matrix struct {
	Title, XLabel, YLabel   string
	Rows, Columns           int
	Values                  []float64 // [Rows,Columns], row-major; the first row is at the top
	Scale                   Scale     // empty counts as Sequential
	Min, Max                float64   // range of the colours; both 0 for automatic. Diverging: -Min = Max
	BarLabel                string    // label of the colour bar
	HideBar                 bool      // omits the colour bar, for panels that share one
	RowLabels, ColumnLabels []string  // none or one each, possibly ""; thinned out if too dense
	Groups                  []int     // groups of rows (and columns of a square matrix), from 0; or none
	GroupNames              []string  // entries of the legend; may be empty
	Note                    string    // below the panel, such as "n = 1 model"; may be empty
	HideMissing             bool      // omits the note on cells without a value
	HideNames               bool      // omits the legend, for pages with GroupNames

	maxWidth vg.Length // limits the width of the cells, see evenMatrices; 0 for none
}

// Colours of cells. The ends of the diverging scale are ColorBrewer's RdBu, which readers with any
// colour vision can distinguish.
var (
	divergingLow  = rgb(0x2166ac)
	divergingHigh = rgb(0xb2182b)
	missingCell   = rgb(0xbdbdbd)

	// viridis samples matplotlib's colour map at equal steps. Its lightness is even, and it suits every
	// kind of colour vision.
	viridis = []color.NRGBA{rgb(0x440154), rgb(0x472d7b), rgb(0x3b528b), rgb(0x2c728e),
		rgb(0x21918c), rgb(0x28ae80), rgb(0x5ec962), rgb(0xaddc30), rgb(0xfde725)}
)

// diverging returns the colour of a value from -1 to 1.
func diverging(v float64) color.NRGBA {
	white := rgb(0xf7f7f7)
	if v < 0 {
		return mix(white, divergingLow, min(-v, 1))
	}
	return mix(white, divergingHigh, min(v, 1))
}

// sequential returns the colour of a value from 0 to 1.
func sequential(v float64) color.NRGBA {
	at := min(max(v, 0), 1) * float64(len(viridis)-1)
	i := min(int(at), len(viridis)-2)
	return mix(viridis[i], viridis[i+1], at-float64(i))
}

func (m Matrix) heading() string { return m.Title }

// maxCells limits the size of images, because viewers of PDF and SVG fail on larger ones.
const maxCells = 20_000_000

func (m Matrix) check() error {
	if len(m.Values) > maxCells {
		return fmt.Errorf("a matrix of %d x %d: at most %d cells can be drawn: average it first",
			m.Rows, m.Columns, maxCells)
	}
	_, err := checkValues("the matrix", m.Values)
	return cmp.Or(err, m.grouping().check())
}

// limits returns the numbers at the ends of the colours.
func (m Matrix) limits() (lo, hi float64) {
	if m.Min < m.Max {
		return m.Min, m.Max
	}
	values := finite(m.Values)
	if m.Scale == Diverging {
		for _, v := range values {
			hi = max(hi, math.Abs(v))
		}
		if hi == 0 {
			hi = 1
		}
		return -hi, hi
	}
	if len(values) == 0 {
		return 0, 1
	}
	a := rangeOf("", values, 0, false)
	return a.lo, a.hi
}

func (m Matrix) color(v, lo, hi float64) color.NRGBA {
	switch {
	case math.IsNaN(v):
		return missingCell
	case m.Scale == Diverging:
		return diverging(v / hi)
	}
	return sequential((v - lo) / (hi - lo))
}

// withShortLabels returns m with labels short enough to leave room for its cells in c. It reports
// whether it shortened any.
func (m Matrix) withShortLabels(c draw.Canvas) (Matrix, bool) {
	size := c.Size()
	upright := min(size.X, size.Y)/vg.Length(m.Columns) - 3
	var rows, columns bool
	m.RowLabels, rows = smallText.shorten(m.RowLabels, labelShare*size.X)
	m.ColumnLabels, columns = smallText.shorten(m.ColumnLabels, max(labelShare*size.Y, upright))
	return m, rows || columns
}

// frame holds the widths of the margins between a matrix's cells and the edges of its panel.
type frame struct {
	left, right, bottom vg.Length
	labels, columns     vg.Length // width of the row labels, height of the column labels
	turned              bool      // column labels run from bottom to top
}

const (
	groupBar = 4 // breadth of a bar of groups
	groupGap = 3 // from a bar of groups to the cells
	barGap   = 7 // from the cells to the colour bar
	barWidth = 6
)

func (m Matrix) frame(side vg.Length) frame {
	var f frame
	if len(m.RowLabels) > 0 {
		f.labels = widest(smallText, m.RowLabels) + 3
	}
	f.left = f.labels
	if m.YLabel != "" {
		f.left += labelSize * leading
	}
	f.columns = widest(smallText, m.ColumnLabels)
	// Short labels are thinned out before they are rotated.
	f.turned = f.columns > 14 && f.columns+3 > side/vg.Length(m.Columns)
	switch {
	case len(m.ColumnLabels) > 0 && f.turned:
		f.columns += 3
	case len(m.ColumnLabels) > 0:
		f.columns = smallSize*leading + 1
	}
	f.bottom = f.columns
	if m.XLabel != "" {
		f.bottom += labelSize*leading + 1
	}
	if len(m.Groups) > 0 {
		f.left += groupBar + groupGap
		if m.Rows == m.Columns {
			f.bottom += groupBar + groupGap
		}
	}
	if !m.HideBar {
		f.right = barGap + barWidth + 3 + m.tickWidth(side)
		if m.BarLabel != "" {
			f.right += labelSize * leading
		}
	}
	return f
}

// barAxis returns the axis of the colour bar.
func (m Matrix) barAxis() axis {
	lo, hi := m.limits()
	return axis{lo: lo, hi: hi}
}

func (m Matrix) tickWidth(height vg.Length) (width vg.Length) {
	for _, t := range m.barTicks(height) {
		width = max(width, smallText.powerWidth(t.Label))
	}
	return width
}

// barTicks returns the ticks of the colour bar. A diverging bar has 0 and its ends.
func (m Matrix) barTicks(height vg.Length) plot.ConstantTicks {
	a := m.barAxis()
	if m.Scale == Diverging {
		text := number.Short(a.hi, 2)
		if a.hi >= 100 || a.hi < 0.001 {
			text = number.Digits(a.hi, 2)
		}
		return plot.ConstantTicks{{Value: a.lo, Label: "−" + text}, {Value: 0, Label: "0"},
			{Value: a.hi, Label: text}}
	}
	return a.ticks(min(max(int(height/12), 2), 5))
}

// matrixLayout holds the areas of a matrix's parts.
type matrixLayout struct {
	Matrix // with short labels
	frame  frame
	area   draw.Canvas // of the cells
	legend func(draw.Canvas)
	note   string
}

func (m Matrix) layout(c draw.Canvas) (l matrixLayout, err error) {
	m, short := m.withShortLabels(c)
	var names legend
	if !m.HideNames && len(m.Groups) > 0 {
		var shortNames bool
		names, shortNames = m.grouping().legend(c.Size().X)
		short = short || shortNames
	}
	missing := len(m.Values) - len(finite(m.Values))
	l = matrixLayout{Matrix: m, frame: m.frame(min(c.Size().X, c.Size().Y)), note: sentences(m.Note,
		noteIf(missing > 0 && !m.HideMissing, fmt.Sprintf("Grey: no value (%d of %d cells)", missing, len(m.Values))),
		noteIf(short, shortenedNote))}
	aspect := c.Size().X / c.Size().Y
	if ratio, square := m.square(); square {
		inner := max(c.Size().Y-l.frame.bottom, 1)
		aspect = (inner*ratio + l.frame.left + l.frame.right) / c.Size().Y
	}
	space, drawLegend, err := names.splitOff(c, aspect)
	if err != nil {
		return l, err
	}
	l.legend = drawLegend
	l.area = m.cells(space, l.frame)
	// Whether column labels are rotated depends on the width of the cells.
	if again := m.frame(l.area.Size().X); again != l.frame {
		l.frame = again
		l.area = m.cells(space, again)
	}
	if size := l.area.Size(); size.X < 15 || size.Y < 15 {
		return l, errors.New("labels and colour bar leave too little of the panel: shorten them")
	}
	return l, nil
}

func (m Matrix) grouping() grouping { return grouping{of: m.Groups, names: m.GroupNames} }

func (m Matrix) draw(c draw.Canvas) (note string, err error) {
	l, err := m.layout(c)
	if err != nil {
		return "", err
	}
	c.DrawImage(l.area.Rectangle, m.image())
	m.drawGroups(l.area)
	l.drawLabels()
	if !m.HideBar {
		m.drawBar(l.area)
	}
	l.legend(c)
	return l.note, nil
}

// evenMatrices gives matrices with the same axes, in cells of the same width, the width of the narrowest.
// Readers can then compare them cell by cell although their colour bars differ in width.
func evenMatrices(panels []placed) {
	narrowest := map[string]vg.Length{}
	key := func(p placed, m Matrix) string {
		return fmt.Sprintf("%d %d %q %q %.2f", m.Rows, m.Columns, m.RowLabels, m.ColumnLabels, p.body.Size().X)
	}
	for _, p := range panels {
		m, ok := p.Panel.(Matrix)
		if !ok {
			continue
		}
		if l, err := m.layout(draw.Canvas{Canvas: newMeasure(), Rectangle: p.body}); err == nil {
			width, k := l.area.Size().X, key(p, m)
			narrowest[k] = min(width, cmp.Or(narrowest[k], width))
		}
	}
	for i, p := range panels {
		if m, ok := p.Panel.(Matrix); ok {
			m.maxWidth = narrowest[key(p, m)]
			panels[i].Panel = m
		}
	}
}

// square returns columns divided by rows and reports whether the cells are squares. Long matrices fill
// their panel instead.
func (m Matrix) square() (ratio vg.Length, ok bool) {
	ratio = vg.Length(m.Columns) / vg.Length(m.Rows)
	return ratio, ratio >= 1./3 && ratio <= 3
}

// cells returns the area of the cells within c.
func (m Matrix) cells(c draw.Canvas, f frame) draw.Canvas {
	area := draw.Crop(c, f.left, -f.right, f.bottom, -2)
	if m.maxWidth > 0 {
		area.Max.X = min(area.Max.X, area.Min.X+m.maxWidth)
	}
	if ratio, square := m.square(); square {
		width := min(area.Size().X, area.Size().Y*ratio)
		area.Max.X, area.Min.Y = area.Min.X+width, area.Max.Y-width/ratio
	}
	return area
}

// image returns the cells as an image of at least 600 pixels a side, so that edges stay sharp in viewers
// that smooth images.
func (m Matrix) image() image.Image {
	lo, hi := m.limits()
	zx, zy := max(1, 600/m.Columns), max(1, 600/m.Rows)
	if m.Columns*zx*m.Rows*zy > maxCells { // a column of very many rows
		zx, zy = 1, 1
	}
	pixels := image.NewNRGBA(image.Rect(0, 0, m.Columns*zx, m.Rows*zy))
	for i := range m.Rows {
		for j := range m.Columns {
			cell := m.color(m.Values[i*m.Columns+j], lo, hi)
			for x := j * zx; x < (j+1)*zx; x++ {
				pixels.SetNRGBA(x, i*zy, cell)
			}
		}
		first := pixels.Pix[i*zy*pixels.Stride : (i*zy+1)*pixels.Stride]
		for y := i*zy + 1; y < (i+1)*zy; y++ {
			copy(pixels.Pix[y*pixels.Stride:], first)
		}
	}
	return pixels
}

// drawGroups draws bars in the groups' colours to the left of the cells and below them.
func (m Matrix) drawGroups(area draw.Canvas) {
	g := m.grouping()
	colors := g.colors()
	size := area.Size()
	for _, run := range g.runs() {
		from, to := vg.Length(run.first)/vg.Length(len(g.of)),
			vg.Length(run.last)/vg.Length(len(g.of))
		col := colors[run.group]
		right, below := area.Min.X-groupGap, area.Min.Y-groupGap
		fill(area, col,
			rect(right-groupBar, area.Max.Y-size.Y*to, right, area.Max.Y-size.Y*from))
		if m.Rows == m.Columns {
			fill(area, col,
				rect(area.Min.X+size.X*from, below-groupBar, area.Min.X+size.X*to, below))
		}
	}
}

// drawLabels writes the labels of rows, columns and both axes.
func (l matrixLayout) drawLabels() {
	area, f, size := l.area, l.frame, l.area.Size()
	left, below := area.Min.X-2, area.Min.Y-2
	if len(l.Groups) > 0 {
		left -= groupBar + groupGap
		if l.Rows == l.Columns {
			below -= groupBar + groupGap
		}
	}
	every := stepOfLabels(l.RowLabels, size.Y, 1.1*smallSize)
	for i := 0; i < len(l.RowLabels); i += every {
		y := area.Max.Y - size.Y*(vg.Length(i)+0.5)/vg.Length(l.Rows)
		smallText.left(area, left-smallText.width(l.RowLabels[i]), y, l.RowLabels[i])
	}
	need := vg.Length(1.1 * smallSize)
	if !f.turned {
		need = widest(smallText, l.ColumnLabels) + 3
	}
	every = stepOfLabels(l.ColumnLabels, size.X, need)
	for j := 0; j < len(l.ColumnLabels); j += every {
		x := area.Min.X + size.X*(vg.Length(j)+0.5)/vg.Length(l.Columns)
		if f.turned {
			smallText.up(area, x, below-smallText.width(l.ColumnLabels[j]), l.ColumnLabels[j])
		} else {
			smallText.centred(area, x, below-smallSize/2-0.5, l.ColumnLabels[j])
		}
	}
	labelText.centred(area, area.Min.X+size.X/2, below-f.columns-labelSize*leading/2, l.XLabel)
	labelText.up(area, left-f.labels-labelSize*leading/2+1, area.Min.Y+size.Y/2-labelText.width(l.YLabel)/2,
		l.YLabel)
}

// stepOfLabels is labelStep for labels that may be empty. Empty labels need no room.
func stepOfLabels(labels []string, length, need vg.Length) int {
	pitch, before := len(labels), -len(labels)
	for i, s := range labels {
		if s != "" {
			pitch, before = min(pitch, i-before), i
		}
	}
	if vg.Length(pitch)*length >= need*vg.Length(len(labels)) {
		return 1
	}
	return labelStep(len(labels), length, need)
}

// labelStep returns the smallest step at which n labels, spread over a length, have the needed room
// each.
func labelStep(n int, length, need vg.Length) int {
	return max(1, int(math.Ceil(float64(need*vg.Length(n)/length)-1e-9)))
}

// drawBar draws the colour bar to the right of the cells.
func (m Matrix) drawBar(area draw.Canvas) {
	const steps = 128
	a := m.barAxis()
	x, height := area.Max.X+barGap, area.Size().Y
	for k := range steps {
		from, to := height*vg.Length(k)/steps, height*vg.Length(k+1)/steps
		col := m.color(a.lo+(a.hi-a.lo)*(float64(k)+0.5)/steps, a.lo, a.hi)
		top := min(area.Min.Y+to+0.1, area.Max.Y)
		fill(area, col, rect(x, area.Min.Y+from, x+barWidth, top))
	}
	for _, t := range m.barTicks(height) {
		y := area.Min.Y + height*vg.Length(a.norm(t.Value))
		area.StrokeLine2(hairlineOf(axisColor), x+barWidth, y,
			x+barWidth+1.5, y)
		smallText.power(area, x+barWidth+3,
			min(max(y, area.Min.Y+smallSize/2-1), area.Max.Y-smallSize/2+1), t.Label)
	}
	labelText.up(area, x+barWidth+3+m.tickWidth(height)+labelSize*0.8,
		area.Min.Y+height/2-labelText.width(m.BarLabel)/2, m.BarLabel)
}
