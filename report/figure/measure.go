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

// measure is a canvas that draws nothing and records the boxes of texts. Compose draws a page on it to
// find text that leaves its panel or overlaps other text.
type measure struct {
	stack []transform
	texts []textBox
	err   error
}

var _ vg.Canvas = (*measure)(nil)

// textBox is a text and the corners of its box, counter-clockwise from the lower left of the text.
type textBox struct {
	text    string
	corners [4][2]float64
}

func newMeasure() *measure { return &measure{stack: []transform{identity()}} }

func (m *measure) cur() *transform { return &m.stack[len(m.stack)-1] }

// The following methods implement vg.Canvas. The transform is the only state.
func (m *measure) SetLineWidth(vg.Length)             {}
func (m *measure) SetLineDash([]vg.Length, vg.Length) {}
func (m *measure) SetColor(color.Color)               {}
func (m *measure) Rotate(rad float64)                 { *m.cur() = m.cur().rotate(rad) }
func (m *measure) Translate(pt vg.Point)              { *m.cur() = m.cur().translate(pt) }
func (m *measure) Scale(x, y float64)                 { *m.cur() = m.cur().scale(x, y) }
func (m *measure) Push()                              { m.stack = append(m.stack, *m.cur()) }
func (m *measure) Pop() {
	if len(m.stack) > 1 {
		m.stack = m.stack[:len(m.stack)-1]
	}
}
func (m *measure) Stroke(p vg.Path) { m.path(p) }
func (m *measure) Fill(p vg.Path)   { m.path(p) }

func (m *measure) path(p vg.Path) {
	for _, part := range p {
		if part.Pos.X-part.Pos.X != 0 || part.Pos.Y-part.Pos.Y != 0 {
			m.err = errors.New(
				"a point of the drawing is not finite: the numbers differ too much in size")
		}
	}
}

// FillString records the box of a text, from half its descenders to the height of its capitals.
func (m *measure) FillString(f font.Face, pt vg.Point, s string) {
	if s == "" {
		return
	}
	x, y, w, size := pt.X.Points(), pt.Y.Points(), f.Width(s).Points(), f.Font.Size.Points()
	lo, hi := y-0.1*size, y+capHeight*size
	t := m.cur()
	m.texts = append(m.texts, textBox{s,
		[4][2]float64{t.apply(x, lo), t.apply(x+w, lo), t.apply(x+w, hi), t.apply(x, hi)}})
}

func (m *measure) DrawImage(vg.Rectangle, image.Image) {}

// check returns an error for text outside r and for overlapping texts. It checks the texts from index
// from.
func (m *measure) check(from int, r vg.Rectangle) error {
	if m.err != nil {
		return m.err
	}
	texts := m.texts[from:]
	const slack = 1.5
	for _, t := range texts {
		var out float64
		for _, p := range t.corners {
			out = max(out, r.Min.X.Points()-p[0], p[0]-r.Max.X.Points(), r.Min.Y.Points()-p[1],
				p[1]-r.Max.Y.Points())
		}
		if !(out <= slack) {
			return fmt.Errorf(
				"text %q runs %.0f pt out of its panel: shorten it or enlarge the panel",
				t.text, out)
		}
	}
	for i, t := range texts {
		for _, u := range texts[:i] {
			if t.overlaps(u) {
				return fmt.Errorf("texts %q and %q overlap: shorten them or enlarge the panel",
					u.text, t.text)
			}
		}
	}
	return nil
}

// overlaps reports whether two boxes share more than 0.2 pt, by the separating axis theorem.
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

// extent returns the range of the box along a direction.
func (t textBox) extent(dx, dy float64) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, p := range t.corners {
		at := p[0]*dx + p[1]*dy
		lo, hi = min(lo, at), max(hi, at)
	}
	return lo, hi
}
