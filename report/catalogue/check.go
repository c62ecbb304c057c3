package catalogue

import (
	"errors"
	"fmt"
	"hash/fnv"
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

	causal   bool // queries do not see later keys
	resolved pe.Options
	tokens   []int              // the tokens that are computed; nil for all
	base     *angles            // the setting's angles; nil if the scheme has none
	cache    map[string]*angles // angles by their options and positions
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
	c.causal, c.resolved = facts.Attention.Causal, resolved
	for _, in := range []*array.Array{&c.Given.Q, &c.Given.K, &c.Given.V} {
		*in = c.headed(*in)
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
	far        float64  // mean difference relative to the given array's largest number, summed over all outputs
	most       float64  // largest difference relative to the given array's largest number, over all outputs
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

// firstDifference returns the difference of the first output that is not as expected, or nil. Numbers that
// are masked in both do not count.
func (c Check) firstDifference(t trial, expected []array.Array) *difference {
	var first *difference
	all := difference{rounded: true}
	for i, o := range c.Given.Outputs {
		d := c.difference(o, expected[i], t.reversed)
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
	var errors *errorsOf
	if c.tokens == nil {
		errors = newErrors(o)
	}
	for i, got := range o.Data {
		w := want.Data[i]
		if masked(got) && masked(w) || (c.causal || masked(got)) && c.hidden(o.Kind, i, reversed) {
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

// halfBits lists the significant bits of bfloat16 and float16.
var halfBits = [2]int{8, 11}

func newErrors(o Output) *errorsOf {
	e := &errorsOf{Output: o, bits: [2]bool{true, true}, single: true, bounded: true}
	e.tokens = 1
	if n := len(o.Shape); n > 1 {
		e.tokens = o.Shape[n-2]
	}
	for _, v := range o.Data {
		if !masked(v) {
			e.largest = max(e.largest, math.Abs(v))
		}
	}
	return e
}

// add takes a number of the output and the expected one.
func (e *errorsOf) add(i int, got, want float64) {
	apart := got - want
	if e.nan = e.nan || math.IsNaN(apart) || math.IsInf(apart, 0); e.nan {
		return
	}
	for k, bits := range halfBits {
		e.bits[k] = e.bits[k] && math.Abs(toBits(bits)(got)-got) <= 1e-6*math.Abs(got)
	}
	eps := math.Ldexp(1, -halfBits[0])
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

// findAngles stores the setting's angles if the scheme's outputs are those that they give.
func (c *Check) findAngles(own trial, expected []array.Array) {
	if len(c.Given.Params) > 0 {
		return
	}
	i, err := Build(c.Scheme, own.Setting, own.at, Start{1, 1})
	if err != nil {
		return
	}
	defer i.Close()
	if c.base = newAngles(i); c.base == nil {
		return
	}
	c.cache = map[string]*angles{}
	as := c.expecting(expected)
	if got, err := c.computeAngles(own); err != nil || as.firstDifference(own, got) != nil {
		c.base = nil
	}
}

// expecting returns the check of the expected arrays in place of the given ones.
func (c Check) expecting(expected []array.Array) Check {
	c.Given.Outputs = slices.Clone(c.Given.Outputs)
	for i := range expected {
		c.Given.Outputs[i].Array = expected[i]
	}
	return c
}

// compute returns what a trial gives for each output.
func (c Check) compute(t trial) (all []array.Array, err error) {
	if c.base != nil && (c.tokens != nil || len(t.angles) > 0) {
		if all, err = c.computeAngles(t); !errors.Is(err, errNoAngles) {
			return all, err
		}
	}
	if len(t.angles) > 0 {
		return nil, errNoEffect
	}
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

// computeAngles returns what a trial gives for each output, by its angles alone.
func (c Check) computeAngles(t trial) (all []array.Array, err error) {
	if len(t.changes) > 0 || t.pairs != nil || t.scaleBias != 0 || t.added != nil {
		return nil, errNoEffect
	}
	base, err := c.anglesOf(t)
	if err != nil {
		return nil, err
	}
	a := base.clone()
	for _, change := range t.angles {
		if err := change(a); err != nil {
			return nil, err
		}
		a.changed = true
	}
	places := func(tokens []int) []int { return gather(t.at.Index, c.rows(tokens)) }
	for _, o := range c.Given.Outputs {
		x := a.values(c.Given, o, t, places(t.queries), places(t.keys))
		if len(o.Shape) == 2 && len(x.Shape) == 3 { // [N,D], heads side by side
			x = merged(x)
		}
		all = append(all, x)
	}
	return all, nil
}

// anglesOf returns the angles of a trial's options and positions.
func (c Check) anglesOf(t trial) (*angles, error) {
	options, all := maps.Clone(t.Given), maps.Clone(c.resolved)
	maps.Copy(all, options)
	layout := layoutOf(all)
	for _, name := range []string{"rope-layout", "dinov3-layout"} {
		delete(options, name) // pairs change no angle
	}
	hash := fnv.New64a()
	fmt.Fprint(hash, options, t.at.Index, t.at.Cells, t.at.Points)
	key := string(hash.Sum(nil))
	if a := c.cache[key]; a != nil {
		b := *a
		b.layout = newLayout(layout, b.pairs, len(b.law.slope))
		return &b, nil
	}
	s := t.Setting
	s.Tokens = t.at.Tokens()
	i, err := Build(c.Scheme, s, t.at, Start{1, 1})
	if err != nil {
		return nil, err
	}
	defer i.Close()
	a := newAngles(i)
	if a == nil {
		return nil, errNoAngles
	}
	if len(c.cache) > 1<<22/len(a.cos[0]) {
		clear(c.cache)
	}
	c.cache[key] = a
	return a, nil
}

// errNoAngles is returned for options with which a scheme has no cosines and sines.
var errNoAngles = errors.New("the scheme has no angles")

// rows returns the rows of the tokens that are computed: nil stands for all rows, in order.
func (c Check) rows(tokens []int) []int {
	switch {
	case tokens == nil && c.tokens == nil:
		return indices(0, c.Positions.Tokens())
	case tokens == nil:
		return c.tokens
	case c.tokens == nil:
		return tokens
	}
	return gather(tokens, c.tokens)
}

// gather returns the values at the given places.
func gather(values, at []int) []int {
	all := make([]int, len(at))
	for i, k := range at {
		all[i] = values[k]
	}
	return all
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
	queries, keys := c.rows(t.queries), c.rows(t.keys)
	if c.tokens != nil { // of the trial's tokens only those that are computed
		rows := slices.Concat(queries, keys)
		slices.Sort(rows)
		rows = slices.Compact(rows)
		for _, list := range []*[]int{&queries, &keys} {
			*list = slices.Clone(*list)
			for k, row := range *list {
				(*list)[k], _ = slices.BinarySearch(rows, row)
			}
		}
		part := *i
		part.Positions = t.at.Permuted(rows)
		i = &part
	}
	if o.Kind == kindCos || o.Kind == kindSin {
		a, err := i.rotationTable(o)
		if err == nil {
			a = selectAlong(a, 0, queries)
		}
		return a, err
	}
	size := i.Positions.Tokens()
	w := Want{Kind: o.Kind, Layer: c.Layer}
	into := func(to *array.Array, from array.Array, rows []int, scale float64) {
		if from.Data != nil {
			*to = place(from, rows, size, scale)
		}
	}
	into(&w.X, c.Given.X, queries, t.scaleX)
	into(&w.V, c.Given.V, keys, 0)
	into(&w.Q, t.paired(c.Given.Q, false), queries, t.scaleQ)
	into(&w.K, t.paired(c.Given.K, false), keys, 0)
	a, _, err := i.Values(w)
	if err != nil {
		return a, err
	}
	if a, err = t.withAdded(i, o, a); err != nil {
		return a, err
	}
	switch o.Kind {
	case kindBias, kindLogits, kindWeights:
		a = selectAlong(selectAlong(a, 2, keys), 1, queries)
	case kindQuery:
		a = t.paired(selectAlong(a, 1, queries), true)
	case kindKey, kindValue:
		a = selectAlong(a, 1, keys)
		if o.Kind == kindKey {
			a = t.paired(a, true)
		}
	default:
		a = selectAlong(a, 0, queries)
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

// withAdded returns a bias or logits [H,N,N] with what the trial adds to them.
func (t trial) withAdded(i *Instance, o Output, a array.Array) (array.Array, error) {
	if t.added == nil || o.Kind != kindBias && o.Kind != kindLogits {
		return a, nil
	}
	added, err := t.added(i)
	if err != nil {
		return a, err
	}
	a.Data = slices.Clone(a.Data)
	n := a.Shape[2]
	for k := range a.Data {
		a.Data[k] += added(k/(n*n), k/n%n, k%n)
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
	l := newLayout(layoutOf(i.options), pairs, axesOf(i.Scheme, i.options))
	return selectAlong(a, 1, l.columns()), nil
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
