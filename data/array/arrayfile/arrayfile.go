// Package arrayfile reads one array from a file of any format that package array's subfolders read: FILE, or FILE:NAME where the file
// holds several. It may import those packages and internal/nearest.
package arrayfile

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
)

// Array is an array of a file with what the file says about it.
type Array struct {
	array.Array
	Source  string   // FILE, or FILE:tensor
	Rows    []string // names of the rows, or nil
	Columns []string // names of the columns, or nil
}

// Split parts FILE[:selector] where the file ends: at the last colon that leaves a file that is there.
func Split(reference string) (file, selector string, err error) {
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

// Entry is an array in a file that has not been read.
type Entry struct {
	Name  string
	Shape []int
	Kind  string // what it is where it holds no real numbers
	Load  func() (array.Array, error)
}

// Format is a format that this package does not know: how its files' names end, and what is in one.
type Format struct {
	Extension string
	List      func(file string) ([]Entry, error)
}

// String names the array with its shape.
func (e Entry) String() string {
	if e.Kind != "" {
		return fmt.Sprintf("%s %v (%s)", e.Name, e.Shape, e.Kind)
	}
	return fmt.Sprintf("%s %v", e.Name, e.Shape)
}

// Read reads the array that FILE[:tensor] names: .npz, HDF5, .mat and the other formats by the name of the tensor, which may be
// left out where the file has one that fits; .npy and text whole.
func Read(reference string, fits func(shape []int) error, others ...Format) (Array, error) {
	file, name, err := Split(reference)
	if err != nil {
		return Array{}, err
	}
	head, err := firstBytes(file)
	if err != nil {
		return Array{}, err
	}
	var entries []Entry
	extension := strings.ToLower(filepath.Ext(file))
	other := slices.IndexFunc(others, func(f Format) bool { return f.Extension == extension })
	switch {
	case other >= 0:
		entries, err = others[other].List(file)
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
		known := ""
		for _, f := range others {
			known += f.Extension + ", "
		}
		return Array{}, fmt.Errorf("%s: files called %s are not read; there are %s.npy, .npz, .csv, .tsv, .txt, .h5 and .mat", file, extension, known)
	}
	if err != nil {
		return Array{}, err
	}
	e, err := choose(file, name, entries, fits)
	if err != nil {
		return Array{}, err
	}
	a, err := e.Load()
	if err == nil {
		err = a.Check()
	}
	if err != nil {
		return Array{}, fmt.Errorf("%s: %w", file, err)
	}
	return Array{Array: a, Source: file + ":" + e.Name}, nil
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

// choose finds the Entry of a name, or the one that fits.
func choose(file, name string, entries []Entry, fits func([]int) error) (Entry, error) {
	var names []string
	var possible []Entry
	for _, e := range entries {
		if name != "" && (e.Name == name || strings.TrimPrefix(e.Name, "/") == name) {
			if e.Kind != "" {
				return e, fmt.Errorf("%s: %s is %s, want real numbers", file, e.Name, e.Kind)
			}
			if err := fits(e.Shape); err != nil {
				return e, fmt.Errorf("%s: %s: %w", file, e.Name, err)
			}
			return e, nil
		}
		names = append(names, e.Name)
		if e.Kind == "" && fits(e.Shape) == nil {
			possible = append(possible, e)
		}
	}
	switch {
	case name != "":
		return Entry{}, fmt.Errorf("%s has no tensor %q%s; it has %s", file, name, nearest.Hint(name, names), listed(entries))
	case len(possible) == 1:
		return possible[0], nil
	case len(entries) == 0:
		return Entry{}, fmt.Errorf("%s holds no arrays", file)
	case len(possible) == 0:
		for _, e := range entries {
			if err := fits(e.Shape); err != nil {
				return Entry{}, fmt.Errorf("%s: none of its tensors fits: %s: %w; it has %s", file, e.Name, err, listed(entries))
			}
		}
		return Entry{}, fmt.Errorf("%s holds no real numbers; it has %s", file, listed(entries))
	}
	return Entry{}, fmt.Errorf("%s holds several tensors: name one as %s:%s; there are %s", file, file, possible[0].Name, listed(possible))
}

// listed shows entries in a message.
func listed(entries []Entry) string {
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

func inArchive(file string) ([]Entry, error) {
	all, err := npy.List(file)
	var out []Entry
	for _, e := range all {
		kind := ""
		if !realNumbers(e.DType) {
			kind = e.DType
		}
		out = append(out, Entry{Name: e.Name, Shape: e.Shape, Kind: kind, Load: func() (array.Array, error) { return npy.ReadMember(file, e.Name) }})
	}
	return out, err
}

func inMAT(file string) ([]Entry, error) {
	all, err := mat.List(file)
	var out []Entry
	for _, e := range all {
		kind := ""
		if !slices.Contains([]string{"double", "single", "logical"}, e.Class) && !strings.Contains(e.Class, "int") {
			kind = e.Class
		}
		out = append(out, Entry{Name: e.Name, Shape: e.Shape, Kind: kind, Load: func() (array.Array, error) { return mat.ReadVariable(file, e.Name) }})
	}
	return out, err
}

// inHDF5 lists datasets; those of MATLAB 7.3 have their axes the other way round.
func inHDF5(file string, matlab bool) ([]Entry, error) {
	all, err := hdf5.List(file)
	var out []Entry
	for _, e := range all {
		if strings.HasPrefix(e.Name, "/#") {
			continue
		}
		one := Entry{Name: e.Name, Shape: slices.Clone(e.Shape)}
		if !realNumbers(e.DType) || e.Attributes["MATLAB_class"] == "char" {
			one.Kind = e.DType
		}
		if matlab {
			one.Name = strings.TrimPrefix(e.Name, "/")
			slices.Reverse(one.Shape)
		}
		one.Load = func() (array.Array, error) {
			a, err := hdf5.Read(file, e.Name)
			if err == nil && matlab {
				a = array.Array{Name: one.Name, Shape: one.Shape, Data: array.FromColumnMajor(a.Data, one.Shape)}
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
