package figure

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// axis is the range of a numeric axis.
type axis struct {
	label  string
	lo, hi float64
	log    bool
}

// rangeOf returns an axis over the values, which are finite. It takes at least one; equal values get a range about them. Where pad is
// not 0, it adds that share of the range at both ends.
func rangeOf(label string, values []float64, pad float64, log bool) axis {
	a := axis{label: label, lo: math.Inf(1), hi: math.Inf(-1), log: log}
	for _, v := range values {
		a.lo, a.hi = min(a.lo, v), max(a.hi, v)
	}
	if log {
		if a.hi/a.lo < 1.0001 {
			a.lo, a.hi = a.lo/2, a.hi*2
		}
		by := math.Pow(a.hi/a.lo, pad)
		a.lo, a.hi = a.lo/by, a.hi*by
		return a
	}
	if size := max(math.Abs(a.lo), math.Abs(a.hi)); a.hi-a.lo <= 1e-9*size || a.hi == a.lo {
		by := 0.5
		if size > 0 {
			by = 0.05 * size
		}
		a.lo, a.hi = a.lo-by, a.hi+by
	}
	a.lo, a.hi = a.lo-pad*(a.hi-a.lo), a.hi+pad*(a.hi-a.lo)
	return a
}

// fixed returns a with the given ends where lo lies below hi.
func (a axis) fixed(lo, hi float64) axis {
	if lo < hi {
		a.lo, a.hi = lo, hi
	}
	return a
}

// checkFixed reports ends that cannot be those of an axis. Both 0 means that none are given.
func checkFixed(name string, lo, hi float64, log bool) error {
	if err := checkNumber(name+"Min", lo); err != nil {
		return err
	}
	if err := checkNumber(name+"Max", hi); err != nil {
		return err
	}
	switch {
	case lo == 0 && hi == 0:
		return nil
	case hi-lo <= 1e-9*max(math.Abs(lo), math.Abs(hi)):
		return fmt.Errorf("%sMin %g and %sMax %g are no range: give the lower end first, or neither", name, lo, name, hi)
	case log && lo <= 0:
		return fmt.Errorf("%sMin %g on a logarithmic axis: give a positive number", name, lo)
	}
	return nil
}

// norm is where v lies on the axis, 0 to 1.
func (a axis) norm(v float64) float64 {
	if a.log {
		return logScale{}.Normalize(a.lo, a.hi, v)
	}
	return (v - a.lo) / (a.hi - a.lo)
}

// holds reports whether v is on the axis.
func (a axis) holds(v float64) bool {
	const slack = 1e-9
	n := a.norm(v)
	return n >= -slack && n <= 1+slack
}

// ticks returns at most about count labelled ticks.
func (a axis) ticks(count int) plot.ConstantTicks {
	if a.log {
		return logTicks(a.lo, a.hi, count)
	}
	return niceTicks(a.lo, a.hi, count)
}

// set gives one of a plot's axes the range and the ticks.
func (a axis) set(to *plot.Axis, count int) {
	to.Label.Text, to.Min, to.Max = a.label, a.lo, a.hi
	to.Tick.Marker = a.ticks(count)
	if a.log {
		to.Scale = logScale{}
	}
}

// yTicks is how many ticks a y axis of the given height has at most.
func yTicks(height vg.Length) int { return min(max(int(height/14), 2), 6) }

// fitX labels the x axis as densely as c has room and returns where the data go.
func fitX(p *plot.Plot, c draw.Canvas, x axis) draw.Canvas {
	for count := 7; ; count-- {
		x.set(&p.X, count)
		data := p.DataCanvas(c)
		if count == 2 || ticksFit(p, data) {
			return data
		}
	}
}

// logScale is plot.LogScale without its panic at numbers that are not positive: those lie at the lower end.
type logScale struct{}

// Normalize implements plot.Normalizer.
func (logScale) Normalize(lo, hi, x float64) float64 {
	if x <= 0 {
		return 0
	}
	return math.Log(x/lo) / math.Log(hi/lo)
}

// niceTicks returns ticks at multiples of 1, 2 or 5 times a power of ten within lo and hi, at most count.
func niceTicks(lo, hi float64, count int) plot.ConstantTicks {
	step := math.Pow(10, math.Floor(math.Log10((hi-lo)/float64(max(count, 1)))))
	for i := 0; ; i++ {
		next := step * []float64{1, 2, 5, 10, 20, 50}[min(i, 5)]
		first, last := math.Ceil(lo/next-1e-6), math.Floor(hi/next+1e-6)
		if i < 5 && last-first+1 > float64(count) {
			continue
		}
		var ticks plot.ConstantTicks
		for k := first; k <= last; k++ {
			ticks = append(ticks, plot.Tick{Value: min(max(k*next, lo), hi), Label: number(k*next, next)})
		}
		return ticks
	}
}

