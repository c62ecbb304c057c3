package catalogue

import (
	"encoding/json"
	"io"

	"torchpe/data/array"
	"torchpe/data/array/arrayfile"
	"torchpe/data/array/text"
)

// ReadArray reads a file that holds one array.
func ReadArray(path string, header text.Choice) (array.Array, error) {
	a, err := arrayfile.Read(path, header, func([]int) error { return nil })
	return a.Array, err
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
