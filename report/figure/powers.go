package figure

import (
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// powers is a text handler for tick labels that sets the part after "^" as an exponent. Liberation Sans
// has no superscript minus.
type powers struct{ text.Plain }

var _ text.Handler = powers{}

// The size of an exponent, and the height of its baseline above that of the number, in font sizes.
const exponentSize, exponentRise = 0.72, 0.36

func newPowers() powers { return powers{text.Plain{Fonts: plot.DefaultTextHandler.Cache()}} }

// Box implements text.Handler.
func (p powers) Box(txt string, fnt font.Font) (width, height, depth vg.Length) {
	base, exponent, _ := strings.Cut(txt, "^")
	_, height, depth = p.Plain.Box(base, fnt)
	w := newWriter(fnt, nil)
	return w.width(base) + w.exponent().width(exponent), height, depth
}

// Draw implements text.Handler.
func (p powers) Draw(c vg.Canvas, txt string, sty text.Style, pt vg.Point) {
	if !strings.Contains(txt, "^") || sty.Rotation != 0 {
		p.Plain.Draw(c, txt, sty, pt)
		return
	}
	w := newWriter(sty.Font, sty.Color)
	width, _, _ := p.Box(txt, sty.Font)
	pt.X += width * vg.Length(sty.XAlign)
	// as in Plain
	pt.Y += sty.Height(txt)*vg.Length(sty.YAlign) - w.face.Extents().Ascent + sty.Font.Size
	w.raised(c, pt, txt)
}

// exponent returns a writer of exponents.
func (w writer) exponent() writer {
	f := w.face.Font
	f.Size *= exponentSize
	return newWriter(f, w.color)
}

// raised writes a number that may have an exponent from pt on its baseline.
func (w writer) raised(c vg.Canvas, pt vg.Point, s string) {
	base, exponent, _ := strings.Cut(s, "^")
	c.SetColor(w.color)
	c.FillString(w.face, pt, base)
	c.FillString(w.exponent().face,
		pt.Add(vg.Point{X: w.width(base), Y: exponentRise * w.face.Font.Size}), exponent)
}

// power writes a number that may have an exponent to the right of (x, y), like writer.left.
func (w writer) power(c draw.Canvas, x, y vg.Length, s string) {
	w.raised(c, vg.Point{X: x, Y: y - capHeight/2*w.face.Font.Size}, s)
}

// powerWidth returns the width of s as power writes it.
func (w writer) powerWidth(s string) vg.Length {
	width, _, _ := newPowers().Box(s, w.face.Font)
	return width
}
