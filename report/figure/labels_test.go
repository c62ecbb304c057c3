package figure

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// gap returns the distance of p from the nearest of a fine grid of points of the box.
func gap(box vg.Rectangle, p vg.Point) vg.Length {
	least := vg.Length(1e9)
	for i := range 21 {
		for k := range 21 {
			x := box.Min.X + box.Size().X*vg.Length(i)/20
			y := box.Min.Y + box.Size().Y*vg.Length(k)/20
			least = min(least, distance(p, vg.Point{X: x, Y: y}))
		}
	}
	return least
}

// Labels overlap neither each other nor a point, and a label is nearest to its own point; the key
// lists all others.
func TestLabelsAreClear(t *testing.T) {
	rnd := rand.New(rand.NewPCG(41, 42))
	beside, numbered := 0, 0
	for range 10 {
		m := newMeasure()
		c := draw.NewCanvas(m, 150, 100)
		l := labeller{area: c.Rectangle, radius: 2}
		for i := range 40 {
			at := vg.Point{X: vg.Length(150 * rnd.Float64()), Y: vg.Length(100 * rnd.Float64())}
			l.points = append(l.points, labelledPoint{at: at, text: fmt.Sprint("p", i), color: ink})
		}
		placed, key := l.place()
		drawLabels(c, placed)
		if err := m.take(c.Rectangle); err != nil {
			t.Fatalf("%d labels: %v", len(placed), err)
		}
		listed := strings.FieldsFunc(key,
			func(r rune) bool { return strings.ContainsRune(" ,;.", r) })
		named := map[string]bool{}
		for _, s := range listed {
			named[s] = true
		}
		for _, label := range placed {
			if strings.HasPrefix(label.text, "(") {
				if !named[label.text] {
					t.Errorf("%s is not in the key %q", label.text, key)
				}
				numbered++
				continue
			}
			beside++
			var own vg.Length
			others := vg.Length(1e9)
			for i, p := range l.points {
				if d := gap(label.box, p.at); label.text == fmt.Sprint("p", i) {
					own = d
				} else {
					others = min(others, d)
				}
			}
			if own < l.radius || own >= others {
				t.Errorf("label %s is %g from its point and %g from another", label.text, own,
					others)
			}
			named[label.text] = true
		}
		if !strings.Contains(key, "No room") {
			for i := range l.points {
				if !named[fmt.Sprint("p", i)] {
					t.Errorf("p%d is neither labelled nor in the key %q", i, key)
				}
			}
		}
	}
	if beside < 100 || numbered < 20 {
		t.Errorf("%d labels beside their points and %d numbers: too few to test them", beside,
			numbered)
	}
}

// A label stands to the right of its point, to the left where there is no room, and off strokes
// unless it may cross them.
func TestLabelSides(t *testing.T) {
	at := vg.Point{X: 30, Y: 20}
	l := labeller{area: vg.Rectangle{Max: vg.Point{X: 60, Y: 40}}, radius: 2,
		points: []labelledPoint{{at: at, text: "1.5"}}}
	placed, key := l.place()
	if len(placed) != 1 || placed[0].box.Min.X != 34 || key != "" {
		t.Errorf("%+v with the key %q, want the label 4 pt to the right", placed, key)
	}
	l.area.Max.X = 40
	if placed, _ = l.place(); len(placed) != 1 || placed[0].box.Max.X != 26 {
		t.Errorf("%+v, want the label 4 pt to the left", placed)
	}
	l.strokes = []segment{{vg.Point{X: 0, Y: 20}, at}}
	if placed, _ = l.place(); len(placed) != 1 || placed[0].box.Max.X != 26 ||
		placed[0].box.Min.Y <= 20 {
		t.Errorf("%+v, want the label above the stroke", placed)
	}
	for y := vg.Length(0); y <= 40; y += 3 {
		l.strokes = append(l.strokes, segment{vg.Point{Y: y}, vg.Point{X: 60, Y: y}})
	}
	if placed, key = l.place(); len(placed) != 1 || placed[0].text != "(1)" || key != "(1) 1.5." {
		t.Errorf("%+v with the key %q, want a number", placed, key)
	}
	l.crossing = true
	if placed, key = l.place(); len(placed) != 1 || placed[0].text != "1.5" || key != "" {
		t.Errorf("%+v with the key %q, want the label across strokes", placed, key)
	}
}

// A segment runs through a box, past it, or ends in it.
func TestSegmentHits(t *testing.T) {
	at := func(x, y vg.Length) vg.Point { return vg.Point{X: x, Y: y} }
	box := vg.Rectangle{Min: at(10, 10), Max: at(20, 14)}
	for _, c := range []struct {
		s    segment
		want bool
	}{
		{segment{at(0, 12), at(30, 12)}, true}, {segment{at(15, 0), at(15, 30)}, true},
		{segment{at(0, 12), at(12, 12)}, true}, {segment{at(12, 11), at(13, 12)}, true},
		{segment{at(0, 12), at(9, 12)}, false}, {segment{at(0, 15), at(30, 15)}, false},
		{segment{at(8, 12), at(13, 17)}, false}, {segment{at(8, 10), at(14, 16)}, true},
		{segment{at(0, 10), at(30, 10)}, false},
	} {
		if got := c.s.hits(box); got != c.want {
			t.Errorf("%v hits %v: %v, want %v", c.s, box, got, c.want)
		}
	}
}

// pile has n points in one place.
func pile(n int) (s Scatter) {
	s.ErrorNote = "±1 SD"
	for i := range n {
		s.Points = append(s.Points,
			ScatterPoint{Label: fmt.Sprint("learn-", i), X: 1, Y: 1, XErr: 0.1})
	}
	return s
}

// The note of a panel lists the labels of a crowd, or counts them where they are too many.
func TestCrowdNote(t *testing.T) {
	c := draw.NewCanvas(newMeasure(), 200, 100)
	crowd := Map{Note: "n = 1 model", XY: make([][2]float64, 200), Labels: numbered(200)}
	narrow := draw.NewCanvas(newMeasure(), 42, 100)
	for _, test := range []struct {
		p    Panel
		c    draw.Canvas
		want string
	}{
		{pile(1), c, "Error bars: ±1 SD."},
		{pile(3), c, "(1) learn-0, learn-1, learn-2. Error bars: ±1 SD."},
		{pile(200), c, "(1) 200 points. Error bars: ±1 SD."},
		{crowd, c, "n = 1 model. (1) 200 points."},
		{crowd, narrow, "n = 1 model. (1) 200 points. Long names are shortened."},
	} {
		if got := noteOf(t, test.p, test.c); got != test.want {
			t.Errorf("%T: note %q, want %q", test.p, got, test.want)
		}
	}
	svg := string(encode(t, mustCompose(t, alone(pile(3), ColumnWidth, 2)), "svg"))
	if !strings.Contains(svg, ">(1)<") || strings.Contains(svg, ">learn-") {
		t.Error("the points are not numbered, or have labels too")
	}
}
