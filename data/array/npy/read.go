package npy

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"

	"torchpe/data/array"
)

// Entry describes an array that has not been read.
type Entry struct {
	Name  string // the member's name without .npy; empty for the one array of an .npy file
	Shape []int  // as numpy shows it, whatever the order in the file
	DType string // as numpy spells it: "<f8" is a little-endian float64
}

// Read reads the array of the .npy file at path, which must be a regular file. The array has no name.
func Read(path string) (array.Array, error) {
	f, size, err := open(path)
	if err != nil {
		return array.Array{}, err
	}
	defer f.Close()
	return ReadFrom(f, size, path)
}

// ReadFrom reads an .npy file of size bytes from r. Errors call it name.
func ReadFrom(r io.ReaderAt, size int64, name string) (array.Array, error) {
	section := io.NewSectionReader(r, 0, size)
	h, err := readHeader(section, size, "file")
	var a array.Array
	if err == nil {
		a, err = h.read(section, true)
	}
	if err != nil {
		return array.Array{}, fmt.Errorf("npy: %s: %w", name, err)
	}
	return a, nil
}

// open opens a regular file and returns its size.
func open(path string) (*os.File, int64, error) {
	// Looked at before it is opened: opening a named pipe would wait for a writer.
	info, err := os.Stat(path)
	if err != nil {
		return nil, 0, fmt.Errorf("npy: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("npy: %s: not a regular file (%s)", path, info.Mode())
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, fmt.Errorf("npy: %w", err)
	}
	if info, err = f.Stat(); err != nil {
		f.Close()
		return nil, 0, fmt.Errorf("npy: %w", err)
	}
	return f, info.Size(), nil
}

// chunk is how many bytes are read at once, a multiple of every type's size; carefully is the room in numbers that is made
// before the first of a compressed array has come.
const (
	chunk     = 1 << 16
	carefully = 1 << 16
)

// read reads the numbers after the header. The bytes are sure to be there where they are not compressed.
func (h *header) read(r io.Reader, sure bool) (array.Array, error) {
	n, order, err := dtype(h.descr)
	if err != nil {
		return array.Array{}, err
	}
	count, err := h.check(n)
	if err != nil {
		return array.Array{}, err
	}
	room := count
	if !sure {
		room = min(room, carefully)
	}
	data := make([]float64, 0, room)
	buffer := make([]byte, min(count, chunk/n.bytes)*n.bytes)
	for len(data) < count {
		b := buffer[:min(len(buffer), (count-len(data))*n.bytes)]
		if got, err := io.ReadFull(r, b); err != nil {
			return array.Array{}, ended(err, "data", h.room, int64(len(data)*n.bytes+got), h.holder)
		}
		if data, err = h.decode(data, b, n, order); err != nil {
			return array.Array{}, err
		}
	}
	if h.fortran {
		data = array.FromColumnMajor(data, h.shape)
	}
	return array.Array{Shape: h.shape, Data: data}, nil
}

// decode appends the numbers in b to data.
func (h *header) decode(data []float64, b []byte, n number, order binary.ByteOrder) ([]float64, error) {
	for ; len(b) > 0; b = b[n.bytes:] {
		v, err := n.get(b, order)
		if err != nil {
			return nil, fmt.Errorf("the element at index %v of the array of %s %w", h.index(len(data)), h.descr, err)
		}
		data = append(data, v)
	}
	return data, nil
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
