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

// inJSON lists the arrays of a JSON file: one as nested lists or as the output of "torchpe pe
// values --json", or an object of several by name.
func inJSON(file string) ([]Entry, error) {
	f, err := array.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := jsonReader{d: json.NewDecoder(f), budget: array.NewBudget()}
	all, err := r.file()
	if err != nil {
		return nil, fmt.Errorf("%s: byte %d: %w", file, r.d.InputOffset(), err)
	}
	var out []Entry
	for _, a := range all {
		load := func(Entry) (Array, error) { return Array{Array: a}, nil }
		out = append(out, Entry{Name: a.Name, Shape: a.Shape, Type: "JSON", Real: true, load: load})
	}
	slices.SortFunc(out, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// jsonReader reads arrays token by token.
type jsonReader struct {
	d      *json.Decoder
	budget *array.Budget
	data   []float64 // of the current array
	other  bool      // it holds what is no number
}

// file reads a whole file.
func (r *jsonReader) file() ([]array.Array, error) {
	t, err := r.d.Token()
	if err != nil {
		return nil, ended(err)
	}
	var all []array.Array
	if t == json.Delim('{') {
		all, err = r.object()
	} else {
		var a array.Array
		a, err = r.value(t)
		all = []array.Array{a}
	}
	if err != nil {
		return nil, ended(err)
	}
	if _, err := r.d.Token(); err == nil {
		return nil, errors.New("there is more after the first value")
	} else if !errors.Is(err, io.EOF) {
		return nil, err
	}
	return all, nil
}

// ended describes an end of the file within a value.
func ended(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the file ends within a value: could it be damaged?")
	}
	return err
}

// errNoNumbers is the error of a value that is no array.
var errNoNumbers = errors.New("want numbers in nested lists")

// object reads the arrays of an object. That of "torchpe pe values --json" has one, values; what
// else is in it is not read.
func (r *jsonReader) object() ([]array.Array, error) {
	var all []array.Array
	var other error // of the first value that is no array
	seen := map[string]bool{}
	for r.d.More() {
		key, err := r.d.Token()
		if err != nil {
			return nil, err
		}
		name := key.(string)
		if seen[name] {
			return nil, fmt.Errorf("%s is given twice", array.Quote(name))
		}
		if err := r.budget.Take(int64(len(name))+256, "names of arrays"); err != nil {
			return nil, err
		}
		seen[name] = true
		t, err := r.d.Token()
		if err != nil {
			return nil, err
		}
		a, err := r.value(t)
		switch {
		case err == nil:
			a.Name = name
			all = append(all, a)
		case !errors.Is(err, errNoNumbers):
			return nil, fmt.Errorf("%s: %w", array.Quote(name), err)
		case other == nil:
			other = fmt.Errorf("%s: %w", array.Quote(name), err)
		}
	}
	if _, err := r.d.Token(); err != nil {
		return nil, err
	}
	is := func(a array.Array) bool { return a.Name == "values" }
	if i := slices.IndexFunc(all, is); i >= 0 && seen["kind"] {
		all[i].Name = ""
		return all[i : i+1], nil
	}
	return all, other
}

// value reads the array that begins with a token. Of other values it reads all, too.
func (r *jsonReader) value(t json.Token) (array.Array, error) {
	r.data, r.other = []float64{}, false
	shape, err := r.nested(t, 0)
	if err == nil && r.other {
		err = errNoNumbers
	}
	return array.Array{Shape: append([]int{}, shape...), Data: r.data}, err
}

// nested appends the numbers of a value to the data and returns its shape.
func (r *jsonReader) nested(t json.Token, depth int) (shape []int, err error) {
	const most = 64
	if depth > most {
		return nil, fmt.Errorf("values lie more than %d deep", most)
	}
	switch t := t.(type) {
	case float64:
		return nil, r.append(t)
	case json.Delim:
		n := 0
		for ; r.d.More(); n++ {
			part, err := r.d.Token()
			if err != nil {
				return nil, err
			}
			below, err := r.nested(part, depth+1)
			switch {
			case err != nil:
				return nil, err
			case n == 0:
				shape = append([]int{0}, below...)
			case !slices.Equal(shape[1:], below) && !r.other && t == '[':
				return nil, errors.New("lists of different lengths")
			}
		}
		if n == 0 {
			shape = []int{0}
		}
		shape[0] = n
		r.other = r.other || t != '['
		_, err := r.d.Token()
		return shape, err
	}
	r.other = true
	return nil, nil
}

// append appends a number.
func (r *jsonReader) append(v float64) error {
	if n := cap(r.data); len(r.data) == n {
		grown, err := array.Make[float64](r.budget, max(64, n+n/2), "numbers")
		if err != nil {
			return err
		}
		r.budget.Give(8 * int64(n))
		r.data = grown[:copy(grown, r.data)]
	}
	r.data = append(r.data, v)
	return nil
}
