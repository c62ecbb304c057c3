package figure

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"
)

// transform is a PDF transform [a b c d e f]: x' = a x + c y + e, y' = b x + d y + f.
type transform [6]float64

// identity returns the transform that changes nothing.
func identity() transform { return transform{1, 0, 0, 1, 0, 0} }

// rotate returns a rotation by rad radians counter-clockwise, followed by m.
func (m transform) rotate(rad float64) transform {
	sin, cos := math.Sincos(rad)
	return transform{cos, sin, -sin, cos, 0, 0}.times(m)
}

// translate returns a translation, followed by m.
func (m transform) translate(pt vg.Point) transform {
	return transform{1, 0, 0, 1, pt.X.Points(), pt.Y.Points()}.times(m)
}

// scale returns a scaling, followed by m.
func (m transform) scale(x, y float64) transform { return transform{x, 0, 0, y, 0, 0}.times(m) }

// apply maps a point.
func (m transform) apply(x, y float64) [2]float64 {
	return [2]float64{m[0]*x + m[2]*y + m[4], m[1]*x + m[3]*y + m[5]}
}

// times returns the transform that applies m first and then n.
func (m transform) times(n transform) transform {
	return transform{
		m[0]*n[0] + m[1]*n[2], m[0]*n[1] + m[1]*n[3],
		m[2]*n[0] + m[3]*n[2], m[2]*n[1] + m[3]*n[3],
		m[4]*n[0] + m[5]*n[2] + n[4], m[4]*n[1] + m[5]*n[3] + n[5],
	}
}

// pdfNumber formats a number for PDF with at most three decimals (a thousandth of a point), without an
// exponent or trailing zeros.
func pdfNumber(x float64) string {
	s := strconv.FormatFloat(x, 'f', 3, 64)
	s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	if s == "-0" {
		return "0"
	}
	return s
}

// pathWriter turns vg path components into PDF path operators.
type pathWriter struct {
	b    strings.Builder
	open bool     // there is a current point
	at   vg.Point // the current point
	err  error
}

// pathOperators returns the operators that build p, each with a blank after it.
func pathOperators(p vg.Path) (string, error) {
	var w pathWriter
	for _, comp := range p {
		switch comp.Type {
		case vg.MoveComp:
			w.op("m", comp.Pos)
		case vg.LineComp:
			w.line(comp.Pos)
		case vg.ArcComp:
			w.arc(comp)
		case vg.CurveComp:
			w.curve(comp)
		case vg.CloseComp:
			w.b.WriteString("h ")
		default:
			return "", fmt.Errorf("PDF: path component of unknown type %d", comp.Type)
		}
	}
	return w.b.String(), w.err
}

// op writes the points and the operator. The last point becomes the current point.
func (w *pathWriter) op(operator string, pts ...vg.Point) {
	for _, pt := range pts {
		// NaN - NaN and Inf - Inf are NaN
		if math.IsNaN(float64(pt.X-pt.X)) || math.IsNaN(float64(pt.Y-pt.Y)) {
			w.err = fmt.Errorf("PDF: path through the point (%g, %g): coordinates must be "+
				"finite", pt.X, pt.Y)
		}
		w.b.WriteString(pdfNumber(pt.X.Points()) + " " + pdfNumber(pt.Y.Points()) + " ")
	}
	w.b.WriteString(operator + " ")
	w.open, w.at = true, pts[len(pts)-1]
}

// line draws a line to pt, or moves there if there is no current point.
func (w *pathWriter) line(pt vg.Point) {
	if !w.open {
		w.op("m", pt)
		return
	}
	w.op("l", pt)
}

// curve draws a Bézier curve from the current point, or from its own end if there is none.
func (w *pathWriter) curve(comp vg.PathComp) {
	if !w.open {
		w.op("m", comp.Pos)
	}
	switch len(comp.Control) {
	case 1: // quadratic: the equal cubic has its controls two thirds of the way to the quadratic's
		q := comp.Control[0]
		w.op("c", toward(w.at, q, 2./3), toward(comp.Pos, q, 2./3), comp.Pos)
	case 2:
		w.op("c", comp.Control[0], comp.Control[1], comp.Pos)
	default:
		w.err = fmt.Errorf("PDF: curve with %d control points: want 1 or 2",
			len(comp.Control))
	}
}

func toward(a, b vg.Point, t vg.Length) vg.Point {
	return vg.Point{X: a.X + t*(b.X-a.X), Y: a.Y + t*(b.Y-a.Y)}
}

// arc draws a circular arc as cubic curves of at most a quarter turn. Their error is below 0.03 % of the
// radius.
func (w *pathWriter) arc(comp vg.PathComp) {
	on := func(a float64) vg.Point {
		sin, cos := math.Sincos(a)
		return vg.Point{X: comp.Pos.X + comp.Radius*vg.Length(cos),
			Y: comp.Pos.Y + comp.Radius*vg.Length(sin)}
	}
	if start := on(comp.Start); !w.open || start != w.at {
		w.line(start)
	}
	n := int(math.Ceil(math.Abs(comp.Angle) / (math.Pi / 2)))
	for i := range n {
		a := comp.Start + comp.Angle*float64(i)/float64(n)
		b := comp.Start + comp.Angle*float64(i+1)/float64(n)
		k := comp.Radius * vg.Length(4./3*math.Tan((b-a)/4))
		p, q := on(a), on(b)
		sa, ca := math.Sincos(a)
		sb, cb := math.Sincos(b)
		w.op("c", vg.Point{X: p.X - k*vg.Length(sa), Y: p.Y + k*vg.Length(ca)},
			vg.Point{X: q.X + k*vg.Length(sb), Y: q.Y - k*vg.Length(cb)}, q)
	}
}
