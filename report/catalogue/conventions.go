package catalogue

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"torchpe/data/array"
	"torchpe/models/pe"
)

// trial is a convention: a scheme with options, possibly with errors that implementations make.
type trial struct {
	Setting
	at                        pe.Positions
	queries, keys             []int   // places in at of the arrays' tokens; nil for all in order
	scaleQ, scaleX, scaleBias float64 // factors of queries, embeddings and bias; 0 counts as 1
	pairs                     func(width int) []int
	angles                    []func(*angles) error                              // what is done to angles, in order
	changes                   []func(*Instance) error                            // what is done to parameters, in order
	added                     func(*Instance) (func(h, i, j int) float64, error) // to bias and logits
	roll                      func(array.Array) array.Array
	reversed                  bool // a causal mask hides keys before the query
}

// choice is one value of an axis.
type choice struct {
	phrase string // "half-split pairs"
	flag   string // the flags for it; "" if there are none
	apply  func(*trial) error
	fitted bool // its number is read off the arrays
	usual  bool // it is a value of an option, a layout, a first position or a scale
}

// byFlags returns the choice that flags make.
func byFlags(phrase, flags string) choice {
	return choice{phrase: phrase, flag: flags, usual: true, apply: func(t *trial) error {
		for name, value := range flagValues(flags) {
			t.Given = withOption(t.Given, name, value)
		}
		return nil
	}}
}

// flagValues returns the options that flags such as "--rope-base 100" set.
func flagValues(flags string) pe.Options {
	values, fields := pe.Options{}, strings.Fields(flags)
	for k := 0; k+1 < len(fields); k += 2 {
		values[strings.TrimPrefix(fields[k], "--")] = fields[k+1]
	}
	return values
}

// byAngles returns the choice that changes angles.
func byAngles(phrase string, change func(*angles) error) choice {
	return choice{phrase: phrase, apply: func(t *trial) error {
		t.angles = append(slices.Clone(t.angles), change)
		return nil
	}}
}

// axis lists the choices for one property of a convention. The first is the setting's.
type axis []choice

// phrases describes values of options. %s stands for the value.
var phrases = map[string]string{
	"rope-layout=half": "half-split pairs", "rope-layout=interleaved": "interleaved pairs",
	"dinov3-layout=half": "half-split pairs", "dinov3-layout=interleaved": "interleaved pairs",
	"positions-from": "positions from %s", "rope-base": "base %s", "rope-2d-base": "base %s",
	"sinusoid-base": "base %s", "rope-dims=all": "whole head turned",
	"rope-dims": "%s dimensions of a head turned", "rope-proportion=1": "all frequencies",
	"rope-proportion":             "the fastest %s of the frequencies",
	"grid-order=rows-first":       "rows before columns",
	"grid-order=columns-first":    "columns before rows",
	"rope-2d-order=rows-first":    "rows before columns",
	"rope-2d-order=columns-first": "columns before rows",
	"sinusoid-layout=concat":      "sines before cosines",
	"sinusoid-layout=t2t":         "sines before cosines, frequencies to 1/base",
	"sinusoid-layout=tutorial":    "a frequency for each column", "sinusoid-layout=interleaved": "sine beside cosine",
	"grid-exponent=half": "exponents of D/2", "grid-exponent=full": "exponents of D",
	"relative-bias-scaled=true":  "bias within the scale",
	"relative-bias-scaled=false": "bias outside of the scale",
	"t5-logit-scale=sqrt":        "logits over sqrt(Dh)",
	"t5-logit-scale=none":        "scale missing (q k without 1/sqrt(Dh))",
	"alibi-scaled=true":          "bias over sqrt(Dh)",
	"alibi-scaled=false":         "bias not scaled",
	"tisa-offset=j-i":            "offset j - i",
	"tisa-offset=i-j-1":          "offset i - j - 1",
	"t5-direction=bidirectional": "both directions",
	"t5-direction=causal":        "keys before the query only",
}

// phrase describes the value of an option.
func phrase(name, value string) string {
	if p, ok := phrases[name+"="+value]; ok {
		return p
	}
	if p, ok := phrases[name]; ok {
		return fmt.Sprintf(p, value)
	}
	return name + " " + value
}

