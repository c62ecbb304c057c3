package figure

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"strings"
	"time"

	"codeberg.org/go-pdf/fpdf"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

var _ vg.CanvasWriterTo = (*pdfCanvas)(nil)

// pdfCanvas is a one-page PDF document that implements vg.Canvas, vg.CanvasSizer and io.WriterTo.
//
// It replaces gonum's vgpdf, which writes σ, −1 and ² as other characters: it embeds cp1252 fonts
// and passes them UTF-8 (gonum/plot issue 347). Here every font is embedded as a TrueType subset
// with a Unicode map, so that text in the PDF can be searched and copied.
//
// The same drawing gives the same bytes, because the date is fixed. Text is as wide as gonum/plot
// measures it, including kerning. Methods do not panic; WriteTo returns the first error.
//
// It does not keep transforms on the PDF's graphics-state stack. Each mark that needs a transform is
// wrapped in its own q … Q, so that the font and colour that fpdf assumes are always those of the page.
type pdfCanvas struct {
	doc    *fpdf.Fpdf
	w, h   vg.Length
	stack  []drawState // the last one is current
	sent   pageState   // graphics state of the page
	fonts  map[string]bool
	images int
	widths map[int]bool // widths of the images in pixels
	pdf    []byte       // the finished document, once WriteTo has run
	err    error
}

// drawState holds the settings that Push saves and Pop restores.
type drawState struct {
	ctm   transform
	color color.NRGBA
	width vg.Length
	dash  string // the operand of the PDF operator d
}

// pageState mirrors the graphics state of the page, so that only changes are written.
type pageState struct {
	rgb   [3]uint8
	alpha uint8
	width vg.Length
	dash  string
	font  font.Font
}

// newPDF returns an empty page of the given width and height.
func newPDF(w, h vg.Length) *pdfCanvas {
	c := &pdfCanvas{w: w, h: h, fonts: map[string]bool{}, widths: map[int]bool{}}
	if !(w > 0 && h > 0) {
		c.err = fmt.Errorf("PDF: page of %g x %g pt: both sides must be positive", w.Points(),
			h.Points())
		w, h = 1, 1 // fpdf needs a page; WriteTo returns the error
	}
	c.doc = fpdf.NewCustom(&fpdf.InitType{UnitStr: "pt",
		Size: fpdf.SizeType{Wd: w.Points(), Ht: h.Points()}})
	c.doc.SetCreator("torchpe", false)
	date := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // fixed, so that equal drawings have equal bytes
	c.doc.SetCreationDate(date)
	c.doc.SetModificationDate(date)
	c.doc.SetCatalogSort(true) // fpdf otherwise writes fonts and images in map order
	c.doc.SetMargins(0, 0, 0)
	c.doc.SetAutoPageBreak(false, 0)
	// gonum's PNG canvas uses round joins too; miter joins overshoot on steep curves
	c.doc.SetLineJoinStyle("round")
	c.doc.AddPage()
	c.sent = pageState{alpha: 0xff, width: -1, dash: "[] 0"}
	c.stack = []drawState{{ctm: identity()}}
	vg.Initialize(c)
	return c
}

func (c *pdfCanvas) Size() (w, h vg.Length) { return c.w, c.h }

func (c *pdfCanvas) cur() *drawState { return &c.stack[len(c.stack)-1] }

// SetLineWidth sets the width of stroked paths. A width that is not positive draws nothing.
func (c *pdfCanvas) SetLineWidth(w vg.Length) { c.cur().width = w }

// SetLineDash sets the dash pattern of stroked paths. An empty pattern draws a solid line.
func (c *pdfCanvas) SetLineDash(pattern []vg.Length, offset vg.Length) {
	parts := make([]string, len(pattern))
	for i, d := range pattern {
		parts[i] = pdfNumber(d.Points())
	}
	c.cur().dash = "[" + strings.Join(parts, " ") + "] " + pdfNumber(offset.Points())
}

// SetColor sets the colour and opacity of strokes, fills and text. A nil colour means black.
func (c *pdfCanvas) SetColor(clr color.Color) {
	if clr == nil {
		clr = color.Black
	}
	// clr.RGBA() would premultiply by alpha and darken a translucent band.
	c.cur().color = color.NRGBAModel.Convert(clr).(color.NRGBA)
}

func (c *pdfCanvas) Rotate(rad float64)    { c.cur().ctm = c.cur().ctm.rotate(rad) }
func (c *pdfCanvas) Translate(pt vg.Point) { c.cur().ctm = c.cur().ctm.translate(pt) }
func (c *pdfCanvas) Scale(x, y float64)    { c.cur().ctm = c.cur().ctm.scale(x, y) }
func (c *pdfCanvas) Push()                 { c.stack = append(c.stack, *c.cur()) }

func (c *pdfCanvas) Pop() {
	if len(c.stack) == 1 {
		c.fail(errors.New("PDF: Pop without a Push"))
		return
	}
	c.stack = c.stack[:len(c.stack)-1]
}

func (c *pdfCanvas) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

