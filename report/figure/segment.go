package figure

import (
	"math"

	"gonum.org/v1/plot/vg"
)

// segment is a straight stroke.
type segment struct{ a, b vg.Point }

// hits reports whether s has a point inside box, by clipping it to each side in turn (Liang and Barsky 1984).
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
	return clip(s.a.X, s.b.X-s.a.X, box.Min.X, box.Max.X) && clip(s.a.Y, s.b.Y-s.a.Y, box.Min.Y, box.Max.Y)
}

// crosses reports whether the two cross. Strokes that start at one point do not.
func (s segment) crosses(o segment) bool {
	side := func(s segment, p vg.Point) vg.Length {
		return (s.b.X-s.a.X)*(p.Y-s.a.Y) - (s.b.Y-s.a.Y)*(p.X-s.a.X)
	}
	return side(s, o.a)*side(s, o.b) < 0 && side(o, s.a)*side(o, s.b) < 0
}

// distance is how far p lies from s.
func (s segment) distance(p vg.Point) vg.Length {
	d := s.b.Sub(s.a)
	along := vg.Length(0)
	if length := d.Dot(d); length > 0 {
		along = min(max(p.Sub(s.a).Dot(d)/length, 0), 1)
	}
	return between(p, s.a.Add(d.Scale(along)))
}

// between is the distance of two points.
func between(p, q vg.Point) vg.Length {
	return vg.Length(math.Hypot(float64(p.X-q.X), float64(p.Y-q.Y)))
}

// nearest is the point of box nearest to p.
func nearest(box vg.Rectangle, p vg.Point) vg.Point {
	return vg.Point{X: min(max(p.X, box.Min.X), box.Max.X), Y: min(max(p.Y, box.Min.Y), box.Max.Y)}
}

// overlap reports whether two boxes share more than their edges.
func overlap(a, b vg.Rectangle) bool {
	return a.Min.X < b.Max.X && b.Min.X < a.Max.X && a.Min.Y < b.Max.Y && b.Min.Y < a.Max.Y
}

func square(at vg.Point, half vg.Length) vg.Rectangle {
	return vg.Rectangle{Min: vg.Point{X: at.X - half, Y: at.Y - half}, Max: vg.Point{X: at.X + half, Y: at.Y + half}}
}
