package arrayfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"torchpe/data/array"
)

// listJSON lists the values of a JSON file: one array as nested lists or as the output of "torchpe pe
// values --json", or an object of several by name, beside which may be other values.
func listJSON(file string) ([]Entry, error) {
	f, err := array.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := jsonReader{d: json.NewDecoder(f), budget: array.NewBudget()}
	r.d.UseNumber()
	all, err := array.Try(r.file)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = array.Damaged("the file ends within a value")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: byte %d: %w", file, r.d.InputOffset(), err)
	}
	slices.SortFunc(all, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// jsonReader reads arrays token by token.
type jsonReader struct {
	d      *json.Decoder
	budget *array.Budget
	data   []float64 // of the current array
	other  string    // the first thing in it that is no number, or empty
}

// file reads a whole file.
func (r *jsonReader) file() (all []Entry) {
	if t := r.token(); t == json.Delim('{') {
		all = r.object()
	} else {
		e := r.value("", t)
		if !e.Real {
			array.Failf("%s, want numbers in nested lists", e.Type)
		}
		all = []Entry{e}
	}
	_, err := r.d.Token()
	if err == nil {
		array.Failf("there is more after the first value")
	}
	if !errors.Is(err, io.EOF) {
		array.Fail(err)
	}
	return all
}

// token returns the next token of a value.
func (r *jsonReader) token() json.Token {
	return array.Got(r.d.Token())
}

// object reads the values of an object. That of "torchpe pe values --json" has one array, values; what
// else is in it is not read.
func (r *jsonReader) object() []Entry {
	var all []Entry
	seen := map[string]bool{}
	for r.d.More() {
		name := r.token().(string)
		if seen[name] {
			array.Failf("%s is given twice", array.Quote(name))
		}
		array.Fail(r.budget.Take(int64(len(name))+256, "names of arrays"))
		seen[name] = true
		all = append(all, r.named(name, r.token()))
	}
	r.token()
	is := func(e Entry) bool { return e.Name == "values" && e.Real }
	if i := slices.IndexFunc(all, is); i >= 0 && seen["kind"] {
		all[i].Name = ""
		return all[i : i+1]
	}
	return all
}

// named reads a value as value does. Its errors begin with the name.
func (r *jsonReader) named(name string, t json.Token) Entry {
	defer array.Within("%s", array.Quote(name))
	return r.value(name, t)
}

// value reads the value that begins with a token.
func (r *jsonReader) value(name string, t json.Token) Entry {
	r.data, r.other = []float64{}, ""
	shape := r.nested(t, 0)
	if r.other != "" {
		r.budget.Give(8 * int64(cap(r.data)))
		return Entry{Name: name, Type: r.other}
	}
	a := array.Array{Name: name, Shape: append([]int{}, shape...), Data: r.data}
	load := func(Entry) (Array, error) { return Array{Array: a}, nil }
	return Entry{Name: name, Shape: a.Shape, Type: "JSON", Real: true, load: load}
}

// nested appends the numbers of a value to the data and returns its shape.
func (r *jsonReader) nested(t json.Token, depth int) (shape []int) {
	const most = 64
	if depth > most {
		array.Failf("values lie more than %d deep", most)
	}
	switch t := t.(type) {
	case json.Number:
		v, err := t.Float64()
		switch {
		case err != nil:
			array.Failf("%s is too large for a float64", t)
		case array.BeyondInteger(v, string(t)):
			r.isOther(fmt.Sprintf("integers beyond 2^53, such as %s, which a float64 would round", t))
		}
		r.append(v)
	case json.Delim:
		if t == '{' {
			r.isOther("an object")
		}
		shape = []int{0}
		for ; r.d.More(); shape[0]++ {
			below := r.nested(r.token(), depth+1)
			switch {
			case shape[0] == 0:
				shape = append(shape, below...)
			case !slices.Equal(shape[1:], below) && t == '[':
				r.isOther("lists of different lengths")
			}
		}
		r.token()
	case string:
		r.isOther("a text")
	default:
		r.isOther("true, false or null")
	}
	return shape
}

// isOther notes the first thing in the current value that does not belong to an array of numbers.
func (r *jsonReader) isOther(what string) {
	if r.other == "" {
		r.other = what
	}
}

// append appends a number.
func (r *jsonReader) append(v float64) {
	if n := cap(r.data); len(r.data) == n {
		grown := array.Got(array.Make[float64](r.budget, max(64, n+n/2), "numbers"))
		r.budget.Give(8 * int64(n))
		r.data = grown[:copy(grown, r.data)]
	}
	r.data = append(r.data, v)
}
