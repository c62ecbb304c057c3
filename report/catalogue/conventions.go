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
	changes                   []func(*Instance) error
	roll                      func(array.Array) array.Array
	reversed                  bool // a causal mask hides keys before the query
}

// choice is one value of an axis.
type choice struct {
	phrase string // "half-split pairs"
	flag   string // the flag for it; "" if there is none
	apply  func(*trial) error
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
	"sinusoid-base":   {"10000", "100", "10", "1000", "500000", "1000000"},
	"rope-proportion": {"1", "0.75", "0.5", "0.25"},
	"rope-unit":       {"1", "2"},
}

// optionsWithoutNumbers lists options that change no number that can be compared.
var optionsWithoutNumbers = []string{"attention-bias", "attention-init", "fixed-pe-dropout", "pe-placement"}

// values returns the values of an option to try, the current one first.
func values(o pe.Option, now string, headWidth int) []string {
	all := o.Choices()
	switch {
	case all != nil:
	case o.Name == "rope-dims":
		all = []string{"all"}
		for _, part := range []int{2, 4} {
			if n := headWidth / part; n%2 == 0 && n > 0 {
				all = append(all, strconv.Itoa(n))
			}
		}
	default:
		all = usualValues[o.Name]
	}
	all = slices.DeleteFunc(slices.Clone(all), func(v string) bool { return v == now || o.Check(v) != nil })
	return append([]string{now}, all...)
}

// optionAxes returns an axis for each option.
func (c Check) optionAxes(resolved pe.Options) (all []axis) {
	for _, o := range c.Scheme.Options {
		if slices.Contains(optionsWithoutNumbers, o.Name) {
			continue
		}
		var a axis
		options := values(o, resolved[o.Name], c.Setting.DModel/c.Setting.Heads)
		for _, v := range options {
			a = append(a, choice{phrase(o.Name, v), "--" + o.Name + " " + v, func(t *trial) error {
				t.Given = withOption(t.Given, o.Name, v)
				return nil
			}})
		}
		all = append(all, a)
	}
	return all
}

