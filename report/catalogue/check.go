package catalogue

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"torchpe/data/array"
	"torchpe/internal/wording"
	"torchpe/models/pe"
)

// Check compares arrays of another implementation with a scheme: do they follow it with the options of a
// setting, and if not, which convention do they follow?
type Check struct {
	Scheme    pe.Scheme
	Setting   Setting
	Positions pe.Positions
	Layer     int
	Member    int // of the ensemble with the given parameters
	Given     Given
	// Tolerance bounds the difference of a number, relative to 1 or the largest number of its array.
	Tolerance float64

	attention pe.Attention
	resolved  pe.Options
	tokens    []int              // tokens to compute; nil for all
	base      *angles            // the setting's angles; nil if the scheme has none
	cache     map[string]*angles // angles by their options and positions
}

// Finding holds the result of Check.Run. Its JSON keys are part of the command line's interface.
type Finding struct {
	Scheme     string   `json:"scheme"`
	Outputs    []string `json:"outputs"`
	Follows    bool     `json:"follows"`    // the arrays follow the scheme with the options of the setting
	Convention []string `json:"convention"` // what they follow; null if no convention was found
	Flags      string   `json:"flags"`      // the flags for this convention; "" if there are none
	Deviations []string `json:"deviations"` // how it differs from the setting's
	Untold     []string `json:"untold"`     // conventions that give the same numbers
	Expected   []string `json:"expected"`   // the setting's convention
	Tried      int      `json:"tried"`
	Assumed    string   `json:"assumed,omitempty"` // a size that the arrays leave open, if it may matter
	First      string   `json:"first"`             // first difference from the setting's convention
	Nearest    []string `json:"nearest"`           // deviations of the nearest convention, if none is followed
	NearestAt  string   `json:"nearest_first,omitempty"`
	Read       string   `json:"read_as,omitempty"` // the sizes, if no convention is followed
	Notes      []string `json:"notes,omitempty"`   // what was not compared, and arrays without information
}

// trialLimit limits the number of conventions tried, and then of those tried with a factor.
const trialLimit = 5000

// Run compares the arrays with the scheme, and searches for a convention if they do not follow it.
func (c Check) Run() (Finding, error) {
	f := Finding{Scheme: c.Scheme.Name}
	for _, o := range c.Given.Outputs {
		f.Outputs = append(f.Outputs, o.Name)
	}
	if _, ok := c.Setting.Given["fixed-pe-dropout"]; !ok && hasOption(c.Scheme, "fixed-pe-dropout") {
		c.Setting.Given = withOptions(c.Setting.Given, pe.Options{"fixed-pe-dropout": "0"})
	}
	resolved, err := c.Setting.options(c.Scheme)
	if err != nil {
		return f, err
	}
	facts, err := c.Setting.describe(c.Scheme, resolved)
	if err != nil {
		return f, err
	}
	c.attention, c.resolved = facts.Attention, resolved
	for _, in := range []*array.Array{&c.Given.Q, &c.Given.K, &c.Given.V} {
		*in = c.Setting.headed(*in)
	}
	own := trial{Setting: c.Setting, at: c.Positions}
	expected, err := c.compute(own)
	if err != nil {
		return f, err
	}
	c.findAngles(own, expected)
	search := c.search(own, expected)
	f.Tried, f.Untold = 1, search.untold
	f.Expected = search.phrases(make([]int, len(search.axes)))
	apart := c.firstDifference(own, expected)
	if apart == nil {
		f.Follows, f.Convention, f.Notes = true, f.Expected, c.notes(own)
		return f, nil
	}
	f.First = apart.String()
	if c.Given.assumed {
		f.Assumed = fmt.Sprintf("a head width of %d: --dim D sets another, D/%d",
			c.Setting.headWidth(), c.Setting.Heads)
	}
	search.run(&f, *apart)
	if f.Convention == nil {
		f.Read = fmt.Sprintf("%s, %s of width %d", wording.Count(c.Setting.Tokens, "token"),
			wording.Count(c.Setting.Heads, "head"), c.Setting.headWidth())
	}
	return f, nil
}

// withOptions returns given with others added.
func withOptions(given, others pe.Options) pe.Options {
	with := pe.Options{}
	maps.Copy(with, given)
	maps.Copy(with, others)
	return with
}

// errNoEffect is returned for a change that does not apply to the scheme.
var errNoEffect = errors.New("this changes nothing in the scheme")

// String describes the finding in sentences.
func (f Finding) String() string {
	var b strings.Builder
	what := strings.Join(f.Outputs, ", ")
	list := func(phrases []string) string { return strings.Join(phrases, ", ") }
	here := list(f.Expected)
	if here != "" {
		here = " (" + here + ")"
	}
	follow, do := "follow", "do"
	if len(f.Outputs) == 1 {
		follow, do = "follows", "does"
	}
	switch {
	case f.Follows && len(f.Convention) == 0:
		fmt.Fprintf(&b, "%s: %s %s\n", what, follow, f.Scheme)
	case f.Follows:
		fmt.Fprintf(&b, "%s: %s %s: %s\n", what, follow, f.Scheme, list(f.Convention))
	case f.Convention != nil:
		fmt.Fprintf(&b, "%s: %s not follow %s as it is here%s, but with another convention: %s\n", what,
			do, f.Scheme, here, list(f.Deviations))
		fmt.Fprintf(&b, "convention: %s\n", list(f.Convention))
		if f.Flags != "" {
			fmt.Fprintf(&b, "the same here: %s\n", f.Flags)
		}
		fmt.Fprintf(&b, "first difference: %s\n", f.First)
	default:
		fmt.Fprintf(&b, "%s: %s no convention of %s that was tried (%d)\n", what, follow, f.Scheme, f.Tried)
		fmt.Fprintf(&b, "first difference from %s: %s\n", list(append([]string{f.Scheme}, f.Expected...)), f.First)
		if f.Nearest != nil {
			fmt.Fprintf(&b, "nearest: %s: %s\n", list(f.Nearest), f.NearestAt)
		}
		b.WriteString("arrays in half precision need --tolerance 0.001 (float16) or 0.01 (bfloat16)\n")
		fmt.Fprintf(&b, "read as: %s\n", f.Read)
	}
	if f.Assumed != "" {
		fmt.Fprintf(&b, "assumed: %s\n", f.Assumed)
	}
	if f.Untold != nil && (f.Follows || f.Convention != nil) {
		fmt.Fprintf(&b, "these arrays cannot tell: %s\n", strings.Join(f.Untold, "; "))
	}
	for _, note := range f.Notes {
		b.WriteString(note + "\n")
	}
	return b.String()
}
