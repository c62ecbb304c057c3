package figure

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"torchpe/internal/expect"
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

// Labels overlap neither each other nor a point, a leader meets no label, and a label beside its point is
// nearest to it. A note counts the labels without room.
func TestLabelsAreClear(t *testing.T) {
	rnd := rand.New(rand.NewPCG(41, 42))
	beside, led, missing := 0, 0, 0
	for range 10 {
		m := newMeasure()
		c := draw.NewCanvas(m, 150, 60)
		l := labeller{area: c.Rectangle, radius: 2}
		for i := range 25 {
			at := vg.Point{X: vg.Length(150 * rnd.Float64()), Y: vg.Length(60 * rnd.Float64())}
			l.points = append(l.points, labelledPoint{at: at, text: fmt.Sprint("p", i), color: ink})
		}
		placed, note := l.place()
		drawLabels(c, placed)
		expect.Equal(t, fmt.Sprint(len(placed), " labels"), m.take(c.Rectangle), nil)
		for _, label := range placed {
			own, others := vg.Length(0), vg.Length(1e9)
			for i, p := range l.points {
				if d := gap(label.box, p.at); label.text == fmt.Sprint("p", i) {
					own = d
				} else {
					others = min(others, d)
				}
			}
			if label.leader != (segment{}) {
				led++
				for _, o := range placed {
					if label.leader.hits(o.box) {
						t.Errorf("the leader of %s meets the label %s", label.text, o.text)
					}
				}
			} else if beside++; own >= others {
				t.Errorf("label %s is %g from its point and %g from another", label.text, own, others)
			}
			if own < l.radius || others < l.radius {
				t.Errorf("label %s is %g from its point and %g from another", label.text, own, others)
			}
		}
		want := ""
		if n := len(l.points) - len(placed); n > 0 {
			want = fmt.Sprintf("No room for the labels of %d of 25 points", n)
			missing += n
		}
		expect.Equal(t, "note", note, want)
	}
	if beside < 100 || led < 20 || missing == 0 {
		t.Errorf("%d labels beside their points, %d with leaders, %d without room: too few to test them", beside,
			led, missing)
	}
}

// A label stands to the right of its point, to the left where there is no room, and off strokes
// unless it may cross them.
func TestLabelSides(t *testing.T) {
	at := vg.Point{X: 30, Y: 20}
	l := labeller{area: vg.Rectangle{Max: vg.Point{X: 60, Y: 40}}, radius: 2,
		points: []labelledPoint{{at: at, text: "1.5"}}}
	placed, note := l.place()
	if len(placed) != 1 || placed[0].box.Min.X != 34 || note != "" {
		t.Errorf("%+v with the note %q, want the label 4 pt to the right", placed, note)
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
	if placed, note = l.place(); len(placed) != 0 || note != "No room for the labels of 1 of 1 points" {
		t.Errorf("%+v with the note %q, want no label", placed, note)
	}
	l.crossing = true
	if placed, note = l.place(); len(placed) != 1 || placed[0].text != "1.5" || note != "" {
		t.Errorf("%+v with the note %q, want the label across strokes", placed, note)
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
		expect.Equal(t, fmt.Sprintf("%v hits %v", c.s, box), c.s.hits(box), c.want)
	}
}

// pile has n points in one place.
func pile(n int) (s Scatter) {
	s.Note = "±1 SD"
	for i := range n {
		s.Points = append(s.Points,
			ScatterPoint{Label: fmt.Sprint("learn-", i), X: 1, Y: 1, XErr: 0.1})
	}
	return s
}

// Points in one place have their labels around them. The note counts labels without room.
func TestCrowdNote(t *testing.T) {
	c := draw.NewCanvas(newMeasure(), 200, 100)
	crowd := Map{Note: "n = 1 model", XY: make([][2]float64, 200), Labels: numbered(200)}
	narrow := draw.NewCanvas(newMeasure(), 42, 100)
	for _, test := range []struct {
		p    Panel
		c    draw.Canvas
		want string
	}{
		{pile(3), c, "±1 SD."},
		{pile(200), c, "No room for the labels of 200 of 200 points. ±1 SD."},
		{crowd, c, "n = 1 model. No room for the labels of 200 of 200 points."},
		{crowd, narrow, "n = 1 model. No room for the labels of 200 of 200 points. Long names are shortened."},
	} {
		expect.Equal(t, fmt.Sprintf("%T: note", test.p), noteOf(t, test.p, test.c), test.want)
	}
}
