package catalogue

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"torchpe/data/array"
	"torchpe/models/pe"
)

// search holds the axes of conventions that a check tries.
type search struct {
	Check
	own    trial
	axes   []axis
	untold []string
	part   *Check // check of some tokens and heads, tried first; nil to try all
}

// search returns the axes whose choices change the outputs.
func (c Check) search(own trial, expected []array.Array) *search {
	s := &search{Check: c, own: own}
	s.part = c.partial(own, expected)
	as, same := c.expecting(expected), *s
	same.Check = as
	if s.part != nil {
		part := s.part.expecting(s.part.partsOf(expected))
		same.part = &part
	}
	fit := c.fit()
	options := c.optionAxes(c.resolved, fit)
	for number, a := range append(options, c.errorAxes(fit)...) {
		kept, equal := a[:1:1], []string{a[0].phrase}
		for _, ch := range a[1:] {
			t := own
			if ch.apply(&t) != nil {
				continue
			}
			d, err := same.compare(t)
			if err != nil {
				continue
			}
			if d == nil && !t.anyRows {
				if (ch.options != nil && !ch.fitted || number >= len(options)) && !c.contradicts(t) {
					equal = append(equal, ch.phrase)
				}
				continue
			}
			kept = append(kept, ch)
		}
		if len(equal) > 1 && number < len(options) {
			s.untold = append(s.untold, strings.Join(equal, " or "))
		}
		if len(kept) > 1 || number < len(options) && len(equal) == 1 {
			s.axes = append(s.axes, kept)
		}
	}
	return s
}

// compare returns the difference of the arrays from a trial, or nil if the trial reproduces all numbers. It
// compares a part first, and all only if the part agrees.
func (s *search) compare(t trial) (*difference, error) {
	for _, c := range []*Check{s.part, &s.Check} {
		if c == nil {
			continue
		}
		if d, err := c.differenceOf(t); err != nil || d != nil {
			return d, err
		}
	}
	return nil, nil
}

// Numbers of tokens and heads in the part that is tried first.
const partTokens, partHeads = 12, 2

// partial returns the check of some tokens and, if angles give the outputs, some heads. It is nil if the
// numbers of a token depend on other tokens, and for attention weights, which depend on all keys.
func (c Check) partial(own trial, expected []array.Array) *Check {
	if c.Given.output(kindWeights) != nil {
		return nil
	}
	n := c.Positions.Tokens()
	part := c
	part.tokens = indices(0, n)
	if n > partTokens { // the first ones, the last ones, and some in between
		part.tokens = []int{0, 1, 2, 3}
		for k := range partTokens - 5 {
			part.tokens = append(part.tokens, 4+k*(n-5)/(partTokens-5))
		}
		part.tokens = append(part.tokens, n-1)
	}
	part.Positions = c.Positions.Permuted(part.tokens)
	part.Given.X = part.partOf("ND", c.Given.X)
	for _, in := range []*array.Array{&part.Given.Q, &part.Given.K, &part.Given.V} {
		*in = part.partOf("HNC", *in)
	}
	part.Given.Outputs = slices.Clone(c.Given.Outputs)
	for i := range part.Given.Outputs {
		o := &part.Given.Outputs[i]
		o.Array = part.partOfOutput(o.Kind, o.Array)
	}
	as := part.expecting(part.partsOf(expected))
	if d, err := as.differenceOf(own); err != nil || d != nil {
		return nil
	}
	return &part
}

// partsOf returns the parts of arrays of the kinds of the outputs.
func (c Check) partsOf(all []array.Array) []array.Array {
	parts := make([]array.Array, len(all))
	for i, a := range all {
		parts[i] = c.partOfOutput(c.Given.Outputs[i].Kind, a)
	}
	return parts
}

// partOfOutput returns the part of an array of the kind of an output.
func (c Check) partOfOutput(kind string, a array.Array) array.Array {
	if axes[kind] == "HNC" {
		a = c.Setting.headed(a)
	}
	return c.partOf(axes[kind], a)
}

// partOf returns the tokens and heads of an array to compute.
func (c Check) partOf(kind string, a array.Array) array.Array {
	if a.Data == nil || len(a.Shape) != len(kind) {
		return a
	}
	for dim, letter := range kind {
		switch {
		case letter == 'N':
			a = selectAlong(a, dim, c.tokens)
		case letter == 'H' && c.base != nil && a.Shape[dim] > partHeads:
			a = selectAlong(a, dim, []int{0, a.Shape[dim] - 1})
		}
	}
	return a
}

