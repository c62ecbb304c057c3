package analysis

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"torchpe/data/array"
	"torchpe/data/array/hdf5"
	"torchpe/data/array/mat"
	"torchpe/data/array/npy"
	"torchpe/data/array/text"
	"torchpe/internal/nearest"
	"torchpe/train/runlog/safetensors"
)

// Array is an array of a file with what the file says about it.
type Array struct {
	array.Array
	Source  string   // FILE, or FILE:tensor
	Rows    []string // names of the rows, or nil
	Columns []string // names of the columns, or nil
}

// split parts FILE[:selector] where the file ends: at the last colon that leaves a file that is there.
func split(reference string) (file, selector string, err error) {
	if reference == "" {
		return "", "", fmt.Errorf("no file is named: give FILE or FILE:tensor")
	}
	for at := len(reference); at > 0; at = strings.LastIndexByte(reference[:at], ':') {
		info, statErr := os.Stat(reference[:at])
		if statErr != nil {
			if err == nil {
				err = statErr
			}
			continue
		}
		if !info.Mode().IsRegular() {
			return "", "", fmt.Errorf("%s: not a file (%s)", reference[:at], info.Mode())
		}
		return reference[:at], strings.TrimPrefix(reference[at:], ":"), nil
	}
	return "", "", err
}

// entry is an array in a file that has not been read.
type entry struct {
	name  string
	shape []int
	kind  string // what it is where it holds no real numbers
	load  func() (array.Array, error)
}

func (e entry) String() string {
	if e.kind != "" {
		return fmt.Sprintf("%s %v (%s)", e.name, e.shape, e.kind)
	}
	return fmt.Sprintf("%s %v", e.name, e.shape)
}

// ReadArray reads the array that FILE[:tensor] names: .safetensors, .npz, HDF5 and .mat by the name of the tensor, which may be
// left out where the file has one that fits; .npy and text whole.
func ReadArray(reference string, fits func(shape []int) error) (Array, error) {
	file, name, err := split(reference)
	if err != nil {
		return Array{}, err
	}
	head, err := firstBytes(file)
	if err != nil {
		return Array{}, err
	}
	var entries []entry
	switch extension := strings.ToLower(filepath.Ext(file)); {
	case extension == ".safetensors":
		entries, err = inSafetensors(file)
	case bytes.HasPrefix(head, []byte("\x93NUMPY")), extension == ".npy":
		a, err := npy.Read(file)
		return whole(Array{Array: a, Source: file}, name, fits, err)
	case bytes.HasPrefix(head, []byte("PK\x03\x04")), extension == ".npz":
		entries, err = inArchive(file)
	case bytes.HasPrefix(head, []byte("MATLAB 5.0")):
		entries, err = inMAT(file)
	case bytes.HasPrefix(head, []byte("\x89HDF")), bytes.HasPrefix(head, []byte("MATLAB 7.3")), extension == ".h5", extension == ".hdf5":
		entries, err = inHDF5(file, bytes.HasPrefix(head, []byte("MATLAB")))
	case extension == ".mat":
		entries, err = inMAT(file)
	case slices.Contains([]string{".csv", ".tsv", ".tab", ".txt", ".1d", ""}, extension):
		t, err := text.Read(file)
		return whole(Array{Array: t.Array, Source: file, Rows: t.Rows, Columns: t.Columns}, name, fits, err)
	default:
		return Array{}, fmt.Errorf("%s: files called %s are not read; there are .safetensors, .npy, .npz, .csv, .tsv, .txt, .h5 and .mat", file, extension)
	}
	if err != nil {
		return Array{}, err
	}
	e, err := choose(file, name, entries, fits)
	if err != nil {
		return Array{}, err
	}
	a, err := e.load()
	if err == nil {
		err = a.Check()
	}
	if err != nil {
		return Array{}, fmt.Errorf("%s: %w", file, err)
	}
	return Array{Array: a, Source: file + ":" + e.name}, nil
}

// whole checks the one array of a file, which has no name to choose by.
func whole(a Array, name string, fits func([]int) error, err error) (Array, error) {
	if err != nil {
		return Array{}, err
	}
	if name != "" {
		return Array{}, fmt.Errorf("%s holds one array, of shape %v: leave out :%s", a.Source, a.Shape, name)
	}
	if err := fits(a.Shape); err != nil {
		return Array{}, fmt.Errorf("%s: %w", a.Source, err)
	}
	return a, a.Check()
}

