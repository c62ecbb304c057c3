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
	all, err := r.file()
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
func (r *jsonReader) file() ([]Entry, error) {
	t, err := r.d.Token()
	if err != nil {
		return nil, ended(err)
	}
	var all []Entry
	if t == json.Delim('{') {
		all, err = r.object()
	} else {
		var e Entry
		if e, err = r.value("", t); err == nil && !e.Real {
			err = fmt.Errorf("%s, want numbers in nested lists", e.Type)
		}
		all = []Entry{e}
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
		return array.Damaged("the file ends within a value")
	}
	return err
}

// object reads the values of an object. That of "torchpe pe values --json" has one array, values; what
// else is in it is not read.
func (r *jsonReader) object() ([]Entry, error) {
	var all []Entry
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
		e, err := r.value(name, t)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", array.Quote(name), err)
		}
		all = append(all, e)
	}
	if _, err := r.d.Token(); err != nil {
		return nil, err
	}
	is := func(e Entry) bool { return e.Name == "values" && e.Real }
	if i := slices.IndexFunc(all, is); i >= 0 && seen["kind"] {
		all[i].Name = ""
		return all[i : i+1], nil
	}
	return all, nil
}

// value reads the value that begins with a token.
func (r *jsonReader) value(name string, t json.Token) (Entry, error) {
	r.data, r.other = []float64{}, ""
	shape, err := r.nested(t, 0)
	if r.other != "" {
		r.budget.Give(8 * int64(cap(r.data)))
		return Entry{Name: name, Type: r.other}, err
	}
	a := array.Array{Name: name, Shape: append([]int{}, shape...), Data: r.data}
	load := func(Entry) (Array, error) { return Array{Array: a}, nil }
	return Entry{Name: name, Shape: a.Shape, Type: "JSON", Real: true, load: load}, err
}

// nested appends the numbers of a value to the data and returns its shape.
func (r *jsonReader) nested(t json.Token, depth int) (shape []int, err error) {
	const most = 64
	if depth > most {
		return nil, fmt.Errorf("values lie more than %d deep", most)
	}
	switch t := t.(type) {
	case json.Number:
		v, err := t.Float64()
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s is too large for a float64", t)
		case array.BeyondInteger(v, string(t)):
			r.isOther(fmt.Sprintf("integers beyond 2^53, such as %s, which a float64 would round", t))
		}
		return nil, r.append(v)
	case json.Delim:
		if t == '{' {
			r.isOther("an object")
		}
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
			case !slices.Equal(shape[1:], below) && t == '[':
				r.isOther("lists of different lengths")
			}
		}
		if n == 0 {
			shape = []int{0}
		}
		shape[0] = n
		_, err := r.d.Token()
		return shape, err
	}
	r.isOther(map[bool]string{true: "a text", false: "true, false or null"}[isText(t)])
	return nil, nil
}

func isText(t json.Token) bool { _, is := t.(string); return is }

// isOther notes the first thing in the current value that does not belong to an array of numbers.
func (r *jsonReader) isOther(what string) {
	if r.other == "" {
		r.other = what
	}
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
