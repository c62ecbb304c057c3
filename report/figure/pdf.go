package figure

import (
	"bytes"
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"codeberg.org/go-pdf/fpdf"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// pdfCanvas is a page of PDF that implements vg.Canvas.
//
// It replaces gonum's vgpdf, which writes σ, −1 and ² as other characters: it embeds cp1252 fonts
// and passes them UTF-8 (gonum/plot issue 347). Here every font is embedded as a TrueType subset
// with a Unicode map, so that text in the PDF can be searched and copied.
//
// The same drawing gives the same bytes, because the date is fixed. Text is as wide as gonum/plot
// measures it, including kerning. The document keeps the first error, which write returns.
//
// It does not keep transforms on the PDF's graphics-state stack. Each mark that needs a transform is
// wrapped in its own q … Q, so that the font and colour that fpdf assumes are always those of the page.
type pdfCanvas struct {
	canvasState
	doc    *fpdf.Fpdf
	height vg.Length
	sent   pageState // graphics state of the page
	fonts  map[string]bool
	images int
	widths map[int]bool // widths of the images in pixels
}

// pageState mirrors the graphics state of the page, so that only changes are written.
type pageState struct {
	rgb   [3]uint8
	alpha uint8
	width vg.Length
	dash  string
	font  font.Font
}

var _ vg.Canvas = (*pdfCanvas)(nil)

// newPDF returns an empty page of the given width and height.
func newPDF(w, h vg.Length) *pdfCanvas {
	c := &pdfCanvas{canvasState: newCanvasState(), height: h, fonts: map[string]bool{}, widths: map[int]bool{}}
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
	vg.Initialize(c)
	return c
}

// write writes the document, or returns the first error of drawing.
func (c *pdfCanvas) write(w io.Writer) error {
	if err := c.doc.Output(w); err != nil {
		return fmt.Errorf("PDF: %w", err)
	}
	return nil
}

// Stroke implements vg.Canvas. A line whose width is not positive draws nothing.
func (c *pdfCanvas) Stroke(p vg.Path) {
	s := c.cur()
	if s.width <= 0 || len(p) == 0 {
		return
	}
	c.sendColor()
	if c.sent.width != s.width {
		c.doc.RawWriteStr(pdfNumber(s.width.Points()) + " w")
		c.sent.width = s.width
	}
	if c.sent.dash != s.dash {
		c.doc.RawWriteStr(s.dash + " d")
		c.sent.dash = s.dash
	}
	c.transformed(func() { c.doc.RawWriteStr(pathOperators(p) + "S") })
}

// Fill fills p by the non-zero winding rule.
func (c *pdfCanvas) Fill(p vg.Path) {
	if len(p) == 0 {
		return
	}
	c.sendColor()
	c.transformed(func() { c.doc.RawWriteStr(pathOperators(p) + "f") })
}

// sendColor sets the page's stroke and fill colour and opacity to the current ones.
func (c *pdfCanvas) sendColor() {
	clr := c.cur().color
	if rgb := [3]uint8{clr.R, clr.G, clr.B}; rgb != c.sent.rgb {
		r, g, b := pdfNumber(float64(clr.R)/255), pdfNumber(float64(clr.G)/255), pdfNumber(float64(clr.B)/255)
		c.doc.RawWriteStr(fmt.Sprintf("%s %s %s RG %s %s %s rg", r, g, b, r, g, b))
		c.sent.rgb = rgb
	}
	c.sendAlpha(clr.A)
}

func (c *pdfCanvas) sendAlpha(a uint8) {
	if a != c.sent.alpha {
		c.doc.SetAlpha(float64(a)/255, "Normal")
		c.sent.alpha = a
	}
}

// transformed calls mark under the current transform. It does nothing if the transform is singular.
func (c *pdfCanvas) transformed(mark func()) {
	m := c.cur().ctm
	switch {
	case m == identity:
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
		c.doc.SetError(fmt.Errorf("image of %d x %d pixels: %w", flat.Rect.Dx(), flat.Rect.Dy(), err))
		return
	}
	c.images++
	name := fmt.Sprintf("image%04d", c.images)
	opts := fpdf.ImageOptions{ImageType: "png", AllowNegativePosition: true}
	c.doc.RegisterImageOptionsReader(name, opts, &buf)
	c.sendAlpha(0xff)
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
func (c *pdfCanvas) fromTop(y vg.Length) float64 { return (c.height - y).Points() }

// FillString writes text with the left end of its baseline at pt. Only the used glyphs of a font are
// embedded. A character that the font lacks is shown as its glyph for missing characters.
func (c *pdfCanvas) FillString(f font.Face, pt vg.Point, text string) {
	if f.Font.Size == 0 || text == "" {
		return
	}
	// The PDF uses the full name of the font (LiberationSans-Bold), so that weights and styles need no
	// mapping to those of fpdf.
	name := f.Name()
	if !c.fonts[name] {
		var ttf bytes.Buffer
		if _, err := f.Face.WriteSourceTo(nil, &ttf); err != nil {
			c.doc.SetError(fmt.Errorf("font %q: %w", name, err))
			return
		}
		c.doc.AddUTF8FontFromBytes(name, "", ttf.Bytes())
		c.fonts[name] = true
	}
	if c.sent.font != f.Font {
		c.doc.SetFont(name, "", f.Font.Size.Points())
		c.sent.font = f.Font
	}
	c.sendColor()
	c.transformed(func() {
		for _, r := range kernedRuns(f, writable(text)) {
			c.doc.Text((pt.X + r.dx).Points(), c.fromTop(pt.Y), r.text)
		}
	})
}

// writable replaces characters that fpdf cannot encode. fpdf reads past the end of the string at invalid
// UTF-8, and garbles characters above U+FFFF. Control characters become blanks.
func writable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r < ' ':
			return ' '
		case r > 0xffff:
			return '\uFFFD'
		}
		return r
	}, text)
}

