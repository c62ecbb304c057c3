package figure

import (
	"errors"
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Map shows tokens in the plane, such as learned positions projected to two dimensions. Both axes have
// the same scale.
type Map struct {
	Title, XLabel, YLabel string
	XY                    [][2]float64 // coordinates of each token
	Groups                []int        // group of each token, from 0; may be empty
	GroupNames            []string     // entries of the legend; may be empty
	Labels                []string     // label of each token, in its dot or beside it; may be empty
	Edges                 [][2]int     // pairs of tokens joined by thin lines, such as GridEdges
	Note                  string       // below the panel, such as "n = 1 model"; may be empty
	HideNames             bool         // omits the legend, for pages with GroupNames
}

// GridEdges returns the pairs of neighbours in a grid of cells counted row by row from 0.
func GridEdges(rows, columns int) [][2]int {
	var edges [][2]int
	for i := range max(rows, 0) {
		for j := range max(columns, 0) {
			if j+1 < columns {
				edges = append(edges, [2]int{i*columns + j, i*columns + j + 1})
			}
			if i+1 < rows {
				edges = append(edges, [2]int{i*columns + j, (i+1)*columns + j})
			}
		}
	}
	return edges
}

func (m Map) heading() string { return m.Title }

func (m Map) check() error {
	for i, xy := range m.XY {
		for _, v := range xy {
			if err := checkNumber(fmt.Sprintf("a coordinate of token %d", i), v); err != nil {
				return err
			}
		}
	}
	return m.grouping().check()
}

// grouping returns the groups of the tokens, or a single group if none are given.
func (m Map) grouping() grouping {
	if len(m.Groups) == 0 {
		return grouping{of: make([]int, len(m.XY))}
	}
	return grouping{of: m.Groups, names: m.GroupNames}
}

// labelledRadius is the radius of dots with labels in them, wide enough for two digits.
const labelledRadius = 5.4

func (m Map) draw(c draw.Canvas) (note string, err error) {
	left, below := vg.Length(hairline), vg.Length(hairline)
	if m.YLabel != "" {
		left += labelSize*leading + 1
	}
	if m.XLabel != "" {
		below += labelSize*leading + 2
	}
	aspect := m.aspect()
	inner := max(c.Size().Y-below, 1)
	var names legend
	var short [2]bool
	if !m.HideNames {
		names, short[0] = m.grouping().legend(c.Size().X)
	}
	m.Labels, short[1] = smallText.shorten(m.Labels,
		labelShare*min(c.Size().X, 1.4*c.Size().Y))
	space, drawLegend, err := names.splitOff(c, (inner*aspect+left)/c.Size().Y)
	if err != nil {
		return "", err
	}
	area := draw.Crop(space, left, -hairline, below, -hairline)
	size := area.Size()
	if size.X < 30 || size.Y < 30 {
		return "", errors.New("too little room is left for the dots: make the panel larger")
	}
	area.Max.X = area.Min.X + min(size.X, aspect*size.Y)
	area.Min.Y = area.Max.Y - min(size.Y, area.Size().X/aspect)
	outline(c, hairlineOf(rgb(0xb0b0b0)), area.Rectangle)
	labelText.centred(c, (area.Min.X+area.Max.X)/2, area.Min.Y-labelSize*leading/2-1, m.XLabel)
	labelText.up(c, area.Min.X-labelSize*leading/2-1, (area.Min.Y+area.Max.Y-labelText.width(m.YLabel))/2,
		m.YLabel)
	crowded := m.drawDots(area)
	drawLegend(c)
	return sentences(m.Note, crowded, noteIf(short[0] || short[1], shortenedNote)), nil
}

// extent returns the range of the coordinates.
func (m Map) extent() (lo, hi [2]float64) {
	lo, hi = m.XY[0], m.XY[0]
	for _, xy := range m.XY {
		for k, v := range xy {
			lo[k], hi[k] = min(lo[k], v), max(hi[k], v)
		}
	}
	return lo, hi
}

// aspect returns the width of the frame divided by its height. It is that of the tokens, limited to 0.7
// to 1.5.
func (m Map) aspect() vg.Length {
	lo, hi := m.extent()
	if wide, high := hi[0]-lo[0], hi[1]-lo[1]; wide > 0 && high > 0 {
		return vg.Length(min(max(wide/high, 0.7), 1.5))
	}
	return 1
}

// places returns the tokens' points on c.
func (m Map) places(c draw.Canvas) []vg.Point {
	lo, hi := m.extent()
	const pad = labelledRadius + 4
	size := c.Size()
	scale := math.Min(float64(size.X-2*pad)/math.Max(hi[0]-lo[0], 1/largest),
		float64(size.Y-2*pad)/math.Max(hi[1]-lo[1], 1/largest))
	if lo == hi {
		scale = 0
	}
	var out []vg.Point
	for _, xy := range m.XY {
		out = append(out, vg.Point{
			X: (c.Min.X+c.Max.X)/2 + vg.Length(scale*(xy[0]-lo[0]/2-hi[0]/2)),
			Y: (c.Min.Y+c.Max.Y)/2 + vg.Length(scale*(xy[1]-lo[1]/2-hi[1]/2)),
		})
	}
	return out
}

// drawDots draws edges, dots and labels. It returns a note on labels without room.
func (m Map) drawDots(c draw.Canvas) (note string) {
	at, colors, of := m.places(c), m.grouping().colors(), m.grouping().of
	var edges []segment
	for _, e := range m.Edges {
		edges = append(edges, segment{at[e[0]], at[e[1]]})
		c.StrokeLine2(draw.LineStyle{Color: rgb(0xc4c4c4), Width: 0.5}, at[e[0]].X, at[e[0]].Y,
			at[e[1]].X, at[e[1]].Y)
	}
	if m.labelsFitDots(at) {
		for i, pt := range at {
			col := colors[of[i]]
			circle(c, col, labelledRadius, pt)
			smallText.in(contrastingInk(col)).centred(c, pt.X, pt.Y, m.Labels[i])
		}
		return ""
	}
	radius := vg.Length(min(max(12/math.Sqrt(float64(len(at))), 1.3), 3))
	l := labeller{area: c.Rectangle, radius: radius, strokes: edges, crossing: true}
	for i, pt := range at {
		point := labelledPoint{at: pt, color: ink}
		if len(m.Labels) > 0 {
			point.text = m.Labels[i]
		}
		l.points = append(l.points, point)
	}
	labels, note := l.place()
	clearGround(c, labels)
	for i, pt := range at {
		col := colors[of[i]]
		circle(c, mix(col, black, 0.3), radius, pt)
		circle(c, col, radius-0.3, pt)
	}
	drawLabels(c, labels)
	return note
}

// labelsFitDots reports whether all labels fit in their dots and no dots overlap.
func (m Map) labelsFitDots(at []vg.Point) bool {
	if len(m.Labels) == 0 || len(at) > 1000 {
		return false
	}
	for i, p := range at {
		if smallText.width(m.Labels[i]) > 1.7*labelledRadius {
			return false
		}
		for _, q := range at[:i] {
			if distance(p, q) < 2*labelledRadius {
				return false
			}
		}
	}
	return true
}

// contrastingInk returns white or black, whichever is more readable on c.
func contrastingInk(c color.NRGBA) color.NRGBA {
	if contrastWithWhite(c) >= 4 {
		return rgb(0xffffff)
	}
	return black
}
