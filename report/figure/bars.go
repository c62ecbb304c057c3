package figure

import (
	"errors"
	"fmt"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"torchpe/internal/stats"
)

// Bars compares means as bars with error bars and a dot for each value.
type Bars struct {
	Title, XLabel, YLabel string
	Groups                []BarGroup // from left to right
	References            []Reference
}

// BarGroup holds the bars at one place on the x axis.
type BarGroup struct {
	Label   string // shown below the bars; selects the colour, in shades for several bars
	ColorOf string // label that selects the colour instead
	Bars    []Bar  // the same in all groups, at most five: readers cannot distinguish more shades of a colour
}

// Bar is one bar.
type Bar struct {
	Label  string    // legend entry, equal in all groups, such as "training"; may be empty for one bar
	Values []float64 // one per member; NaN is left out and counted in the note; empty leaves a gap
}

func (b Bars) heading() string { return b.Title }

// plot returns the axes and categories, without marks.
func (b Bars) plot() categoryPlot {
	o := categoryPlot{xLabel: b.XLabel, references: b.References, referencesOver: true}
	for _, g := range b.Groups {
		c := category{text: g.Label, colorOf: g.ColorOf}
		for _, bar := range g.Bars {
			c.samples = append(c.samples, bar.Values)
		}
		o.categories = append(o.categories, c)
	}
	return o
}

func (b Bars) check() error { return b.plot().check() }

// axis returns the y axis, which covers 0, values, error bars and references. It starts at 0 unless a
// mark lies below 0.
func (b Bars) axis() axis {
	values := append(levels(b.References), 0)
	for _, g := range b.Groups {
		for _, bar := range g.Bars {
			present := finite(bar.Values)
			if len(present) == 0 {
				continue
			}
			mean, sd := errorBar(present)
			values = append(append(values, present...), mean+sd)
			if mean < 0 {
				values = append(values, mean-sd)
			}
		}
	}
	y := rangeOf(b.YLabel, values, 0, false)
	pad := 0.04 * (y.hi - y.lo)
	if y.hi > 0 {
		y.hi += pad
	}
	if y.lo < 0 {
		y.lo -= pad
	}
	return y
}

func (b Bars) note() string {
	n := b.plot().members()
	parts := []string{"Bar: mean; error bar: ±1 SD; dots: models"}
	if n.lo < minSD {
		parts = []string{"Bar: mean; error bar: ±1 SD where n > 2; dots: models"}
	}
	if n.hi < minSD {
		parts = []string{"Bar: mean; dots: models"}
	}
	switch {
	case n.hi == 1:
		parts = []string{"One member per bar (n = 1)"}
	case n.lo == n.hi:
		parts = append(parts, fmt.Sprintf("n = %d each", n.lo))
	default:
		parts = append(parts, fmt.Sprintf("n = %d to %d", n.lo, n.hi))
	}
	return n.note(parts...)
}

func (b Bars) draw(c draw.Canvas) (note string, err error) {
	o := b.plot()
	o.y = b.axis()
	if first := b.Groups[0].Bars; len(first) == 1 {
		o.count()
	} else {
		var l legend
		for k, bar := range first {
			l = append(l, legendEntry{text: bar.Label, color: shade(rgb(0x555555), k, len(first))})
		}
		height := l.height(c.Size().X)
		if height > 0.4*c.Size().Y {
			return "", errors.New(
				"the legend leaves too little of the panel: shorten the labels of the bars")
		}
		l.drawRows(c, c.Min.X+26, c.Max.Y, c.Size().X-26)
		c.Max.Y -= height + 2
	}
	styles := o.styles()
	o.marks = func(c draw.Canvas, p *plot.Plot) {
		for i, g := range b.Groups {
			for k := range g.Bars {
				if values := finite(g.Bars[k].Values); len(values) > 0 {
					barMark{i, k, len(g.Bars), values, styles[i]}.draw(c, p)
				}
			}
		}
		if p.Y.Min < 0 && p.Y.Max > 0 {
			_, trY := p.Transforms(&c)
			c.StrokeLine2(hairlineOf(axisColor), c.Min.X, trY(0),
				c.Max.X, trY(0))
		}
	}
	crowded, err := o.draw(c)
	return sentences(crowded, b.note()), err
}

// shade returns the k-th of n shades of a colour. The last shade is the colour itself.
func shade(c color.NRGBA, k, n int) color.NRGBA {
	if n == 1 {
		return c
	}
	return mix(c, rgb(0xffffff), 0.68*float64(n-1-k)/float64(n-1))
}

// errorBar returns the mean and the standard deviation (divisor n-1). The standard deviation is 0 for
// fewer than minSD values.
func errorBar(values []float64) (mean, sd float64) {
	if len(values) >= minSD {
		sd = stats.SD(values)
	}
	return stats.Mean(values), sd
}

// barMark draws the k-th of n bars of the i-th group.
type barMark struct {
	i, k, n int
	values  []float64
	style   lineStyle
}

func (b barMark) draw(c draw.Canvas, p *plot.Plot) {
	values, style := b.values, b.style
	trX, trY := p.Transforms(&c)
	width := 0.76 / float64(b.n)
	middle := float64(b.i) - 0.38 + width*(float64(b.k)+0.5)
	mean, sd := errorBar(values)
	x0, x1 := trX(middle-0.46*width), trX(middle+0.46*width)
	if x1-x0 > 26 { // limit the width if there are few bars
		x0, x1 = trX(middle)-13, trX(middle)+13
	}
	base, top := trY(0), trY(mean)
	fill(c, shade(style.color, b.k, b.n), rect(x0, base, x1, top))
	if style.dashes != nil { // two labels have this colour
		edge := mix(style.color, black, 0.45)
		line := draw.LineStyle{Color: edge, Width: 0.8, Dashes: halved(style.dashes)}
		c.StrokeLines(line,
			[]vg.Point{{X: x0, Y: base}, {X: x0, Y: top}, {X: x1, Y: top}, {X: x1, Y: base}})
	}
	if len(values) == 1 {
		return
	}
	drawDots(c, trX, trY, dots{x: middle, values: values, spread: 0.7 * width,
		color: mix(style.color, black, 0.5), halo: true})
	if sd == 0 {
		return
	}
	lo, hi := trY(max(mean-sd, p.Y.Min)), trY(mean+sd)
	x, tip := trX(middle), min((x1-x0)/5, 2.5)
	lines := []draw.LineStyle{{Color: rgb(0xffffff), Width: 1.4}, {Color: ink, Width: 0.8}}
	for _, line := range lines { // a white line below, visible on dark bars
		more := (line.Width - 0.8) / 2
		c.StrokeLines(line, []vg.Point{{X: x, Y: lo}, {X: x, Y: hi}},
			[]vg.Point{{X: x - tip - more, Y: lo}, {X: x + tip + more, Y: lo}},
			[]vg.Point{{X: x - tip - more, Y: hi}, {X: x + tip + more, Y: hi}})
	}
}
