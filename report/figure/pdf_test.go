package figure

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"

	"torchpe/internal/expect"
)

func document(c *pdfCanvas) []byte { return []byte(expect.Written(c.write)) }

// operators returns the page's drawing operators: the document's first compressed stream.
func operators(t *testing.T, pdf []byte) []byte {
	t.Helper()
	_, rest, ok := bytes.Cut(pdf, []byte("stream\n"))
	if !ok {
		t.Fatal("no stream in the PDF")
	}
	z := expect.Must(zlib.NewReader(bytes.NewReader(rest)))
	return expect.Must(io.ReadAll(z))
}

// shapes draws every kind of mark but text on a canvas of 120 x 90 pt.
func shapes(c vg.Canvas) {
	pt := func(x, y vg.Length) vg.Point { return vg.Point{X: x, Y: y} }
	box := func(x, y, w, h vg.Length) (p vg.Path) {
		p.Move(pt(x, y))
		p.Line(pt(x+w, y))
		p.Line(pt(x+w, y+h))
		p.Line(pt(x, y+h))
		p.Close()
		return p
	}
	c.SetColor(color.White)
	c.Fill(box(0, 0, 120, 90))

	c.SetColor(color.NRGBA{R: 0xd5, G: 0x5e, A: 0x80}) // overlapping, half opaque
	c.Fill(box(5, 5, 30, 20))
	c.Fill(box(20, 15, 30, 20))

	c.SetColor(color.NRGBA{B: 0xb2, G: 0x72, A: 0xff})
	c.SetLineWidth(2)
	c.SetLineDash([]vg.Length{6, 3}, 2)
	var zigzag vg.Path
	zigzag.Move(pt(5, 80))
	zigzag.Line(pt(55, 50))
	zigzag.Line(pt(115, 80))
	c.Stroke(zigzag)
	c.SetLineDash(nil, 0)

	c.SetColor(nil)
	c.SetLineWidth(1)
	var curves vg.Path
	curves.Move(pt(60, 10))
	curves.QuadTo(pt(75, 40), pt(90, 10))
	curves.CubeTo(pt(95, 0), pt(105, 40), pt(115, 10))
	c.Stroke(curves)
	var pie vg.Path // no move first: the arc starts the path
	pie.Arc(pt(80, 50), 12, math.Pi/6, 1.5*math.Pi)
	pie.Line(pt(80, 50))
	pie.Close()
	c.Fill(pie)
	var ring vg.Path
	ring.Arc(pt(105, 45), 8, 0, -2*math.Pi)
	c.Stroke(ring)

	c.Push()
	c.Translate(pt(30, 50))
	c.Rotate(math.Pi / 6)
	c.Scale(2, 0.5)
	c.SetColor(color.NRGBA{R: 0xcc, G: 0x79, B: 0xa7, A: 0xff})
	c.Fill(box(-8, -8, 16, 16))
	c.Pop()
	c.Stroke(box(2, 2, 116, 86)) // black and 1 pt again
	c.DrawImage(vg.Rectangle{Min: pt(60, 62), Max: pt(84, 74)}, blocks(image.Point{}))
}

// blocks is an image of 48 x 24 pixels, 12 to a block, with a hole; its upper left corner is at
// min.
func blocks(min image.Point) image.Image {
	img := image.NewNRGBA64(image.Rectangle{min, min.Add(image.Pt(48, 24))})
	for i := range 48 * 24 {
		x, y := i%48, i/48
		clr := color.NRGBA{R: uint8(60 * (x / 12)), G: 0x9e, B: uint8(100 * (y / 12)), A: 0xff}
		if x/12 == 1 && y/12 == 0 {
			clr.A = 0
		}
		img.Set(min.X+x, min.Y+y, clr)
	}
	return img
}

// drawnAt is the page of a PDF as poppler draws it at so many pixels an inch.
func drawnAt(t *testing.T, pdf []byte, resolution string) image.Image {
	t.Helper()
	text := poppler(t, pdf, "pdftoppm", "-r", resolution, "-png", pdfFile)
	return expect.Must(png.Decode(strings.NewReader(text)))
}

// The same marks through gonum's PNG canvas and through this package and poppler are the same
// picture.
func TestShapesLookAsInPNG(t *testing.T) {
	ref := vgimg.NewWith(vgimg.UseWH(120, 90), vgimg.UseDPI(144)) // two pixels a point
	shapes(ref)
	c := newPDF(120, 90)
	shapes(c)
	got := drawnAt(t, document(c), "144")
	want := ref.Image()
	if got.Bounds() != want.Bounds() {
		t.Fatalf("%v pixels, want %v", got.Bounds(), want.Bounds())
	}
	var sum, off float64
	for y := range want.Bounds().Dy() {
		for x := range want.Bounds().Dx() {
			d := pixelDistance(got.At(x, y), want.At(x, y))
			sum += d
			if d > 0.5 {
				off++
			}
		}
	}
	n := float64(want.Bounds().Dx() * want.Bounds().Dy())
	t.Logf("mean difference %.4f, %.2f %% of the pixels more than half off", sum/n, 100*off/n)
	// what is left is antialiasing along edges and the image's scaling
	if sum/n > 0.01 || off/n > 0.003 {
		t.Errorf(
			"mean difference of the pixels %.4f, %.2f %% more than half off: want at most 0.01 and 0.3 %%",
			sum/n, 100*off/n)
	}
}

