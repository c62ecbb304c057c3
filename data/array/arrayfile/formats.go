package arrayfile

import (
	"bytes"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"torchpe/data/array"
	"torchpe/data/array/hdf5"
	"torchpe/data/array/mat"
	"torchpe/data/array/npy"
	"torchpe/data/array/safetensors"
	"torchpe/data/array/text"
)

// Format is the format of a file, as commands print it.
type Format string

// The formats. Any other file may be Text.
const (
	HDF5        Format = "hdf5"
	MAT5        Format = "mat-v5"
	MAT73       Format = "mat-v7.3" // HDF5 by MATLAB
	NPY         Format = "npy"
	NPZ         Format = "npz"
	Safetensors Format = "safetensors"
	Text        Format = "text"
)

// textExtensions are the extensions of files that are read as text, including none.
var textExtensions = []string{".txt", ".csv", ".tsv", ".tab", ".1d", ""}

// FormatOf detects the format of a file from its first bytes and its name. JSON is refused.
func FormatOf(file string) (Format, error) {
	const userBlock = 512 // bytes that may precede HDF5's signature
	head, err := array.FirstBytes(file, userBlock+16)
	if err != nil {
		return "", err
	}
	if len(head) == 0 {
		return "", fmt.Errorf("%s: an empty file", file)
	}
	isHDF5 := func(b []byte) bool { return bytes.HasPrefix(b, []byte("\x89HDF\r\n\x1a\n")) }
	startsWith := func(magic string) bool { return bytes.HasPrefix(head, []byte(magic)) }
	extension := strings.ToLower(filepath.Ext(file))
	if file == array.Stdin { // it has no name to check
		switch {
		case startsWith("{"), startsWith("["):
			extension = ".json"
		case len(head) > 8 && head[8] == '{':
			extension = ".safetensors"
		}
	}
	switch {
	case extension == ".safetensors":
		return Safetensors, nil
	case extension == ".json":
		return "", fmt.Errorf("%s: arrays are not read from JSON: write one as .npy or .csv (torchpe pe values does "+
			"with --out FILE.npy), several with names as .npz or .safetensors", file)
	case startsWith("\x93NUMPY"), extension == ".npy":
		return NPY, nil
	case startsWith("PK\x03\x04"), startsWith("PK\x05\x06"), extension == ".npz":
		return NPZ, nil
	case startsWith("MATLAB 7.3 MAT-file"):
		return MAT73, nil
	case startsWith("MATLAB 5.0 MAT-file"), extension == ".mat" && !isHDF5(head):
		return MAT5, nil
	case isHDF5(head), len(head) > userBlock && isHDF5(head[userBlock:]),
		slices.Contains([]string{".h5", ".hdf5", ".he5"}, extension):
		return HDF5, nil
	}
	return Text, nil
}

// List returns the arrays of a file, whose format is not Text, without reading them if the format allows it.
func List(file string, format Format) (entries []Entry, err error) {
	defer array.Catch(&err)
	switch format {
	case HDF5, MAT73:
		return listHDF5(file, format == MAT73), nil
	case MAT5:
		return listMAT(file), nil
	case NPY, NPZ:
		return listNPY(file), nil
	case Safetensors:
		return listSafetensors(file), nil
	}
	return nil, fmt.Errorf("%s: files called %s are not read; there are .safetensors, .npy, "+
		".npz, .csv, .tsv, .txt, .h5 and .mat", file, filepath.Ext(file))
}

// list returns the arrays of a file, which may be text.
func list(file string, header text.Choice) []Entry {
	format := array.Got(FormatOf(file))
	if format != Text || !slices.Contains(textExtensions, strings.ToLower(filepath.Ext(file))) {
		return array.Got(List(file, format))
	}
	a := inText(file, header)
	return []Entry{{Shape: a.Shape, Real: true, load: func(Entry) Array { return a }}}
}

// IsText reports whether a file has none of the binary formats that this package reads.
func IsText(file string) (bool, error) {
	format, err := FormatOf(file)
	return format == Text, err
}

