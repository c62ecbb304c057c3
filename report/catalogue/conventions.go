package catalogue

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"torchpe/data/array"
	"torchpe/models/pe"
)

// trial is a convention: a scheme with options, possibly with errors that implementations make.
type trial struct {
	Setting
	at            pe.Positions
	queries, keys []int                   // places in at of the arrays' tokens; nil for all in order
	factors       map[string]float64      // of queries, embeddings or bias by their kind
	pairs         string                  // of the arrays, half or interleaved, if the scheme's differ
	angles        []func(*angles) error   // changes of angles, in order
	changes       []func(*Instance) error // changes of parameters, in order
	added         addition                // to bias and logits
	reversed      bool                    // a causal mask hides keys before the query
	anyRows       bool                    // a constant may be added to all keys of a query
}

// addition returns a number for each head, query and key.
type addition func(*Instance) (func(h, i, j int) float64, error)

// choice is one value of an axis.
type choice struct {
	phrase  string     // "half-split pairs"
	options pe.Options // that give it; nil if none do
	apply   func(*trial) error
	fitted  bool // its number is estimated from the arrays
	usual   bool // it is a value of an option, a layout, a first position or a scale
}

// byOptions returns the choice given by options.
func byOptions(phrase string, options pe.Options) choice {
	return choice{phrase: phrase, options: options, usual: true, apply: func(t *trial) error {
		t.Given = withOptions(t.Given, options)
		return nil
	}}
}

// byTrial returns the choice for an error that no option covers.
func byTrial(phrase string, apply func(*trial) error) choice {
	return choice{phrase: phrase, apply: apply}
}

// byAngles returns the choice that changes angles.
func byAngles(phrase string, change func(*angles) error) choice {
	return byTrial(phrase, func(t *trial) error {
		t.angles = append(slices.Clone(t.angles), change)
		return nil
	})
}

// byParameters returns the choice that changes parameters.
func byParameters(phrase string, change func(*Instance) error) choice {
	return byTrial(phrase, func(t *trial) error {
		t.changes = append(slices.Clone(t.changes), change)
		return nil
	})
}

// axis lists the choices for one property of a convention. The first is the setting's.
type axis []choice

