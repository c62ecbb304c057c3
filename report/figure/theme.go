package figure

import (
	"image/color"
	"math"
	"strings"

	stdfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Sizes on the printed page in points. Figures are not rescaled.
const (
	smallSize vg.Length = 7 // tick labels, line labels, the note
	labelSize vg.Length = 8 // axis labels
	titleSize vg.Length = 9

	hairline  vg.Length = 0.5 // axes, ticks
	lineWidth vg.Length = 1.2 // data
	margin    vg.Length = 3   // around the whole figure

	leading = 1.2 // distance between baselines in font sizes
)

// referenceStyle is the style of a Reference's line.
var referenceStyle = draw.LineStyle{Color: grey, Width: 0.8, Dashes: []vg.Length{3, 2}}

// sans returns Liberation Sans, which gonum/plot embeds: no system font is needed.
func sans(size vg.Length) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
}

// capHeight is the height of an upper-case letter of Liberation Sans in ems (its OS/2 table: 1409
// of 2048 units).
const capHeight = 0.688

// newPlot returns an empty plot in the theme.
func newPlot() *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil // paintBackground paints it
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Color, axis.Width = axisColor, hairline
		axis.Padding = 4
		axis.Label.TextStyle.Font, axis.Label.TextStyle.Color = sans(labelSize), ink
		axis.Label.Padding = 2
		axis.Tick.Label.Font, axis.Tick.Label.Color = sans(smallSize), ink
		axis.Tick.Color, axis.Tick.Width = axisColor, hairline
		axis.Tick.Length = 2.5
		axis.Tick.Label.Handler = newPowers()
	}
	return p
}

// writer writes text of one font and colour, centred on the height of capitals. gonum's text styles align
// by ascent and descent, which leaves digits and capitals off-centre.
type writer struct {
	face  font.Face
	color color.Color
}

func newWriter(f font.Font, c color.Color) writer {
	return writer{plot.DefaultTextHandler.Cache().Lookup(f, f.Size), c}
}

// The writers of most texts.
var (
	smallText = newWriter(sans(smallSize), ink)
	labelText = newWriter(sans(labelSize), ink)
	headText  = newWriter(bold(sans(labelSize)), ink)
	titleText = newWriter(bold(sans(titleSize)), ink)
	noteText  = smallText.in(noteColor)
)

// in returns the writer with another colour.
func (w writer) in(c color.Color) writer { return writer{w.face, c} }

func bold(f font.Font) font.Font {
	f.Weight = stdfont.WeightBold
	return f
}

// left writes s to the right of x, with capitals and digits centred on y.
func (w writer) left(c draw.Canvas, x, y vg.Length, s string) {
	c.SetColor(w.color)
	c.FillString(w.face, vg.Point{X: x, Y: y - capHeight/2*w.face.Font.Size}, s)
}

// centred writes s with its middle at (x, y).
func (w writer) centred(c draw.Canvas, x, y vg.Length, s string) { w.left(c, x-w.width(s)/2, y, s) }

// up writes s from bottom to top, with capitals and digits centred on x.
func (w writer) up(c draw.Canvas, x, y vg.Length, s string) {
	w.turned(c, math.Pi/2, vg.Point{X: x, Y: y}, vg.Point{Y: -capHeight / 2 * w.face.Font.Size}, s)
}

// slanted writes s upwards at 45 degrees, so that the upper right corner of its last letter lies at
// (x, y).
func (w writer) slanted(c draw.Canvas, x, y vg.Length, s string) {
	w.turned(c, math.Pi/4, vg.Point{X: x, Y: y},
		vg.Point{X: -w.width(s), Y: -capHeight * w.face.Font.Size}, s)
}

// turned writes s along a direction. Its baseline starts at start, seen from middle along the direction.
func (w writer) turned(c draw.Canvas, angle float64, middle, start vg.Point, s string) {
	c.Push()
	defer c.Pop()
	c.Translate(middle)
	c.Rotate(angle)
	c.SetColor(w.color)
	c.FillString(w.face, start, s)
}

// width returns the width of s.
func (w writer) width(s string) vg.Length { return w.face.Width(s) }

// widest returns the width of the widest of some lines.
func widest(w writer, lines []string) (width vg.Length) {
	for _, line := range lines {
		width = max(width, w.width(line))
	}
	return width
}

// wrap breaks s between words into lines no wider than width. A longer word stays whole.
func (w writer) wrap(s string, width vg.Length) []string {
	var lines []string
	line := ""
	for _, word := range words(s) {
		if line != "" && w.width(line+" "+word) > width {
			lines = append(lines, line)
			line = ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// words splits s at blanks, but not beside an equals sign: "n = 15" is one word.
func words(s string) (all []string) {
	for _, word := range strings.Fields(s) {
		if n := len(all); n > 0 && (word == "=" || strings.HasSuffix(all[n-1], " =")) {
			all[n-1] += " " + word
		} else {
			all = append(all, word)
		}
	}
	return all
}

// paintBackground paints the figure white, so that a PNG or SVG is readable on a dark web page.
func paintBackground(c draw.Canvas) {
	c.SetColor(color.White)
	c.Fill(c.Path())
}

// inset returns c without the margin around the figure.
func inset(c draw.Canvas) draw.Canvas { return draw.Crop(c, margin, -margin, margin, -margin) }

// drawNote writes the note along the lower edge of c.
func drawNote(c draw.Canvas, note string) {
	lines := noteText.wrap(note, c.Size().X)
	for i, line := range lines {
		noteText.left(c, c.Min.X, c.Min.Y+noteLead*(vg.Length(len(lines)-i)-0.5), line)
	}
}

// ticksFit reports whether the labels of p's x axis do not overlap.
func ticksFit(p *plot.Plot, data draw.Canvas) bool {
	right := vg.Length(math.Inf(-1))
	for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
		if t.IsMinor() {
			continue
		}
		middle, half := data.X(p.X.Norm(t.Value)), p.X.Tick.Label.Width(t.Label)/2
		if middle-half < right+smallSize/2 {
			return false
		}
		right = middle + half
	}
	return true
}
