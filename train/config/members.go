package config

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"torchpe/internal/paper"
)

// Member holds the settings that may differ between the members of an ensemble.
type Member struct {
	Seed        uint64   `json:"seed"`
	Sigma       *float64 `json:"sigma"` // nil for schemes that are not initialised with sigma
	LR          float64  `json:"lr"`
	WeightDecay float64  `json:"weight_decay"`

	// Those of the PE's parameters; nil: the two above.
	PELR          *float64 `json:"pe_lr,omitempty"`
	PEWeightDecay *float64 `json:"pe_weight_decay,omitempty"`
}

// MemberField is the default and check of a setting that members have each.
type MemberField struct {
	Default    float64
	DefaultFor map[string]float64 // other defaults, by preset
	Optional   bool               // members have none where no flag gives it
	Check      func(v float64) error

	path path // of the field in Member
}

// ref returns a member's value, nil where it has none.
func (o *MemberField) ref(m *Member) *float64 {
	v := o.path.in(m)
	if v.Kind() != reflect.Pointer {
		v = v.Addr()
	}
	return v.Interface().(*float64)
}

func (o *MemberField) set(m *Member, v float64) {
	if to := o.path.in(m); to.Kind() == reflect.Pointer {
		to.Set(reflect.ValueOf(&v))
	} else {
		to.SetFloat(v)
	}
}

func (o *MemberField) reset(m *Member, preset string) {
	if o.Optional {
		return
	}
	v := o.Default
	if other, ok := o.DefaultFor[presetKey(preset)]; ok {
		v = other
	}
	o.set(m, v)
}

func (o *MemberField) check(c *Config, flag string, bad *Problems) {
	for i := range c.Members {
		v := o.ref(&c.Members[i])
		if v == nil {
			continue
		}
		if err := o.Check(*v); err != nil {
			number, rule, _ := strings.Cut(err.Error(), " ")
			bad.Add("--%s: %s (member %d) %s", flag, number, i, rule)
		}
	}
}

// NewFlag returns a flag that holds one value for all members, or one a member.
func (o *MemberField) NewFlag() *MemberFlag {
	f := &MemberFlag{set: o.set}
	if !o.Optional {
		f.Values = []float64{o.Default}
	}
	return f
}

// MemberFlag holds the values of a flag of members. It has the methods of pflag.Value.
type MemberFlag struct {
	Values []float64
	given  bool
	set    func(m *Member, v float64)
}

// Set reads numbers; those of the flag given again are appended.
func (f *MemberFlag) Set(text string) error {
	err := parse(&f.Values, text, f.given)
	f.given = true
	return err
}

// String returns the values, as pflag writes them.
func (f *MemberFlag) String() string {
	if f.Values == nil {
		return ""
	}
	return textOf(f.Values)
}

// Type names the type as pflag does.
func (f *MemberFlag) Type() string { return typeOf(f.Values) }

// Give sets the flag to one value, as if the command line had it.
func (f *MemberFlag) Give(v float64) { f.Values, f.given = []float64{v}, true }

// store gives member i of n its value: the only one, or the i-th.
func (f *MemberFlag) store(m *Member, i, n int) error {
	if k := len(f.Values); k != 1 && k != n {
		return fmt.Errorf("%d values for %d members; give one, or one a member", k, n)
	}
	f.set(m, f.Values[min(i, len(f.Values)-1)])
	return nil
}

// Label names an encoding as the paper does: learn-0.2, 2d-fixed.
func Label(pe string, sigma *float64) string {
	if sigma == nil {
		return pe
	}
	text := strconv.FormatFloat(*sigma, 'f', -1, 64)
	if *sigma == math.Trunc(*sigma) {
		text += ".0"
	}
	return pe + "-" + text
}

// SplitLabel splits the label of an encoding with sigma, such as learn-0.2. ok is false where the
// text does not end in a number after a dash; the encoding may be unknown.
func SplitLabel(label string) (pe string, sigma float64, ok bool) {
	i := strings.LastIndex(label, "-")
	if i <= 0 {
		return label, 0, false
	}
	sigma, err := strconv.ParseFloat(label[i+1:], 64)
	if err != nil {
		return label, 0, false
	}
	return label[:i], sigma, true
}

// ParseSeeds reads the values of --seeds: numbers, or the word paper alone.
func ParseSeeds(texts []string) ([]uint64, error) {
	if slices.Equal(texts, []string{"paper"}) {
		return paper.Seeds(), nil
	}
	seeds := make([]uint64, len(texts))
	for i, text := range texts {
		v, err := strconv.ParseUint(strings.TrimSpace(text), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is no seed; a seed is a whole number from 0 to 2^64-1, or "+
				"the word paper alone", text)
		}
		seeds[i] = v
	}
	return seeds, nil
}

// NewMembers returns a member of each seed. Settings are those of first, but for the flags that were
// given, by name; where neither has a value, members take the default.
func NewMembers(first Member, seeds []uint64, flags map[string]*MemberFlag) ([]Member, error) {
	members := make([]Member, len(seeds))
	for i, seed := range seeds {
		m := &members[i]
		*m = first
		m.Seed = seed
		for _, s := range Settings() {
			f := flags[s.Flag]
			switch {
			case f == nil:
			case f.given:
				if err := f.store(m, i, len(seeds)); err != nil {
					return nil, fmt.Errorf("--%s: %w", s.Flag, err)
				}
			case s.Member.ref(m) == nil && !s.Member.Optional:
				s.Member.set(m, s.Member.Default)
			}
		}
	}
	return members, nil
}
