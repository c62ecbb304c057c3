package petest

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"torchpe/data/array/safetensors"
)

// shippedFolder holds the reference vectors that ship: numbers that other people's code computed, of
// repositories whose licence allows commercial use. scripts/pe_vectors.py makes its two files.
const shippedFolder = "models/pe/vectors"

// manifest lists what ships and what does not.
type manifest struct {
	Schemes map[string]map[string]any    `json:"schemes"`  // title, cases, ...: see manifest.json
	LeftOut map[string]map[string]string `json:"left_out"` // reasons by scheme and case
}

// readManifest returns the manifest.
func readManifest() (m manifest, err error) {
	root, err := moduleRoot()
	if err != nil {
		return m, err
	}
	text, err := os.ReadFile(filepath.Join(root, shippedFolder, "manifest.json"))
	if err != nil {
		return m, err
	}
	return m, json.Unmarshal(text, &m)
}

// shippedArrays returns the tensors by scheme/case/kind and name.
var shippedArrays = sync.OnceValues(func() (map[string]map[string]any, error) {
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	file, err := safetensors.Read(filepath.Join(root, shippedFolder, "vectors.safetensors"))
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

// VectorFile returns the cases of a scheme as one JSON text, with their arrays as nested lists.
func VectorFile(scheme string) ([]byte, error) {
	list, err := readManifest()
	if err != nil {
		return nil, err
	}
	all, err := shippedArrays()
	if err != nil {
		return nil, err
	}
	file, ok := list.Schemes[scheme]
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
