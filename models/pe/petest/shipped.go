package petest

import (
	"encoding/json"
	"fmt"
	"maps"
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
	Schemes map[string]json.RawMessage   `json:"schemes"`  // Vectors, without most arrays
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

// shippedArrays returns the arrays by scheme/case/kind and name.
var shippedArrays = sync.OnceValues(func() (map[string]map[string]Array, error) {
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	file, err := safetensors.Read(filepath.Join(root, shippedFolder, "vectors.safetensors"))
	if err != nil {
		return nil, err
	}
	all := map[string]map[string]Array{}
	for _, t := range file.Tensors {
		at := strings.LastIndex(t.Name, "/")
		values, err := t.Float64s()
		if err != nil {
			return nil, err
		}
		if of := t.Name[:at]; all[of] == nil {
			all[of] = map[string]Array{}
		}
		all[t.Name[:at]][t.Name[at+1:]] = Array{t.Shape, values}
	}
	return all, nil
})

// vectors returns the cases of a scheme that ship.
func (m manifest) vectors(scheme string) (*Vectors, error) {
	all, err := shippedArrays()
	if err != nil {
		return nil, err
	}
	return parseVectors(scheme, m.Schemes[scheme], func(c *VectorCase) {
		for kind, into := range map[string]map[string]Array{
			"params": c.Params, "inputs": c.Inputs, "outputs": c.Outputs} {
			maps.Copy(into, all[fmt.Sprintf("%s/%s/%s", scheme, c.Name, kind)])
		}
	})
}
