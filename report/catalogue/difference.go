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
	nan        int      // number of differences that are NaN
	far        float64  // mean difference, relative to the given array's largest number, summed over outputs
	most       float64  // largest difference, relative to the given array's largest number, over all outputs
	counts     int      // numbers that differ, over all outputs
	shapes     [2][]int // of the array and of the expected one, if they differ; then nothing is compared
}

// isNearer reports whether d explains clearly more than the difference of another convention: fewer numbers
// differ, the largest difference is no larger, and the mean difference is less than half.
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

// differenceOf returns the difference of the arrays from the outputs of a trial, or nil.
func (c Check) differenceOf(t trial) (*difference, error) {
	got, err := c.compute(t)
	if err != nil {
		return nil, err
	}
	return c.firstDifference(t, got), nil
}

// firstDifference returns the difference of the first output that is not as expected, or nil. It ignores
// numbers that are masked in both.
func (c Check) firstDifference(t trial, expected []array.Array) *difference {
	var first *difference
	all := difference{}
	for i, o := range c.Given.Outputs {
		want := expected[i]
		if t.anyRows {
			want = c.withRows(o, want, t.reversed)
		}
		d := c.difference(o, want, t.reversed)
		if d == nil {
			continue
		}
		all.far, all.most, all.counts = all.far+d.far, max(all.most, d.most), all.counts+d.count
		if first == nil {
			first = d
		}
	}
	if first != nil {
		first.far, first.most, first.counts = all.far, all.most, all.counts
	}
	return first
}

func (c Check) difference(o Output, want array.Array, reversed bool) *difference {
	if !slices.Equal(o.Shape, want.Shape) {
		return &difference{name: o.Name, shapes: [2][]int{o.Shape, want.Shape}, far: 1, most: math.Inf(1),
			count: len(o.Data)}
	}
	rounding, given := c.rounding(o, want), max(1e-6, largest(o.Data))
	d := &difference{name: o.Name, all: len(o.Data)}
	hides := c.attention.Causal || c.masksHidden(o, reversed)
	for i, got := range o.Data {
		w := want.Data[i]
		if masked(got) && masked(w) || hides && (seen(got) || masked(got)) && c.hidden(o.Kind, i, reversed) {
			continue
		}
		apart := math.Abs(got - w)
		if apart <= rounding {
			continue
		}
		if d.count == 0 {
			d.index, d.got, d.want = array.Index(i, o.Shape, false), got, w
		}
		d.count++
		if math.IsNaN(apart) {
			d.nan++
			d.far++
			d.most = math.Inf(1)
			continue
		}
		d.largest, d.most, d.far = max(d.largest, apart), max(d.most, apart/given), d.far+apart/given
	}
	if d.count == 0 {
		return nil
	}
	d.far /= float64(d.all)
	return d
}

// rounding returns the largest difference from an expected array that counts as rounding.
func (c Check) rounding(o Output, want array.Array) float64 {
	scale := 1.0
	if axes[o.Kind] != "NP" { // cosines and sines are up to 1; others may be small everywhere
		scale = 1e-6
	}
	for _, v := range want.Data {
		if v-v == 0 {
			scale = max(scale, math.Abs(v))
		}
	}
	return c.Tolerance * scale
}

// withRows returns an expected bias or logits [H,N,N] with the mean difference of each row added.
func (c Check) withRows(o Output, want array.Array, reversed bool) array.Array {
	if o.Kind != kindBias && o.Kind != kindLogits || !slices.Equal(o.Shape, want.Shape) {
		return want
	}
	n := o.Shape[2]
	want.Data = slices.Clone(want.Data)
	for row := 0; row < len(want.Data); row += n {
		sum, count := 0.0, 0.0
		for i := row; i < row+n; i++ {
			if c.isComparable(o, i, want.Data[i], reversed) {
				sum, count = sum+o.Data[i]-want.Data[i], count+1
			}
		}
		for i := row; i < row+n && count > 0; i++ {
			want.Data[i] += sum / count
		}
	}
	return want
}

// largest returns the largest magnitude of the numbers seen, or 0.
func largest(data []float64) (most float64) {
	for _, v := range data {
		if seen(v) {
			most = max(most, math.Abs(v))
		}
	}
	return most
}

// masked reports whether a logit hides its key.
func masked(v float64) bool { return v <= -1e8 }

// seen reports whether a number is finite and not masked.
func seen(v float64) bool { return v-v == 0 && !masked(v) }

// isComparable reports whether number i of an output and the expected one can both be compared.
func (c Check) isComparable(o Output, i int, want float64, reversed bool) bool {
	return seen(o.Data[i]) && seen(want) && !(c.attention.Causal && c.hidden(o.Kind, i, reversed))
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

// masksHidden reports whether an output masks all numbers that a causal mask hides.
func (c Check) masksHidden(o Output, reversed bool) bool {
	for i, v := range o.Data {
		if !masked(v) && c.hidden(o.Kind, i, reversed) {
			return false
		}
	}
	return true
}

// unmasked returns how many numbers of an output a causal mask hides, and how many of these are not masked. odd
// reports whether they are neither all masked nor all as wanted.
func (c Check) unmasked(o Output, want array.Array, reversed bool) (hidden, unmasked int, odd bool) {
	rounding := c.rounding(o, want)
	for i, v := range o.Data {
		if !c.hidden(o.Kind, i, reversed) {
			continue
		}
		if hidden++; masked(v) {
			continue
		}
		unmasked++
		odd = odd || math.Abs(v-want.Data[i]) > rounding
	}
	return hidden, unmasked, odd || 0 < unmasked && unmasked < hidden
}

// contradicts reports whether the setting hides keys that the trial does not, and the arrays differ from the
// trial there.
func (c Check) contradicts(t trial) bool {
	if !c.attention.Causal {
		return false
	}
	resolved, err := t.options(c.Scheme)
	if err != nil {
		return false
	}
	facts, err := c.Scheme.Describe(t.Size, resolved)
	if err != nil || facts.Attention.Causal {
		return false
	}
	got, err := c.compute(t)
	for i := range got {
		if _, _, odd := c.unmasked(c.Given.Outputs[i], got[i], t.reversed); odd {
			return true
		}
	}
	return err != nil
}

// notes lists what was not compared in arrays that follow a trial, and arrays without information.
func (c Check) notes(t trial) (all []string) {
	got, _ := c.compute(t)
	for i, want := range got {
		o := c.Given.Outputs[i]
		if !slices.ContainsFunc(o.Data, func(v float64) bool { return v != 0 && !masked(v) }) {
			all = append(all, o.Name+" is 0 everywhere, which cannot distinguish conventions: give other inputs "+
				"or more tokens")
		}
		side := "after"
		if t.reversed {
			side = "before"
		}
		hidden, unmasked, odd := c.unmasked(o, want, t.reversed)
		switch {
		case c.attention.Causal && odd:
			all = append(all, fmt.Sprintf("%s: %d of %d numbers at keys %s the query are not masked; they were not "+
				"compared, because %s hides these keys", o.Name, unmasked, hidden, side, c.Scheme.Name))
		case !c.attention.Causal && hidden > 0 && unmasked == 0:
			all = append(all, fmt.Sprintf("%s: keys %s the query are masked in the array, and were not compared",
				o.Name, side))
		}
	}
	return all
}