// phrases describes values of options. %s stands for the value.
var phrases = map[string]string{
	"rope-layout=half": "half-split pairs", "rope-layout=interleaved": "interleaved pairs",
	"dinov3-layout=half": "half-split pairs", "dinov3-layout=interleaved": "interleaved pairs",
	"positions-from": "positions from %s", "rope-base": "base %s", "rope-2d-base": "base %s",
	"sinusoid-base": "base %s", "rope-dims=all": "whole head rotated",
	"rope-dims": "%s dimensions of a head rotated", "rope-proportion=1": "all frequencies",
	"rope-proportion":             "the fastest %s of the frequencies",
	"grid-order=rows-first":       "rows before columns",
	"grid-order=columns-first":    "columns before rows",
	"rope-2d-order=rows-first":    "rows before columns",
	"rope-2d-order=columns-first": "columns before rows",
	"sinusoid-layout=concat":      "sines before cosines",
	"sinusoid-layout=t2t":         "sines before cosines, frequencies to 1/base",
	"sinusoid-layout=tutorial":    "one frequency per column", "sinusoid-layout=interleaved": "sine beside cosine",
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

// usualValues lists values used by implementations, for options that accept any.
var usualValues = map[string][]string{
	"rope-base":           {"10000", "100", "10", "150000", "500000", "1000000"},
	"rope-2d-base":        {"auto", "100", "10", "10000"},
	"sinusoid-base":       {"10000", "100", "10", "1000", "500000", "1000000"},
	"rope-proportion":     {"1", "0.75", "0.5", "0.25"},
	"rope-unit":           {"1", "2"},
	"t5-max-distance":     {"128", "64", "256", "512", "1024"},
	"rope-trained-tokens": {"2048", "4096", "8192", "16384", "32768", "131072"},
}

// optionsWithoutNumbers lists options that change no comparable number.
var optionsWithoutNumbers = []string{"attention-bias", "attention-init", "fixed-pe-dropout", "pe-placement"}

// values returns the values of an option to try, the current one first. fit has the values estimated from the
// arrays.
func values(o pe.Option, now string, headWidth int, fit fitted) []string {
	all := o.Choices()
	switch {
	case all != nil:
	case o.Name == "rope-dims":
		all = []string{"all"}
		for _, n := range fit.parts(headWidth) {
			all = append(all, strconv.Itoa(n))
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

// optionAxes returns an axis for each option, with errors that exclude its values.
func (c Check) optionAxes(resolved pe.Options, fit fitted) (all []axis) {
	for _, o := range c.Scheme.Options {
		if slices.Contains(optionsWithoutNumbers, o.Name) {
			continue
		}
		var a axis
		usual := values(o, resolved[o.Name], c.Setting.headWidth(), fitted{})
		for _, v := range values(o, resolved[o.Name], c.Setting.headWidth(), fit) {
			ch := byOptions(phrase(o.Name, v), pe.Options{o.Name: v})
			ch.fitted = !slices.Contains(usual, v)
			if ch.fitted && c.Tolerance >= 1e-3 && o.Name != "rope-dims" {
				ch.phrase = phrase(o.Name, "about "+v) // half precision does not determine all digits
			}
			a = append(a, ch)
		}
		beside := c.beside(o.Name, resolved, fit)
		if slices.Contains(baseOptions, o.Name) { // causes come before the equivalent base
			all = append(all, slices.Concat(a[:1], beside, a[1:]))
			continue
		}
		all = append(all, append(a, beside...))
	}
	return all
}

// errorAxes returns axes for errors that no option describes.
func (c Check) errorAxes(fit fitted) []axis {
	width := float64(c.Setting.headWidth())
	one := func(phrase string, apply func(*trial) error) axis { return axis{{}, byTrial(phrase, apply)} }
	all := []axis{one("rows and columns swapped", swapCells), {{}}}
	for _, order := range [][]int{{2, 1, 0}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}} {
		all[1] = append(all[1], byTrial(fmt.Sprintf("coordinates %d, %d, %d instead of 0, 1, 2", order[0], order[1],
			order[2]), reorder(order)))
	}
	if c.base != nil {
		for _, list := range angleErrors {
			all = append(all, append(axis{{}}, list...))
		}
		all = append(all, append(axis{{}}, c.scaled(fit)...))
	}
	all = append(all, c.biasErrors()...)
	all = append(all, []axis{
		{{}, byTrial("scale missing (q k without 1/sqrt(Dh))", c.multiply(kindQuery, math.Sqrt(width))),
			byTrial("scale twice (q k over Dh)", c.multiply(kindQuery, 1/math.Sqrt(width)))},
		one("x times sqrt(D) before the sum", c.multiply(kindInput, math.Sqrt(float64(c.Setting.DModel)))),
		{{}, byTrial("bias over sqrt(Dh)", c.multiply(kindBias, 1/math.Sqrt(width))),
			byTrial("bias times sqrt(Dh)", c.multiply(kindBias, math.Sqrt(width))),
			byTrial("bias with the other sign", c.multiply(kindBias, -1))},
		{{}, byTrial("offset off by one (i - j + 1 instead of i - j)", shift(1)),
			byTrial("offset off by one (i - j - 1 instead of i - j)", shift(-1)),
			rolled("offset off by one (row r - 1 of the table instead of r, wrapped around)", 1, true),
			rolled("offset off by one (row r + 1 of the table instead of r, wrapped around)", -1, true),
			rolled("offset off by one (row r - 1 of the table instead of r, except the first)", 1, false),
			rolled("offset off by one (row r + 1 of the table instead of r, except the last)", -1, false)},
		one(c.reversal(), reverse),
		one("tokens counted down the columns", byColumns),
	}...)
	if !hasOption(c.Scheme, "positions-from") {
		all = append(all, append(axis{{}, byTrial("positions from 1", fromOne)}, c.firstPositions(fit)...))
	}
	if !hasOption(c.Scheme, "rope-layout") && !hasOption(c.Scheme, "dinov3-layout") {
		all = append(all, axis{{},
			byTrial("half-split pairs, although the scheme's are interleaved", pairedAs("half")),
			byTrial("interleaved pairs, although the scheme's are half-split", pairedAs("interleaved"))})
	}
	return all
}

// multiply multiplies the queries (if logits or weights are compared), the embeddings, or the bias.
func (c Check) multiply(kind string, by float64) func(*trial) error {
	return func(t *trial) error {
		if kind == kindInput && c.Given.X.Data == nil ||
			kind == kindQuery && c.Given.output(kindLogits) == nil && c.Given.output(kindWeights) == nil {
			return errNoEffect
		}
		t.factors = maps.Clone(t.factors)
		if t.factors == nil {
			t.factors = map[string]float64{}
		}
		t.factors[kind] = by
		return nil
	}
}

// scaled returns an array of a kind times the trial's factor.
func (t trial) scaled(kind string, a array.Array) array.Array {
	by, ok := t.factors[kind]
	if !ok {
		return a
	}
	a.Data = slices.Clone(a.Data)
	for i := range a.Data {
		a.Data[i] *= by
	}
	return a
}

// rolled shifts the rows of tables over offsets, wrapping around or stopping at the edge. These tables have an
// odd number of rows.
func rolled(phrase string, by int, around bool) choice {
	return byParameters(phrase, func(i *Instance) error {
		for _, p := range i.params.All() {
			axis := slices.IndexFunc(p.Shape[min(2, len(p.Shape)):], func(n int) bool { return n%2 == 1 && n >= 3 })
			if !p.Trainable || axis < 0 {
				continue
			}
			values, err := i.params.Values(p.Name)
			if err != nil {
				return err
			}
			n := p.Shape[axis+2]
			rows := make([]int, n)
			for r := range rows {
				if rows[r] = (r - by + n) % n; !around {
					rows[r] = min(max(r-by, 0), n-1)
				}
			}
			a := selectAlong(array.Array{Shape: p.Shape, Data: values}, axis+2, rows)
			if err := i.params.Set(p.Name, a.Data); err != nil {
				return err
			}
		}
		return nil
	})
}

// tablesOf returns the values of the fixed tables among the named ones.
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

// pairedAs sets the pairs of dimensions of a head.
func pairedAs(pairs string) func(*trial) error {
	return func(t *trial) error { t.pairs = pairs; return nil }
}

func inverse(order []int) []int {
	back := make([]int, len(order))
	for k, from := range order {
		back[from] = k
	}
	return back
}

// paired reorders the dimensions of queries or keys [H,N,C] to those of the scheme, or back.
func (t trial) paired(a array.Array, back bool) array.Array {
	if t.pairs == "" || a.Data == nil {
		return a
	}
	last := len(a.Shape) - 1
	order := indices(0, a.Shape[last]) // dimensions of half-split pairs, in the order of interleaved pairs
	for p, of := range newLayout("half", len(order)/2, 1).reads {
		order[2*p], order[2*p+1] = of[0], of[1]
	}
	if back == (t.pairs == "half") {
		order = inverse(order)
	}
	return selectAlong(a, last, order)
}

// place returns a with its tokens in the given rows of size, and zeros elsewhere. The tokens
// are on the last axis but one.
func place(a array.Array, rows []int, size int) array.Array {
	if a.Data == nil {
		return a
	}
	shape := slices.Clone(a.Shape)
	tokens, width := shape[len(shape)-2], shape[len(shape)-1]
	shape[len(shape)-2] = size
	out := array.Array{Shape: shape, Data: make([]float64, len(a.Data)/tokens*size)}
	for k, v := range a.Data {
		row, column := k/width, k%width
		out.Data[(row/tokens*size+rows[row%tokens])*width+column] = v
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
