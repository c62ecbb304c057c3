package cifti

import (
	"io"
	"strings"

	"torchpe/data/array"
)

// Kind is the kind of a file, as in its name before .nii.
type Kind string

// The kinds of files with two axes. Unknown stands for a pair of axes without a name.
const (
	Dconn    Kind = "dconn"
	Dtseries Kind = "dtseries"
	Pconn    Kind = "pconn"
	Ptseries Kind = "ptseries"
	Dscalar  Kind = "dscalar"
	Dlabel   Kind = "dlabel"
	Pscalar  Kind = "pscalar"
	Plabel   Kind = "plabel"
	Pdconn   Kind = "pdconn"
	Dpconn   Kind = "dpconn"
	Unknown  Kind = "unknown"
)

// kinds maps the kinds of axes 0 and 1 to the kind of file (CIFTI-2 specification, "File types";
// plabel is Workbench's).
var kinds = map[[2]AxisKind]Kind{
	{BrainModels, BrainModels}: Dconn,
	{Series, BrainModels}:      Dtseries,
	{Parcels, Parcels}:         Pconn,
	{Series, Parcels}:          Ptseries,
	{Scalars, BrainModels}:     Dscalar,
	{Labels, BrainModels}:      Dlabel,
	{Scalars, Parcels}:         Pscalar,
	{Labels, Parcels}:          Plabel,
	{BrainModels, Parcels}:     Pdconn,
	{Parcels, BrainModels}:     Dpconn,
}

// Image is the content of a CIFTI-2 file.
type Image struct {
	Name string // the file as given to the reader; errors start with it

	// Kind follows from the axes, because programs that copy headers leave wrong intents.
	Kind     Kind
	Datatype string  // of the numbers in the file, such as "float32"
	Axes     [2]Axis // by AppliesToMatrixDimension: Axes[0] varies fastest in the file

	// Data has shape [Axes[1].Length, Axes[0].Length], with the header's slope and intercept
	// applied. Integers beyond 2^53 are an error. ReadHeader leaves it empty.
	Data array.Array
}

// Shape returns the shape of the data, [Axes[1].Length, Axes[0].Length], even if it was not read.
func (m *Image) Shape() []int {
	return []int{m.Axes[1].Length, m.Axes[0].Length}
}

// HasExtension reports whether the file at path has an extension of CIFTI files.
func HasExtension(path string) bool {
	return strings.HasSuffix(strings.TrimSuffix(strings.ToLower(path), ".gz"), ".nii")
}

// Read reads the file at path, which must be a regular file, plain or compressed with gzip. Its
// errors name the file and the wrong value, and for other NIfTI files have advice.
func Read(path string) (*Image, error) {
	return readPath(path, true)
}

// ReadHeader reads everything except the data of the file at path. In a plain file it also checks that the
// data exists; of a compressed one it reads only the beginning, so that later damage is not detected.
func ReadHeader(path string) (*Image, error) {
	return readPath(path, false)
}

// readPath reads a file with or without its data.
func readPath(path string, data bool) (*Image, error) {
	return array.InFile("read cifti", path, func(f *array.File) (*Image, error) {
		return decode(f, f.Size(), path, data)
	})
}

// decode reads the parts of a file in their order. The version in the XML is checked before the
// header's dimensions: CIFTI-1 gives them another order, and its message must come first.
func decode(r io.ReaderAt, size int64, name string, data bool) (m *Image, err error) {
	defer array.Catch(&err)
	s := newSource(r, size)
	h, order := readFileHeader(s)
	maps := parse(findXML(s, h, order))
	l := h.layout(s)
	m = &Image{
		Name: name, Datatype: l.number.String(), Kind: Unknown,
		Axes: [2]Axis{{Length: l.dims[0]}, {Length: l.dims[1]}},
	}
	m.setAxes(maps)
	if k, ok := kinds[[2]AxisKind{m.Axes[0].Kind, m.Axes[1].Kind}]; ok {
		m.Kind = k
	}
	if !data {
		return m, nil
	}
	s.skip(h.VoxOffset - s.at)
	m.Data = array.Array{Shape: m.Shape(), Data: readNumbers(s, l, order)}
	s.finish()
	return m, nil
}