// usualValues lists values that implementations use, for options that accept any.
var usualValues = map[string][]string{
	"rope-base": {"10000", "100", "10", "500000", "1000000"}, "rope-2d-base": {"auto", "100", "10", "10000"},
	"sinusoid-base":       {"10000", "100", "10", "1000", "500000", "1000000"},
	"rope-proportion":     {"1", "0.75", "0.5", "0.25"},
	"rope-unit":           {"1", "2"},
	"t5-max-distance":     {"128", "64", "256", "512", "1024"},
	"rope-trained-tokens": {"2048", "4096", "8192", "16384", "32768", "131072"},
}

// optionsWithoutNumbers lists options that change no number that can be compared.
var optionsWithoutNumbers = []string{"attention-bias", "attention-init", "fixed-pe-dropout", "pe-placement"}

// values returns the values of an option to try, the current one first. fit has those that the arrays
// suggest.
func values(o pe.Option, now string, headWidth int, fit fitted) []string {
	all := o.Choices()
	switch {
	case all != nil:
	case o.Name == "rope-dims":
		all = []string{"all"}
		for _, n := range append([]int{headWidth / 2, headWidth / 4}, fit.dims...) {
			if n%2 == 0 && n > 0 && n < headWidth {
				all = append(all, strconv.Itoa(n))
			}
		}
	case slices.Contains(baseOptions, o.Name):
		all = append(slices.Clone(usualValues[o.Name]), rounds(fit.bases, fit.nearBases...)...)
	case o.Name == "rope-scale":
		all = slices.DeleteFunc(rounds(fit.stretches, nearScales...), func(v string) bool { return v == "1" })
	default:
		all = usualValues[o.Name]
	}
	if trained, _ := strconv.Atoi(now); o.Name == "rope-trained-tokens" && trained > 3 {
		all = append([]string{strconv.Itoa(trained / 2), strconv.Itoa(2 * trained), strconv.Itoa(trained / 4),
			strconv.Itoa(4 * trained)}, all...)
	}
	tried := []string{now}
	for _, v := range all {
		if o.Check(v) == nil && !slices.Contains(tried, v) {
			tried = append(tried, v)
		}
	}
	return tried
}

// optionAxes returns an axis for each option, with the errors that exclude its values.
func (c Check) optionAxes(resolved pe.Options, fit fitted) (all []axis) {
	for _, o := range c.Scheme.Options {
		if slices.Contains(optionsWithoutNumbers, o.Name) {
			continue
		}
		var a axis
		usual := values(o, resolved[o.Name], c.Setting.DModel/c.Setting.Heads, fitted{})
		for _, v := range values(o, resolved[o.Name], c.Setting.DModel/c.Setting.Heads, fit) {
			ch := byFlags(phrase(o.Name, v), "--"+o.Name+" "+v)
			ch.fitted = !slices.Contains(usual, v)
			a = append(a, ch)
		}
		beside := c.beside(o.Name, resolved, fit)
		if slices.Contains(baseOptions, o.Name) { // causes come before the base that they amount to
			all = append(all, slices.Concat(a[:1], beside, a[1:]))
			continue
		}
		all = append(all, append(a, beside...))
	}
	return all
}

