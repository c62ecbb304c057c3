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

// logTicks returns ticks at powers of ten, at 1, 2 and 5 times them where those are few, and unlabelled ones between.
func logTicks(lo, hi float64, count int) plot.ConstantTicks {
	first, last := int(math.Floor(math.Log10(lo))), int(math.Ceil(math.Log10(hi)))
	every := max(1, (last-first+count-1)/count)
	powers := lo < 1e-3*(1-1e-9) || hi > 1e4*(1+1e-9)
	label := func(e int, m float64) string {
		switch v := m * math.Pow(10, float64(e)); {
		case !powers:
			return number(v, v)
		case m == 1:
			return "10" + superscript(e)
		default:
			return fmt.Sprintf("%g×10%s", m, superscript(e))
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
	case labelled < 2 && fine >= 2 && fine <= max(count, 3):
		return finer
	case labelled >= 2:
		return coarse
	}
	return plot.ConstantTicks{{Value: lo, Label: rounded3(lo)}, {Value: hi, Label: rounded3(hi)}}
}

// rounded3 writes a positive number with three digits.
func rounded3(v float64) string { return number(v, math.Pow(10, math.Floor(math.Log10(v))-2)) }

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
