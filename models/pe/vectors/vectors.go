// Package vectors holds reference vectors of positional encodings: numbers that other people's code
// computed, of repositories whose licence allows commercial use. scripts/pe_vectors.py makes the two
// files, of which the manifest names the repository, commit and licence of every case.
package vectors

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"sync"

	"torchpe/data/array/safetensors"
)

//go:embed manifest.json vectors.safetensors
var files embed.FS

// Manifest lists what ships and what does not.
type Manifest struct {
	Schemes map[string]map[string]any    `json:"schemes"`  // title, cases, ...: see manifest.json
	LeftOut map[string]map[string]string `json:"left_out"` // reasons by scheme and case
}

// List returns the manifest.
func List() (m Manifest, err error) {
	text, err := files.ReadFile("manifest.json")
	if err != nil {
		return m, err
	}
	return m, json.Unmarshal(text, &m)
}

// arrays returns the tensors by scheme/case/kind and name.
var arrays = sync.OnceValues(func() (map[string]map[string]any, error) {
	data, err := files.ReadFile("vectors.safetensors")
	if err != nil {
		return nil, err
	}
	file, err := safetensors.Decode(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	all := map[string]map[string]any{}
	for _, t := range file.Tensors {
		at := strings.LastIndex(t.Name, "/")
		values, err := t.Float64s()
		if err != nil {
			return nil, err
		}
		if of := t.Name[:at]; all[of] == nil {
			all[of] = map[string]any{}
		}
		all[t.Name[:at]][t.Name[at+1:]] = nested(values, t.Shape)
	}
	return all, nil
})

// nested returns numbers as JSON has them, null for NaN.
func nested(values []float64, shape []int) any {
	if len(shape) == 0 {
		if math.IsNaN(values[0]) {
			return nil
		}
		return values[0]
	}
	rows := make([]any, shape[0])
	each := len(values) / max(1, shape[0])
	for i := range rows {
		rows[i] = nested(values[i*each:(i+1)*each], shape[1:])
	}
	return rows
}

// File returns the cases of a scheme as one JSON text, with their arrays as nested lists.
func File(scheme string) ([]byte, error) {
	manifest, err := List()
	if err != nil {
		return nil, err
	}
	all, err := arrays()
	if err != nil {
		return nil, err
	}
	file, ok := manifest.Schemes[scheme]
	if !ok {
		return nil, fmt.Errorf("there are no reference vectors of %q", scheme)
	}
	cases, _ := file["cases"].([]any)
	for _, c := range cases {
		c, _ := c.(map[string]any)
		for _, kind := range []string{"params", "inputs", "outputs"} {
			entries, _ := c[kind].(map[string]any)
			if entries == nil {
				entries = map[string]any{}
			}
			for name, value := range all[fmt.Sprintf("%s/%s/%s", scheme, c["name"], kind)] {
				entries[name] = value
			}
			c[kind] = entries
		}
	}
	return json.Marshal(file)
}