// beside returns errors in place of the values of an option.
func (c Check) beside(option string, resolved pe.Options, fit fitted) (all []choice) {
	number := func(name string) float64 {
		v, _ := strconv.ParseFloat(resolved[name], 64)
		return v
	}
	width := c.Setting.DModel / c.Setting.Heads
	switch option {
	case "positions-from":
		return c.firstPositions(fit)
	case "rope-layout", "dinov3-layout":
		for _, l := range layoutErrors {
			ch := byAngles(l.phrase, func(a *angles) error { return a.setLayout(l.name) })
			ch.usual = true
			all = append(all, ch)
		}
	case "rope-dims":
		if resolved[option] == "all" {
			all = c.partOfHead(number("rope-base"), append([]int{width / 2, width / 4}, fit.dims...)...)
		}
	case "rope-base":
		if resolved["rope-dims"] != "all" {
			all = c.partOfHead(number(option), int(number("rope-dims")))
		}
		all = append(all, sameAsBase("exponent k/Dh for 2k/Dh", option, math.Sqrt(number(option))))
		if c.Scheme.Name == "rope" {
			all = append(all, grownBases(number(option), width, fit)...)
		}
	case "sinusoid-layout":
		all = []choice{byFlags("exponent 2 x column (for 2 floor(column/2))",
			fmt.Sprintf("--sinusoid-layout tutorial --sinusoid-base %s", plainNumber(math.Pow(number("sinusoid-base"), 2))))}
	case "rope-2d-base":
		base := number(option)
		if base == 0 {
			base = 100
		}
		all = []choice{sameAsBase("frequencies of the whole head for each coordinate (base^(-2k/Dh))",
			option, math.Sqrt(base))}
	case "sinusoid-base":
		all = []choice{sameAsBase("exponent k/D for 2k/D", option, math.Sqrt(number(option)))}
		if h := float64(c.Setting.DModel / 2); h > 1 && resolved["sinusoid-layout"] != "t2t" && c.Scheme.Name == "1d-fixed" {
			all = append(all, sameAsBase("frequencies down to 1/base (exponent k/(D/2 - 1))", option,
				math.Pow(number(option), h/(h-1))))
		}
	case "rope-unit":
		for _, text := range rounds(append(fit.scales, 16, 14), nearScales...) {
			by, _ := strconv.ParseFloat(text, 64)
			if math.Abs(by-1) > 1e-3 {
				ch := byFlags(scalePhrase("coordinates", by), "--rope-unit "+plainNumber(number(option)/by))
				ch.fitted = by != 16 && by != 14
				all = append(all, ch)
			}
		}
	case "yarn-beta-fast":
		all = []choice{byFlags("beta_fast and beta_slow swapped", fmt.Sprintf(
			"--yarn-beta-fast %s --yarn-beta-slow %s", resolved["yarn-beta-slow"], resolved["yarn-beta-fast"]))}
	}
	return all
}

// sameAsBase returns the choice of an error that gives the numbers of another base.
func sameAsBase(phrase, option string, base float64) choice {
	return byFlags(phrase, "--"+option+" "+plainNumber(base))
}

