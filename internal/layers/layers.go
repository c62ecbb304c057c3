// Package layers reads values that hold in some layers of a model, as in "rope@1-3,nope@4" and
// "rope*3,nope".
package layers

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"torchpe/internal/wording"
)

// List holds values with the layers in which each holds.
type List []Entry

// Entry is one value of a list. A list has either places in all of its entries, or in none.
type Entry struct {
	Value string
	place string // "2", "1-3", local or global; "" for the next count layers
	count int
}

// The places of layers with and without a window of attention.
const (
	local  = "local"
	global = "global"
)

// Parse reads comma-separated values, each followed by @LAYERS or *COUNT; commas in parentheses do
// not separate. LAYERS is a number from 1, a range such as 1-3, local or global. Values without @
// apply to COUNT layers, or one, in turn, repeatedly from the first layer to the last.
//
// A single value without either applies to all layers. Several values, all without either, are an error.
func Parse(text string) (List, error) {
	var list List
	placed, counted := 0, false
	for _, part := range split(text) {
		e := Entry{Value: part, count: 1}
		if at := strings.LastIndexAny(part, "@*)"); at >= 0 && part[at] != ')' {
			e.Value = part[:at]
			if part[at] == '@' {
				e.place = part[at+1:]
				placed++
				if _, _, err := e.span(); err != nil {
					return nil, fmt.Errorf("%q: %w", text, err)
				}
			} else {
				n, err := strconv.Atoi(part[at+1:])
				if err != nil || n < 1 {
					return nil, fmt.Errorf("%q: %q is not a number of layers", text, part[at+1:])
				}
				e.count, counted = n, true
			}
		}
		if e.Value == "" {
			return nil, fmt.Errorf("%q has an empty value", text)
		}
		list = append(list, e)
	}
	switch {
	case placed > 0 && placed < len(list):
		return nil, fmt.Errorf("%q: give @LAYERS to every value, or to none", text)
	case placed == 0 && !counted && len(list) > 1:
		return nil, fmt.Errorf("%q: %s*1,%s assigns them to layers in turn", text, list[0].Value,
			strings.Join(split(text)[1:], ","))
	}
	return list, nil
}

// Differ reports whether a text assigns values to layers: one has @ or * after it.
func Differ(text string) bool {
	return slices.ContainsFunc(split(text), func(part string) bool {
		at := strings.LastIndexAny(part, "@*)")
		return at >= 0 && part[at] != ')'
	})
}

// split splits a text at commas outside parentheses.
func split(text string) (parts []string) {
	depth, from := 0, 0
	for i := range len(text) {
		switch text[i] {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 {
				parts, from = append(parts, text[from:i]), i+1
			}
		}
	}
	return append(parts, text[from:])
}

// span returns the first and last layer of a place, from 1, or zeros for local and global.
func (e Entry) span() (first, last int, err error) {
	if e.place == local || e.place == global {
		return 0, 0, nil
	}
	from, to, isRange := strings.Cut(e.place, "-")
	if !isRange {
		to = from
	}
	first, err1 := strconv.Atoi(from)
	last, err2 := strconv.Atoi(to)
	if err1 != nil || err2 != nil || first < 1 || last < first {
		return 0, 0, fmt.Errorf("%q does not name layers: want a number from 1, a range such as 1-3, "+
			"local or global", e.place)
	}
	return first, last, nil
}

// holds reports whether an entry with a place applies to a layer, counted from 0.
func (e Entry) holds(layer int, isLocal bool) bool {
	switch e.place {
	case local:
		return isLocal
	case global:
		return !isLocal
	}
	first, last, _ := e.span()
	return first <= layer+1 && layer+1 <= last
}

// Assign returns for each of n layers the index of its entry. isLocal says which layers have a window; nil
// stands for none. It is an error if a layer has no value or two, or if a value has no layer.
func (l List) Assign(n int, isLocal []bool) ([]int, error) {
	if l[0].place == "" {
		return l.byTurns(n)
	}
	of := make([]int, n)
	used := make([]bool, len(l))
	for layer := range of {
		of[layer] = -1
		for i, e := range l {
			if !e.holds(layer, isLocal != nil && isLocal[layer]) {
				continue
			}
			if of[layer] >= 0 {
				return nil, fmt.Errorf("layer %d has both %s and %s", layer+1, l[of[layer]].Value, e.Value)
			}
			of[layer], used[i] = i, true
		}
		if of[layer] < 0 {
			return nil, fmt.Errorf("layer %d of %d has no value", layer+1, n)
		}
	}
	for i, e := range l {
		if _, last, _ := e.span(); last > n {
			return nil, fmt.Errorf("%s@%s: the model has %s", e.Value, e.place, wording.Count(n, "layer"))
		}
		if !used[i] {
			return nil, fmt.Errorf("%s@%s: no layer is %s; --window gives layers a window", e.Value,
				e.place, e.place)
		}
	}
	return of, nil
}

// byTurns assigns the entries of a list without places.
func (l List) byTurns(n int) ([]int, error) {
	var of []int
	for len(of) < n {
		for i, e := range l {
			of = append(of, slices.Repeat([]int{i}, min(e.count, n-len(of)))...)
		}
	}
	if last := len(l) - 1; !slices.Contains(of, last) {
		return nil, fmt.Errorf("%s comes after the last of %s", l[last].Value, wording.Count(n, "layer"))
	}
	return of, nil
}
