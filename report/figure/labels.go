package figure

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// labeller places labels beside points, or further away if there is no space, joined to their points by
// thin lines.
type labeller struct {
	area     vg.Rectangle // bounds of the labels
	radius   vg.Length    // radius of the points
	points   []labelledPoint
	strokes  []segment // lines that labels avoid
	crossing bool      // allows labels across strokes if there is no other space
}

// labelledPoint is a point and its label, which may be empty.
type labelledPoint struct {
	at    vg.Point
	text  string
	color color.NRGBA // colour of the text
}

// placedLabel is a text, its box, and the line to its point, which is empty beside the point.
type placedLabel struct {
	box    vg.Rectangle
	leader segment
	text   string
	color  color.NRGBA
}

const (
	labelHalf = 0.5 * smallSize // half the height of a label
	labelGap  = 2               // from a point to its label
	maxReach  = 8               // longest leader in heights of a label
	maxLed    = 25              // most points whose labels have leaders; more would be a tangle
)

// place returns the labels that fit, and a note on the others.
func (l labeller) place() (placed []placedLabel, note string) {
	missing := 0
	for i, p := range l.points {
		if p.text == "" {
			continue
		}
		if label, ok := l.put(i, placed); ok {
			placed = append(placed, label)
		} else {
			missing++
		}
	}
	return placed, noteIf(missing > 0,
		fmt.Sprintf("No room for the labels of %d of %d points", missing, len(l.points)))
}

// put returns the label of point i in the first box that is clear of other points, labels and strokes:
// beside the point, or at a growing distance around it.
func (l labeller) put(i int, placed []placedLabel) (label placedLabel, ok bool) {
	p := l.points[i]
	label = placedLabel{text: p.text, color: p.color}
	width := smallText.width(p.text)
	for _, across := range []bool{false, true} {
		if across && !l.crossing {
			break
		}
		for _, rise := range []vg.Length{0, 1, -1} { // beside an error bar, above or below it
			for _, side := range []vg.Length{1, -1} {
				x, y := side*(l.radius+labelGap+width/2), rise*(labelHalf+1.5)
				label.box = boxAt(p.at.Add(vg.Point{X: x, Y: y}), width)
				if l.isClear(label, i, placed) && (across || !l.hitsStroke(label.box)) {
					return label, true
				}
			}
		}
	}
	if len(l.points) > maxLed {
		return label, false
	}
	const directions = 16
	for reach := vg.Length(1); reach <= maxReach; reach += 0.5 {
		for k := range directions {
			sin, cos := math.Sincos(2 * math.Pi * float64(k) / directions)
			away := vg.Point{X: vg.Length(cos), Y: vg.Length(sin)}.Scale(reach * smallSize)
			away.X += vg.Length(math.Round(cos)) * width / 2
			label.box = boxAt(p.at.Add(away), width)
			label.leader = segment{p.at, nearest(label.box, p.at)}
			if l.isClear(label, i, placed) && !l.hitsStroke(label.box) {
				return label, true
			}
		}
	}
	return label, false
}

// boxAt returns the box of a label with the given middle.
func boxAt(middle vg.Point, width vg.Length) vg.Rectangle {
	half := vg.Point{X: width / 2, Y: labelHalf}
	return vg.Rectangle{Min: middle.Sub(half), Max: middle.Add(half)}
}

// isClear reports whether the label of point i lies within the area, overlaps no point or label, and is
// nearer to its point than to others, and whether its leader meets no point or label either.
func (l labeller) isClear(label placedLabel, i int, placed []placedLabel) bool {
	box, isLed := label.box, label.leader != segment{}
	if box.Min.X < l.area.Min.X || box.Max.X > l.area.Max.X ||
		box.Min.Y < l.area.Min.Y || box.Max.Y > l.area.Max.Y {
		return false
	}
	for _, o := range placed {
		if box.Min.X < o.box.Max.X+labelGap && o.box.Min.X < box.Max.X+labelGap &&
			box.Min.Y < o.box.Max.Y && o.box.Min.Y < box.Max.Y ||
			isLed && label.leader.hits(o.box) || o.leader.hits(box) {
			return false
		}
	}
	for k, p := range l.points {
		least := l.radius + labelGap + 1
		if k == i {
			least = l.radius + 0.3
		}
		if distance(p.at, nearest(box, p.at)) < least {
			return false
		}
		around := vg.Point{X: l.radius, Y: l.radius}
		if isLed && distance(p.at, l.points[i].at) > 3*l.radius && // not in one blot
			label.leader.hits(vg.Rectangle{Min: p.at.Sub(around), Max: p.at.Add(around)}) {
			return false
		}
	}
	return true
}

// nearest returns the point of box that is nearest to p.
func nearest(box vg.Rectangle, p vg.Point) vg.Point {
	return vg.Point{X: min(max(p.X, box.Min.X), box.Max.X), Y: min(max(p.Y, box.Min.Y), box.Max.Y)}
}

func (l labeller) hitsStroke(box vg.Rectangle) bool {
	return slices.ContainsFunc(l.strokes, func(s segment) bool { return s.hits(box) })
}

// clearGround paints the background of the labels white and draws their leaders, over strokes and under
// points.
func clearGround(c draw.Canvas, labels []placedLabel) {
	for _, l := range labels {
		if l.leader != (segment{}) {
			c.StrokeLine2(draw.LineStyle{Color: l.color, Width: 0.35}, l.leader.a.X, l.leader.a.Y,
				l.leader.b.X, l.leader.b.Y)
		}
		fill(c, color.White, rect(
			l.box.Min.X-0.5, l.box.Min.Y+0.3, l.box.Max.X+0.5, l.box.Max.Y-0.3))
	}
}

func drawLabels(c draw.Canvas, labels []placedLabel) {
	for _, l := range labels {
		smallText.in(l.color).left(c, l.box.Min.X, (l.box.Min.Y+l.box.Max.Y)/2,
			l.text)
	}
}

// segment is a straight stroke.
type segment struct{ a, b vg.Point }

// hits reports whether s has a point inside box (Liang-Barsky clipping, 1984).
func (s segment) hits(box vg.Rectangle) bool {
	from, to := vg.Length(0), vg.Length(1)
	clip := func(at, step, lo, hi vg.Length) bool {
		if step == 0 {
			return lo < at && at < hi
		}
		t, u := (lo-at)/step, (hi-at)/step
		from, to = max(from, min(t, u)), min(to, max(t, u))
		return from < to
	}
	return clip(s.a.X, s.b.X-s.a.X, box.Min.X, box.Max.X) &&
		clip(s.a.Y, s.b.Y-s.a.Y, box.Min.Y, box.Max.Y)
}

func distance(p, q vg.Point) vg.Length {
	return vg.Length(math.Hypot(float64(p.X-q.X), float64(p.Y-q.Y)))
}
