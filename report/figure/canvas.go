package figure

import (
	"errors"
	"fmt"
	"image"
	"image/color"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// canvasState is the part of a vg.Canvas that keeps its settings.
type canvasState struct {
	stack []drawState // the last one is current
}

// drawState holds the settings that Push saves and Pop restores.
type drawState struct {
	ctm        transform
	color      color.NRGBA
	width      vg.Length
	dashes     []float64 // in points
	dashOffset float64
}

func newCanvasState() canvasState { return canvasState{[]drawState{{ctm: identity}}} }

func (c *canvasState) cur() *drawState { return &c.stack[len(c.stack)-1] }

// SetLineWidth implements vg.Canvas.
func (c *canvasState) SetLineWidth(w vg.Length) { c.cur().width = w }

// SetLineDash implements vg.Canvas.
func (c *canvasState) SetLineDash(pattern []vg.Length, offset vg.Length) {
	s := c.cur()
	s.dashes, s.dashOffset = nil, offset.Points()
	for _, d := range pattern {
		s.dashes = append(s.dashes, d.Points())
	}
}

// SetColor implements vg.Canvas. A nil colour means black.
func (c *canvasState) SetColor(clr color.Color) {
	if clr == nil {
		clr = color.Black
	}
	// clr.RGBA() would premultiply by alpha and darken a translucent band.
	c.cur().color = color.NRGBAModel.Convert(clr).(color.NRGBA)
}

// Rotate implements vg.Canvas.
func (c *canvasState) Rotate(rad float64) {
	sin, cos := math.Sincos(rad)
	c.transform(transform{cos, sin, -sin, cos, 0, 0})
}

// Translate implements vg.Canvas.
func (c *canvasState) Translate(pt vg.Point) {
	c.transform(transform{1, 0, 0, 1, pt.X.Points(), pt.Y.Points()})
}

// Scale implements vg.Canvas.
func (c *canvasState) Scale(x, y float64) { c.transform(transform{x, 0, 0, y, 0, 0}) }

func (c *canvasState) transform(first transform) { c.cur().ctm = first.times(c.cur().ctm) }

// Push implements vg.Canvas.
func (c *canvasState) Push() { c.stack = append(c.stack, *c.cur()) }

// Pop implements vg.Canvas.
func (c *canvasState) Pop() { c.stack = c.stack[:len(c.stack)-1] }

// transform is a PDF transform [a b c d e f]: x' = a x + c y + e, y' = b x + d y + f.
type transform [6]float64

// identity changes nothing.
var identity = transform{1, 0, 0, 1, 0, 0}

// apply maps a point.
func (m transform) apply(x, y float64) [2]float64 {
	return [2]float64{m[0]*x + m[2]*y + m[4], m[1]*x + m[3]*y + m[5]}
}

// times returns the transform that applies m first and then n.
func (m transform) times(n transform) transform {
	return transform{
		m[0]*n[0] + m[1]*n[2], m[0]*n[1] + m[1]*n[3],
		m[2]*n[0] + m[3]*n[2], m[2]*n[1] + m[3]*n[3],
		m[4]*n[0] + m[5]*n[2] + n[4], m[4]*n[1] + m[5]*n[3] + n[5],
	}
}

// measure is a canvas that draws nothing. It records the boxes of texts and the first thing that no
// format can draw. Compose draws a page on it to find text that leaves its panel or overlaps other text.
type measure struct {
	canvasState
	texts []textBox
	taken int // number of texts that take has checked
	err   error
}

var _ vg.Canvas = (*measure)(nil)

// textBox is a text and the corners of its box, counter-clockwise from the lower left of the text.
type textBox struct {
	text    string
	corners [4][2]float64
}

func newMeasure() *measure { return &measure{canvasState: newCanvasState()} }

// Stroke implements vg.Canvas.
func (m *measure) Stroke(p vg.Path) { m.Fill(p) }

// Fill implements vg.Canvas.
func (m *measure) Fill(p vg.Path) {
	for _, part := range p {
		if part.Pos.X-part.Pos.X != 0 || part.Pos.Y-part.Pos.Y != 0 {
			m.err = errors.New(
				"a point of the drawing is not finite: the numbers differ too much in size")
		}
	}
}

// DrawImage implements vg.Canvas.
func (m *measure) DrawImage(vg.Rectangle, image.Image) {}

// FillString records the box of a text, from half its descenders to the height of its capitals.
func (m *measure) FillString(f font.Face, pt vg.Point, s string) {
	if s == "" {
		return
	}
	if err := checkText(s); err != nil {
		m.err = err
	}
	x, y, w, size := pt.X.Points(), pt.Y.Points(), f.Width(s).Points(), f.Font.Size.Points()
	lo, hi := y-0.1*size, y+capHeight*size
	t := m.cur().ctm
	m.texts = append(m.texts, textBox{s,
		[4][2]float64{t.apply(x, lo), t.apply(x+w, lo), t.apply(x+w, hi), t.apply(x, hi)}})
}

// checkText returns an error for text that is not UTF-8 or has control characters, which SVG cannot
// contain.
func checkText(s string) error {
	if !utf8.ValidString(s) {
		return fmt.Errorf("text %q is not UTF-8: convert it", s)
	}
	if i := strings.IndexFunc(s, unicode.IsControl); i >= 0 {
		return fmt.Errorf("text %q has the control character %q: remove it", s, s[i:i+1])
	}
	return nil
}

// take returns an error for what cannot be drawn, for texts outside r and for overlapping texts, among
// what was drawn since the last take. It returns nil for the nil measure.
func (m *measure) take(r vg.Rectangle) error {
	if m == nil {
		return nil
	}
	texts, err := m.texts[m.taken:], m.err
	m.taken, m.err = len(m.texts), nil
	const slack = 1.5
	for i, t := range texts {
		var out float64
		for _, p := range t.corners {
			out = max(out, r.Min.X.Points()-p[0], p[0]-r.Max.X.Points(), r.Min.Y.Points()-p[1],
				p[1]-r.Max.Y.Points())
		}
		if err == nil && !(out <= slack) {
			err = fmt.Errorf("text %q runs %.0f pt out of its panel: shorten it or enlarge the panel", t.text, out)
		}
		for _, u := range texts[:i] {
			if err == nil && t.overlaps(u) {
				err = fmt.Errorf("texts %q and %q overlap: shorten them or enlarge the panel", u.text, t.text)
			}
		}
	}
	return err
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