// plainNumber writes a number without an exponent.
func plainNumber(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// partOfHead returns choices of a part of a head that is turned with the frequencies of the whole head.
func (c Check) partOfHead(base float64, parts ...int) (all []choice) {
	width := c.Setting.DModel / c.Setting.Heads
	for i, n := range parts {
		if n%2 != 0 || n == 0 || n >= width || slices.Contains(parts[:i], n) {
			continue
		}
		same := plainNumber(math.Pow(base, float64(n)/float64(width)))
		text := fmt.Sprintf("%d dimensions of a head turned, with the frequencies of the whole head (base^(-2k/%d))",
			n, width)
		all = append(all, byFlags(text, fmt.Sprintf("--rope-dims %d --rope-base %s", n, same)))
	}
	return all
}

// grownBases returns choices of a base that is grown for a longer sequence, as in rope-ntk, where the arrays
// suggest it.
func grownBases(base float64, width int, fit fitted) (all []choice) {
	for _, by := range []float64{1.5, 2, 3, 4, 6, 8, 10, 16, 32, 64} {
		if width < 4 || !slices.ContainsFunc(fit.stretches, func(v float64) bool { return math.Abs(v/by-1) < 1e-3 }) {
			continue
		}
		grown := base * math.Pow(by, float64(width)/float64(width-2))
		ch := byFlags(fmt.Sprintf("base %.6g, that of rope-ntk --rope-scale %g", grown, by),
			"--rope-base "+plainNumber(grown))
		ch.fitted = true
		all = append(all, ch)
	}
	return all
}

// firstPositions returns choices of first positions that no option has.
func (c Check) firstPositions(fit fitted) (all []choice) {
	if c.base == nil || !c.base.linear {
		return nil
	}
	add := func(text string, q, k float64) {
		ch := byAngles(text, func(a *angles) error {
			a.of[0].shift, a.of[1].shift = q, k
			if !a.linear {
				return errNotLinear
			}
			return nil
		})
		ch.usual = true
		all = append(all, ch)
	}
	add("positions half a step further (centres of cells)", 0.5, 0.5)
	if c.hasOption("dinov3-offset") {
		add("positions half a step back (corners of cells)", -0.5, -0.5)
	}
	own, ok := c.base.law.first()
	for i, first := range fit.shifts {
		switch {
		case !ok || slices.Contains(fit.shifts[:i], first) || first[0] == own && first[1] == own:
		case first[0] != first[1]:
			add(fmt.Sprintf("positions of q from %g, of k from %g", first[0], first[1]), first[0]-own, first[1]-own)
		case first[0] == own+0.5:
		case c.hasOption("positions-from") && (first[0] == 0 || first[0] == 1): // an option has it
		default:
			add(fmt.Sprintf("positions from %g", first[0]), first[0]-own, first[0]-own)
		}
	}
	return all
}

// scaled returns the choices of positions times a factor that the arrays suggest.
func (c Check) scaled(fit fitted) (all []choice) {
	if c.hasOption("rope-unit") {
		return nil
	}
	for _, divided := range []bool{true, false} {
		list := slices.Clone(fit.scales)
		for i, v := range list {
			if divided {
				list[i] = 1 / v
			}
		}
		for _, text := range rounds(list, nearScales...) {
			by, _ := strconv.ParseFloat(text, 64)
			if divided {
				by = 1 / by
			}
			if math.Abs(by-1) < 1e-3 {
				continue
			}
			what := scalePhrase("positions", by)
			if c.Scheme.Name == "rope" && by < 1 {
				what += " (rope-pi --rope-scale " + text + ")"
			}
			ch := byAngles(what, func(a *angles) error {
				if !a.linear {
					return errNotLinear
				}
				for k := range a.law.start {
					a.law.start[k] *= by
					for axis := range a.law.slope {
						a.law.slope[axis][k] *= by
					}
				}
				return nil
			})
			ch.fitted, ch.usual = true, true
			all = append(all, ch)
		}
	}
	return all
}

// scalePhrase describes positions times a factor.
func scalePhrase(what string, by float64) string {
	if by < 1 {
		return fmt.Sprintf("%s divided by %.6g", what, 1/by)
	}
	if what == "coordinates" {
		return fmt.Sprintf("%s times %.6g (pixels for cells)", what, by)
	}
	return fmt.Sprintf("%s times %.6g", what, by)
}

// errorAxes returns axes for errors that implementations make and no option describes.
func (c Check) errorAxes(fit fitted) []axis {
	own := choice{apply: func(*trial) error { return nil }}
	width := float64(c.Setting.DModel / c.Setting.Heads)
	made := func(phrase string, apply func(*trial) error) choice { return choice{phrase: phrase, apply: apply} }
	one := func(phrase string, apply func(*trial) error) axis { return axis{own, made(phrase, apply)} }
	all := []axis{one("rows and columns swapped", swapCells), {own}}
	for _, order := range [][]int{{2, 1, 0}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}} {
		all[1] = append(all[1], made(fmt.Sprintf("coordinates %d, %d, %d in place of 0, 1, 2", order[0], order[1],
			order[2]), reorder(order)))
	}
	if c.base != nil {
		for _, list := range angleErrors {
			a := axis{own}
			for _, e := range list {
				a = append(a, byAngles(e.phrase, e.apply))
			}
			all = append(all, a)
		}
		all = append(all, append(axis{own}, c.scaled(fit)...))
	}
	all = append(all, c.biasErrors(own)...)
	all = append(all, []axis{
		{own, made("scale missing (q k without 1/sqrt(Dh))", c.scaleLogits(math.Sqrt(width))),
			made("scale twice (q k over Dh)", c.scaleLogits(1/math.Sqrt(width)))},
		one("x times sqrt(D) before the sum", c.scaleInput(math.Sqrt(float64(c.Setting.DModel)))),
		{own, made("bias over sqrt(Dh)", scaleBias(1/math.Sqrt(width))),
			made("bias times sqrt(Dh)", scaleBias(math.Sqrt(width))), made("bias with the other sign", scaleBias(-1))},
		{own, made("offset off by one (i - j + 1 for i - j)", shift(1)),
			made("offset off by one (i - j - 1 for i - j)", shift(-1)),
			made("offset off by one (row r - 1 of the table for r, wrapped around)", rolled(1, true)),
			made("offset off by one (row r + 1 of the table for r, wrapped around)", rolled(-1, true)),
			made("offset off by one (row r - 1 of the table for r, but the first)", rolled(1, false)),
			made("offset off by one (row r + 1 of the table for r, but the last)", rolled(-1, false))},
		one(c.reversal(), reverse),
		one("tokens counted down the columns", byColumns),
	}...)
	if !c.hasOption("positions-from") {
		all = append(all, append(axis{own, made("positions from 1", fromOne)}, c.firstPositions(fit)...))
	}
	if !c.hasOption("rope-layout") && !c.hasOption("dinov3-layout") {
		all = append(all, axis{own,
			made("half-split pairs where the scheme's are interleaved", pairedAs(toHalves)),
			made("interleaved pairs where the scheme's are half-split", pairedAs(toNeighbours))})
	}
	return all
}

