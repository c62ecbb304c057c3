package analysis

import (
	"slices"
	"strings"

	"torchpe/data/array"
	"torchpe/data/array/arrayfile"
	"torchpe/train/runlog/safetensors"
)

// Array is an array of a file with what the file says about it.
type Array = arrayfile.Array

// ReadArray reads the array that FILE[:tensor] names: .safetensors, .npz, HDF5 and .mat by the name of the tensor, which may be
// left out where the file has one that fits; .npy and text whole. Names of rows and columns may not be numbers with a decimal comma.
func ReadArray(reference string, fits func(shape []int) error) (Array, error) {
	a, err := arrayfile.Read(reference, fits, arrayfile.Format{Extension: ".safetensors", List: inSafetensors})
	if err == nil {
		err = refuseCommas(a.Source, a.Rows, a.Columns)
	}
	return a, err
}

func inSafetensors(file string) ([]arrayfile.Entry, error) {
	f, err := safetensors.Read(file)
	if err != nil {
		return nil, err
	}
	var out []arrayfile.Entry
	for _, t := range f.Tensors {
		out = append(out, arrayfile.Entry{Name: t.Name, Shape: t.Shape, Load: func() (array.Array, error) {
			values, err := t.Float64s()
			return array.Array{Name: t.Name, Shape: t.Shape, Data: values}, err
		}})
	}
	slices.SortFunc(out, func(a, b arrayfile.Entry) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}