// logTicks returns ticks at powers of ten, at 1, 2 and 5 times them where those are few.
func logTicks(lo, hi float64, count int) plot.ConstantTicks {
	first, last := int(math.Floor(math.Log10(lo))), int(math.Ceil(math.Log10(hi)))
	every := max(1, (last-first+count-1)/count)
	var powers, finer plot.ConstantTicks
	for e := first; e <= last; e++ {
		for _, m := range []float64{1, 2, 5} {
			v := m * math.Pow(10, float64(e))
			if v < lo*(1-1e-9) || v > hi*(1+1e-9) {
				continue
			}
			tick := plot.Tick{Value: min(max(v, lo), hi), Label: number(v, v)}
			if finer = append(finer, tick); m == 1 && (e-first)%every == 0 {
				powers = append(powers, tick)
			}
		}
	}
	switch {
	case len(powers) < 2 && len(finer) >= 2 && len(finer) <= max(count, 3):
		return finer
	case len(powers) >= 2:
		return powers
	}
	return plot.ConstantTicks{{Value: lo, Label: number(lo, lo)}, {Value: hi, Label: number(hi, hi)}}
}

// number writes v with the decimals that steps of the given size need: 0.25, −1, 2×10⁶.
func number(v, step float64) string {
	step = math.Abs(step)
	if math.Abs(v) < step*1e-6 {
		v = 0 // and no negative zero
	}
	decimals := 0
	if step > 0 {
		decimals = max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	}
	if size := math.Abs(v); v != 0 && (size >= 1e6 || size < 1e-4) || decimals > 6 {
		exponent := 0
		if v != 0 {
			exponent = int(math.Floor(math.Log10(size) + 1e-9))
		}
		digits := min(max(exponent+decimals, 0), 4)
		if step >= 1 {
			digits = min(max(exponent-int(math.Floor(math.Log10(step)+1e-9)), 0), 4)
		}
		mantissa := strconv.FormatFloat(v/math.Pow(10, float64(exponent)), 'f', digits, 64)
		return minus(mantissa) + "×10" + superscript(exponent)
	}
	if step > 0 && math.Abs(step*math.Pow(10, float64(decimals))-math.Round(step*math.Pow(10, float64(decimals)))) > 1e-6 {
		decimals++ // a step such as 0.25
	}
	return minus(strconv.FormatFloat(v, 'f', decimals, 64))
}

// minus replaces hyphens of numbers by minus signs.
func minus(s string) string { return strings.ReplaceAll(s, "-", "−") }

func superscript(n int) string {
	return strings.NewReplacer("-", "⁻", "0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴", "5", "⁵", "6", "⁶", "7", "⁷",
		"8", "⁸", "9", "⁹").Replace(strconv.Itoa(n))
}

// category is the label of a place on an axis of categories.
type category struct {
	text string
	n    int // stated where it is not 0
}

// fitCategories labels the x axis with categories at 0, 1, 2 ...: upright where they fit, else turned by 45 or 90 degrees, and
// thinned out where even that is too dense. It returns where the data go.
func fitCategories(p *plot.Plot, c draw.Canvas, all []category) (draw.Canvas, error) {
	p.X.Min, p.X.Max = -0.6, float64(len(all))-0.4
	p.X.Tick.Length, p.X.Width = 0, hairline
	p.X.Padding = 0
	w := newWriter(sans(smallSize), ink)
	for _, degrees := range []float64{0, 45, 90} {
		ticks := categoryTicks(all, degrees != 0)
		p.X.Tick.Label.Rotation = degrees * math.Pi / 180
		if degrees != 0 {
			p.X.Tick.Label.XAlign = draw.XRight
		}
		if degrees == 45 {
			p.X.Tick.Label.YAlign = -0.75
		}
		if degrees == 90 {
			p.X.Tick.Label.YAlign = draw.YCenter
		}
		p.X.Tick.Marker = ticks
		data := p.DataCanvas(c)
		pitch := data.Size().X / vg.Length(float64(len(all))+0.2)
		fits := false
		switch degrees {
		case 0:
			fits = labelsClear(ticks, pitch, w)
		case 45:
			fits = pitch >= 1.5*smallSize && len(all) <= 40
		case 90:
			every := max(1, int(math.Ceil(float64(1.1*smallSize/max(pitch, 1e-6)))))
			var thin plot.ConstantTicks
			for i := 0; i < len(ticks); i += every {
				thin = append(thin, ticks[i])
			}
			p.X.Tick.Marker = thin
			data, fits = p.DataCanvas(c), true
		}
		if size := data.Size(); fits && size.Y >= 0.4*c.Size().Y && size.X >= 0.4*c.Size().X {
			return data, nil
		}
	}
	return c, fmt.Errorf("the labels of the %d groups leave too little of the panel: shorten them or make the panel larger", len(all))
}

func categoryTicks(all []category, oneLine bool) plot.ConstantTicks {
	var ticks plot.ConstantTicks
	for i, g := range all {
		text := g.text
		switch {
		case g.n > 0 && oneLine:
			text = fmt.Sprintf("%s (n=%d)", text, g.n)
		case g.n > 0:
			text = fmt.Sprintf("%s\nn=%d", text, g.n)
		}
		ticks = append(ticks, plot.Tick{Value: float64(i), Label: text})
	}
	return ticks
}

// labelsClear reports whether upright labels a pitch apart stand clear of each other.
func labelsClear(ticks plot.ConstantTicks, pitch vg.Length, w writer) bool {
	right := vg.Length(math.Inf(-1))
	for i, t := range ticks {
		var wide vg.Length
		for line := range strings.SplitSeq(t.Label, "\n") {
			wide = max(wide, w.width(line))
		}
		middle := pitch * vg.Length(i)
		if middle-wide/2 < right+smallSize/3 {
			return false
		}
		right = middle + wide/2
	}
	return true
}
