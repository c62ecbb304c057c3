package figure

import (
	"errors"
	"fmt"
	"image"
	"image/color"
	"math"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// measure is a canvas that draws nothing and notes where text comes to lie. A page is drawn on it once, so that text that leaves
// its panel or runs into other text is an error of the constructor.
type measure struct {
	stack []transform
	texts []textBox
	err   error
}

var _ vg.Canvas = (*measure)(nil)

// transform maps (x, y) to (a x + c y + e, b x + d y + f).
type transform struct{ a, b, c, d, e, f float64 }

func (t transform) point(x, y float64) [2]float64 {
	return [2]float64{t.a*x + t.c*y + t.e, t.b*x + t.d*y + t.f}
}

// then returns the transform that applies n first.
func (t transform) then(n transform) transform {
	o, x, y := t.point(n.e, n.f), [2]float64{t.a*n.a + t.c*n.b, t.b*n.a + t.d*n.b}, [2]float64{t.a*n.c + t.c*n.d, t.b*n.c + t.d*n.d}
	return transform{x[0], x[1], y[0], y[1], o[0], o[1]}
}

// textBox is a text and the corners of its box, from the lower left on counter-clockwise as the text is read.
type textBox struct {
	text    string
	corners [4][2]float64
}

func newMeasure() *measure { return &measure{stack: []transform{{a: 1, d: 1}}} }

func (m *measure) cur() *transform { return &m.stack[len(m.stack)-1] }

// The state of a measure is its transform alone.

// SetLineWidth implements vg.Canvas.
func (m *measure) SetLineWidth(vg.Length) {}

// SetLineDash implements vg.Canvas.
func (m *measure) SetLineDash([]vg.Length, vg.Length) {}

// SetColor implements vg.Canvas.
func (m *measure) SetColor(color.Color) {}

// Rotate implements vg.Canvas.
func (m *measure) Rotate(rad float64) {
	sin, cos := math.Sincos(rad)
	*m.cur() = m.cur().then(transform{cos, sin, -sin, cos, 0, 0})
}

// Translate implements vg.Canvas.
func (m *measure) Translate(pt vg.Point) {
	*m.cur() = m.cur().then(transform{1, 0, 0, 1, pt.X.Points(), pt.Y.Points()})
}

// Scale implements vg.Canvas.
func (m *measure) Scale(x, y float64) { *m.cur() = m.cur().then(transform{x, 0, 0, y, 0, 0}) }

// Push implements vg.Canvas.
func (m *measure) Push() { m.stack = append(m.stack, *m.cur()) }

// Pop implements vg.Canvas.
func (m *measure) Pop() {
	if len(m.stack) > 1 {
		m.stack = m.stack[:len(m.stack)-1]
	}
}

// Stroke implements vg.Canvas.
func (m *measure) Stroke(p vg.Path) { m.path(p) }

// Fill implements vg.Canvas.
func (m *measure) Fill(p vg.Path) { m.path(p) }

func (m *measure) path(p vg.Path) {
	for _, part := range p {
		if part.Pos.X-part.Pos.X != 0 || part.Pos.Y-part.Pos.Y != 0 {
			m.err = errors.New("a point of the drawing is not finite: the numbers are too large, or too different in size")
		}
	}
}

// FillString implements vg.Canvas. A text's box goes from half its descenders to the height of its capitals.
func (m *measure) FillString(f font.Face, pt vg.Point, s string) {
	if s == "" {
		return
	}
	x, y, w, size := pt.X.Points(), pt.Y.Points(), f.Width(s).Points(), f.Font.Size.Points()
	lo, hi := y-0.1*size, y+capHeight*size
	t := m.cur()
	m.texts = append(m.texts, textBox{s, [4][2]float64{t.point(x, lo), t.point(x+w, lo), t.point(x+w, hi), t.point(x, hi)}})
}

// DrawImage implements vg.Canvas.
func (m *measure) DrawImage(vg.Rectangle, image.Image) {}

// check reports text outside r and texts that overlap. It looks at the texts from the given one on.
func (m *measure) check(from int, r vg.Rectangle) error {
	if m.err != nil {
		return m.err
	}
	texts := m.texts[from:]
	const slack = 1.5
	for _, t := range texts {
		var out float64
		for _, p := range t.corners {
			out = max(out, r.Min.X.Points()-p[0], p[0]-r.Max.X.Points(), r.Min.Y.Points()-p[1], p[1]-r.Max.Y.Points())
		}
		if !(out <= slack) {
			return fmt.Errorf("text %q runs %.0f pt out of its panel: shorten it or make the panel larger (page width, row height, weight)", t.text, out)
		}
	}
	for i, t := range texts {
		for _, u := range texts[:i] {
			if t.overlaps(u) {
				return fmt.Errorf("texts %q and %q overlap: shorten them or make the panel larger (page width, row height, weight)", u.text, t.text)
			}
		}
	}
	return nil
}

// overlaps reports whether two boxes share more than a hair: by the separating axis theorem, no side of either parts them.
func (t textBox) overlaps(u textBox) bool {
	const hair = 0.2
	for _, box := range []textBox{t, u} {
		for i := range 2 {
			dx, dy := box.corners[i+1][0]-box.corners[i][0], box.corners[i+1][1]-box.corners[i][1]
			length := math.Hypot(dx, dy)
			if length == 0 {
				continue
			}
			a0, a1 := t.extent(dx/length, dy/length)
			b0, b1 := u.extent(dx/length, dy/length)
			if a1 <= b0+hair || b1 <= a0+hair {
				return false
			}
		}
	}
	return true
}

// extent is the range of the box along a direction.
func (t textBox) extent(dx, dy float64) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, p := range t.corners {
		at := p[0]*dx + p[1]*dy
		lo, hi = min(lo, at), max(hi, at)
	}
	return lo, hi
}
