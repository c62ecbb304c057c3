package figure

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// along returns points on s, less than 0.2 apart.
func along(s segment) (points []vg.Point) {
	n := int(between(s.a, s.b)/0.2) + 1
	for k := range n + 1 {
		points = append(points, s.a.Add(s.b.Sub(s.a).Scale(vg.Length(k)/vg.Length(n))))
	}
	return points
}

// holds reports whether p is inside box by more than a hair.
func holds(box vg.Rectangle, p vg.Point) bool {
	const hair = 1e-6
	return p.X > box.Min.X+hair && p.X < box.Max.X-hair && p.Y > box.Min.Y+hair && p.Y < box.Max.Y-hair
}

// meet reports whether two strokes share a point, by solving a + t (b-a) = c + u (d-c) with Cramer's rule.
func meet(s, o segment) bool {
	d, e, f := s.b.Sub(s.a), o.b.Sub(o.a), o.a.Sub(s.a)
	det := e.X*d.Y - d.X*e.Y
	if det == 0 {
		return false
	}
	t, u := (e.X*f.Y-e.Y*f.X)/det, (d.X*f.Y-d.Y*f.X)/det
	return t >= 0 && t <= 1 && u >= 0 && u <= 1
}

// scattered is a labelling of n spots at random in 150 x 100 points.
func scattered(rnd *rand.Rand, m *measure, n int) labelling {
	l := labelling{c: draw.NewCanvas(m, 150, 100)}
	for range n {
		at := vg.Point{X: vg.Length(150 * rnd.Float64()), Y: vg.Length(100 * rnd.Float64())}
		l.spots = append(l.spots, spot{at: at, radius: 2, text: "1.5", color: ink})
	}
	return l
}

// Labels that are placed overlap neither each other nor any spot nor any leader, as points along the leaders and the canvas's record
// of texts show. Leaders join them to their spots and do not cross.
func TestSpotLabelsAreClear(t *testing.T) {
	rnd := rand.New(rand.NewPCG(41, 42))
	led := 0
	for range 20 {
		m := newMeasure()
		l := scattered(rnd, m, 40)
		placed, left := l.place()
		l.draw(placed)
		if err := m.check(0, l.c.Rectangle); err != nil || len(m.texts) != len(placed) || left > 0 {
			t.Fatalf("%d labels placed, %d written, %d left out: %v", len(placed), len(m.texts), left, err)
		}
		for i, a := range placed {
			for k, s := range l.spots {
				if between(nearest(a.box, s.at), s.at) < s.radius {
					t.Fatalf("the label of spot %d lies on spot %d", a.spot, k)
				}
			}
			if !a.led {
				for k, s := range l.spots {
					if own := l.spots[a.spot].at; between(s.at, nearest(a.box, s.at)) < between(own, nearest(a.box, own)) {
						t.Fatalf("the label of spot %d is nearer to spot %d", a.spot, k)
					}
				}
				continue
			}
			led++
			if d := between(a.leader.a, l.spots[a.spot].at); math.Abs(float64(d-2)) > 1e-6 {
				t.Errorf("a leader starts %g from its spot, whose radius is 2", d)
			}
			if d := between(a.leader.b, nearest(a.box, a.leader.b)); d > 1e-6 {
				t.Errorf("a leader ends %g from its label", d)
			}
			for k, s := range l.spots {
				if own := l.spots[a.spot].at; between(own, s.at) > crowdRadius && a.leader.distance(s.at) < s.radius {
					t.Fatalf("the leader of spot %d runs through spot %d, which is not near it", a.spot, k)
				}
			}
			for k, b := range placed {
				if k == i {
					continue
				}
				for _, p := range along(a.leader) {
					if holds(b.box, p) {
						t.Fatalf("the leader of spot %d runs through the label of spot %d", a.spot, b.spot)
					}
				}
				if b.led && meet(a.leader, b.leader) {
					t.Fatalf("the leaders of spots %d and %d meet", a.spot, b.spot)
				}
			}
		}
	}
	if led < 20 || led > 60 {
		t.Errorf("%d of 800 labels have leaders, want 20 or more to test them, and 60 at most: the others have room beside their spots", led)
	}
}

// A label with room beside its spot has no leader, keeps off strokes, and lies across one rather than be left out.
func TestSpotLabelsKeepNear(t *testing.T) {
	c := draw.NewCanvas(newMeasure(), 60, 40)
	alone := spot{at: vg.Point{X: 20, Y: 20}, radius: 2, text: "1.5"}
	right := segment{vg.Point{X: 22, Y: 20}, vg.Point{X: 60, Y: 20}}
	placed, left := labelling{c: c, spots: []spot{alone}}.place()
	if left != 0 || placed[0].led || !right.hits(placed[0].box) {
		t.Errorf("the label of a spot alone is %+v, want it to the right without a leader", placed)
	}
	placed, left = labelling{c: c, spots: []spot{alone}, avoid: []segment{right}, over: 9}.place()
	if left != 0 || placed[0].led || right.hits(placed[0].box) {
		t.Errorf("the label is %+v, want it off the stroke to the right", placed)
	}
	var hatched []segment
	for y := vg.Length(0); y <= 40; y += 3 {
		hatched = append(hatched, segment{vg.Point{Y: y}, vg.Point{X: 60, Y: y}})
	}
	if placed, left = (labelling{c: c, spots: []spot{alone}, avoid: hatched, over: 9}).place(); left != 0 || placed[0].led {
		t.Errorf("the label on a hatched ground is %+v, want it beside its spot", placed)
	}
}

