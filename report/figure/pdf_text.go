package figure

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	plotfont "gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// FillString writes text with the left end of its baseline at pt. Only the used glyphs of a font are
// embedded. A character that the font lacks is shown as its glyph for missing characters.
func (c *pdfCanvas) FillString(f plotfont.Face, pt vg.Point, text string) {
	if f.Font.Size == 0 || text == "" {
		return
	}
	if err := c.useFont(f); err != nil {
		c.fail(err)
		return
	}
	runs, err := kernedRuns(f, writable(text))
	if err != nil {
		c.fail(err)
		return
	}
	c.setColor()
	c.transformed(func() {
		for _, r := range runs {
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

// useFont sets the font of the page to f and embeds a new font. The PDF uses the full name of the font
// (LiberationSans-Bold), so that weights and styles need no mapping to those of fpdf.
func (c *pdfCanvas) useFont(f plotfont.Face) error {
	name := f.Name()
	if !c.fonts[name] {
		if f.Face == nil {
			return fmt.Errorf("PDF: font %q has no outlines: add its collection to "+
				"gonum/plot's font cache", name)
		}
		var ttf bytes.Buffer
		if _, err := f.Face.WriteSourceTo(nil, &ttf); err != nil {
			return fmt.Errorf("PDF: font %q: %w", name, err)
		}
		c.doc.AddUTF8FontFromBytes(name, "", ttf.Bytes())
		c.fonts[name] = true
	}
	if c.sent.font != f.Font {
		c.doc.SetFont(name, "", f.Font.Size.Points())
		c.sent.font = f.Font
	}
	return nil
}

// kernedRun is a part of a string without kerning, at dx to the right of the start of the string.
type kernedRun struct {
	dx   vg.Length
	text string
}

// kernedRuns splits text where the font kerns, so that text is as wide as gonum/plot's font.Face.Width
// measures it.
func kernedRuns(f plotfont.Face, text string) ([]kernedRun, error) {
	var (
		buf  sfnt.Buffer
		ppem = fixed.Int26_6(f.Face.UnitsPerEm())
		unit = f.Font.Size / vg.Length(ppem)
		runs []kernedRun
		x    fixed.Int26_6
		prev sfnt.GlyphIndex
		from int
		dx   vg.Length
	)
	for i, r := range text {
		idx, err := f.Face.GlyphIndex(&buf, r)
		if err != nil {
			return nil, fmt.Errorf("PDF: %q in font %q: %w", r, f.Name(), err)
		}
		if i > 0 {
			kern, err := f.Face.Kern(&buf, prev, idx, ppem, font.HintingNone)
			if err != nil && !errors.Is(err, sfnt.ErrNotFound) {
				return nil, fmt.Errorf("PDF: kerning of %q in font %q: %w", text, f.Name(),
					err)
			}
			if err == nil && kern != 0 {
				runs = append(runs, kernedRun{dx, text[from:i]})
				x += kern
				from, dx = i, vg.Length(x)*unit
			}
		}
		adv, err := f.Face.GlyphAdvance(&buf, idx, ppem, font.HintingNone)
		if err != nil {
			return nil, fmt.Errorf("PDF: width of %q in font %q: %w", r, f.Name(), err)
		}
		x += adv
		prev = idx
	}
	return append(runs, kernedRun{dx, text[from:]}), nil
}
