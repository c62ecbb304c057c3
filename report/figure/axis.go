package figure

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"torchpe/internal/number"
)

// axis is the range of a numeric axis.
type axis struct {
	label  string
	lo, hi float64
	log    bool
	whole  bool // the data are integers, so ticks are integers too
}

// rangeOf returns an axis over one or more finite values. It adds the share pad of the range at both
// ends. Equal values get a range around them.
func rangeOf(label string, values []float64, pad float64, log bool) axis {
	a := axis{label: label, lo: math.Inf(1), hi: math.Inf(-1), log: log}
	for _, v := range values {
		a.lo, a.hi = min(a.lo, v), max(a.hi, v)
	}
	if log {
		if a.hi/a.lo < 1.0001 {
			a.lo, a.hi = a.lo/2, a.hi*2
		}
		factor := math.Pow(a.hi/a.lo, pad)
		a.lo, a.hi = a.lo/factor, a.hi*factor
		return a
	}
	if size := max(math.Abs(a.lo), math.Abs(a.hi)); a.hi-a.lo <= 1e-9*size || a.hi == a.lo {
		half := 0.5
		if size > 1/largest {
			half = 0.05 * size
		}
		a.lo, a.hi = a.lo-half, a.hi+half
	}
	a.lo, a.hi = a.lo-pad*(a.hi-a.lo), a.hi+pad*(a.hi-a.lo)
	return a
}

// minSpan is the smallest range of the y axis of lines and boxes, as a share of the largest magnitude
// on it. A smaller range would let differences between seeds fill the panel and look like effects.
const minSpan = 0.1

// widened returns a, widened around its middle to a range of at least minSpan.
func (a axis) widened() axis {
	least := minSpan * max(math.Abs(a.lo), math.Abs(a.hi))
	if !a.log && a.hi-a.lo < least {
		middle := (a.lo + a.hi) / 2
		a.lo, a.hi = middle-least/2, middle+least/2
	}
	return a
}

// covering returns values with the numbers that an axis must cover; both 0 for none.
func covering(values []float64, numbers [2]float64) []float64 {
	if numbers == [2]float64{} {
		return values
	}
	return append(values, numbers[:]...)
}

// norm maps the range of the axis to 0...1.
func (a axis) norm(v float64) float64 {
	if a.log {
		return logScale{}.Normalize(a.lo, a.hi, v)
	}
	return (v - a.lo) / (a.hi - a.lo)
}

// contains reports whether v is on the axis.
func (a axis) contains(v float64) bool {
	const slack = 1e-9
	n := a.norm(v)
	return n >= -slack && n <= 1+slack
}

// ticks returns at most about count labelled ticks.
func (a axis) ticks(count int) plot.ConstantTicks {
	if a.log {
		return logTicks(a.lo, a.hi, count)
	}
	least := 0.
	if a.whole {
		least = 1
	}
	return niceTicks(a.lo, a.hi, least, count)
}

// set sets the label, range and ticks of one of a plot's axes.
func (a axis) set(to *plot.Axis, count int) {
	to.Label.Text, to.Min, to.Max = a.label, a.lo, a.hi
	to.Tick.Marker = a.ticks(count)
	if a.log {
		to.Scale = logScale{}
	}
}

// yTicks returns the largest number of ticks of a y axis of the given height.
func yTicks(height vg.Length) int { return min(max(int(height/12.5), 2), 6) }

// drawAxes draws p in c with as many labels on the x axis as fit. It returns the area of the data.
func drawAxes(p *plot.Plot, c draw.Canvas, x axis) (draw.Canvas, error) {
	area, title := c, x.label
	x.label = "" // drawn below, because gonum would shrink the data for a wide label
	if title != "" {
		area.Min.Y += labelSize*leading + 1
	}
	for count := 7; ; count-- {
		x.set(&p.X, count)
		data := p.DataCanvas(area)
		if count > 2 && !ticksFit(p, data) {
			continue
		}
		if size := data.Size(); size.X < 30 || size.Y < 20 {
			return data, errors.New(
				"too little room is left between the axes: make the panel larger")
		}
		p.Draw(area)
		drawXLabel(c, data, title)
		return data, nil
	}
}

