package catalogue

import (
	"fmt"
	"math"
	"slices"

	"torchpe/data/array"
)

// difference describes how two arrays differ.
type difference struct {
	name       string
	index      []int
	got, want  float64
	count, all int
	largest    float64  // largest difference of two numbers
	nan        int      // how many differences are NaN
	relative   float64  // largest difference relative to its array's numbers, over all outputs
	far        float64  // mean difference, relative to the given array's largest number, summed over outputs
	most       float64  // largest difference, relative to the given array's largest number, over all outputs
	counts     int      // numbers that differ, over all outputs
	rounded    bool     // the differences look like rounding, in all outputs
	shapes     [2][]int // of the array and of the expected one, if they differ; then nothing is compared
}

// isNearer reports whether d explains clearly more than the difference of another convention: fewer numbers
// differ, by less at most and by less than half on average.
func (d difference) isNearer(than difference) bool {
	return d.counts <= than.counts && d.most <= than.most && d.far < than.far/2
}

func (d difference) String() string {
	if d.shapes[0] != nil {
		return fmt.Sprintf("%s has shape %v, want %v: it was not compared", d.name, d.shapes[0], d.shapes[1])
	}
	s := fmt.Sprintf("%s%v is %.6g, want %.6g; %d of %d numbers differ", d.name, d.index, d.got, d.want,
		d.count, d.all)
	if d.largest > 0 {
		s += fmt.Sprintf(", by up to %.2g", d.largest)
	}
	if d.nan > 0 {
		s += fmt.Sprintf(", of which %d are NaN", d.nan)
	}
	return s
}

// rounding returns the smallest power of ten that, as a tolerance, covers all differences. It returns 0 if
// they are larger than half precision explains.
func (d difference) rounding() float64 {
	if d.nan > 0 || d.relative > 0.01 {
		return 0
	}
	return math.Pow(10, math.Ceil(math.Log10(d.relative)))
}

// differenceOf returns the difference of the arrays from what a trial gives, or nil.
func (c Check) differenceOf(t trial) (*difference, error) {
	got, err := c.compute(t)
	if err != nil {
		return nil, err
	}
	return c.firstDifference(t, got), nil
}

// firstDifference returns the difference of the first output that is not as expected, or nil. Numbers that
// are masked in both do not count.
func (c Check) firstDifference(t trial, expected []array.Array) *difference {
	var first *difference
	all := difference{rounded: true}
	for i, o := range c.Given.Outputs {
		want := expected[i]
		if t.anyRows || o.logs {
			want = c.withRows(o, want, t.reversed)
		}
		d := c.difference(o, want, t.reversed)
		if d == nil {
			continue
		}
		all.relative, all.most = max(all.relative, d.relative), max(all.most, d.most)
		all.far, all.counts = all.far+d.far, all.counts+d.count
		all.rounded = all.rounded && d.rounded
		if first == nil {
			first = d
		}
	}
	if first != nil {
		first.relative, first.far, first.most = all.relative, all.far, all.most
		first.counts, first.rounded = all.counts, all.rounded
	}
	return first
}

func (c Check) difference(o Output, want array.Array, reversed bool) *difference {
	if !slices.Equal(o.Shape, want.Shape) {
		return &difference{name: o.Name, shapes: [2][]int{o.Shape, want.Shape}, relative: math.Inf(1), far: 1,
			most: math.Inf(1), count: len(o.Data)}
	}
	scale := 1.0
	if o.Kind == kindTable || o.Kind == kindBias { // which may be small throughout
		scale = 1e-6
	}
	for _, v := range want.Data {
		if v-v == 0 {
			scale = max(scale, math.Abs(v))
		}
	}
	given := max(1e-6, largest(o.Data))
	d := &difference{name: o.Name, all: len(o.Data)}
	var errors *errorsOf
	if c.tokens == nil {
		errors = newErrors(o)
	}
	for i, got := range o.Data {
		w := want.Data[i]
		if masked(got) && masked(w) || (c.attention.Causal || masked(got)) && c.hidden(o.Kind, i, reversed) {
			continue
		}
		if errors != nil {
			errors.add(i, got, w)
		}
		apart := math.Abs(got - w)
		if apart <= c.Tolerance*scale {
			continue
		}
		if d.count == 0 {
			d.index, d.got, d.want = unravel(i, o.Shape), got, w
		}
		d.count++
		if math.IsNaN(apart) {
			d.nan++
			d.far++
			d.most = math.Inf(1)
			continue
		}
		d.largest, d.relative = max(d.largest, apart), max(d.relative, apart/scale)
		d.most = max(d.most, apart/given)
		d.far += apart / given
	}
	if d.count == 0 {
		return nil
	}
	d.far /= float64(d.all)
	d.rounded = errors != nil && errors.looksRounded()
	return d
}