// scaleLogits multiplies the queries if logits or weights are compared.
func (c Check) scaleLogits(by float64) func(*trial) error {
	return func(t *trial) error {
		if !slices.ContainsFunc(c.Given.Outputs, func(o Output) bool {
			return o.Kind == kindLogits || o.Kind == kindWeights
		}) {
			return errNoEffect
		}
		t.scaleQ = by
		return nil
	}
}

// scaleInput multiplies embeddings.
func (c Check) scaleInput(by float64) func(*trial) error {
	return func(t *trial) error {
		if c.Given.X.Data == nil {
			return errNoEffect
		}
		t.scaleX = by
		return nil
	}
}

func scaleBias(by float64) func(*trial) error {
	return func(t *trial) error { t.scaleBias = by; return nil }
}

// rolled shifts the rows of tables over offsets by a number of rows, around or up to the edge. These tables
// have an odd number of rows.
func rolled(by int, around bool) func(*trial) error {
	return func(t *trial) error {
		t.roll = func(a array.Array) array.Array {
			for axis, n := range a.Shape {
				if n%2 == 0 || n < 3 || axis == 0 {
					continue
				}
				rows := make([]int, n)
				for r := range rows {
					if rows[r] = (r - by + n) % n; !around {
						rows[r] = min(max(r-by, 0), n-1)
					}
				}
				a = selectAlong(a, axis, rows)
				break
			}
			return a
		}
		return nil
	}
}

// shift moves the keys by one place against the queries, in the direction of by.
func shift(by int) func(*trial) error {
	return func(t *trial) error {
		n := t.at.Tokens()
		if t.queries != nil || t.at.Points != nil || t.at.Graph != nil {
			return errNoEffect
		}
		t.at = pe.Line(n + 1)
		first, second := indices(0, n), indices(1, n)
		if t.queries, t.keys = second, first; by < 0 {
			t.queries, t.keys = first, second
		}
		return nil
	}
}

func indices(from, n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = from + i
	}
	return all
}

// fromOne counts positions, or rows and columns, from 1.
func fromOne(t *trial) error {
	n := t.at.Tokens()
	switch {
	case t.queries != nil || t.at.Points != nil || t.at.Graph != nil || !slices.IsSorted(t.at.Index):
		return errNoEffect
	case t.at.Cells == nil:
		t.at, t.queries = pe.Line(n+1), indices(1, n)
	default:
		rows, columns := t.at.Extent()
		if rows*columns != n {
			return errNoEffect
		}
		t.at = pe.Grid(rows+1, columns+1)
		for i, cell := range t.at.Cells {
			if cell[0] > 0 && cell[1] > 0 {
				t.queries = append(t.queries, i)
			}
		}
	}
	t.keys = t.queries
	return nil
}

// swapCells exchanges the first two coordinates.
func swapCells(t *trial) error {
	if t.at.Cells == nil {
		return errNoEffect
	}
	t.at.Cells = slices.Clone(t.at.Cells)
	for i, cell := range t.at.Cells {
		t.at.Cells[i] = [2]int{cell[1], cell[0]}
	}
	return nil
}

