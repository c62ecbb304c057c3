package figure

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// labeller places labels to the right or left of points. Where there is no room it numbers a crowd of
// points and lists their labels in a key.
type labeller struct {
	area     vg.Rectangle // bounds of the labels
	radius   vg.Length    // radius of the points
	points   []labelledPoint
	strokes  []segment // lines that labels avoid
	crossing bool      // allows labels across strokes where there is no other room
	keyless  bool      // leaves crowds without labels and numbers
}

// labelledPoint is a point and its label, which may be empty.
type labelledPoint struct {
	at    vg.Point
	text  string
	color color.NRGBA // colour of the text
}

// placedLabel is a text and its box.
type placedLabel struct {
	box   vg.Rectangle
	text  string
	color color.NRGBA
}

const (
	labelHalf   = 0.5 * smallSize // half the height of a label
	labelGap    = 2               // from a point to its label
	crowdRadius = 12              // largest distance of a point from the first of its crowd
	maxListed   = 30              // largest crowd whose labels the key lists; larger ones are counted
)

// place returns the labels and numbers that fit, and the key to the numbers, such as
// "(1) 0.1, 0.2; (2) 0.5, 0.6."
func (l labeller) place() (placed []placedLabel, key string) {
	done := make([]bool, len(l.points))
	var entries []string
	missing := 0
	numberCrowd := func(i int) { // numbers the points near point i that are not done
		if l.keyless {
			missing++
			done[i] = true
			return
		}
		var crowd []int
		for k, p := range l.points {
			if !done[k] && distance(l.points[i].at, p.at) <= crowdRadius {
				crowd = append(crowd, k)
			}
		}
		label := placedLabel{text: fmt.Sprintf("(%d)", len(entries)+1), color: ink}
		if !l.put(&label, append([]int{i}, crowd...), placed, true) {
			missing++
			done[i] = true
			return
		}
		placed = append(placed, label)
		entries = append(entries, label.text+" "+l.list(crowd))
		for _, k := range crowd {
			done[k] = true
		}
	}
	for i, p := range l.points {
		done[i] = p.text == ""
	}
	for i, p := range l.points { // first the points whose labels do not fit even without other labels
		if !done[i] && !l.put(&placedLabel{text: p.text}, []int{i}, nil, l.crossing) {
			numberCrowd(i)
		}
	}
	for i, p := range l.points {
		label := placedLabel{text: p.text, color: p.color}
		if !done[i] && l.put(&label, []int{i}, placed, l.crossing) {
			placed = append(placed, label)
			done[i] = true
		}
	}
	for i := range l.points {
		if !done[i] {
			numberCrowd(i)
		}
	}
	note := ""
	if missing > 0 {
		note = fmt.Sprintf("No room for the labels of %d of %d points", missing,
			len(l.points))
	}
	return placed, sentences(strings.Join(entries, "; "), note)
}

// list joins the labels of a crowd, or counts the points of a large one.
func (l labeller) list(crowd []int) string {
	if len(crowd) > maxListed {
		return fmt.Sprintf("%d points", len(crowd))
	}
	var texts []string
	for _, i := range crowd {
		texts = append(texts, l.points[i].text)
	}
	return strings.Join(texts, ", ")
}

// put sets the box of a label that names the given points to the first box beside one of them that is
// clear of other points, labels and strokes. If crossing is true, it falls back to a box across
// strokes. It reports whether it found a box.
func (l labeller) put(label *placedLabel, named []int, placed []placedLabel, crossing bool) bool {
	width := newWriter(sans(smallSize), ink).width(label.text)
	isNamed := make([]bool, len(l.points))
	for _, i := range named {
		isNamed[i] = true
	}
	for _, across := range []bool{false, true} {
		if across && !crossing {
			return false
		}
		for _, i := range named {
			for _, rise := range []vg.Length{0, 1, -1} { // beside an error bar, above or below it
				for _, side := range []vg.Length{1, -1} {
					x, y := side*(l.radius+labelGap+width/2), rise*(labelHalf+1.5)
					label.box = boxAt(l.points[i].at.Add(vg.Point{X: x, Y: y}), width)
					if l.isClear(label.box, isNamed, placed) &&
						(across || !l.hitsStroke(label.box)) {
						return true
					}
				}
			}
		}
	}
	return false
}

// boxAt returns the box of a label with the given middle.
func boxAt(middle vg.Point, width vg.Length) vg.Rectangle {
	half := vg.Point{X: width / 2, Y: labelHalf}
	return vg.Rectangle{Min: middle.Sub(half), Max: middle.Add(half)}
}

// isClear reports whether box lies within the area, overlaps no point or label, and is nearer to the
// named points than to others.
func (l labeller) isClear(box vg.Rectangle, isNamed []bool, placed []placedLabel) bool {
	if box.Min.X < l.area.Min.X || box.Max.X > l.area.Max.X ||
		box.Min.Y < l.area.Min.Y || box.Max.Y > l.area.Max.Y {
		return false
	}
	for _, o := range placed {
		if box.Min.X < o.box.Max.X && o.box.Min.X < box.Max.X &&
			box.Min.Y < o.box.Max.Y && o.box.Min.Y < box.Max.Y {
			return false
		}
	}
	for i, p := range l.points {
		least := l.radius + labelGap + 1
		if isNamed[i] {
			least = l.radius + 0.3
		}
		nearest := vg.Point{X: min(max(p.at.X, box.Min.X), box.Max.X),
			Y: min(max(p.at.Y, box.Min.Y), box.Max.Y)}
		if distance(p.at, nearest) < least {
			return false
		}
	}
	return true
}

func (l labeller) hitsStroke(box vg.Rectangle) bool {
	return slices.ContainsFunc(l.strokes, func(s segment) bool { return s.hits(box) })
}

// clearGround paints the background of the labels white, over strokes and under points.
func clearGround(c draw.Canvas, labels []placedLabel) {
	for _, l := range labels {
		fill(c, color.White, rectangle{
			l.box.Min.X - 0.5, l.box.Min.Y + 0.3, l.box.Max.X + 0.5, l.box.Max.Y - 0.3})
	}
}

func drawLabels(c draw.Canvas, labels []placedLabel) {
	for _, l := range labels {
		newWriter(sans(smallSize), l.color).left(c, l.box.Min.X, (l.box.Min.Y+l.box.Max.Y)/2,
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
