package figure

import (
	"fmt"
	"math"
	"strconv"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// category is the label of a place on an axis of categories.
type category struct {
	text string
	n    int // number of values, shown unless 0
}

// categoryLabels holds the layout of the labels of categories.
type categoryLabels struct {
	degrees int // 0, 45 or 90
	every   int // step between labelled places
	height  vg.Length
	lines   [][]string // of each label
}

// fitCategories chooses the layout of labels. Labels are horizontal if they fit, on one line or broken between
// words. Otherwise they are rotated by 45 or 90 degrees, and some are left out if they are still too dense.
// Numbers are left out rather than rotated. Slanted labels may extend into the space to the left of the data.
func fitCategories(all []category, width, left vg.Length) categoryLabels {
	pitch := width / vg.Length(float64(len(all))+0.2)
	var wide, long vg.Length // width of the longest label without and with its n
	numbers := true
	var one, broken, single [][]string
	for _, g := range all {
		one, broken, single = append(one, g.lines(vg.Length(math.Inf(1)))),
			append(broken, g.lines(0.95*pitch)), append(single, []string{g.line()})
		wide, long = max(wide, smallText.width(g.text)), max(long, smallText.width(g.line()))
		if _, err := strconv.ParseFloat(g.text, 64); err != nil {
			numbers = false
		}
	}
	switch {
	case isUpright(one, pitch):
		return categoryLabels{0, 1, linesHeight(one), one}
	case numbers:
		return categoryLabels{0, labelStep(len(all), width, wide+5), linesHeight(one), one}
	case isUpright(broken, pitch) && linesHeight(broken) <= 4*smallSize*leading:
		return categoryLabels{0, 1, linesHeight(broken), broken}
	case pitch >= 1.5*smallSize && long < 90 && slantedFit(all, pitch, left):
		return categoryLabels{45, 1, (long+smallSize)*math.Sqrt2/2 + 3, single}
	}
	return categoryLabels{90, labelStep(len(all), width, 1.15*smallSize), long + 5, single}
}

// note says how many labels are left out.
func (l categoryLabels) note() string {
	n := len(l.lines)
	return noteIf(l.degrees == 90 && l.every > 1,
		fmt.Sprintf("No room for the labels of %d of %d groups", n-(n+l.every-1)/l.every, n))
}

// linesHeight returns the height of horizontal labels.
func linesHeight(labels [][]string) vg.Length {
	rows := 0
	for _, lines := range labels {
		rows = max(rows, len(lines))
	}
	return vg.Length(rows)*smallSize*leading + 3
}

// slantedFit reports whether labels at 45 degrees stay within the space to the left.
func slantedFit(all []category, pitch, left vg.Length) bool {
	for i, g := range all {
		if left+pitch*(vg.Length(i)+0.6)-smallText.width(g.line())*math.Sqrt2/2 < -2 {
			return false
		}
	}
	return true
}

// isUpright reports whether horizontal labels, spaced by pitch, do not overlap.
func isUpright(labels [][]string, pitch vg.Length) bool {
	right := vg.Length(math.Inf(-1))
	for i, lines := range labels {
		middle, half := pitch*vg.Length(i), widest(smallText, lines)/2
		if middle-half < right+smallSize/3 {
			return false
		}
		right = middle + half
	}
	return true
}

// draw writes the labels below the data.
func (l categoryLabels) draw(data draw.Canvas) {
	pitch := data.Size().X / vg.Length(float64(len(l.lines))+0.2)
	top := data.Min.Y - 3
	for i := 0; i < len(l.lines); i += l.every {
		x := data.Min.X + pitch*(vg.Length(i)+0.6)
		switch l.degrees {
		case 0:
			for k, line := range l.lines[i] {
				smallText.centred(data, x, top-smallSize*leading*(vg.Length(k)+0.5), line)
			}
		case 90:
			s := l.lines[i][0]
			smallText.up(data, x, top-smallText.width(s), s)
		default:
			smallText.slanted(data, x+1, top, l.lines[i][0])
		}
	}
}

// lines returns the label, wrapped to a width, followed by its n.
func (g category) lines(width vg.Length) []string {
	lines := smallText.wrap(g.text, width)
	if g.n > 0 {
		lines = append(lines, fmt.Sprintf("n=%d", g.n))
	}
	return lines
}

// line returns the label and its n on one line.
func (g category) line() string {
	if g.n > 0 {
		return fmt.Sprintf("%s (n=%d)", g.text, g.n)
	}
	return g.text
}
