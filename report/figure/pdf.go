package figure

import (
	"bytes"
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"io"
	"math"
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
// It does not keep transforms and colours on the PDF's graphics-state stack. Each mark sets its own, within
// its own q … Q.
type pdfCanvas struct {
	canvasState
	doc    *fpdf.Fpdf
	height vg.Length
	fonts  map[string]bool
	widths map[int]bool // widths of the images in pixels
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
	c.mark(func() {
		c.doc.SetLineWidth(s.width.Points())
		c.doc.SetDashPattern(s.dashes, s.dashOffset)
		c.path(p)
		c.doc.DrawPath("D")
	})
}

// Fill fills p by the non-zero winding rule.
func (c *pdfCanvas) Fill(p vg.Path) {
	if len(p) > 0 {
		c.mark(func() {
			c.path(p)
			c.doc.DrawPath("F")
		})
	}
}

// mark calls draw with the current colour, opacity and transform. It does nothing if the transform is singular.
func (c *pdfCanvas) mark(draw func()) {
	m, clr := c.cur().ctm, c.cur().color
	if m[0]*m[3]-m[1]*m[2] == 0 {
		return
	}
	c.doc.TransformBegin()
	if m != identity {
		c.doc.Transform(fpdf.TransformMatrix{A: m[0], B: m[1], C: m[2], D: m[3], E: m[4], F: m[5]})
	}
	r, g, b := int(clr.R), int(clr.G), int(clr.B)
	c.doc.SetDrawColor(r, g, b)
	c.doc.SetFillColor(r, g, b)
	c.doc.SetTextColor(r, g, b)
	c.doc.SetAlpha(float64(clr.A)/255, "Normal")
	draw()
	c.doc.TransformEnd()
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
	name := fmt.Sprintf("image%04d", len(c.widths))
	opts := fpdf.ImageOptions{ImageType: "png", AllowNegativePosition: true}
	c.doc.RegisterImageOptionsReader(name, opts, &buf)
	c.mark(func() {
		c.doc.SetAlpha(1, "Normal")
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
	c.doc.SetFont(name, "", f.Font.Size.Points())
	c.mark(func() {
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

// path adds a path to the page.
func (c *pdfCanvas) path(p vg.Path) {
	xy := func(pt vg.Point) (x, y float64) { return pt.X.Points(), c.fromTop(pt.Y) }
	for i, comp := range p {
		x, y := xy(comp.Pos)
		switch comp.Type {
		case vg.MoveComp:
			c.doc.MoveTo(x, y)
		case vg.LineComp:
			c.doc.LineTo(x, y)
		case vg.ArcComp:
			r, degrees := comp.Radius.Points(), 180/math.Pi
			if i == 0 { // an arc is joined to the point before it, if there is one
				sin, cos := math.Sincos(comp.Start)
				c.doc.MoveTo(x+r*cos, y-r*sin)
			}
			for part := range 4 { // fpdf is exact enough for a quarter of a turn
				from := comp.Start + comp.Angle*float64(part)/4
				c.doc.ArcTo(x, y, r, r, 0, from*degrees, (from+comp.Angle/4)*degrees)
			}
		case vg.CurveComp:
			x0, y0 := xy(comp.Control[0])
			x1, y1 := xy(comp.Control[len(comp.Control)-1])
			if len(comp.Control) == 1 { // the equal cubic has its controls two thirds of the way to the quadratic's
				atX, atY := c.doc.GetXY()
				x0, y0, x1, y1 = atX+(x0-atX)*2/3, atY+(y0-atY)*2/3, x+(x1-x)*2/3, y+(y1-y)*2/3
			}
			c.doc.CurveBezierCubicTo(x0, y0, x1, y1, x, y)
		case vg.CloseComp:
			c.doc.ClosePath()
		}
	}
}
