package catalogue

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"torchpe/data/array"
	"torchpe/data/array/npy"
	"torchpe/train/runlog/safetensors"
)

// ReadParameters reads named arrays from a .safetensors, .npz or .json file; JSON is an object of nested lists.
func ReadParameters(path string) ([]array.Array, error) {
	switch filepath.Ext(path) {
	case ".npz":
		return npy.ReadArchive(path)
	case ".json":
		return readJSON(path)
	case ".safetensors":
		f, err := safetensors.Read(path)
		if err != nil {
			return nil, err
		}
		var all []array.Array
		for _, t := range f.Tensors {
			data, err := t.Float64s()
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", path, t.Name, err)
			}
			all = append(all, array.Array{Name: t.Name, Shape: t.Shape, Data: data})
		}
		return all, nil
	}
	return nil, fmt.Errorf("%s: want a .safetensors, .npz or .json file", path)
}

// ReadArray reads one array from an .npy file, or a .json file that holds nested lists or what WriteJSON wrote.
func ReadArray(path string) (array.Array, error) {
	switch filepath.Ext(path) {
	case ".npy":
		return npy.Read(path)
	case ".json":
		all, err := readJSON(path)
		if err == nil && len(all) != 1 {
			err = fmt.Errorf("%s holds %d arrays, want one", path, len(all))
		}
		if err != nil {
			return array.Array{}, err
		}
		return all[0], nil
	}
	return array.Array{}, fmt.Errorf("%s: want an .npy or .json file", path)
}

func readJSON(path string) ([]array.Array, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	named, ok := value.(map[string]any)
	if !ok {
		named = map[string]any{"": value}
	} else if values, ours := named["values"]; ours && named["kind"] != nil {
		named = map[string]any{"": values}
	}
	var all []array.Array
	for name, v := range named {
		a, err := nested(v)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", path, name, err)
		}
		a.Name = name
		all = append(all, a)
	}
	return all, nil
}

// nested returns a number or nested lists of numbers as an array.
func nested(v any) (array.Array, error) {
	switch v := v.(type) {
	case float64:
		return array.Array{Shape: []int{}, Data: []float64{v}}, nil
	case []any:
		all := array.Array{Shape: []int{len(v)}, Data: []float64{}}
		for i, part := range v {
			a, err := nested(part)
			if err != nil {
				return a, err
			}
			if i == 0 {
				all.Shape = append(all.Shape, a.Shape...)
			} else if !slices.Equal(all.Shape[1:], a.Shape) {
				return a, fmt.Errorf("lists of different lengths")
			}
			all.Data = append(all.Data, a.Data...)
		}
		return all, nil
	}
	return array.Array{}, fmt.Errorf("want numbers in nested lists")
}

// Result is values with what they are of, as WriteJSON writes them.
type Result struct {
	Scheme string `json:"scheme"`
	Kind   string `json:"kind"`
	Layer  int    `json:"layer"`
	Tokens int    `json:"tokens"`
	Dim    int    `json:"dim"`
	Heads  int    `json:"heads"`
	Shape  []int  `json:"shape"`
	Values any    `json:"values"` // nested lists; null where a number is not finite
}

// WriteJSON writes values as nested lists, with what they are of.
func WriteJSON(w io.Writer, i *Instance, kind string, layer int, a array.Array) error {
	s := i.Setting
	e := json.NewEncoder(w)
	return e.Encode(Result{i.Scheme.Name, kind, layer, s.Tokens, s.DModel, s.Heads, a.Shape, lists(a.Shape, a.Data)})
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

// NPY returns an array as an .npy file.
func NPY(a array.Array) ([]byte, error) {
	var b bytes.Buffer
	err := npy.Write(&b, a, npy.Float64)
	return b.Bytes(), err
}
