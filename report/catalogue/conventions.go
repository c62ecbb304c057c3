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
	angles                    []func(*angles) error   // changes of angles, in order
	changes                   []func(*Instance) error // changes of parameters, in order
	added                     addition                // to bias and logits
	roll                      func(array.Array) array.Array
	reversed                  bool // a causal mask hides keys before the query
	anyRows                   bool // a constant may be added to all keys of a query
}

// addition returns a number for each head, query and key.
type addition func(*Instance) (func(h, i, j int) float64, error)

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
			if ch.fitted && c.Tolerance >= 1e-3 && o.Name != "rope-dims" {
				ch.phrase = phrase(o.Name, "about "+v) // half precision does not tell all digits
			}
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

// errorAxes returns axes for errors that implementations make and no option describes.
func (c Check) errorAxes(fit fitted) []axis {
	own := choice{apply: func(*trial) error { return nil }}
	width := float64(c.Setting.DModel / c.Setting.Heads)
	made := func(phrase string, apply func(*trial) error) choice {
		return choice{phrase: phrase, apply: apply}
	}
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
		if !c.hasOutput(kindLogits) && !c.hasOutput(kindWeights) {
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