// A leader may run through spots of its own crowd, but through no other: the label is left out.
func TestLeadersKeepOffOthers(t *testing.T) {
	for x, want := range map[vg.Length]int{10: 0, 30: 1} { // of a spot between the other and all room for its label
		l := labelling{c: draw.NewCanvas(newMeasure(), 120, 14), spots: []spot{
			{at: vg.Point{X: 3, Y: 7}, radius: 2, text: "a long label"}, {at: vg.Point{X: x, Y: 7}, radius: 2}}}
		if placed, left := l.place(); left != want {
			t.Errorf("with a spot at %g %d labels are left out, want %d: %+v", x, left, want, placed)
		}
	}
}

// A leader runs through a box, past it, and ends in it; strokes cross, meet at their start, or lie apart.
func TestSegments(t *testing.T) {
	at := func(x, y vg.Length) vg.Point { return vg.Point{X: x, Y: y} }
	box := vg.Rectangle{Min: at(10, 10), Max: at(20, 14)}
	for _, c := range []struct {
		s    segment
		want bool
	}{
		{segment{at(0, 12), at(30, 12)}, true}, {segment{at(15, 0), at(15, 30)}, true}, {segment{at(0, 12), at(12, 12)}, true},
		{segment{at(12, 11), at(13, 12)}, true}, {segment{at(0, 12), at(9, 12)}, false}, {segment{at(0, 15), at(30, 15)}, false},
		{segment{at(8, 12), at(13, 17)}, false}, {segment{at(8, 10), at(14, 16)}, true}, {segment{at(0, 10), at(30, 10)}, false},
	} {
		if got := c.s.hits(box); got != c.want {
			t.Errorf("%v hits %v: %v, want %v", c.s, box, got, c.want)
		}
	}
	s := segment{at(0, 0), at(10, 10)}
	for o, want := range map[segment]bool{
		{at(0, 10), at(10, 0)}: true, {at(0, 0), at(10, 0)}: false, {at(0, 10), at(4, 6)}: false, {at(20, 0), at(0, 20)}: false,
	} {
		if s.crosses(o) != want || o.crosses(s) != want {
			t.Errorf("%v crosses %v: %v and %v, want %v", s, o, s.crosses(o), o.crosses(s), want)
		}
	}
	for p, want := range map[vg.Point]float64{at(-3, -4): 5, at(0, 10): math.Sqrt(50), at(13, 14): 5} {
		if got := float64(s.distance(p)); math.Abs(got-want) > 1e-9 {
			t.Errorf("%v lies %g from %v, want %g", p, got, s, want)
		}
	}
}

// labelsShown returns the figure of a scatter plot and how many of its labels it has.
func labelsShown(t *testing.T, s Scatter) (svg string, n int) {
	svg = string(encode(t, mustCompose(t, alone(s, ColumnWidth, 2)), "svg"))
	return svg, strings.Count(svg, ">learn-")
}

// Points in one place have all their labels while there is room; the note counts those that have none.
func TestScatterNote(t *testing.T) {
	pile := func(n int) (s Scatter) {
		for i := range n {
			s.Points = append(s.Points, ScatterPoint{Label: fmt.Sprint("learn-", i), X: 1, Y: 1})
		}
		return s
	}
	const left = "Without a label"
	if svg, shown := labelsShown(t, pile(20)); shown != 20 || strings.Contains(svg, left) {
		t.Errorf("of 20 points in one place %d have labels, want all", shown)
	}
	svg, shown := labelsShown(t, pile(200))
	if want := fmt.Sprintf(">Without a label for want of room: %d of 200 points.<", 200-shown); shown == 0 || !strings.Contains(svg, want) {
		t.Errorf("%d of 200 labels are shown; the figure lacks %q", shown, want)
	}
	crowd := Map{Note: "n = 1 model", XY: make([][2]float64, 200), Labels: numbered(200)}
	svg = string(encode(t, mustCompose(t, alone(crowd, ColumnWidth, 2)), "svg"))
	if want := fmt.Sprintf(">n = 1 model. Without a label for want of room: %d of 200 points.<", 200-strings.Count(svg, ">name ")); !strings.Contains(svg, want) {
		t.Errorf("the map lacks %q", want)
	}
	hidden := pile(200)
	hidden.HideLabels = true
	if svg, shown := labelsShown(t, hidden); shown != 0 || strings.Contains(svg, left) {
		t.Errorf("%d labels shown where none are wanted", shown)
	}
}

// Most of the models that failed lie on each other in a corner, yet nearly all have their labels.
func TestScatterCrowd(t *testing.T) {
	rnd := rand.New(rand.NewPCG(99, 0))
	s := Scatter{XLabel: "Distance", YLabel: "Accuracy", ErrorNote: "±1 SD"}
	for i := range 20 {
		p := ScatterPoint{Label: fmt.Sprint("learn-", i), X: 0.93 + 0.02*rnd.NormFloat64(), Y: 0.28 + 0.01*rnd.NormFloat64(), XErr: 0.02, YErr: 0.01}
		if i < 6 {
			p.X, p.Y = 0.5+0.3*rnd.Float64(), 0.95-0.1*rnd.Float64()
		}
		s.Points = append(s.Points, p)
	}
	if _, shown := labelsShown(t, s); shown < 18 {
		t.Errorf("only %d of 20 points have labels", shown)
	}
}
