package figure

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	stdfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"

	"torchpe/internal/expect"
)

func face(variant font.Variant, size vg.Length) font.Face {
	return plot.DefaultTextHandler.Cache().Lookup(font.Font{Typeface: "Liberation",
		Variant: variant}, size)
}

// lines are strings that figures need and that gonum's vgpdf garbles.
var lines = []string{
	"learn σ = 0.2, α ≠ β, Δ, μ, π",
	"−1 × 10⁻³ ± ½ ≤ ρ² ≥ ∞ … –",
	"Procrustes “distance”, naïve Schön’s é",
	"AV To Validation accuracy 11 (parens) \\ back\\slash",
}

func TestTextIsUnicode(t *testing.T) {
	c := newPDF(400, 100)
	for i, s := range lines {
		c.FillString(face("Sans", 10), vg.Point{X: 5, Y: vg.Length(80 - 20*i)}, s)
	}
	pdf := document(c)
	var got []string
	for line := range strings.Lines(poppler(t, pdf, "pdftotext", "-layout", pdfFile,
		"-")) {
		if line = strings.Trim(line, " \f\n"); line != "" {
			got = append(got, line)
		}
	}
	if diff := cmp.Diff(lines, got); diff != "" {
		t.Errorf("pdftotext reads other text than was written (- written, + read):\n%s", diff)
	}
	if len(pdf) > 40_000 {
		t.Errorf("%d bytes for four lines of text: the font is not cut down to its used glyphs",
			len(pdf))
	}
}

// fontRow matches pdffonts: name, type, encoding, emb, sub, uni.
var fontRow = regexp.MustCompile(
	`(?m)^(\S+)\s+CID TrueType\s+Identity-H\s+yes\s+(?:yes|no)\s+yes\b`)

func TestFontsAreEmbedded(t *testing.T) {
	c := newPDF(200, 100)
	regular := font.Font{Typeface: "Liberation", Variant: "Sans", Size: 9}
	italic, bold, both := regular, regular, regular
	italic.Style, bold.Weight = stdfont.StyleItalic, stdfont.WeightBold
	both.Style, both.Weight = stdfont.StyleItalic, stdfont.WeightBold
	for i, f := range []font.Font{regular, italic, bold, both, regular} {
		c.FillString(plot.DefaultTextHandler.Cache().Lookup(f, f.Size),
			vg.Point{X: 5, Y: vg.Length(10 + 15*i)}, "σ = 0.2")
	}
	out := poppler(t, document(c), "pdffonts", pdfFile)
	expect.Equal(t, out+"\nembedded CID TrueType fonts with a Unicode map", len(fontRow.FindAllString(out, -1)), 4)
	expect.Contains(t, out, "sans-regular ", "sans-italic ", "sans-bold ",
		"sans-bolditalic ")
}

// What poppler finds on the page is as wide as gonum/plot measures, where letters kern, and stands
// where it was put.
func TestTextIsAsWideAsMeasured(t *testing.T) {
	f := face("Sans", 20)
	for _, s := range []string{"Validation", "AVATAR", "σ=0.2", "1111", "To"} {
		c := newPDF(200, 100)
		c.FillString(f, vg.Point{X: 30, Y: 40}, s)
		words := word.FindAllStringSubmatch(poppler(t, document(c), "pdftotext", "-bbox",
			pdfFile, "-"), -1)
		if len(words) != 1 || words[0][5] != s {
			t.Errorf("%q: poppler finds the words %q", s, words)
			continue
		}
		x0, _ := strconv.ParseFloat(words[0][1], 64)
		x1, _ := strconv.ParseFloat(words[0][3], 64)
		if got, want := x1-x0, f.Width(s).Points(); math.Abs(got-want) > 0.1 ||
			math.Abs(x0-30) > 0.01 {
			t.Errorf("%q starts at %.3f and is %.3f pt wide, want 30 and %.3f", s, x0, got, want)
		}
	}
}

// fpdf reads past the end of invalid UTF-8 and mangles what is above U+FFFF.
func TestHostileText(t *testing.T) {
	c := newPDF(200, 200)
	for i, s := range []string{"cut \xe2\x88", "\xff\xfe\xf0", "emoji 😀 done", "tab\tand\x00nul",
		"注意", strings.Repeat("(", 300)} {
		c.FillString(face("Sans", 8), vg.Point{X: 5, Y: vg.Length(20 + 20*i)}, s)
	}
	out := poppler(t, document(c), "pdftotext", "-layout", pdfFile, "-")
	expect.Contains(t, out, "cut \uFFFD", "emoji \uFFFD done", "tab and nul")
}
