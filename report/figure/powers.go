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
	width, height, depth = p.Plain.Box(base, fnt)
	if exponent != "" {
		width += newWriter(withSize(fnt, exponentSize*fnt.Size), nil).width(exponent)
	}
	return width, height, depth
}

// Draw implements text.Handler.
func (p powers) Draw(c vg.Canvas, txt string, sty text.Style, pt vg.Point) {
	base, exponent, ok := strings.Cut(txt, "^")
	if !ok || sty.Rotation != 0 {
		p.Plain.Draw(c, txt, sty, pt)
		return
	}
	width, _, _ := p.Box(txt, sty.Font)
	face := p.Fonts.Lookup(sty.Font, sty.Font.Size)
	pt.X += width * vg.Length(sty.XAlign)
	// as in Plain
	pt.Y += sty.Height(base)*vg.Length(sty.YAlign) - face.Extents().Ascent + sty.Font.Size
	c.SetColor(sty.Color)
	c.FillString(face, pt, base)
	raised := withSize(sty.Font, exponentSize*sty.Font.Size)
	c.FillString(p.Fonts.Lookup(raised, raised.Size),
		pt.Add(vg.Point{X: face.Width(base), Y: exponentRise * sty.Font.Size}), exponent)
}

func withSize(f font.Font, size vg.Length) font.Font {
	f.Size = size
	return f
}

// power writes a number that may have an exponent to the right of (x, y), like writer.left.
func (w writer) power(c draw.Canvas, x, y vg.Length, s string) {
	base, exponent, _ := strings.Cut(s, "^")
	w.left(c, x, y, base)
	c.FillString(newWriter(withSize(w.face.Font, exponentSize*w.face.Font.Size), nil).face,
		vg.Point{X: x + w.width(base), Y: y + (exponentRise-capHeight/2)*w.face.Font.Size},
		exponent)
}

// powerWidth returns the width of s as power writes it.
func (w writer) powerWidth(s string) vg.Length {
	width, _, _ := newPowers().Box(s, w.face.Font)
	return width
}
