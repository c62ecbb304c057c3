package figure

import (
	"image/color"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

const (
	labelPitch  = leading * smallSize // smallest distance between the middles of two labels
	leaderWidth = 10                  // from the end of the x axis to the text
	leaderGap   = 2                   // between the leader and the text
)

// endLabel labels a line at its right end, outside the axes.
type endLabel struct {
	text  string
	x, y  float64 // the line's end, in fractions of the axes
	color color.NRGBA
}

// endLabelsWidth returns the width that labels take to the right of the data.
func endLabelsWidth(labels []endLabel) vg.Length {
	var widest vg.Length
	for _, l := range labels {
		widest = max(widest, smallText.width(l.text))
	}
	return leaderWidth + leaderGap + widest
}

// drawEndLabels writes labels, given from top to bottom, to the right of the data. Each label lies as
// near to the end of its line as the others allow, and a thin leader joins the two.
func drawEndLabels(c draw.Canvas, labels []endLabel, data draw.Canvas) {
	want := make([]vg.Length, len(labels))
	for i, l := range labels {
		want[i] = data.Y(l.y)
	}
	at := separate(want, labelPitch, data.Min.Y, data.Max.Y)
	for i, l := range labels {
		edge, right := data.Max.X+1, data.Max.X+leaderWidth
		if l.x < 1 { // the line ends early: a dotted leader cannot be mistaken for data
			c.StrokeLine2(draw.LineStyle{Color: l.color, Width: hairline,
				Dashes: []vg.Length{0.5, 2}}, data.X(l.x)+3, want[i], edge, want[i])
		}
		c.StrokeLines(hairlineOf(l.color),
			[]vg.Point{{X: edge, Y: want[i]}, {X: right - 2, Y: at[i]}, {X: right, Y: at[i]}})
		smallText.in(readable(l.color)).left(c, right+leaderGap, at[i], l.text)
	}
}

// separate returns the positions closest to want (in descending order) by least squares such that
// neighbours are at least pitch apart and all lie between lo and hi. The caller must check that they
// fit. Adding i·pitch to position i turns this into an isotonic regression, which is solved by pooling
// neighbours that are in the wrong order.
func separate(want []vg.Length, pitch, lo, hi vg.Length) []vg.Length {
	type pool struct {
		sum vg.Length
		n   int
	}
	var pools []pool
	for i, w := range want {
		pools = append(pools, pool{w + vg.Length(i)*pitch, 1})
		for k := len(pools) - 1; k > 0; k-- {
			last, before := pools[k], &pools[k-1]
			if last.sum*vg.Length(before.n) <= before.sum*vg.Length(last.n) {
				break
			}
			before.sum += last.sum
			before.n += last.n
			pools = pools[:k]
		}
	}
	out := make([]vg.Length, 0, len(want))
	floor := lo + vg.Length(len(want)-1)*pitch
	for _, p := range pools {
		for range p.n {
			z := min(max(p.sum/vg.Length(p.n), floor), hi)
			out = append(out, z-vg.Length(len(out))*pitch)
		}
	}
	return out
}