// loading adapts a function that reads an array by name to Entry.load.
func loading(read func(name string) (array.Array, error)) func(Entry) Array {
	return func(e Entry) Array { return Array{Array: array.Got(read(e.Name))} }
}

// listSafetensors lists the tensors of a file in the order of their names.
func listSafetensors(file string) (out []Entry) {
	tensors, read, err := safetensors.List(file)
	array.Fail(err)
	load := func(e Entry) Array {
		t := array.Got(read(e.Name))
		return Array{Array: array.Array{Name: t.Name, Shape: t.Shape, Data: array.Got(t.Float64s())}}
	}
	for _, t := range tensors {
		out = append(out, Entry{Name: t.Name, Shape: t.Shape, Type: string(t.DType),
			Real: t.DType.Size() > 0, load: load})
	}
	slices.SortFunc(out, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// listNPY lists the arrays of an .npz file, or the nameless one of an .npy file.
func listNPY(file string) (out []Entry) {
	load := loading(func(name string) (array.Array, error) {
		if name == "" {
			return npy.Read(file)
		}
		return npy.ReadMember(file, name)
	})
	for _, e := range array.Got(npy.List(file)) {
		out = append(out, Entry{Name: e.Name, Shape: e.Shape, Type: e.DType, Real: isReal(e.DType), load: load})
	}
	return out
}

// matClasses are the classes of MATLAB variables with real numbers.
var matClasses = []string{"double", "single", "int8", "int16", "int32", "int64", "uint8", "uint16",
	"uint32", "uint64", "logical", "sparse double", "sparse logical"}

// listMAT lists the variables of a .mat file of version 5. It replaces a cell array with only real
// numbers by its cells, with names such as c{2,1}.
func listMAT(file string) (out []Entry) {
	load := loading(func(name string) (array.Array, error) { return mat.ReadVariable(file, name) })
	for _, e := range array.Got(mat.List(file)) {
		if e.Class == "cell" {
			if cells := listCells(file, e); cells != nil {
				out = append(out, cells...)
				continue
			}
		}
		isReal := slices.Contains(matClasses, e.Class)
		out = append(out, Entry{Name: e.Name, Shape: e.Shape, Type: e.Class, Real: isReal, load: load})
	}
	return out
}

// listCells lists the non-empty cells of a cell array, or nothing if one of them has other values
// than real numbers.
func listCells(file string, of mat.Entry) (out []Entry) {
	for i, c := range array.Got(mat.ListCells(file, of.Name)) {
		if !slices.Contains(matClasses, c.Class) {
			return nil
		}
		if !slices.Contains(c.Shape, 0) {
			load := loading(func(string) (array.Array, error) { return mat.ReadCell(file, of.Name, i) })
			cell := Entry{Shape: c.Shape, Type: c.Class, load: load}
			out = append(out, cellEntry(of.Name, of.Shape, i, cell))
		}
	}
	return out
}

// cellEntry makes e the i-th cell, from 0 with the first axis fastest, of a cell array.
func cellEntry(of string, shape []int, i int, e Entry) Entry {
	e.Cell, e.Real = &Cell{Of: of, Shape: shape}, true
	var place []string
	for _, n := range shape {
		e.Cell.Index = append(e.Cell.Index, i%n+1)
		place = append(place, fmt.Sprint(i%n+1))
		i /= n
	}
	e.Name = of + "{" + strings.Join(place, ",") + "}"
	return e
}

// listHDF5 lists the datasets of an HDF5 file. In files of MATLAB 7.3 their axes are reversed, and
// letters are numbers. MATLAB keeps the contents of cells and objects below #refs# and #subsystem#,
// which are ignored; as in listMAT, a cell array with only real numbers is replaced by its cells.
func listHDF5(file string, matlab bool) []Entry {
	all := array.Got(hdf5.List(file))
	byPath := map[string]hdf5.Entry{}
	for _, e := range all {
		byPath[e.Name] = e
	}
	var out []Entry
	whole := "" // a group that is one variable
	for _, e := range all {
		if strings.HasPrefix(e.Name, "/#") || whole != "" && strings.HasPrefix(e.Name, whole) {
			continue
		}
		one := inHDF5(file, e, matlab, byPath)
		if one.load == nil { // a group of variables
			continue
		}
		if e.DType == hdf5.Group {
			whole = e.Name + "/"
		}
		if matlab && one.Type == "cell" {
			if cells := listCells73(file, e, one, byPath); cells != nil {
				out = append(out, cells...)
				continue
			}
		}
		out = append(out, one)
	}
	return joinSparse(out)
}

// The types of matrices that are not read: one that scipy or anndata stored as the vectors data, indices
// and indptr, and one that pandas stored as an array for each type of its columns, or as a table.
const (
	sparse = "sparse"
	frame  = "frame of pandas"
)

// IsUnread reports whether an array is a matrix of numbers that is not read; [Entry.Load] says why.
func (e Entry) IsUnread() bool { return e.Type == sparse || e.Type == frame }

// unread is Entry.load for such a matrix.
func unread(what string) func(Entry) Array {
	return func(e Entry) Array {
		array.Failf("%s is a %s", array.Quote(e.Name), what)
		return Array{}
	}
}

// joinSparse replaces a group with these vectors by the matrix that they form, which is not read.
func joinSparse(entries []Entry) (out []Entry) {
	has := map[string]bool{}
	for _, e := range entries {
		has[e.Name] = true
	}
	for _, e := range entries {
		group, name := path.Split(e.Name)
		if has[group+"data"] && has[group+"indices"] && has[group+"indptr"] {
			switch name {
			case "indices", "indptr":
				continue
			case "data":
				e = Entry{Name: path.Clean(group), Type: sparse,
					load: unread("sparse matrix of scipy or anndata: store all of its numbers (x.toarray())")}
			}
		}
		out = append(out, e)
	}
	return out
}

// The attributes that MATLAB 7.3 gives its variables. The dataset of an empty variable holds its
// shape. A sparse one is a group, and the attribute is the number of its rows. Objects can be read
// only by MATLAB.
const (
	matlabClass  = "MATLAB_class"
	matlabEmpty  = "MATLAB_empty"
	matlabSparse = "MATLAB_sparse"
	matlabObject = "MATLAB_object_decode"
)

// inHDF5 describes a dataset, in a MATLAB file as MATLAB shows it, or a group that is one of its variables.
func inHDF5(file string, e hdf5.Entry, matlab bool, byPath map[string]hdf5.Entry) Entry {
	class, isVariable := e.Attributes[matlabClass]
	one := Entry{Name: e.Name, Shape: slices.Clone(e.Shape), Type: e.DType}
	if matlab {
		one.Name = strings.TrimPrefix(e.Name, "/")
		slices.Reverse(one.Shape)
	}
	_, isObject := e.Attributes[matlabObject]
	_, isSparse := e.Attributes[matlabSparse]
	isNumber := slices.Contains(matClasses, class)
	switch {
	case isObject || isVariable && !isNumber && !slices.Contains([]string{"char", "cell", "struct"}, class):
		one.Type, one.load = class, refused(one.Name, class)
	case isSparse:
		return sparse73(file, e, one, byPath)
	case strings.HasPrefix(e.Attributes["pandas_type"], "frame") && e.Attributes["nblocks"] != "1":
		one.Type, one.load = frame, unread("frame of pandas with columns of several types, or a table: store "+
			"it as CSV (df.to_csv) or as one array (df.to_numpy())")
	case e.DType == hdf5.Group:
	case e.Attributes[matlabEmpty] == "1":
		return empty73(file, e, one)
	default:
		if class == "cell" || class == "char" {
			one.Type, one.load = class, refused(one.Name, class)
			break
		}
		one.Real = isReal(e.DType) && (!isVariable || isNumber)
		one.load = func(Entry) Array {
			a := array.Got(hdf5.Read(file, e.Name))
			if matlab {
				a = turned(file, a, one)
			}
			return Array{Array: a}
		}
	}
	return one
}

// refused is Entry.load for a variable of a MATLAB class that is not read.
func refused(name, class string) func(Entry) Array {
	return func(Entry) Array {
		array.Failf("variable %s: %w", array.Quote(name), mat.Unreadable(class))
		return Array{}
	}
}

// turned returns an array with its axes as MATLAB shows them.
func turned(file string, a array.Array, as Entry) array.Array {
	defer array.Within("%s", file)
	array.Fail(array.NewBudget().Fits(16*int64(len(a.Data)), as.String()))
	return array.Array{Name: as.Name, Shape: as.Shape, Data: array.FromColumnMajor(a.Data, as.Shape)}
}

// empty73 describes an empty array, whose dataset holds its shape.
func empty73(file string, e hdf5.Entry, one Entry) Entry {
	class := e.Attributes[matlabClass]
	one.Type, one.load = "empty "+class, refused(one.Name, class)
	if n, err := array.Count(e.Shape, 1); err != nil || n > 32 || !slices.Contains(matClasses, class) {
		return one
	}
	shape := array.Got(hdf5.Read(file, e.Name))
	if !slices.Contains(shape.Data, 0) {
		return one
	}
	one.Shape, one.Real = nil, true
	for _, n := range shape.Data {
		one.Shape = append(one.Shape, int(n))
	}
	one.load = func(Entry) Array {
		return Array{Array: array.Array{Name: one.Name, Shape: one.Shape, Data: []float64{}}}
	}
	return one
}

// sparse73 describes a sparse matrix, whose group holds its numbers (data), their rows (ir) and the
// start of each column (jc). Without numbers it has only jc.
func sparse73(file string, e hdf5.Entry, one Entry, byPath map[string]hdf5.Entry) Entry {
	one.Type = "sparse " + e.Attributes[matlabClass]
	rows, err := strconv.Atoi(e.Attributes[matlabSparse])
	starts := byPath[e.Name+"/jc"]
	data, filled := byPath[e.Name+"/data"]
	if err == nil && len(starts.Shape) == 1 && starts.Shape[0] > 0 {
		one.Shape = []int{rows, starts.Shape[0] - 1}
		one.Real = !filled || isReal(data.DType)
	}
	one.load = func(Entry) Array {
		if !one.Real {
			array.Failf("%s is a %s matrix of %s: store all of its numbers (x = full(x))",
				one.Name, one.Type, data.DType)
		}
		s := array.Sparse{Shape: one.Shape}
		into := []*[]float64{&s.Starts, &s.Rows, &s.Values}
		for i, part := range []string{"/jc", "/ir", "/data"} {
			if i > 0 && !filled {
				break
			}
			*into[i] = array.Got(hdf5.Read(file, e.Name+part)).Data
		}
		defer array.Within("%s: variable %s", file, array.Quote(one.Name))
		full := array.Got(s.Full(array.NewBudget()))
		return Array{Array: array.Array{Name: one.Name, Shape: one.Shape, Data: full}}
	}
	return one
}

// listCells73 is listCells for MATLAB 7.3, whose cell arrays are references to other datasets.
func listCells73(file string, e hdf5.Entry, of Entry, byPath map[string]hdf5.Entry) (out []Entry) {
	for i, at := range array.Got(hdf5.References(file, e.Name)) {
		d, ok := byPath[at]
		if d.Attributes[matlabEmpty] == "1" {
			continue
		}
		cell := inHDF5(file, d, true, byPath)
		if !ok || !cell.Real {
			return nil
		}
		out = append(out, cellEntry(of.Name, of.Shape, i, cell))
	}
	return out
}

// isReal reports whether a numpy dtype has real numbers.
func isReal(dtype string) bool {
	return len(dtype) == 3 && strings.ContainsRune("<>|", rune(dtype[0])) &&
		strings.ContainsRune("fiub", rune(dtype[1]))
}
