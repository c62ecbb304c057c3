// Package figure draws torchpe's figures: vector PDF and SVG for papers and web pages, PNG for
// slides and READMEs.
//
// Compose puts panels on a page. A panel is a struct of numbers and texts: Lines, Boxes, Scatter,
// Matrix, Map, Puzzle, Strip or Schematic, whose fields say how they fit together. Compose returns a *Figure,
// which Figure.Save writes. All figures share the theme in theme.go (one font, one set of sizes) and the
// palette in palette.go (a positional encoding has the same colour in every figure). The note below a
// panel states what it averages over and leaves out.
//
// Drawing the same numbers twice gives the same bytes. Compose returns an error for numbers and texts that
// cannot be drawn.
package figure

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image/png"
	"io"
	"math"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"torchpe/internal/atomicfile"
)

// Widths of a figure in inches: one column and the full width of a paper's page.
const (
	ColumnWidth = 3.3
	PageWidth   = 7.0
)

// pngDPI is the resolution of PNG files, enough for screens and drafts; print uses the PDF.
const pngDPI = 300

// Figure is a finished drawing of fixed size, made by Compose.
type Figure struct {
	width, height vg.Length
	draw          func(draw.Canvas)
}

// Size returns the size of the figure in points.
func (f *Figure) Size() (width, height float64) { return f.width.Points(), f.height.Points() }

// Save writes the figure to path, completely or not at all, in the format of its extension: pdf, png or svg.
func (f *Figure) Save(path string) error {
	format := strings.ToLower(strings.TrimPrefix(filepath.Ext(path), "."))
	return atomicfile.Write(path, func(w io.Writer) error { return f.Encode(w, format) })
}

// Encode draws the figure as "pdf", "png" (300 dpi) or "svg" and writes it to w.
func (f *Figure) Encode(w io.Writer, format string) error {
	switch format {
	case "pdf":
		c := newPDF(f.width, f.height)
		f.draw(draw.NewCanvas(c, f.width, f.height))
		return c.write(w)
	case "png":
		c := vgimg.NewWith(vgimg.UseWH(f.width, f.height), vgimg.UseDPI(pngDPI))
		f.draw(draw.New(c))
		// Less time than the default level takes, for 4 % more bytes.
		encoder, buf := png.Encoder{CompressionLevel: png.BestSpeed}, new(bytes.Buffer)
		if err := encoder.Encode(buf, c.Image()); err != nil {
			return err
		}
		_, err := w.Write(stampDPI(buf.Bytes()))
		return err
	case "svg":
		c := &svgCanvas{Canvas: vgsvg.New(f.width, f.height)}
		f.draw(draw.New(c))
		buf := new(bytes.Buffer)
		if _, err := c.WriteTo(buf); err != nil {
			return err
		}
		_, err := w.Write(c.portable(buf.Bytes()))
		return err
	}
	return fmt.Errorf("figure format %q: want pdf, png or svg", format)
}

// svgCanvas is an SVG canvas that records the widths of its texts.
type svgCanvas struct {
	*vgsvg.Canvas
	widths []vg.Length
}

// FillString implements vg.Canvas.
func (c *svgCanvas) FillString(f font.Face, pt vg.Point, s string) {
	c.widths = append(c.widths, f.Width(s))
	c.Canvas.FillString(f, pt, s)
}

// portable changes details of the SVG that vgsvg has no settings for:
//   - It lists fonts of equal widths, because browsers without Liberation Sans use a serif font.
//   - It gives each text its width, so that texts in a wider fallback font do not overlap.
//   - It rounds line joins as the other formats do.
//   - It corrects the MIME type of images and stretches them to their rectangles, because browsers
//     would keep the aspect ratio of the pixels.
func (c *svgCanvas) portable(svg []byte) []byte {
	const text = "<text "
	parts := bytes.Split(svg, []byte(text)) // the text itself is escaped
	for i, width := range c.widths {
		start := text
		if width > 0 {
			start = fmt.Sprintf(`<text textLength="%.4g" lengthAdjust="spacingAndGlyphs" `, width.Points())
		}
		parts[i+1] = append([]byte(start), parts[i+1]...)
	}
	svg = bytes.Join(parts, nil)
	svg = bytes.ReplaceAll(svg, []byte("font-family:Liberation Sans;"),
		[]byte("font-family:'Liberation Sans',Arial,Helvetica,sans-serif;"))
	svg = bytes.ReplaceAll(svg, []byte("<image "), []byte(`<image preserveAspectRatio="none" `))
	svg = bytes.ReplaceAll(svg, []byte("data:image/jpg;base64,iVBOR"),
		[]byte("data:image/png;base64,iVBOR"))
	return bytes.Replace(svg, []byte("<g transform="),
		[]byte(`<g stroke-linejoin="round" transform=`), 1)
}

// stampDPI adds the resolution to a PNG, so that LaTeX and word processors place it at its true size.
// It inserts a pHYs chunk (pixels per metre) after the header chunk.
func stampDPI(file []byte) []byte {
	const header = 8 + 25 // signature, IHDR
	perMetre := uint32(math.Round(pngDPI / 0.0254))
	chunk := binary.BigEndian.AppendUint32([]byte("pHYs"), perMetre)
	chunk = binary.BigEndian.AppendUint32(chunk, perMetre)
	chunk = append(chunk, 1) // the unit is the metre
	out := append([]byte{}, file[:header]...)
	out = binary.BigEndian.AppendUint32(out, uint32(len(chunk)-4))
	out = append(out, chunk...)
	out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(chunk))
	return append(out, file[header:]...)
}
