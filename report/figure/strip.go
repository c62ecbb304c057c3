package figure

import (
	"errors"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Strip shows the groups of tokens in their order as a coloured strip, such as the networks of brain
// regions.
type Strip struct {
	Title      string
	Groups     []int    // group of each token, from 0
	GroupNames []string // entries of the legend below; may be empty
}

func (s Strip) heading() string { return s.Title }

func (s Strip) grouping() grouping { return grouping{of: s.Groups, names: s.GroupNames} }

func (s Strip) check() error { return s.grouping().check() }

func (s Strip) draw(c draw.Canvas) (note string, err error) {
	names, shortened := s.grouping().legend(c.Size().X)
	below := smallSize*leading + 2 // the numbers of tokens
	rows := names.height(c.Size().X)
	if len(names) > 0 {
		rows += 4
	}
	height := c.Size().Y - below - rows
	if height < 6 {
		return "", errors.New(
			"the legend leaves too little of the panel: enlarge it or name fewer groups")
	}
	height = min(height, 22)
	colors, n := s.grouping().colors(), vg.Length(len(s.Groups))
	width, top := c.Size().X, c.Max.Y
	for _, run := range s.grouping().runs() {
		from, to := width*vg.Length(run.first)/n, width*vg.Length(run.last)/n
		fill(c, colors[run.group], rect(c.Min.X+from, top-height, c.Min.X+to, top))
	}
	outline(c, hairlineOf(axisColor), rect(c.Min.X, top-height, c.Max.X, top))
	y := top - height - smallSize*leading/2 - 2
	right := c.Min.X - 10
	for _, t := range niceTicks(0, float64(len(s.Groups)-1), 1, 8) { // at the tokens' middles
		x := c.Min.X + width*(vg.Length(t.Value)+0.5)/n
		left := min(max(x-smallText.width(t.Label)/2, c.Min.X), c.Max.X-smallText.width(t.Label))
		if left < right+4 {
			continue
		}
		c.StrokeLine2(hairlineOf(axisColor), x, top-height, x,
			top-height-2)
		smallText.left(c, left, y, t.Label)
		right = left + smallText.width(t.Label)
	}
	names.drawRows(c, c.Min.X, top-height-below-4, width)
	return sentences(noteIf(shortened, shortenedNote)), nil
}
