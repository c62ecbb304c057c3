package config

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"torchpe/internal/layers"
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

// membersPrefix begins the keys of the settings that are fields of Member.
const membersPrefix = "members."

// memberSettings are the rows of the members and of what their encodings start with.
var memberSettings = []Setting{
	{
		Key: "members", Factor: true, SameStepTime: true,
		Help: "the members of the ensemble: seed, sigma, learning rates and weight decays",
	},
	{Key: "members.seed", Help: "seed of the member; --seeds and --members give it"},
	{
		Key: "members.sigma", Flag: "sigma", Common: true, Default: 0.2, Range: "[0, 1e6]",
		Help: "standard deviation of the initial learned PE",
	},
	{
		Key: "members.pe_lr", Flag: "pe-lr", Range: "[0, 1e6]", Inherits: "lr", CurveName: "pelr",
		Help: "learning rate of the PE's parameters (0 leaves them as they start)",
	},
	{
		Key: "members.pe_weight_decay", Flag: "pe-weight-decay", Range: "[0, 1e6]",
		Inherits: "weight-decay", CurveName: "pewd", Help: "weight decay of the PE's parameters",
	},
}

// memberRates are the rows of the optimizer that members have each.
var memberRates = []Setting{
	{
		Key: "members.lr", Flag: "lr", Common: true, Help: "learning rate", Range: "(0, 1e6]",
		CurveName: "lr", Default: 1e-4,
	},
	{
		Key: "members.weight_decay", Flag: "weight-decay", Help: "weight decay", Range: "[0, 1e6]",
		CurveName: "wd", Default: 0.0,
	},
}

// IsMember reports whether members have the setting each.
func (s Setting) IsMember() bool { return strings.HasPrefix(s.Key, membersPrefix) }

// MemberKey returns the key of a member's setting in a member of config.json, such as pe_lr.
func (s Setting) MemberKey() string { return strings.TrimPrefix(s.Key, membersPrefix) }

// MemberSettings lists the settings with a flag that members have each, in the order of Member.
func MemberSettings() (all []Setting) {
	for _, s := range Settings() {
		if s.IsMember() && s.Flag != "" {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b Setting) int { return slices.Compare(a.fields[0][0], b.fields[0][0]) })
	return all
}

// Own returns a member's value of a setting, or nil where it has none of its own.
func (s Setting) Own(m Member) *float64 {
	v := s.fields[0].in(&m)
	if v.Kind() != reflect.Pointer {
		v = v.Addr()
	}
	return v.Interface().(*float64)
}

// Of returns a member's value of a setting: its own, or that of the setting that it inherits. It is
// nil where there is neither.
func (s Setting) Of(m Member) *float64 {
	other, inherits := ByFlag(s.Inherits)
	if own := s.Own(m); own != nil || !inherits {
		return own
	}
	return other.Of(m)
}

// OwnPESettings lists the flags of the settings, of the PE's parameters, that do not inherit here
// what the other parameters have.
func (c *Config) OwnPESettings() (flags []string) {
	for _, s := range Settings() {
		isSet := func(v reflect.Value) bool { return !v.IsZero() }
		if s.Inherits != "" && slices.ContainsFunc(s.values(c), isSet) {
			flags = append(flags, "--"+s.Flag)
		}
	}
	return flags
}

// NewMembers returns a member for each seed, with the settings of first. Values that are given by flag
// replace them. A setting without a value takes its default.
func NewMembers(first Member, seeds []uint64, given map[string][]float64) ([]Member, error) {
	members := slices.Repeat([]Member{first}, len(seeds))
	for i, seed := range seeds {
		members[i].Seed = seed
	}
	for _, s := range MemberSettings() {
		values := given[s.Flag]
		if values == nil {
			v, hasDefault := s.Default.(float64)
			if !hasDefault || s.Own(first) != nil {
				continue
			}
			values = []float64{v}
		}
		if k := len(values); k != 1 && k != len(seeds) {
			return nil, fmt.Errorf("--%s: %d values for %d members; give one, or one a member", s.Flag, k, len(seeds))
		}
		for i := range members {
			set(s.fields[0].in(&members[i]), values[min(i, len(values)-1)])
		}
	}
	return members, nil
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
// text does not end in a number after a dash, or in one that lost its point, as 02 has; the encoding
// may be unknown. A number after the layers of an encoding, as in nope@1,learn@2-4, is a layer.
func SplitLabel(label string) (pe string, sigma float64, ok bool) {
	i := strings.LastIndex(label, "-")
	if i <= 0 || layers.Differ(label) {
		return label, 0, false
	}
	text := label[i+1:]
	sigma, err := strconv.ParseFloat(text, 64)
	lostPoint := len(text) > 1 && text[0] == '0' && strings.Trim(text, "0123456789") == ""
	if err != nil || lostPoint {
		return label, 0, false
	}
	return label[:i], sigma, true
}
