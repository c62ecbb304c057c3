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
	f, err := array.Open(path)
	if err != nil {
		return array.Array{}, fmt.Errorf("npy: %w", err)
	}
	defer f.Close()
	return ReadFrom(f, f.Size(), path)
}

// ReadFrom reads an .npy file of size bytes from r. Errors call it name.
func ReadFrom(r io.ReaderAt, size int64, name string) (array.Array, error) {
	section := io.NewSectionReader(r, 0, size)
	h, err := readHeader(section, size, "file")
	var a array.Array
	if err == nil {
		a, err = h.read(section)
	}
	if err != nil {
		return array.Array{}, fmt.Errorf("npy: %s: %w", name, err)
	}
	return a, nil
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
				err = fmt.Errorf("the element at index %v of the array of %s %w", h.index(i),
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

// index returns the place in the array of the i-th element of the file.
func (h *header) index(i int) []int {
	index := make([]int, len(h.shape))
	for k := range index {
		axis := len(index) - 1 - k
		if h.fortran {
			axis = k
		}
		index[axis] = i % h.shape[axis]
		i /= h.shape[axis]
	}
	return index
}
