package figure

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/internal/stats"
)

// Many groups whose n differ still fit half a page: their n stand in the note.
func TestManyGroupsOfDifferentSizes(t *testing.T) {
	b := Boxes{YLabel: "Accuracy"}
	for i := range 22 {
		values := make([]float64, 10+i%3)
		for k := range values {
			values[k] = float64(k) / 20
		}
		b.Groups = append(b.Groups,
			Group{Label: strconv.FormatFloat(float64(i)/10, 'f', 1, 64), Values: values})
	}
	expect.NoError(t,
		expect.ErrorOf(Compose(Page{Width: PageWidth,
			Rows: []Row{{Height: 2.2, Cells: []Cell{{Panel: b}, {Panel: b}}}}})))
	expect.Contains(t, b.note(), "n = 10 to 12")
}

// Where the names of groups have no room, a note says so. Numbers are left out without one.
func TestNamesWithoutRoom(t *testing.T) {
	for name, want := range map[string]bool{"name ": true, "": false} {
		var b Boxes
		for i := range 40 {
			b.Groups = append(b.Groups, Group{Label: name + strconv.Itoa(i), Values: []float64{1}})
		}
		svg := svgOf(alone(b, 2, 2.5))
		expect.Equal(t, fmt.Sprintf("%q: a note on the labels", name),
			strings.Contains(svg, "No room for the labels of "), want)
	}
}

// The interval stands beside the box, on the axis and in the note; the note names what dots are.
func TestInterval(t *testing.T) {
	b := Boxes{Dots: "subjects", Groups: []Group{{Label: "a", Values: []float64{1, 1.1},
		Interval: &stats.Interval{Low: 0.4, High: 1.7}}}}
	want := "Line: median; dots: subjects; black: mean with 95 % confidence interval; n = 2."
	expect.Equal(t, "note", b.note(), want)
	if y := b.axis(); y.lo > 0.4 || y.hi < 1.7 {
		t.Errorf("an interval from 0.4 to 1.7 on an axis from %g to %g", y.lo, y.hi)
	}
	with := svgOf(alone(b, 3, 2))
	b.Groups[0].Interval = &stats.Interval{Low: 1, High: 1.1}
	expect.Equal(t, "the interval is not drawn", svgOf(alone(b, 3, 2)) == with, false)
	b.Groups[0].Interval.High = math.Inf(1)
	expect.Error(t, expect.ErrorOf(Compose(alone(b, 3, 2))), "its interval, value 1 is +Inf")
}

// An axis covers given numbers, and noise does not fill it.
func TestCovers(t *testing.T) {
	for _, values := range [][]float64{{-0.0028, -0.0020}, {0.3, 0.31}, {0, 0}, {-0.5, 0.4}} {
		b := Boxes{Covers: [2]float64{0, 0.1}, Groups: []Group{{Label: "a", Values: values}}}
		if y := b.axis(); y.lo > 0 || y.hi < 0.1 || !y.contains(values[0]) ||
			!y.contains(values[1]) {
			t.Errorf("%v on an axis from %g to %g", values, y.lo, y.hi)
		}
	}
}

// A hollow dot stays in sight on the median, which is one of the members where their number is odd.
func TestHollowOnMedian(t *testing.T) {
	b := Boxes{HollowNote: "hollow: not fitted",
		Groups: []Group{{Label: "a", Values: []float64{0.5}, Hollow: []bool{true}}}}
	svg := svgOf(alone(b, 3, 2))
	expect.Equal(t, "the line of the median covers the hollow dot",
		strings.LastIndex(svg, "fill:#FFFFFF") < strings.LastIndex(svg, "stroke-width:1.5"), false)
}
