package catalogue

import (
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
}

// search finds the axes on which a choice changes the outputs.
func (c Check) search(resolved pe.Options, own trial, expected []array.Array) *search {
	s := &search{Check: c, own: own}
	as := c // with what is expected in place of what is given
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
			if as.apart(t, got) == nil {
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

// phrases returns what a combination of choices says.
func (s *search) phrases(of []int) []string {
	var all []string
	for i, a := range s.axes {
		if p := a[of[i]].phrase; p != "" && !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return all
}

// run tries combinations of conventions, those with fewer changes first.
func (s *search) run(f *Finding) {
	nearest := math.Inf(1)
	for changes := 1; changes <= 3 && f.Convention == nil; changes++ {
		s.combine(make([]int, len(s.axes)), 0, changes, func(of []int) bool {
			t := s.own
			var deviations []string
			flags := maps.Clone(s.Setting.Given)
			if flags == nil {
				flags = pe.Options{}
			}
			byFlags := true
			for i, k := range of {
				if k == 0 {
					continue
				}
				ch := s.axes[i][k]
				if ch.apply(&t) != nil {
					return true
				}
				deviations = append(deviations, ch.phrase)
				name, value, ok := strings.Cut(strings.TrimPrefix(ch.flag, "--"), " ")
				if byFlags = byFlags && ok; ok {
					flags[name] = value
				}
			}
			got, err := s.compute(t)
			f.Tried++
			if err == nil {
				d := s.apart(t, got)
				if d == nil {
					f.Convention, f.Deviations = s.phrases(of), deviations
					if byFlags {
						f.Flags = flagLine(flags)
					}
					return false
				}
				if d.share < nearest {
					nearest, f.Nearest, f.NearestAt = d.share, deviations, d.String()
				}
			}
			return f.Tried < trialLimit
		})
		if f.Tried >= trialLimit {
			break
		}
	}
	if f.Convention != nil {
		f.Nearest, f.NearestAt = nil, ""
	}
}

// flagLine returns options as flags.
func flagLine(options pe.Options) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(options)) {
		if !slices.Contains(aside, name) {
			all = append(all, "--"+name+" "+options[name])
		}
	}
	return strings.Join(all, " ")
}

// combine calls f with every combination of so many changes from axis number from on, until it
// returns false.
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
