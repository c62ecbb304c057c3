package catalogue

import (
	"cmp"
	"math"
	"math/cmplx"
	"slices"
	"strconv"

	"torchpe/data/array"
)

// fitted holds numbers estimated from the given arrays. They are tried like other values.
type fitted struct {
	bases, scales []float64    // scales: factors of positions
	stretches     []float64    // values of --rope-scale
	shifts        [][2]float64 // first positions of queries and of keys
	dims          []int        // rotated dimensions of a head
	nearBases     []float64    // like nearScales, for bases
}

// parts returns even numbers, below all, of dimensions of a head that may be rotated.
func (f fitted) parts(width int) (all []int) {
	for _, n := range append([]int{width / 2, width / 4}, f.dims...) {
		if n%2 == 0 && n > 0 && n < width && !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	return all
}

// nearScales lists relative distances within which a scale with fewer digits is tried: slow pairs determine a
// scale poorly, and scales have few digits.
var nearScales = []float64{1e-2, 1e-3, 3e-5}

// fit estimates numbers from the angles between the given arrays.
func (c Check) fit() (f fitted) {
	if c.base == nil || !c.base.linear {
		return f
	}
	if f.nearBases = []float64{3e-5, 1e-6, 1e-3}; c.Tolerance >= 1e-3 { // half precision
		f.nearBases = nearScales
	}
	var pairs []int
	if c.base.fixed == nil {
		pairs, f.dims = c.rotatedPairs()
	} else {
		pairs = []int{c.base.pairs}
	}
	for _, n := range pairs {
		for _, name := range []string{"interleaved", "half", "across", "evens first", "interleaving"} {
			q, k := c.lawsOf(newLayout(name, n, len(c.base.law.slope)))
			if q == nil {
				continue
			}
			f.add(c.base, *q, *k)
		}
	}
	return f
}

// rotatedPairs returns numbers of pairs that may be rotated, and the numbers of dimensions in the arrays.
func (c Check) rotatedPairs() (pairs, dims []int) {
	width := c.base.headWidth
	pairs = []int{c.base.pairs}
	if c.base.options["rope-dims"] == "" {
		return pairs, nil
	}
	for _, o := range c.Given.Outputs {
		if o.Kind != kindQuery || c.Given.Q.Data == nil || len(o.Data) != len(c.Given.Q.Data) {
			continue
		}
		out, turned := c.Setting.headed(o.Array), 0
		for i, v := range out.Data {
			if v != c.Given.Q.Data[i] {
				turned = max(turned, i%width+1)
			}
		}
		turned += turned % 2
		if dims = append(dims, turned); turned == 0 {
			dims = nil
		}
	}
	for _, n := range append([]int{width}, fitted{dims: dims}.parts(width)...) {
		if n%2 == 0 && !slices.Contains(pairs, n/2) {
			pairs = append(pairs, n/2)
		}
	}
	return pairs, dims
}

// lawsOf returns the laws of the angles between the given inputs and outputs in a layout. If the arrays
// determine only that of queries or that of keys, it is used for both. They are nil if the arrays determine
// none.
func (c Check) lawsOf(l layout) (q, k *law) {
	if o := c.Given.output(kindQuery); o != nil && c.Given.Q.Data != nil {
		q = c.lawBetween(l, c.Given.Q, c.Setting.headed(o.Array))
	}
	if o := c.Given.output(kindKey); o != nil && c.Given.K.Data != nil {
		k = c.lawBetween(l, c.Given.K, c.Setting.headed(o.Array))
	}
	if q != nil || k != nil {
		return cmp.Or(q, k), cmp.Or(k, q)
	}
	cos, sin := c.Given.output(kindCos), c.Given.output(kindSin)
	if cos != nil && sin != nil && slices.Equal(cos.Shape, sin.Shape) {
		q = c.lawOfColumns(l, *cos, *sin)
	}
	for _, kind := range []string{kindTable, kindInput} {
		if o := c.Given.output(kind); o != nil && c.base.fixed != nil && len(o.Shape) == 2 {
			q = c.lawOfTable(l, *o)
		}
	}
	return q, q
}

// lawOfColumns returns the law of cosines and sines [N,P], or [N,2P] in a layout.
func (c Check) lawOfColumns(l layout, cos, sin Output) *law {
	columns := cos.Shape[1]
	return c.lawOfPhases(len(l.reads), func(token, pair int) complex128 {
		column := pair
		if columns == 2*len(l.reads) {
			column = l.reads[pair][0]
		}
		if column >= columns {
			return 0
		}
		at := token*columns + column
		return complex(cos.Data[at], sin.Data[at])
	})
}

// lawOfTable returns the law of a table of sinusoids, or of embeddings with one, whose sines and cosines are
// arranged like the pairs of a layout.
func (c Check) lawOfTable(l layout, o Output) *law {
	if l.name != "interleaved" && l.name != "half" {
		return nil
	}
	value := func(token, column int) float64 {
		if column >= c.base.width {
			return 0
		}
		at := token*c.base.width + column
		if o.Kind == kindInput {
			return o.Data[at] - c.Given.X.Data[at]
		}
		return o.Data[at]
	}
	return c.lawOfPhases(c.base.pairs, func(token, pair int) complex128 {
		of := l.reads[pair]
		return complex(value(token, of[1]), value(token, of[0]))
	})
}

// lawBetween returns the law of the angles by which pairs of x [H,N,C] are rotated in y, or nil if heads
// differ.
func (c Check) lawBetween(l layout, x, y array.Array) *law {
	heads, n, width := min(x.Shape[0], 4), x.Shape[1], x.Shape[2] // four are enough
	if len(x.Data) != len(y.Data) || 2*len(l.reads) > width {
		return nil
	}
	missed, all := 0.0, 0.0
	phases := make([]complex128, n*len(l.reads))
	for token := range n {
		for p, reads := range l.reads {
			var product complex128
			var lengths, out float64
			for h := range heads {
				at := (h*n + token) * width
				from := complex(x.Data[at+reads[0]], x.Data[at+reads[1]])
				to := complex(y.Data[at+l.writes[p][0]], y.Data[at+l.writes[p][1]])
				product += to * cmplx.Conj(from)
				lengths, out = lengths+real(from*cmplx.Conj(from)), out+real(to*cmplx.Conj(to))
			}
			if lengths == 0 {
				return nil
			}
			phases[token*len(l.reads)+p] = product / complex(lengths, 0)
			missed, all = missed+out-real(product*cmplx.Conj(product))/lengths, all+out
		}
	}
	if !(missed <= 1e-3*all) {
		return nil
	}
	return c.lawOfPhases(len(l.reads), func(token, pair int) complex128 {
		return phases[token*len(l.reads)+pair]
	})
}

// lawOfPhases returns the law of the phases of tokens, or nil if they have none.
func (c Check) lawOfPhases(pairs int, phase func(token, pair int) complex128) *law {
	coordinates := coordinatesOf(c.Positions, len(c.base.law.slope))
	if coordinates == nil {
		return nil
	}
	tokens := inverse(c.Positions.Index)
	l, ok := lawOf(coordinates, pairs, 0.03, func(row, pair int) float64 {
		return cmplx.Phase(phase(tokens[row], pair))
	})
	if !ok {
		return nil
	}
	return &l
}

// frequencies returns the frequencies of the pairs of an axis.
func (l law) frequencies(axis int) (all []float64) {
	for _, pair := range l.pairsOf(axis) {
		all = append(all, math.Abs(l.slope[axis][pair]))
	}
	return all
}

// add adds the values estimated from the laws of queries and keys.
func (f *fitted) add(own *angles, q, k law) {
	firstQ, okQ := q.orSlopes(own.law).first()
	firstK, okK := k.orSlopes(own.law).first()
	if okQ && okK {
		f.shifts = append(f.shifts, [2]float64{firstQ, firstK})
	}
	theirs, ours := q.frequencies(0), own.law.frequencies(0)
	if len(theirs) == 0 || len(ours) == 0 {
		theirs, ours = q.frequencies(len(q.slope)-1), own.law.frequencies(len(q.slope)-1)
	}
	if len(theirs) == 0 || len(ours) == 0 {
		return
	}
	base := own.base()
	last := len(theirs) - 1
	for _, k := range []int{0, last / 2, last} { // fast pairs may rotate by more than half a circle per step
		if k < len(ours) {
			f.scales = append(f.scales, theirs[k]/ours[k])
		}
	}
	plain := math.Pow(base, -float64(last)/float64(len(theirs)))
	f.stretches = append(f.stretches, 1/theirs[0], plain/theirs[last])
	if len(theirs) > 1 {
		n := float64(len(theirs))
		for _, r := range ratios(theirs) {
			f.bases = append(f.bases, math.Pow(r, -n))
			if len(theirs) == len(ours) {
				r0 := ours[1] / ours[0]
				f.bases = append(f.bases, math.Pow(base, math.Log(r)/math.Log(r0)), base*math.Pow(r/r0, -n))
			}
			if n > 1 {
				f.stretches = append(f.stretches, math.Pow(math.Pow(r, -n)/base, (n-1)/n))
			}
		}
	}
}

// orSlopes returns the law with the slopes of another if it has none, such as that of a single token.
func (l law) orSlopes(other law) law {
	for axis := range l.slope {
		if slices.ContainsFunc(l.slope[axis], func(v float64) bool { return v != 0 }) ||
			len(l.slope[axis]) != len(other.slope[axis]) {
			return l
		}
	}
	l.slope = other.slope
	return l
}

// ratios returns the ratio of neighbouring frequencies: that of the best power law, and that of the first two.
func ratios(frequencies []float64) []float64 {
	var sw, sx, sy, sxx, sxy float64
	for j, v := range frequencies {
		w, x, y := v*v, float64(j), math.Log(v)
		sw, sx, sy, sxx, sxy = sw+w, sx+w*x, sy+w*y, sxx+w*x*x, sxy+w*x*y
	}
	fit := math.Exp((sw*sxy - sx*sy) / (sw*sxx - sx*sx))
	return []float64{fit, frequencies[1] / frequencies[0]}
}

// first returns the coordinate of the origin, equal on all axes, in whole or half steps.
func (l law) first() (at float64, ok bool) {
	for axis, slope := range l.slope {
		order := l.pairsOf(axis)
		if len(order) == 0 {
			continue
		}
		slices.SortFunc(order, func(a, b int) int { return cmp.Compare(math.Abs(slope[a]), math.Abs(slope[b])) })
		here := 0.0
		for _, pair := range order { // slow pairs resolve the full turns of fast ones, which determine the place
			turned := slope[pair] * here
			here = (turned + wrapped(l.start[pair]-turned)) / slope[pair]
		}
		near := math.Round(2*here)/2 + 0 // no -0
		if math.Abs(here-near) > 0.05 || ok && near != at {
			return 0, false
		}
		at, ok = near, true
	}
	return at, ok
}

// pairsOf returns the pairs that rotate along an axis and hardly along others.
func (l law) pairsOf(axis int) (pairs []int) {
	for pair, v := range l.slope[axis] {
		alone := v != 0
		for other := range l.slope {
			alone = alone && (other == axis || math.Abs(l.slope[other][pair]) < 0.3*math.Abs(v))
		}
		if alone {
			pairs = append(pairs, pair)
		}
	}
	return pairs
}

// rounds returns, for each value, the number with the fewest digits within each relative distance.
func rounds(values []float64, near ...float64) (all []string) {
	for _, v := range values {
		if !(v > 0) || math.IsInf(v, 0) {
			continue
		}
		for _, distance := range near {
			for digits := 1; digits < 9; digits++ {
				text := strconv.FormatFloat(v, 'g', digits, 64)
				short, _ := strconv.ParseFloat(text, 64)
				if math.Abs(short/v-1) > distance {
					continue
				}
				if text = plain(short); !slices.Contains(all, text) {
					all = append(all, text)
				}
				break
			}
		}
	}
	return all
}