// withRows returns an expected bias or logits [H,N,N] with the mean difference of each row added.
func (c Check) withRows(o Output, want array.Array, reversed bool) array.Array {
	if o.Kind != kindBias && o.Kind != kindLogits || !slices.Equal(o.Shape, want.Shape) {
		return want
	}
	n := o.Shape[2]
	want.Data = slices.Clone(want.Data)
	for i, got := range o.Data {
		if o.logs && masked(got) { // the weight is too small to tell
			want.Data[i] = got
		}
	}
	for row := 0; row < len(want.Data); row += n {
		sum, count := 0.0, 0.0
		for i := row; i < row+n; i++ {
			if c.tells(o, i, want.Data[i], reversed) {
				sum, count = sum+o.Data[i]-want.Data[i], count+1
			}
		}
		for i := row; i < row+n && count > 0; i++ {
			want.Data[i] += sum / count
		}
	}
	return want
}

// errorsOf collects the differences of numbers, to tell rounding from other conventions.
type errorsOf struct {
	Output
	tokens       int
	size, signed float64 // sums of differences, and of those with the sign of towards or away from 0
	first, last  float64 // sums over the first half of the tokens and over the second
	bits         [2]bool // all numbers have bfloat16's or float16's significant bits
	single       bool    // every difference is within the rounding of its own number
	bounded      bool    // every difference is within some roundings of the array's largest number
	nan          bool
	largest      float64
}

func newErrors(o Output) *errorsOf {
	e := &errorsOf{Output: o, largest: largest(o.Data), bits: [2]bool{true, true}, single: true, bounded: true}
	e.tokens = 1
	if n := len(o.Shape); n > 1 {
		e.tokens = o.Shape[n-2]
	}
	return e
}

// largest returns the largest size of numbers that are not masked, or 0.
func largest(data []float64) (most float64) {
	for _, v := range data {
		if !masked(v) {
			most = max(most, math.Abs(v))
		}
	}
	return most
}

// add takes a number of the output and the expected one.
func (e *errorsOf) add(i int, got, want float64) {
	apart := got - want
	if e.nan = e.nan || math.IsNaN(apart) || math.IsInf(apart, 0); e.nan {
		return
	}
	for k, format := range halfFormats {
		e.bits[k] = e.bits[k] && math.Abs(toBits(got, format.bits)-got) <= 1e-6*math.Abs(got)
	}
	eps := math.Ldexp(1, -halfFormats[0].bits)
	e.single = e.single && math.Abs(apart) <= 1.01*eps*max(math.Abs(want), math.Abs(got))+1e-7
	e.bounded = e.bounded && math.Abs(apart) <= 4*eps*e.largest
	e.size += math.Abs(apart)
	e.signed += math.Copysign(apart, apart*want)
	token := i / e.Shape[len(e.Shape)-1] % e.tokens
	if 2*token < e.tokens {
		e.first += math.Abs(apart)
	} else {
		e.last += math.Abs(apart)
	}
}

// looksRounded reports whether the differences are those of numbers rounded to half precision, or computed
// in it. Such differences do not favour a direction, and do not grow with the position.
func (e *errorsOf) looksRounded() bool {
	if e.nan || math.Abs(e.signed) > 0.5*e.size {
		return false
	}
	return e.single || e.bounded && (e.bits[0] || e.bits[1]) && e.last < 1.5*e.first+1e-9
}

// masked reports whether a logit hides its key.
func masked(v float64) bool { return math.IsNaN(v) || v <= -1e8 || math.IsInf(v, 0) }

// tells reports whether number i of an output and the expected one are both seen.
func (c Check) tells(o Output, i int, want float64, reversed bool) bool {
	return !masked(o.Data[i]) && !masked(want) && !(c.attention.Causal && c.hidden(o.Kind, i, reversed))
}

// hidden reports whether a causal mask hides number i of an array [H,N,N]: its key is after the query, or
// before it if reversed.
func (c Check) hidden(kind string, i int, reversed bool) bool {
	n := c.Positions.Tokens()
	key, query := c.Positions.Index[i%n], c.Positions.Index[i/n%n]
	if reversed {
		key, query = query, key
	}
	return (kind == kindBias || kind == kindLogits) && key > query
}

func unravel(i int, shape []int) []int {
	index := make([]int, len(shape))
	for a := len(shape) - 1; a >= 0; a-- {
		index[a], i = i%shape[a], i/shape[a]
	}
	return index
}
