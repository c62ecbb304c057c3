package npy

import (
	"fmt"
	"io"

	"torchpe/data/array"
)

// Entry describes an array that has not been read.
type Entry struct {
	Name  string // the member's name without .npy; empty for the one array of an .npy file
	Shape []int  // as numpy shows it, whatever the order in the file
	DType string // as numpy spells it: "<f8" is a little-endian float64
}

// Read reads the array of the .npy file at path, which must be a regular file. The array has no
// name.
func Read(path string) (array.Array, error) {
	return array.InFile("npy", path, func(f *array.File) (array.Array, error) {
		return read(f, f.Size(), "file")
	})
}

// read reads an array of size bytes.
func read(r io.Reader, size int64, holder string) (array.Array, error) {
	h, err := readHeader(r, size, holder)
	if err != nil {
		return array.Array{}, err
	}
	return h.read(r)
}

// read reads the numbers after the header.
func (h *header) read(r io.Reader) (array.Array, error) {
	n, order, err := dtype(h.descr)
	if err != nil {
		return array.Array{}, err
	}
	if err := h.check(n); err != nil {
		return array.Array{}, err
	}
	numbers := array.Numbers{Shape: h.shape, Bytes: n.Bytes, Columns: h.fortran,
		Decode: func(i int, b []byte) (float64, error) {
			v, err := n.decode(b, order)
			if err != nil {
				err = fmt.Errorf("the element at index %v of the array of %s %w", array.Index(i, h.shape, h.fortran),
					h.descr, err)
			}
			return v, err
		},
		Ended: func(err error, got int64) error {
			return container(h.holder).ended(err, "data", h.bodyBytes, got)
		},
	}
	data, err := numbers.Read(r, array.NewBudget())
	return array.Array{Shape: h.shape, Data: data}, err
}