// phrases describes a combination of choices.
func (s *search) phrases(of []int) []string {
	var all []string
	for i, a := range s.axes {
		if p := a[of[i]].phrase; p != "" && !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return all
}

// run tries combinations of conventions, those with fewer changes first. apart is the difference of the
// setting's convention.
func (s *search) run(f *Finding, apart difference) {
	var near []int // the combination with the nearest convention
	var far float64
	var same []string // other single changes that give the same numbers
	// on the part that is tried first
	apartThere := apart
	if s.part != nil {
		if d, err := s.part.differenceOf(s.own); err == nil && d != nil {
			apartThere = *d
		}
	}
	try := func(of []int, changes int) bool {
		t, deviations, flags := s.trial(of)
		if t == nil {
			return true
		}
		f.Tried++
		d, err := s.compare(*t)
		switch {
		case err != nil:
		case d == nil && f.Convention == nil:
			f.Convention, f.Deviations, f.Flags, f.Notes = s.phrases(of), deviations, flags, s.notes(*t)
			return changes == 1 // other errors may give the same numbers
		case d == nil && !slices.Contains(same, deviations[0]) && isNamed(s.choices(of)):
			same = append(same, deviations[0])
		case d != nil && changes <= 2 && isNamed(s.choices(of)) && d.isNearer(apartThere) &&
			(near == nil || d.far < far):
			near, far = slices.Clone(of), d.far
		}
		return f.Tried < trialLimit
	}
	for _, pass := range passes {
		if f.Convention == nil && f.Tried < trialLimit {
			s.combine(make([]int, len(s.axes)), 0, pass.changes, func(of []int) bool {
				return !pass.has(s.choices(of)) || try(of, pass.changes)
			})
		}
	}
	if f.Convention == nil {
		s.runTimes(f)
	}
	switch {
	case f.Convention == nil:
		s.describeNearest(f, near, apart)
	case same != nil:
		f.Untold = append(f.Untold, strings.Join(append([]string{f.Deviations[0]}, same...), " or "))
	}
}

// passes lists the combinations to try, in order. A number estimated from the arrays explains less than a named
// value.
var passes = []struct {
	changes int
	has     func([]choice) bool
}{
	{1, isNamed}, {1, isFitted}, {2, isNamed}, {2, isFitted}, {3, isUsual},
	{3, func(of []choice) bool { return isNamed(of) && !isUsual(of) }},
}

func isFitted(of []choice) bool {
	return slices.ContainsFunc(of, func(ch choice) bool { return ch.fitted })
}

func isNamed(of []choice) bool { return !isFitted(of) }

func isUsual(of []choice) bool {
	return !slices.ContainsFunc(of, func(ch choice) bool { return !ch.usual })
}

// choices returns the changes of a combination.
func (s *search) choices(of []int) (all []choice) {
	for i, k := range of {
		if k > 0 {
			all = append(all, s.axes[i][k])
		}
	}
	return all
}

// describeNearest stores the nearest convention if it explains more than the setting's does.
func (s *search) describeNearest(f *Finding, near []int, apart difference) {
	if near == nil {
		return
	}
	t, deviations, _ := s.trial(near)
	if d, err := s.differenceOf(*t); err == nil && d != nil && d.isNearer(apart) {
		f.Nearest, f.NearestAt = deviations, d.String()
	}
}

// runTimes tries the setting's convention, and those with up to two changes, with outputs multiplied by
// constants.
func (s *search) runTimes(f *Finding) {
	part := s.part
	if part == nil {
		part = &s.Check
	}
	limit := f.Tried + trialLimit
	for changes := 0; changes <= 2 && f.Convention == nil; changes++ {
		s.combine(make([]int, len(s.axes)), 0, changes, func(of []int) bool {
			t, deviations, _ := s.trial(of)
			if t == nil {
				return true
			}
			f.Tried++
			if _, ok := part.times(*t); !ok {
				return f.Tried < limit
			}
			times, ok := s.times(*t)
			if !ok {
				return f.Tried < limit
			}
			f.Convention, f.Notes = append(s.phrases(of), times), s.notes(*t)
			f.Deviations = slices.Concat(deviations, []string{times})
			return false
		})
	}
}

// times describes the factors with which a trial reproduces the outputs. ok is false if there are none.
func (c Check) times(t trial) (text string, ok bool) {
	got, err := c.compute(t)
	if err != nil {
		return "", false
	}
	var names, factors, all []string
	for k, o := range c.Given.Outputs {
		by := c.factor(o, got[k], t.reversed)
		if by == 0 {
			return "", false
		}
		if math.Abs(by-1) > 1e-3 {
			factor := fmt.Sprintf("%.4g", by)
			names, factors = append(names, o.Name), append(factors, factor)
			all = append(all, o.Name+" times "+factor)
		}
	}
	if c.firstDifference(t, got) != nil || all == nil {
		return "", false
	}
	if len(slices.Compact(factors)) == 1 {
		return strings.Join(names, " and ") + " times " + factors[0], true
	}
	return strings.Join(all, ", "), true
}

// factor multiplies an array by the constant that fits the output best, and returns the constant.
func (c Check) factor(o Output, a array.Array, reversed bool) float64 {
	product, square := 0.0, 0.0
	if !slices.Equal(o.Shape, a.Shape) {
		return 0
	}
	for i, v := range a.Data {
		if c.isComparable(o, i, v, reversed) {
			product, square = product+v*o.Data[i], square+v*v
		}
	}
	if square == 0 || product == 0 {
		return 0
	}
	for i := range a.Data {
		a.Data[i] *= product / square
	}
	return product / square
}

// trial returns the convention of a combination of choices, its deviations from the setting, and the flags
// for it. It returns nil if a choice does not apply.
func (s *search) trial(of []int) (t *trial, deviations []string, flags string) {
	own, byFlags := s.own, true
	for i, k := range of {
		if k == 0 {
			continue
		}
		ch := s.axes[i][k]
		if ch.apply(&own) != nil {
			return nil, nil, ""
		}
		deviations = append(deviations, ch.phrase)
		byFlags = byFlags && ch.options != nil
	}
	if byFlags {
		flags = flagLine(own.Given)
	}
	return &own, deviations, flags
}

// flagLine returns options as flags.
func flagLine(options pe.Options) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(options)) {
		if !slices.Contains(optionsWithoutNumbers, name) {
			all = append(all, "--"+name+" "+options[name])
		}
	}
	return strings.Join(all, " ")
}

// combine calls f for every combination of the given number of changes on the axes from index from, until f
// returns false. It returns true if f never did.
func (s *search) combine(of []int, from, changes int, f func([]int) bool) bool {
	if changes == 0 {
		return f(of)
	}
	for i := from; i < len(s.axes); i++ {
		for k := 1; k < len(s.axes[i]); k++ {
			of[i] = k
			if !s.combine(of, i+1, changes-1, f) {
				return false
			}
		}
		of[i] = 0
	}
	return true
}
