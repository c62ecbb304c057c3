package figure

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"regexp"
	"testing"

	"gonum.org/v1/plot/vg/draw"

	"torchpe/internal/expect"
)

// The cells of a matrix are where the numbers are: the first row is at the top.
func TestMatrixColours(t *testing.T) {
	m := Matrix{Rows: 2, Columns: 2, Values: []float64{0, 1, nan, 0.5}, HideBar: true}
	img := expect.Must(png.Decode(bytes.NewReader(encode(expect.Must(Compose(alone(m, 2, 2))), "png"))))
	// matplotlib 3.8: viridis at 0, 0.5 and 1 (of 256 steps) is #440154, #21918c, #fde725
	for want, at := range map[color.NRGBA][2]int{rgb(0x440154): {100, 100},
		rgb(0xfde725): {400, 100}, missingCell: {100, 400}, rgb(0x21918c): {400, 400}} {
		expect.Equal[color.Color](t, fmt.Sprint("pixel ", at), color.NRGBAModel.Convert(img.At(at[0], at[1])),
			want)
	}
}

var imageSize = regexp.MustCompile(
	`<image [^>]*x="[^"]*" y="[^"]*" width="([0-9.]+)" height="([0-9.]+)"`)

// imageSizes are the sizes of the heat maps in a row of two panels, as the SVG has them.
func imageSizes(t *testing.T, a, b Cell) (sizes []string) {
	t.Helper()
	svg := svgOf(Page{Width: PageWidth, Rows: []Row{{Height: 1.4,
		Cells: []Cell{a, b, {Panel: examplePuzzle}, {Panel: examplePuzzle}}}}})
	for _, m := range imageSize.FindAllStringSubmatch(svg, -1) {
		sizes = append(sizes, fmt.Sprintf("%.6s x %.6s", m[1], m[2]))
	}
	if len(sizes) != 2 {
		t.Fatalf("%d heat maps in a row of two", len(sizes))
	}
	return sizes
}

// Heat maps of the same cells in one row are equally large, whatever their colour bars need; others
// keep their room.
func TestMatricesOfARowAreEven(t *testing.T) {
	narrow, wide := attention("a", 0), attention("b", 1)
	for i := range wide.Values {
		wide.Values[i] *= 1e4
	}
	narrow.Max, wide.Max = 0, 0
	s := imageSizes(t, Cell{Panel: narrow}, Cell{Panel: wide})
	expect.Equal(t, "heat maps of one shape", s[1], s[0])
	own := imageSizes(t, Cell{Panel: narrow}, Cell{Panel: narrow})[0]
	other := wide
	other.RowLabels = append([]string{"first"}, wide.RowLabels[1:]...)
	if s := imageSizes(t, Cell{Panel: narrow}, Cell{Panel: other}); s[0] != own || s[1] == own {
		t.Errorf(
			"heat maps with different labels are %s and %s, want the first as it is beside its like, %s",
			s[0], s[1], own)
	}
	if s := imageSizes(t, Cell{Panel: narrow}, Cell{Panel: wide, Weight: 0.9}); s[0] == s[1] {
		t.Errorf("heat maps in cells of different widths are both %s", s[0])
	}
	expect.Equal(t, "widths of the caller's panels", fmt.Sprint(narrow.maxWidth, wide.maxWidth), "0 0")
}

// A label that lies across edges is drawn as it would be without them.
func TestMapLabelsOverEdges(t *testing.T) {
	star := Map{Labels: []string{"cell 12"}, XY: [][2]float64{{0, 0}}}
	for k := range 24 {
		sin, cos := math.Sincos(2 * math.Pi * float64(k) / 24)
		star.XY, star.Labels, star.Edges = append(star.XY, [2]float64{cos, sin}),
			append(star.Labels, ""), append(star.Edges, [2]int{0, k + 1})
	}
	bare := star
	bare.Edges = nil
	f := expect.Must(Compose(alone(star, 2, 2)))
	m := newMeasure()
	f.draw(draw.NewCanvas(m, f.width, f.height))
	if len(m.texts) != 1 {
		t.Fatalf("%d texts, want the one label", len(m.texts))
	}
	pictures := [2]image.Image{}
	for i, p := range []Map{star, bare} {
		img := expect.Must(png.Decode(bytes.NewReader(encode(expect.Must(Compose(alone(p, 2, 2))), "png"))))
		pictures[i] = img
	}
	const scale = pngDPI / 72.
	inked := 0
	low, high := m.texts[0].corners[0], m.texts[0].corners[2]
	for x := int(low[0] * scale); x < int(high[0]*scale); x++ {
		for y := int((float64(f.height) - high[1]) * scale); y < int((float64(f.height)-low[1])*scale); y++ {
			if with, without := pictures[0].At(x, y), pictures[1].At(x, y); with != without {
				t.Fatalf("an edge shows in the label at %d, %d: %v, without edges %v", x, y, with,
					without)
			} else if color.GrayModel.Convert(with).(color.Gray).Y < 128 {
				inked++
			}
		}
	}
	if inked < 100 {
		t.Errorf("only %d dark pixels in the label", inked)
	}
}
