package catalogue

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"torchpe/data/array"
	"torchpe/internal/wording"
	"torchpe/models/pe"
)

// Check compares arrays of another implementation with a scheme: whether they follow it with the options
// of a setting, and if not, which convention they follow.
type Check struct {
	Scheme    pe.Scheme
	Setting   Setting
	Positions pe.Positions
	Layer     int
	Given     Given
	// Tolerance bounds the difference of a number, relative to the largest of its array or 1.
	Tolerance float64

	causal bool // queries do not see later keys
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
	Rounding   float64  `json:"rounding,omitempty"` // tolerance at which the differences from it count as rounding
	Read       string   `json:"read_as,omitempty"`  // the sizes, if no convention is followed
}

// trialLimit limits the conventions that are tried.
const trialLimit = 5000

// Run compares the arrays with the scheme, and searches for a convention if they do not follow it.
func (c Check) Run() (Finding, error) {
	f := Finding{Scheme: c.Scheme.Name}
	for _, o := range c.Given.Outputs {
		f.Outputs = append(f.Outputs, o.Name)
	}
	if _, ok := c.Setting.Given["fixed-pe-dropout"]; !ok && c.hasOption("fixed-pe-dropout") {
		c.Setting.Given = withOption(c.Setting.Given, "fixed-pe-dropout", "0")
	}
	resolved, err := c.Setting.options(c.Scheme)
	if err != nil {
		return f, err
	}
	facts, err := c.Scheme.Describe(c.Setting.Size, resolved)
	if err != nil {
		return f, err
	}
	c.causal = facts.Attention.Causal
	own := trial{Setting: c.Setting, at: c.Positions}
	expected, err := c.compute(own)
	if err != nil {
		return f, err
	}
	search := c.search(resolved, own, expected)
	f.Tried, f.Untold = 1, search.untold
	f.Expected = search.phrases(make([]int, len(search.axes)))
	apart := c.firstDifference(own, expected)
	if apart == nil {
		f.Follows, f.Convention = true, f.Expected
		return f, nil
	}
	f.First = apart.String()
	if c.Given.assumed {
		f.Assumed = fmt.Sprintf("a head width of %d: --dim D says another, D/%d",
			c.Setting.DModel/c.Setting.Heads, c.Setting.Heads)
	}
	search.run(&f, *apart)
	if f.Convention == nil {
		f.Read = fmt.Sprintf("%s, %s of width %d", wording.Count(c.Setting.Tokens, "token"),
			wording.Count(c.Setting.Heads, "head"), c.Setting.DModel/c.Setting.Heads)
	}
	return f, nil
}

// Transposed returns the finding of arrays after their two axes were swapped, as that of the given arrays,
// whose first output is o.
func (f Finding) Transposed(o Output) Finding {
	f.Follows, f.Flags = false, ""
	f.Deviations = append([]string{"transposed"}, f.Deviations...)
	f.First = fmt.Sprintf("%s has shape %v, want [%d %d]", o.Name, o.Shape, o.Shape[1], o.Shape[0])
	return f
}

// hasOption reports whether the scheme has an option.
func (c Check) hasOption(option string) bool {
	return slices.ContainsFunc(c.Scheme.Options, func(o pe.Option) bool { return o.Name == option })
}

// withOption returns given with one option set.
func withOption(given pe.Options, name, value string) pe.Options {
	with := pe.Options{}
	maps.Copy(with, given)
	with[name] = value
	return with
}

