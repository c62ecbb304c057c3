package npy

import (
	"io"

	"torchpe/data/array"
)

// Entry describes an array that has not been read.
type Entry struct {
	Name  string // the member's name without .npy; empty for the one array of an .npy file
	Shape []int  // as in numpy, regardless of the order in the file
	DType string // as numpy spells it: "<f8" is a little-endian float64
}

// Read reads the array of the .npy file at path, which must be a regular file. The array has no
// name.
func Read(path string) (array.Array, error) {
	return array.InFile("npy", path, func(f *array.File) (array.Array, error) {
		return read(f, f.Size()), nil
	})
}

// read reads an array of size bytes.
func read(r io.Reader, size int64) array.Array {
	h := readHeader(r, size)
	n, order, err := dtype(h.descr)
	array.Fail(err)
	h.check(n)
	numbers := array.Numbers{Shape: h.shape, Bytes: n.Bytes, Columns: h.fortran, Type: h.descr,
		Decode: func(b []byte) (float64, error) { return n.decode(b, order) }}
	return array.Array{Shape: h.shape, Data: array.Got(numbers.Read(r, array.NewBudget()))}
}