// pixelDistance is the largest difference of two colours' channels, 0 to 1.
func pixelDistance(a, b color.Color) float64 {
	ar, ag, ab, _ := a.RGBA()
	br, bg, bb, _ := b.RGBA()
	d := func(x, y uint32) float64 { return math.Abs(float64(x)-float64(y)) / 0xffff }
	return max(d(ar, br), d(ag, bg), d(ab, bb))
}

// imageName is a hash of the image's compressed bytes, which another release of Go may compress
// differently.
var imageName = regexp.MustCompile(`/I[0-9a-f]{40}`)

func TestOperators(t *testing.T) {
	c := newPDF(120, 90)
	shapes(c)
	ops := imageName.ReplaceAll(operators(t, document(c)), []byte("/IMAGE"))
	expect.Golden(t, "shapes.txt", ops)
}

// An image is drawn alike wherever its own coordinates start.
func TestImageOffOrigin(t *testing.T) {
	draw := func(min image.Point) []byte {
		c := newPDF(48, 24)
		c.DrawImage(vg.Rectangle{Max: vg.Point{X: 48, Y: 24}}, blocks(min))
		return document(c)
	}
	expect.Equal(t, "an image whose bounds do not start at 0, 0 is drawn differently",
		!bytes.Equal(draw(image.Point{}), draw(image.Pt(-7, 1000))), false)
}

// Images of one size come in the order in which they were drawn, each where it belongs and nothing
// beyond it.
func TestImagesOfOneSize(t *testing.T) {
	draw := func() []byte {
		c := newPDF(100, 10)
		for i := range 8 {
			tile := image.NewNRGBA(image.Rect(0, 0, 4, 4))
			for k := range tile.Pix {
				tile.Pix[k] = uint8(20*i) | uint8(k%4/3*0xff)
			}
			c.DrawImage(vg.Rectangle{Min: vg.Point{X: vg.Length(12 * i)},
				Max: vg.Point{X: vg.Length(12*i + 10), Y: 10}}, tile)
		}
		return document(c)
	}
	first := draw()
	for range 10 {
		if !bytes.Equal(first, draw()) {
			t.Fatal("the same images give another document")
		}
	}
	page := drawnAt(t, first, "72")
	for i := range 8 {
		inside, beside := color.GrayModel.Convert(page.At(12*i+5, 5)),
			color.GrayModel.Convert(page.At(12*i+11, 5))
		if inside != (color.Gray{uint8(20 * i)}) || beside != (color.Gray{255}) {
			t.Errorf("image %d is %v, and beside it lies %v", i, inside, beside)
		}
	}
}

// A stroke under a transform is stretched with it, as in PDF and SVG: a pen of 1 pt, scaled by 6
// and 2, is 6 wide and 2 high.
func TestPenIsTransformed(t *testing.T) {
	c := newPDF(100, 100)
	c.Push()
	c.Scale(6, 2)
	c.Stroke(vg.Path{{Type: vg.MoveComp, Pos: vg.Point{X: 10}},
		{Type: vg.LineComp, Pos: vg.Point{X: 10, Y: 50}}})
	c.Pop()
	page := drawnAt(t, document(c), "72")
	for x, want := range map[int]color.Gray{55: {255}, 58: {0}, 61: {0}, 64: {255}} {
		expect.Equal[color.Color](t, fmt.Sprintf("where the pen at x = 60 is 6 wide, pixel %d", x),
			color.GrayModel.Convert(page.At(x, 50)), want)
	}
}

func TestSameDrawingSameBytes(t *testing.T) {
	draw := func() []byte {
		c := newPDF(120, 90)
		// fpdf keeps fonts and images in maps
		for _, variant := range []font.Variant{"Sans", "Serif", "Mono"} {
			c.FillString(face(variant, 8), vg.Point{X: 10, Y: 20}, "ρ²")
			shapes(c)
		}
		return document(c)
	}
	want := draw()
	for range 10 {
		if !bytes.Equal(draw(), want) {
			t.Fatal("two drawings of the same marks differ in their bytes")
		}
	}
}

// A PDF has a fixed date, so that a figure drawn on another day has the same bytes.
func TestDate(t *testing.T) {
	pdf := document(newPDF(10, 10))
	for _, want := range []string{"/CreationDate (D:20000101000000)", "/ModDate (D:20000101000000)"} {
		if !bytes.Contains(pdf, []byte(want)) {
			t.Errorf("the PDF lacks %s", want)
		}
	}
}

// What draws nothing writes nothing, and a wide page is not turned round.
func TestEmptyMarks(t *testing.T) {
	c := newPDF(200, 100)
	c.Stroke(nil)
	c.Fill(nil)
	c.FillString(face("Sans", 8), vg.Point{}, "")
	c.FillString(face("Sans", 0), vg.Point{}, "x")
	c.DrawImage(vg.Rectangle{Max: vg.Point{X: 5, Y: 5}}, image.NewGray(image.Rectangle{}))
	c.SetLineWidth(0)
	c.Stroke(vg.Path{{Type: vg.MoveComp}, {Type: vg.LineComp, Pos: vg.Point{X: 5}}})
	c.Push()
	c.Scale(0, 1)
	c.Fill(vg.Path{{Type: vg.MoveComp}, {Type: vg.LineComp, Pos: vg.Point{X: 5, Y: 5}},
		{Type: vg.CloseComp}})
	c.Pop()
	pdf := document(c)
	// fpdf's own preamble
	expect.Equal(t, "marks that draw nothing wrote", string(operators(t, pdf)),
		"0 J\n1 j\n0.57 w\n0.000 G\n0.000 g\n")
	expect.Contains(t, poppler(t, pdf, "pdfinfo", pdfFile), "200 x 100 pts")
}