// kernedRun is a part of a string without kerning, at dx to the right of the start of the string.
type kernedRun struct {
	dx   vg.Length
	text string
}

// kernedRuns splits text where the font kerns, because fpdf does not, so that text is as wide as
// gonum/plot measures it.
func kernedRuns(f font.Face, text string) (runs []kernedRun) {
	from, x, dx, prev := 0, vg.Length(0), vg.Length(0), ""
	for i, r := range text {
		this := string(r)
		if kern := f.Width(prev+this) - f.Width(prev) - f.Width(this); math.Abs(float64(kern)) > 1e-9 {
			runs = append(runs, kernedRun{dx, text[from:i]})
			x += kern
			from, dx = i, x
		}
		x += f.Width(this)
		prev = this
	}
	return append(runs, kernedRun{dx, text[from:]})
}

// pdfNumber formats a number for PDF with at most three decimals (a thousandth of a point), without an
// exponent or trailing zeros.
func pdfNumber(x float64) string {
	s := strconv.FormatFloat(x, 'f', 3, 64)
	s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	if s == "-0" {
		return "0"
	}
	return s
}

// pathWriter turns vg path components into PDF path operators.
type pathWriter struct {
	b    strings.Builder
	open bool     // there is a current point
	at   vg.Point // the current point
}

// pathOperators returns the operators that build p, each with a blank after it.
func pathOperators(p vg.Path) string {
	var w pathWriter
	for _, comp := range p {
		switch comp.Type {
		case vg.MoveComp:
			w.op("m", comp.Pos)
		case vg.LineComp:
			w.line(comp.Pos)
		case vg.ArcComp:
			w.arc(comp)
		case vg.CurveComp:
			w.curve(comp)
		case vg.CloseComp:
			w.b.WriteString("h ")
		}
	}
	return w.b.String()
}

// op writes the points and the operator. The last point becomes the current point.
func (w *pathWriter) op(operator string, pts ...vg.Point) {
	for _, pt := range pts {
		w.b.WriteString(pdfNumber(pt.X.Points()) + " " + pdfNumber(pt.Y.Points()) + " ")
	}
	w.b.WriteString(operator + " ")
	w.open, w.at = true, pts[len(pts)-1]
}

// line draws a line to pt, or moves there if there is no current point.
func (w *pathWriter) line(pt vg.Point) {
	if w.open {
		w.op("l", pt)
	} else {
		w.op("m", pt)
	}
}

// curve draws a quadratic or cubic Bézier curve from the current point.
func (w *pathWriter) curve(comp vg.PathComp) {
	first, last := comp.Control[0], comp.Control[len(comp.Control)-1]
	if len(comp.Control) == 1 { // the equal cubic has its controls two thirds of the way to the quadratic's
		first, last = toward(w.at, first, 2./3), toward(comp.Pos, first, 2./3)
	}
	w.op("c", first, last, comp.Pos)
}

func toward(a, b vg.Point, t vg.Length) vg.Point {
	return vg.Point{X: a.X + t*(b.X-a.X), Y: a.Y + t*(b.Y-a.Y)}
}

// arc draws a circular arc as cubic curves of at most a quarter turn. Their error is below 0.03 % of the
// radius.
func (w *pathWriter) arc(comp vg.PathComp) {
	on := func(a float64) vg.Point {
		sin, cos := math.Sincos(a)
		return vg.Point{X: comp.Pos.X + comp.Radius*vg.Length(cos),
			Y: comp.Pos.Y + comp.Radius*vg.Length(sin)}
	}
	if start := on(comp.Start); !w.open || start != w.at {
		w.line(start)
	}
	n := int(math.Ceil(math.Abs(comp.Angle) / (math.Pi / 2)))
	for i := range n {
		a := comp.Start + comp.Angle*float64(i)/float64(n)
		b := comp.Start + comp.Angle*float64(i+1)/float64(n)
		k := comp.Radius * vg.Length(4./3*math.Tan((b-a)/4))
		p, q := on(a), on(b)
		sa, ca := math.Sincos(a)
		sb, cb := math.Sincos(b)
		w.op("c", vg.Point{X: p.X - k*vg.Length(sa), Y: p.Y + k*vg.Length(ca)},
			vg.Point{X: q.X + k*vg.Length(sb), Y: q.Y - k*vg.Length(cb)}, q)
	}
}
