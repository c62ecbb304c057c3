package figure

import (
	"image/color"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// spot is a point that wants its label beside it.
type spot struct {
	at     vg.Point
	radius vg.Length
	text   string
	color  color.NRGBA // of the text
}

// labelSpots writes the labels, in the order of the spots, each at the first of twelve places round its spot that is clear of all
// spots, of what is taken, of the labels before it and of the edge of c. A label without such a place is left out: the spot's colour has to do.
// Where it can, it also keeps clear of what is to be avoided.
func labelSpots(c draw.Canvas, spots []spot, taken, avoid []vg.Rectangle) {
	w := newWriter(sans(smallSize), ink)
	for _, s := range spots {
		taken = append(taken, square(s.at, s.radius+0.3))
	}
	const mostTried = 2000 // beyond, labels are a blur, and the search is quadratic
	for i, s := range spots {
		if s.text == "" {
			continue
		}
		box, ok := vg.Rectangle{}, false
		if i < mostTried {
			search := placing{c, spots, i, w.width(s.text)}
			if box, ok = search.place(append(taken[:len(taken):len(taken)], avoid...)); !ok {
				box, ok = search.place(taken)
			}
		}
		if !ok {
			continue
		}
		taken = append(taken, box)
		newWriter(sans(smallSize), s.color).left(c, box.Min.X, (box.Min.Y+box.Max.Y)/2, s.text)
	}
}

func square(at vg.Point, half vg.Length) vg.Rectangle {
	return vg.Rectangle{Min: vg.Point{X: at.X - half, Y: at.Y - half}, Max: vg.Point{X: at.X + half, Y: at.Y + half}}
}

// placing is the search for room for the label of the i-th spot, of the given width.
type placing struct {
	c     draw.Canvas
	spots []spot
	i     int
	width vg.Length
}

// place finds a place nearer to the label's spot than to any other, lest it be taken for the other's.
func (p placing) place(taken []vg.Rectangle) (vg.Rectangle, bool) {
	c, s, width := p.c, p.spots[p.i], p.width
	const half = 0.5 * smallSize
	out := s.radius + 2
	slant := 0.6 * out
	for _, at := range []vg.Point{ // the middle of the text
		{X: out + width/2}, {X: -out - width/2}, {Y: out + half}, {Y: -out - half},
		{X: slant + width/2, Y: slant + half/2}, {X: slant + width/2, Y: -slant - half/2},
		{X: -slant - width/2, Y: slant + half/2}, {X: -slant - width/2, Y: -slant - half/2},
		{X: 1 + width/2, Y: out + half}, {X: -1 - width/2, Y: out + half}, {X: 1 + width/2, Y: -out - half}, {X: -1 - width/2, Y: -out - half},
	} {
		x, y := s.at.X+at.X, s.at.Y+at.Y
		box := vg.Rectangle{Min: vg.Point{X: x - width/2, Y: y - half}, Max: vg.Point{X: x + width/2, Y: y + half}}
		if box.Min.X < c.Min.X || box.Max.X > c.Max.X || box.Min.Y < c.Min.Y || box.Max.Y > c.Max.Y {
			continue
		}
		if isClear(box, taken) && p.isNearest(box) {
			return box, true
		}
	}
	return vg.Rectangle{}, false
}

// isNearest reports whether no other spot lies nearer to box than the label's own.
func (p placing) isNearest(box vg.Rectangle) bool {
	distance := func(pt vg.Point) float64 {
		return math.Hypot(float64(max(box.Min.X-pt.X, 0, pt.X-box.Max.X)), float64(max(box.Min.Y-pt.Y, 0, pt.Y-box.Max.Y)))
	}
	own := distance(p.spots[p.i].at)
	for k, s := range p.spots {
		if k != p.i && distance(s.at) < own {
			return false
		}
	}
	return true
}

// isClear reports whether box overlaps none of the others.
func isClear(box vg.Rectangle, others []vg.Rectangle) bool {
	for _, o := range others {
		if box.Min.X < o.Max.X && o.Min.X < box.Max.X && box.Min.Y < o.Max.Y && o.Min.Y < box.Max.Y {
			return false
		}
	}
	return true
}