func (c *pdfCanvas) Stroke(p vg.Path) {
	s := c.cur()
	if s.width <= 0 || len(p) == 0 {
		return
	}
	c.setColor()
	if c.sent.width != s.width {
		c.doc.RawWriteStr(pdfNumber(s.width.Points()) + " w")
		c.sent.width = s.width
	}
	if c.sent.dash != s.dash {
		c.doc.RawWriteStr(s.dash + " d")
		c.sent.dash = s.dash
	}
	c.drawPath(p, "S")
}

// Fill fills p by the non-zero winding rule.
func (c *pdfCanvas) Fill(p vg.Path) {
	if len(p) == 0 {
		return
	}
	c.setColor()
	c.drawPath(p, "f")
}

func (c *pdfCanvas) drawPath(p vg.Path, op string) {
	ops, err := pathOperators(p)
	if err != nil {
		c.fail(err)
		return
	}
	c.transformed(func() { c.doc.RawWriteStr(ops + op) })
}

// setColor sets the page's stroke and fill colour and opacity to the current ones.
func (c *pdfCanvas) setColor() {
	clr := c.cur().color
	if rgb := [3]uint8{clr.R, clr.G, clr.B}; rgb != c.sent.rgb {
		r, g, b := pdfNumber(float64(clr.R)/255), pdfNumber(float64(clr.G)/255), pdfNumber(float64(clr.B)/255)
		c.doc.RawWriteStr(fmt.Sprintf("%s %s %s RG %s %s %s rg", r, g, b, r, g, b))
		c.sent.rgb = rgb
	}
	c.setAlpha(clr.A)
}

func (c *pdfCanvas) setAlpha(a uint8) {
	if a != c.sent.alpha {
		c.doc.SetAlpha(float64(a)/255, "Normal")
		c.sent.alpha = a
	}
}

// transformed calls mark under the current transform. It does nothing if the transform is singular.
func (c *pdfCanvas) transformed(mark func()) {
	m := c.cur().ctm
	switch {
	case m == identity():
		mark()
	case m[0]*m[3]-m[1]*m[2] != 0:
		c.doc.TransformBegin()
		c.doc.Transform(fpdf.TransformMatrix{A: m[0], B: m[1], C: m[2], D: m[3], E: m[4], F: m[5]})
		mark()
		c.doc.TransformEnd()
	}
}

// DrawImage draws img, upright and with its own opacity, into rect.
func (c *pdfCanvas) DrawImage(rect vg.Rectangle, img image.Image) {
	size := rect.Size()
	if img.Bounds().Empty() || size.X <= 0 || size.Y <= 0 {
		return
	}
	// fpdf writes images of equal widths in map order. Padding, which is clipped, makes all widths
	// different.
	width := img.Bounds().Dx()
	padded := width
	for c.widths[padded] {
		padded++
	}
	c.widths[padded] = true
	flat := image.NewNRGBA(image.Rect(0, 0, padded, img.Bounds().Dy())) // fpdf reads no 16-bit PNG
	draw.Draw(flat, flat.Bounds(), image.White, image.Point{}, draw.Src)
	draw.Draw(flat, image.Rect(0, 0, width, flat.Rect.Dy()), img, img.Bounds().Min, draw.Src)
	var buf bytes.Buffer
	if err := png.Encode(&buf, flat); err != nil {
		c.fail(fmt.Errorf("PDF: image of %d x %d pixels: %w", flat.Rect.Dx(), flat.Rect.Dy(),
			err))
		return
	}
	c.images++
	name := fmt.Sprintf("image%04d", c.images)
	opts := fpdf.ImageOptions{ImageType: "png", AllowNegativePosition: true}
	c.doc.RegisterImageOptionsReader(name, opts, &buf)
	c.setAlpha(0xff)
	c.transformed(func() {
		x, y, w, h := rect.Min.X.Points(), c.fromTop(rect.Max.Y), size.X.Points(), size.Y.Points()
		if padded > width {
			c.doc.ClipRect(x, y, w, h, false)
			defer c.doc.ClipEnd()
		}
		c.doc.ImageOptions(name, x, y, w*float64(padded)/float64(width), h, false, opts, 0, "")
	})
}

// fromTop converts a height above the lower edge of the page, used by vg, to a distance from the upper
// edge, used by fpdf.
func (c *pdfCanvas) fromTop(y vg.Length) float64 { return (c.h - y).Points() }

// WriteTo writes the PDF, or returns the first error of drawing. It may be called several times. Nothing
// may be drawn after the first call.
func (c *pdfCanvas) WriteTo(w io.Writer) (int64, error) {
	if c.err == nil && c.doc.Err() {
		c.err = fmt.Errorf("PDF: %w", c.doc.Error())
	}
	if c.err != nil {
		return 0, c.err
	}
	if c.pdf == nil {
		var buf bytes.Buffer
		if err := c.doc.Output(&buf); err != nil {
			c.err = fmt.Errorf("PDF: %w", err)
			return 0, c.err
		}
		c.pdf = buf.Bytes()
	}
	n, err := w.Write(c.pdf)
	return int64(n), err
}
