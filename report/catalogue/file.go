package catalogue

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"torchpe/data/array"
	"torchpe/data/array/arrayfile"
	"torchpe/data/array/text"
	"torchpe/data/partition"
)

// ReadArray reads a file that holds one array of finite numbers.
func ReadArray(path string, header text.Choice) (arrayfile.Array, error) {
	a, err := arrayfile.Read(path, header, func([]int) error { return nil })
	if err == nil {
		if err = finite(a.Data, a.Shape); err != nil {
			err = fmt.Errorf("%s: %w", a.Source, err)
		}
	}
	return a, err
}

// finite returns an error that names the first number that is not finite by its axes.
func finite(data []float64, shape []int) error {
	i := slices.IndexFunc(data, func(v float64) bool { return v-v != 0 })
	if i < 0 {
		return nil
	}
	at := array.Index(i, shape, false)
	where := fmt.Sprintf("element %v", at)
	if len(at) == 2 {
		where = fmt.Sprintf("row %d, column %d", at[0], at[1])
	}
	return fmt.Errorf("%s (from 0) is %v: want finite numbers", where, data[i])
}

// MatchRows brings the rows of arrays that have names into the order of names, which are those of file, or else of
// the first array that has some. It returns notes on arrays without names, which stay as they are. Arrays without
// data are not given.
func MatchRows(arrays []*arrayfile.Array, file string, names []string) (notes []string, err error) {
	for _, a := range arrays {
		if names == nil && a.Rows != nil {
			file, names = a.Source, a.Rows
		}
	}
	for _, a := range arrays {
		switch {
		case names == nil || a.Data == nil || slices.Equal(a.Rows, names):
			continue
		case a.Rows == nil:
			notes = append(notes, fmt.Sprintf("%s has no names of rows: they are taken as those of %s, in its order",
				a.Source, file))
			continue
		}
		if i, j, twice := arrayfile.Twice(a.Rows); twice {
			return nil, fmt.Errorf("%s: rows %d and %d are both named %q: make names unique", a.Source, i+1, j+1,
				a.Rows[i])
		}
		from, missing, surplus := partition.MatchNames(a.Rows, names)
		switch {
		case missing != nil:
			return nil, fmt.Errorf("%s has no row %q, which %s has: want the same names", a.Source, missing[0], file)
		case surplus != nil:
			return nil, fmt.Errorf("%s has a row %q, and %s has none: want the same names", a.Source, surplus[0],
				file)
		}
		a.Array = selectAlong(a.Array, 0, from)
	}
	return notes, nil
}

// WriteJSON writes values of the instance as nested lists, with a description. Numbers that are not finite
// become null.
func (i *Instance) WriteJSON(w io.Writer, kind string, layer int, a array.Array) error {
	s := i.Setting
	return json.NewEncoder(w).Encode(struct {
		Scheme string `json:"scheme"`
		Kind   string `json:"kind"`
		Layer  int    `json:"layer"`
		Tokens int    `json:"tokens"`
		Dim    int    `json:"dim"`
		Heads  int    `json:"heads"`
		Shape  []int  `json:"shape"`
		Values any    `json:"values"`
	}{i.Scheme.Name, kind, layer, s.Tokens, s.DModel, s.Heads, a.Shape, lists(a.Shape, a.Data)})
}

func lists(shape []int, data []float64) any {
	if len(shape) == 1 {
		row := make([]any, len(data))
		for i, v := range data {
			if v-v == 0 {
				row[i] = v
			}
		}
		return row
	}
	all, each := make([]any, shape[0]), len(data)/shape[0]
	for i := range all {
		all[i] = lists(shape[1:], data[i*each:(i+1)*each])
	}
	return all
}
