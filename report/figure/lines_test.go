package figure

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg/draw"

	"torchpe/internal/expect"
)

// lineOf is a line over x = first, first + step, ... of one or more members.
func lineOf(label string, first, step float64, members ...[]float64) LineSeries {
	s := LineSeries{Label: label, Values: members}
	for i := range members[0] {
		s.X = append(s.X, first+step*float64(i))
	}
	return s
}

func flat(label string, v float64, members int) LineSeries {
	return lineOf(label, 1, 1, slices.Repeat([][]float64{{v, v, v}}, members)...)
}

// twelveLines end close together; some have one member and some have two.
func twelveLines() (all []LineSeries) {
	for i, label := range []string{"learn σ=0.1", "learn σ=0.2", "learn σ=0.5", "learn σ=1.0",
		"learn σ=2.0",
		"2d-fixed", "1d-fixed", "nope", "c-nope", "rope", "relative", "random"} {
		values := make([][]float64, 1+i%2)
		curve := rise(0.88+0.01*float64(i), 200*float64(i+1), 150)
		for epoch := 0.; epoch <= 4000; epoch += 200 {
			for m := range values {
				values[m] = append(values[m], max(curve(epoch)-0.05*float64(m), 0))
			}
		}
		all = append(all, lineOf(label, 0, 200, values...))
	}
	return all
}

// edgeCases are lines at the limits of what can be drawn.
func edgeCases() map[string]Lines {
	series := map[string][]LineSeries{
		"example":   trainingLines(5).Series,
		"one-point": {lineOf("learn σ=0.2", 3, 1, []float64{0.4})},
		"one-line":  {lineOf("rope", 0, 1, []float64{0.2, 0.3, 0.5, 0.9})},
		"twelve":    twelveLines(),
		"gaps": {
			lineOf("alibi", 1, 1, []float64{0.2, 0.3, nan, 0.5, nan, 0.7, 0.72, 0.71},
				[]float64{0.25, 0.33, nan, 0.45, nan, 0.6, nan, 0.7}),
			lineOf("t5-bias", 1, 1, []float64{0.2, 0.33, 0.4, 0.6}),
			lineOf("late", 7, 1, []float64{nan, 0.1}),
		},
		"long-run": {{Label: "learn σ=2.0", X: []float64{0, 1_000_000, 999_999_999},
			Values: [][]float64{{0, 0.5, 1}}}},
		"odd-names": {flat("emoji 😀", 0.3, 1), flat("<b>&amp;", 0.3, 1), flat("注意 α", 0.3, 1),
			flat("(", 0.3, 1)},
	}
	for _, v := range []float64{0, 0.25, 1} {
		for i := range 5 {
			name := fmt.Sprintf("all-%g", v)
			series[name] = append(series[name], flat(fmt.Sprintf("scheme-%d", i), v, 3))
		}
	}
	cases := map[string]Lines{}
	for name, s := range series {
		cases[name] = Lines{XLabel: "Epoch", YLabel: "Accuracy", YMax: 1,
			References: []Reference{{"chance", 0.25}}, Series: s}
	}
	return cases
}

var word = regexp.MustCompile(
	`<word xMin="([-0-9.]+)" yMin="([-0-9.]+)" xMax="([-0-9.]+)" yMax="([-0-9.]+)">([^<]*)</word>`)

// checkWords has another program read the PDF: its words lie on the page of width x height pt and
// clear of each other.
func checkWords(t *testing.T, name string, pdf []byte, width, height float64) {
	t.Helper()
	type box struct {
		at   [4]float64
		text string
	}
	var boxes []box
	for _, m := range word.FindAllStringSubmatch(poppler(t, pdf, "pdftotext", "-bbox",
		pdfFile, "-"), -1) {
		b := box{text: m[5]}
		for i := range b.at {
			b.at[i], _ = strconv.ParseFloat(m[1+i], 64)
		}
		boxes = append(boxes, b)
	}
	if len(boxes) < 8 {
		t.Errorf("%s: only the words %v", name, boxes)
	}
	for i, b := range boxes {
		if b.at[0] < 0 || b.at[1] < 0 || b.at[2] > width || b.at[3] > height {
			t.Errorf("%s: %q is at %v, off the page of %g x %g pt", name, b.text, b.at, width,
				height)
		}
		for _, c := range boxes[:i] {
			// poppler's boxes are as high as the font's ascent and descent, half a point more than
			// the line pitch; an exponent follows its base without a gap, and numbers are rounded
			if b.at[0] < c.at[2]-0.01 && c.at[0] < b.at[2]-0.01 && b.at[1] < c.at[3]-1 &&
				c.at[1] < b.at[3]-1 {
				t.Errorf("%s: %q at %v overlaps %q at %v", name, b.text, b.at, c.text, c.at)
			}
		}
	}
}

func TestOrderOfLinesDoesNotMatter(t *testing.T) {
	l := trainingLines(3)
	l.Series = append(l.Series, flat("alibi", 0.5, 3), flat("fire", 0.5, 3), flat("tisa", 0.5, 3))
	want := svgOf(alone(l, ColumnWidth, 2.3))
	slices.Reverse(l.Series)
	expect.Equal(t, "the same lines in another order give another figure",
		svgOf(alone(l, ColumnWidth, 2.3)) != want, false)
}

// Where the labels of lines do not fit at their ends, a legend names them; where that does not fit,
// the note says so.
func TestTooManyLines(t *testing.T) {
	var l Lines
	for i := range 30 {
		l.Series = append(l.Series, flat(fmt.Sprint("scheme-", i), 0.5, 1))
	}
	expect.Equal(t, "lines that are named", strings.Count(svgOf(alone(l, ColumnWidth, 3)), ">scheme-"), 30)
	note, err := l.draw(draw.NewCanvas(newMeasure(), 200, 60))
	if err != nil || note != "No room for the labels of 30 lines. One member per line (n = 1)." {
		t.Errorf("in little room: %q, %v", note, err)
	}
}

// Differences of a thousandth do not fill a panel; panels that share y hold what each shows.
func TestRanges(t *testing.T) {
	near := func(y float64) Lines {
		return Lines{Series: []LineSeries{{Label: "rope", X: []float64{1, 2},
			Values: [][]float64{{y, y * 1.001}}}}}
	}
	l, m := near(1), near(3)
	if _, y := l.axes(l.art()); math.Abs(y.hi-y.lo-0.1) > 1e-3 || !y.contains(1) || !y.contains(1.001) {
		t.Errorf("the axis of 1 to 1.001 goes from %g to %g", y.lo, y.hi)
	}
	ShareY(&l, &m)
	if l.YMin != m.YMin || l.YMax != m.YMax || l.YMin > 1 || l.YMax < 3.003 {
		t.Errorf("shared axes: %g to %g and %g to %g", l.YMin, l.YMax, m.YMin, m.YMax)
	}
}
