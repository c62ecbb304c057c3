package catalogue

import (
	"fmt"
	"maps"
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
}

// search returns the axes whose choices change the outputs.
func (c Check) search(resolved pe.Options, own trial, expected []array.Array) *search {
	s := &search{Check: c, own: own}
	as := c // the expected arrays take the place of the given ones
	as.Given.Outputs = slices.Clone(c.Given.Outputs)
	for i := range expected {
		as.Given.Outputs[i].Array = expected[i]
	}
	options := c.optionAxes(resolved)
	for number, a := range append(options, c.errorAxes()...) {
		kept, same := a[:1:1], []string{a[0].phrase}
		for _, ch := range a[1:] {
			t := own
			if ch.apply(&t) != nil {
				continue
			}
			got, err := c.compute(t)
			if err != nil {
				continue
			}
			if as.firstDifference(t, got) == nil {
				same = append(same, ch.phrase)
				continue
			}
			kept = append(kept, ch)
		}
		if len(same) > 1 && number < len(options) {
			s.untold = append(s.untold, strings.Join(same, " or "))
		}
		if len(kept) > 1 || number < len(options) && len(same) == 1 {
			s.axes = append(s.axes, kept)
		}
	}
	return s
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
// setting's convention; the nearest one has less than half of it.
func (s *search) run(f *Finding, apart difference) {
	f.Rounding = apart.rounding()
	nearest := apart.far / 2
	var same []string // other single changes that give the same numbers
	for changes := 1; changes <= 3 && f.Convention == nil && f.Tried < trialLimit; changes++ {
		s.combine(make([]int, len(s.axes)), 0, changes, func(of []int) bool {
			t, deviations, flags := s.trial(of)
			if t == nil {
				return true
			}
			got, err := s.compute(*t)
			if f.Tried++; err != nil {
				return f.Tried < trialLimit
			}
			d := s.firstDifference(*t, got)
			switch {
			case d == nil && f.Convention == nil:
				f.Convention, f.Deviations, f.Flags = s.phrases(of), deviations, flags
				return changes == 1 && flags == "" // other errors may give the same numbers
			case d == nil && !slices.Contains(same, deviations[0]):
				same = append(same, deviations[0])
			case d != nil && d.far < nearest:
				nearest = d.far
				f.Nearest, f.NearestAt, f.Rounding = deviations, d.String(), d.rounding()
			}
			return f.Tried < trialLimit
		})
	}
	if f.Convention == nil {
		s.runTimes(f)
	}
	if same != nil {
		f.Untold = append(f.Untold, strings.Join(append([]string{f.Deviations[0]}, same...), " or "))
	}
	if f.Convention != nil {
		f.Nearest, f.NearestAt, f.Rounding = nil, "", 0
	}
}

// runTimes tries the setting's convention, and those with one change, multiplied by a constant.
func (s *search) runTimes(f *Finding) {
	if len(s.Given.Outputs) != 1 {
		return
	}
	for changes := 0; changes <= 1 && f.Convention == nil; changes++ {
		s.combine(make([]int, len(s.axes)), 0, changes, func(of []int) bool {
			t, deviations, _ := s.trial(of)
			if t == nil {
				return true
			}
			f.Tried++
			got, err := s.compute(*t)
			if err != nil {
				return true
			}
			by := s.times(got[0], t.reversed)
			if by == 0 || s.firstDifference(*t, got) != nil {
				return true
			}
			times := fmt.Sprintf("%s times %.4g", s.Given.Outputs[0].Name, by)
			f.Convention, f.Deviations = append(s.phrases(of), times), slices.Concat(deviations, []string{times})
			return false
		})
	}
}

// times multiplies an array by the constant that fits the output best, and returns the constant.
func (s *search) times(a array.Array, reversed bool) float64 {
	o, product, square := s.Given.Outputs[0], 0.0, 0.0
	if !slices.Equal(o.Shape, a.Shape) {
		return 0
	}
	for i, v := range a.Data {
		if !masked(v) && !masked(o.Data[i]) && !(s.causal && s.hidden(o.Kind, i, reversed)) {
			product, square = product+v*o.Data[i], square+v*v
		}
	}
	if square == 0 {
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
	own := s.own
	options := maps.Clone(s.Setting.Given)
	if options == nil {
		options = pe.Options{}
	}
	byFlags := true
	for i, k := range of {
		if k == 0 {
			continue
		}
		ch := s.axes[i][k]
		if ch.apply(&own) != nil {
			return nil, nil, ""
		}
		deviations = append(deviations, ch.phrase)
		name, value, ok := strings.Cut(strings.TrimPrefix(ch.flag, "--"), " ")
		if byFlags = byFlags && ok; ok {
			options[name] = value
		}
	}
	if byFlags {
		flags = flagLine(options)
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
// returns false. It reports whether f never did.
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