// reorder exchanges three coordinates.
func reorder(order []int) func(*trial) error {
	return func(t *trial) error {
		if t.at.Points == nil || len(t.at.Points[0]) != len(order) {
			return errNoEffect
		}
		t.at.Points = slices.Clone(t.at.Points)
		for i, point := range t.at.Points {
			t.at.Points[i] = []float64{point[order[0]], point[order[1]], point[order[2]]}
		}
		return nil
	}
}

// byColumns places the tokens on the grid column by column.
func byColumns(t *trial) error {
	if t.at.Cells == nil {
		return errNoEffect
	}
	rows, columns := t.at.Extent()
	if rows*columns != t.at.Tokens() {
		return errNoEffect
	}
	t.at.Cells = slices.Clone(t.at.Cells)
	for i := range t.at.Cells {
		t.at.Cells[i] = [2]int{i % rows, i / rows}
	}
	return nil
}

// reversal describes the effect of reverse on the outputs.
func (c Check) reversal() string {
	if slices.ContainsFunc(c.Given.Outputs, func(o Output) bool { return axes[o.Kind] == "HNN" }) {
		return "offset with the other sign (i and j swapped)"
	}
	return "tokens in the opposite order"
}

// reverse puts the tokens in the opposite order, so that all offsets have the other sign.
func reverse(t *trial) error {
	if t.at.Points != nil || t.at.Graph != nil {
		return errNoEffect
	}
	order := indices(0, t.at.Tokens())
	slices.Reverse(order)
	t.at = t.at.Permuted(order)
	t.reversed = true
	return nil
}

// tablesOf returns the values of those of the named tables that are fixed.
func tablesOf(i *Instance, names ...string) (all map[string][]float64, err error) {
	all = map[string][]float64{}
	for _, name := range names {
		if p := i.params.Get(name); p != nil && !p.Trainable {
			if all[name], err = i.params.Values(name); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// pairedAs sets the order of the dimensions of a head.
func pairedAs(order func(width int) []int) func(*trial) error {
	return func(t *trial) error { t.pairs = order; return nil }
}

// toHalves returns, for each dimension of a head with half-split pairs, that with interleaved pairs.
func toHalves(width int) []int {
	order := make([]int, width)
	for k := range order {
		order[k] = k
		if pairs := width / 2; k < 2*pairs {
			order[k] = 2*(k%pairs) + k/pairs
		}
	}
	return order
}

// toNeighbours is the inverse of toHalves.
func toNeighbours(width int) []int { return inverse(toHalves(width)) }

func inverse(order []int) []int {
	back := make([]int, len(order))
	for k, from := range order {
		back[from] = k
	}
	return back
}

// paired reorders the dimensions of queries or keys [H,N,C] to those of the scheme, or back.
func (t trial) paired(a array.Array, back bool) array.Array {
	if t.pairs == nil || a.Data == nil {
		return a
	}
	order := t.pairs(a.Shape[len(a.Shape)-1])
	if !back {
		order = inverse(order)
	}
	return selectAlong(a, len(a.Shape)-1, order)
}

// place returns a, times scale, with its tokens in the given rows of size, and zeros elsewhere. The tokens
// are on the last axis but one.
func place(a array.Array, rows []int, size int, scale float64) array.Array {
	if scale == 0 {
		scale = 1
	}
	shape := slices.Clone(a.Shape)
	tokens, width := shape[len(shape)-2], shape[len(shape)-1]
	shape[len(shape)-2] = size
	out := array.Array{Shape: shape, Data: make([]float64, len(a.Data)/tokens*size)}
	for k, v := range a.Data {
		row, column := k/width, k%width
		out.Data[(row/tokens*size+rows[row%tokens])*width+column] = v * scale
	}
	return out
}

// selectAlong returns the given entries of an axis.
func selectAlong(a array.Array, dim int, entries []int) array.Array {
	n, inner := a.Shape[dim], 1
	for _, size := range a.Shape[dim+1:] {
		inner *= size
	}
	out := array.Array{Name: a.Name, Shape: slices.Clone(a.Shape)}
	out.Shape[dim] = len(entries)
	out.Data = make([]float64, 0, len(a.Data)/n*len(entries))
	for at := 0; at < len(a.Data); at += n * inner {
		for _, e := range entries {
			out.Data = append(out.Data, a.Data[at+e*inner:at+(e+1)*inner]...)
		}
	}
	return out
}