// difference describes how two arrays differ.
type difference struct {
	name       string
	index      []int
	got, want  float64
	count, all int
	largest    float64  // largest difference of two numbers
	nan        int      // how many differences are NaN
	relative   float64  // largest difference relative to its array's numbers, over all outputs
	far        float64  // mean difference relative to the given array's, each at most 1, summed over all outputs
	shapes     [2][]int // of the array and of the expected one, if they differ; then nothing is compared
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

// firstDifference returns the difference of the first output that is not as expected, or nil. Numbers that
// are masked in both do not count.
func (c Check) firstDifference(t trial, expected []array.Array) *difference {
	var first *difference
	relative, far := 0.0, 0.0
	for i, o := range c.Given.Outputs {
		d := c.difference(o, expected[i], t.reversed)
		if d == nil {
			continue
		}
		relative, far = max(relative, d.relative), far+d.far
		if first == nil {
			first = d
		}
	}
	if first != nil {
		first.relative, first.far = relative, far
	}
	return first
}

func (c Check) difference(o Output, want array.Array, reversed bool) *difference {
	if !slices.Equal(o.Shape, want.Shape) {
		return &difference{name: o.Name, shapes: [2][]int{o.Shape, want.Shape}, relative: math.Inf(1), far: 1}
	}
	scale := 1.0
	for _, v := range want.Data {
		if v-v == 0 {
			scale = max(scale, math.Abs(v))
		}
	}
	if o.Kind == kindTable || o.Kind == kindBias {
		if scale == 1 { // tables and biases may be small throughout
			scale = 1e-6
			for _, v := range want.Data {
				scale = max(scale, math.Abs(v))
			}
		}
	}
	given := 1e-6
	for _, v := range o.Data {
		if !masked(v) {
			given = max(given, math.Abs(v))
		}
	}
	d := &difference{name: o.Name, all: len(o.Data)}
	for i, got := range o.Data {
		w := want.Data[i]
		if masked(got) && masked(w) || (c.causal || masked(got)) && c.hidden(o.Kind, i, reversed) {
			continue
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
			continue
		}
		d.largest, d.relative = max(d.largest, apart), max(d.relative, apart/scale)
		d.far += min(apart/given, 1)
	}
	if d.count == 0 {
		return nil
	}
	d.far /= float64(d.all)
	return d
}

// masked reports whether a logit hides its key.
func masked(v float64) bool { return math.IsNaN(v) || v <= -1e8 || math.IsInf(v, 0) }

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

// compute returns what a trial gives for each output.
func (c Check) compute(t trial) (all []array.Array, err error) {
	s := t.Setting
	s.Tokens = t.at.Tokens()
	i, err := Build(c.Scheme, s, t.at, Start{1, 1})
	if err != nil {
		return nil, err
	}
	defer i.Close()
	if err := c.setParams(i, t); err != nil {
		return nil, err
	}
	for _, change := range t.changes {
		if err := change(i); err != nil {
			return nil, err
		}
	}
	for _, o := range c.Given.Outputs {
		a, err := c.computeOne(i, t, o)
		if err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, nil
}

// setParams sets the given trained parameters, after the trial's shift along their axis of offsets.
func (c Check) setParams(i *Instance, t trial) error {
	trained := false
	for _, p := range i.params.All() {
		trained = trained || p.Trainable
	}
	if len(c.Given.Params) == 0 {
		if trained {
			return fmt.Errorf("%s has trained numbers, which the arrays do not hold: name them so, or "+
				"give --params: %s", i.Scheme.Name, i.Parameters())
		}
		return nil
	}
	params := slices.Clone(c.Given.Params)
	for k := range params {
		if t.roll != nil {
			params[k] = t.roll(params[k])
		}
	}
	return i.Set(params, 0)
}

func (c Check) computeOne(i *Instance, t trial, o Output) (array.Array, error) {
	if o.Kind == kindCos || o.Kind == kindSin {
		return i.rotationTable(o)
	}
	w := Want{Kind: o.Kind, Layer: c.Layer}
	into := func(to *array.Array, from array.Array, rows []int, scale float64) {
		if from.Data != nil {
			*to = t.place(from, rows, scale)
		}
	}
	into(&w.X, c.Given.X, t.queries, t.scaleX)
	into(&w.V, c.Given.V, t.keys, 0)
	q, k := c.Given.Q, c.Given.K
	for _, in := range []*array.Array{&q, &k} {
		if in.Data != nil {
			by := *i
			by.Positions = c.Positions
			var err error
			if *in, err = by.byHeads(*in); err != nil {
				return array.Array{}, err
			}
			*in = t.paired(*in, false)
		}
	}
	into(&w.Q, q, t.queries, t.scaleQ)
	into(&w.K, k, t.keys, 0)
	a, _, err := i.Values(w)
	if err != nil {
		return a, err
	}
	switch o.Kind {
	case kindBias, kindLogits, kindWeights:
		a = selectAlong(selectAlong(a, 2, t.keys), 1, t.queries)
	case kindQuery:
		a = t.paired(selectAlong(a, 1, t.queries), true)
	case kindKey, kindValue:
		a = selectAlong(a, 1, t.keys)
		if o.Kind == kindKey {
			a = t.paired(a, true)
		}
	default:
		a = selectAlong(a, 0, t.queries)
	}
	if t.scaleBias != 0 && o.Kind == kindBias {
		a.Data = slices.Clone(a.Data)
		for k := range a.Data {
			a.Data[k] *= t.scaleBias
		}
	}
	if len(o.Shape) == 2 && len(a.Shape) == 3 { // [N,D], heads side by side
		return merged(a), nil
	}
	return a, nil
}

// rotationTable returns the cosines or sines [N,P] of a rotation, or [N,2P] with a column per dimension if
// the output is that wide.
func (i *Instance) rotationTable(o Output) (array.Array, error) {
	p := i.params.Get("pe." + o.Kind)
	if p == nil {
		return array.Array{}, fmt.Errorf("%s has no fixed table %s", i.Scheme.Name, o.Kind)
	}
	values, err := i.params.Values(p.Name)
	if err != nil {
		return array.Array{}, err
	}
	n, pairs := p.Shape[1], p.Shape[2]
	a := array.Array{Shape: []int{n, pairs}, Data: values}
	a = selectAlong(a, 0, i.Positions.Index)
	if o.Shape[1] != 2*pairs {
		return a, nil
	}
	columns := make([]int, 2*pairs)
	half := i.options["rope-layout"] == "half"
	for k := range columns {
		if columns[k] = k / 2; half {
			columns[k] = k % pairs
		}
	}
	return selectAlong(a, 1, columns), nil
}

// errNoEffect is returned for a change that does not apply to the scheme.
var errNoEffect = errors.New("the scheme has nothing that this changes")

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
		if f.Rounding > 0 {
			fmt.Fprintf(&b, "rounding? with --tolerance %g that is followed\n", f.Rounding)
		}
		fmt.Fprintf(&b, "read as: %s\n", f.Read)
	}
	if f.Assumed != "" {
		fmt.Fprintf(&b, "assumed: %s\n", f.Assumed)
	}
	if f.Untold != nil && f.Convention != nil {
		fmt.Fprintf(&b, "these arrays cannot tell: %s\n", strings.Join(f.Untold, "; "))
	}
	return b.String()
}