// errorAxes returns axes for errors that implementations make and no option describes.
func (c Check) errorAxes() []axis {
	own := choice{apply: func(*trial) error { return nil }}
	width := float64(c.Setting.DModel / c.Setting.Heads)
	one := func(phrase string, apply func(*trial) error) axis { return axis{own, {phrase, "", apply}} }
	all := []axis{
		one("rows and columns swapped", swapCells),
		one("sine and cosine swapped", func(t *trial) error {
			t.changes = append(t.changes, swapSines)
			return nil
		}),
		one("turned in the other direction", func(t *trial) error {
			t.changes = append(t.changes, negateSines)
			return nil
		}),
		{own, {"scale missing (q k without 1/sqrt(Dh))", "", c.scaleLogits(math.Sqrt(width))},
			{"scale twice (q k over Dh)", "", c.scaleLogits(1 / math.Sqrt(width))}},
		one("x times sqrt(D) before the sum", c.scaleInput(math.Sqrt(float64(c.Setting.DModel)))),
		{own, {"bias over sqrt(Dh)", "", scaleBias(1 / math.Sqrt(width))},
			{"bias times sqrt(Dh)", "", scaleBias(math.Sqrt(width))}, {"bias with the other sign", "", scaleBias(-1)}},
		{own, {"offset off by one (i - j + 1 for i - j)", "", shift(1)},
			{"offset off by one (i - j - 1 for i - j)", "", shift(-1)},
			{"offset off by one (row r - 1 of the table for r, wrapped around)", "", rolled(1, true)},
			{"offset off by one (row r + 1 of the table for r, wrapped around)", "", rolled(-1, true)},
			{"offset off by one (row r - 1 of the table for r, but the first)", "", rolled(1, false)},
			{"offset off by one (row r + 1 of the table for r, but the last)", "", rolled(-1, false)}},
		one(c.reversal(), reverse),
		one("tokens counted down the columns", byColumns),
	}
	if !c.hasOption("positions-from") {
		all = append(all, axis{own, {"positions from 1", "", fromOne}})
	}
	if !c.hasOption("rope-layout") && !c.hasOption("dinov3-layout") {
		all = append(all, axis{own,
			{"half-split pairs where the scheme's are interleaved", "", pairedAs(toHalves)},
			{"interleaved pairs where the scheme's are half-split", "", pairedAs(toNeighbours)}})
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
				name := a.Name
				a = selectAlong(a, axis, rows)
				a.Name = name
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

// swapSines exchanges the sines and cosines of a rotation or a table of sinusoids.
func swapSines(i *Instance) error {
	old, err := tablesOf(i, "pe.cos", "pe.sin", "pe.key-cos", "pe.key-sin", "pe.fixed")
	if err != nil {
		return err
	}
	if old["pe.fixed"] != nil {
		return swapColumns(i, old["pe.fixed"])
	}
	if old["pe.cos"] == nil {
		return errNoEffect
	}
	for name, values := range old {
		other := strings.Replace(name, "cos", "sin", 1)
		if name == other {
			other = strings.Replace(name, "sin", "cos", 1)
		}
		if err := i.params.Set(other, values); err != nil {
			return err
		}
	}
	return nil
}

// swapColumns exchanges the sines and cosines of a table: neighbouring columns, or the halves of each
// coordinate's columns if all sines come first.
func swapColumns(i *Instance, old []float64) error {
	d, layout := i.Setting.DModel, i.options["sinusoid-layout"]
	neighbours := layout == "interleaved" || layout == "tutorial"
	block := d
	if n := map[pe.Need]int{pe.NeedsGrid: 2, pe.NeedsSpace: 3}[i.Scheme.Needs]; n > 0 {
		block = d / n
	}
	if d%2 != 0 || !neighbours && (d%block != 0 || block%2 != 0) {
		return errNoEffect
	}
	moved := make([]float64, len(old))
	for at := range moved {
		column := at % d
		from := column ^ 1
		if !neighbours {
			from = column - column%block + (column%block+block/2)%block
		}
		moved[at] = old[at-column+from]
	}
	return i.params.Set("pe.fixed", moved)
}

// negateSines reverses the direction of a rotation.
func negateSines(i *Instance) error {
	old, err := tablesOf(i, "pe.sin", "pe.key-sin")
	if err != nil {
		return err
	}
	if len(old) == 0 {
		return errNoEffect
	}
	for name, values := range old {
		values = slices.Clone(values)
		for k := range values {
			values[k] = -values[k]
		}
		if err := i.params.Set(name, values); err != nil {
			return err
		}
	}
	return nil
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
	if t.pairs == nil {
		return a
	}
	order := t.pairs(a.Shape[len(a.Shape)-1])
	if !back {
		order = inverse(order)
	}
	return selectAlong(a, len(a.Shape)-1, order)
}

// place returns a, times scale, with its tokens in the given rows of the trial's and zeros elsewhere. The
// tokens are on the last axis but one.
func (t trial) place(a array.Array, rows []int, scale float64) array.Array {
	if scale == 0 {
		scale = 1
	}
	if rows == nil {
		rows = indices(0, t.at.Tokens())
	}
	shape := slices.Clone(a.Shape)
	tokens, width, size := shape[len(shape)-2], shape[len(shape)-1], t.at.Tokens()
	shape[len(shape)-2] = size
	out := array.Array{Shape: shape, Data: make([]float64, len(a.Data)/tokens*size)}
	for k, v := range a.Data {
		row, column := k/width, k%width
		out.Data[(row/tokens*size+rows[row%tokens])*width+column] = v * scale
	}
	return out
}

// selectAlong returns the given entries of an axis, or all for nil.
func selectAlong(a array.Array, dim int, entries []int) array.Array {
	if entries == nil {
		return a
	}
	n, inner := a.Shape[dim], 1
	for _, size := range a.Shape[dim+1:] {
		inner *= size
	}
	out := array.Array{Shape: slices.Clone(a.Shape)}
	out.Shape[dim] = len(entries)
	for at := 0; at < len(a.Data); at += n * inner {
		for _, e := range entries {
			out.Data = append(out.Data, a.Data[at+e*inner:at+(e+1)*inner]...)
		}
	}
	return out
}