// choose finds the entry of a name, or the one that fits.
func choose(file, name string, entries []entry, fits func([]int) error) (entry, error) {
	var names []string
	var possible []entry
	for _, e := range entries {
		if name != "" && (e.name == name || strings.TrimPrefix(e.name, "/") == name) {
			if e.kind != "" {
				return e, fmt.Errorf("%s: %s is %s, want real numbers", file, e.name, e.kind)
			}
			if err := fits(e.shape); err != nil {
				return e, fmt.Errorf("%s: %s: %w", file, e.name, err)
			}
			return e, nil
		}
		names = append(names, e.name)
		if e.kind == "" && fits(e.shape) == nil {
			possible = append(possible, e)
		}
	}
	switch {
	case name != "":
		return entry{}, fmt.Errorf("%s has no tensor %q%s; it has %s", file, name, nearest.Hint(name, names), listed(entries))
	case len(possible) == 1:
		return possible[0], nil
	case len(entries) == 0:
		return entry{}, fmt.Errorf("%s holds no arrays", file)
	case len(possible) == 0:
		for _, e := range entries {
			if err := fits(e.shape); err != nil {
				return entry{}, fmt.Errorf("%s: none of its tensors fits: %s: %w; it has %s", file, e.name, err, listed(entries))
			}
		}
		return entry{}, fmt.Errorf("%s holds no real numbers; it has %s", file, listed(entries))
	}
	return entry{}, fmt.Errorf("%s holds several tensors: name one as %s:%s; there are %s", file, file, possible[0].name, listed(possible))
}

// listed shows entries in a message.
func listed(entries []entry) string {
	const most = 12
	var parts []string
	for _, e := range entries[:min(most, len(entries))] {
		parts = append(parts, e.String())
	}
	out := strings.Join(parts, ", ")
	if len(entries) > most {
		out += fmt.Sprintf(" and %d more", len(entries)-most)
	}
	return out
}

func inSafetensors(file string) ([]entry, error) {
	f, err := safetensors.Read(file)
	if err != nil {
		return nil, err
	}
	var out []entry
	for _, t := range f.Tensors {
		out = append(out, entry{name: t.Name, shape: t.Shape, load: func() (array.Array, error) {
			values, err := t.Float64s()
			return array.Array{Name: t.Name, Shape: t.Shape, Data: values}, err
		}})
	}
	slices.SortFunc(out, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	return out, nil
}

func inArchive(file string) ([]entry, error) {
	all, err := npy.List(file)
	var out []entry
	for _, e := range all {
		kind := ""
		if !realNumbers(e.DType) {
			kind = e.DType
		}
		out = append(out, entry{name: e.Name, shape: e.Shape, kind: kind, load: func() (array.Array, error) { return npy.ReadMember(file, e.Name) }})
	}
	return out, err
}

func inMAT(file string) ([]entry, error) {
	all, err := mat.List(file)
	var out []entry
	for _, e := range all {
		kind := ""
		if !slices.Contains([]string{"double", "single", "logical"}, e.Class) && !strings.Contains(e.Class, "int") {
			kind = e.Class
		}
		out = append(out, entry{name: e.Name, shape: e.Shape, kind: kind, load: func() (array.Array, error) { return mat.ReadVariable(file, e.Name) }})
	}
	return out, err
}

// inHDF5 lists datasets; those of MATLAB 7.3 have their axes the other way round.
func inHDF5(file string, matlab bool) ([]entry, error) {
	all, err := hdf5.List(file)
	var out []entry
	for _, e := range all {
		if strings.HasPrefix(e.Name, "/#") {
			continue
		}
		one := entry{name: e.Name, shape: slices.Clone(e.Shape)}
		if !realNumbers(e.DType) || e.Attributes["MATLAB_class"] == "char" {
			one.kind = e.DType
		}
		if matlab {
			one.name = strings.TrimPrefix(e.Name, "/")
			slices.Reverse(one.shape)
		}
		one.load = func() (array.Array, error) {
			a, err := hdf5.Read(file, e.Name)
			if err == nil && matlab {
				a = array.Array{Name: one.name, Shape: one.shape, Data: array.FromColumnMajor(a.Data, one.shape)}
			}
			return a, err
		}
		out = append(out, one)
	}
	return out, err
}

// realNumbers says whether a dtype as numpy spells it is of real numbers.
func realNumbers(dtype string) bool {
	return len(dtype) == 3 && strings.ContainsRune("<>|", rune(dtype[0])) && strings.ContainsRune("fiub", rune(dtype[1]))
}

func firstBytes(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, 16)
	n, err := io.ReadFull(f, b)
	if n == 0 {
		return nil, fmt.Errorf("%s: an empty file (%w)", file, err)
	}
	return b[:n], nil
}