// drawXLabel writes the label of an x axis at the lower edge of c. The label is centred below the data
// if it fits, else shifted into c.
func drawXLabel(c, data draw.Canvas, text string) {
	width := labelText.width(text)
	x := max(min((data.Min.X+data.Max.X-width)/2, c.Max.X-width), c.Min.X)
	labelText.left(c, x, c.Min.Y+labelSize*leading/2-0.5, text)
}

// logScale maps numbers like plot.LogScale. It maps numbers that are not positive to the lower end,
// where plot.LogScale panics.
type logScale struct{}

// Normalize implements plot.Normalizer.
func (logScale) Normalize(lo, hi, x float64) float64 {
	if x <= 0 {
		return 0
	}
	return math.Log(x/lo) / math.Log(hi/lo)
}

// niceTicks returns at most count ticks from lo to hi, at multiples of a step of 1, 2 or 5 times a
// power of ten. The power of ten is at least least.
func niceTicks(lo, hi, least float64, count int) plot.ConstantTicks {
	step := max(math.Pow(10, math.Floor(math.Log10((hi-lo)/float64(max(count, 1))))), least)
	for i := 0; ; i++ {
		next := step * []float64{1, 2, 5, 10, 20, 50}[min(i, 5)]
		first, last := math.Ceil(lo/next-1e-6), math.Floor(hi/next+1e-6)
		if i < 5 && last-first+1 > float64(count) {
			continue
		}
		var ticks plot.ConstantTicks
		powers := number.NeedsPowers(max(math.Abs(lo), math.Abs(hi)), next)
		for k := first; k <= last; k++ {
			ticks = append(ticks, plot.Tick{Value: min(max(k*next, lo), hi),
				Label: number.Step(k*next, next, powers)})
		}
		return ticks
	}
}

// logTicks returns labelled ticks at powers of ten, or at 1, 2 and 5 times powers of ten where there are
// few, and unlabelled ticks between them.
func logTicks(lo, hi float64, count int) plot.ConstantTicks {
	first, last := int(math.Floor(math.Log10(lo))), int(math.Ceil(math.Log10(hi)))
	every := max(1, (last-first+count-1)/count)
	powers := lo < 1e-3*(1-1e-9) || hi > 1e4*(1+1e-9)
	label := func(e int, m float64) string {
		switch v := m * math.Pow(10, float64(e)); {
		case !powers:
			return number.Step(v, v, false)
		case m == 1:
			return "10^" + number.Step(float64(e), 1, false)
		default:
			return fmt.Sprintf("%g×10^%s", m, number.Step(float64(e), 1, false))
		}
	}
	var coarse, finer plot.ConstantTicks
	labelled := 0 // of coarse
	fine := 0
	for e := first; e <= last; e++ {
		for m := 1.; m < 10; m++ {
			v := m * math.Pow(10, float64(e))
			if v < lo*(1-1e-9) || v > hi*(1+1e-9) {
				continue
			}
			c, f := plot.Tick{Value: min(max(v, lo), hi)}, plot.Tick{Value: min(max(v, lo), hi)}
			if m == 1 && (e-first)%every == 0 {
				c.Label = label(e, m)
				labelled++
			}
			if m == 1 || m == 2 || m == 5 {
				f.Label = label(e, m)
				fine++
			}
			if finer = append(finer, f); c.Label != "" || last-first <= 6 || m == 1 {
				coarse = append(coarse, c)
			}
		}
	}
	switch {
	case labelled <= 2 && fine >= 2 && fine <= max(count, 3):
		return finer
	case labelled >= 2:
		return coarse
	}
	return plot.ConstantTicks{{Value: lo, Label: number.Digits(lo, 3)}, {Value: hi, Label: number.Digits(hi, 3)}}
}
