package safetensors

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"torchpe/data/array"
)

// MaxHeader is the largest header in bytes that the format allows; it holds for reading and for
// writing.
const MaxHeader = 100_000_000

// MaxMetadata is the largest number of metadata keys. The format has no such limit; without one a
// hostile header would cost ten times its size in memory.
const MaxMetadata = 100_000

// prefix is the size of the header length at the start of a file.
const prefix = 8

// File is the content of a safetensors file.
type File struct {
	// Tensors are in the order of their data; they share one buffer and must not be appended to.
	Tensors  []Tensor
	Metadata map[string]string // nil when the file has none
	byName   map[string]int
}

// Names returns the names of the tensors in the order of their data.
func (f *File) Names() []string {
	names := make([]string, len(f.Tensors))
	for i, t := range f.Tensors {
		names[i] = t.Name
	}
	return names
}

// Tensor returns the tensor of that name and whether there is one.
func (f *File) Tensor(name string) (Tensor, bool) {
	i, ok := f.byName[name]
	if !ok {
		return Tensor{}, false
	}
	return f.Tensors[i], true
}

// Read reads the file at path, which must be a regular file. Its errors name the file.
func Read(path string) (*File, error) {
	return array.InFile(reading, path, func(r *array.File) (*File, error) { return Decode(r, r.Size()) })
}

// reading begins the errors that name a file.
const reading = "read tensors"

// List returns the tensors of the file at path without their data, in the order of their data. read
// reads the data of one of them from the file.
func List(path string) (tensors []Tensor, read func(name string) (Tensor, error), err error) {
	h, err := array.InFile(reading, path, func(r *array.File) (*header, error) {
		return parseFile(r, r.Size(), array.NewBudget())
	})
	if err != nil {
		return nil, nil, err
	}
	return h.list(nil), func(name string) (Tensor, error) {
		return array.InFile(reading, path, func(r *array.File) (t Tensor, err error) {
			i, ok := h.byName[name]
			if !ok {
				return t, fmt.Errorf("no tensor %q", name)
			}
			t, err = h.tensors[i].read(r, h)
			if err != nil {
				err = fmt.Errorf("tensor %.80q: %w", name, err)
			}
			return t, err
		})
	}, nil
}

// read returns a tensor with its data, which lie in the file that h was read from.
func (t placed) read(r *array.File, h *header) (Tensor, error) {
	if _, err := byteCount(t.DType, t.Shape); err != nil {
		return t.Tensor, err
	}
	if r.Size() != h.size {
		return t.Tensor, fmt.Errorf("the file had %d bytes and has %d now: it was replaced meanwhile", h.size,
			r.Size())
	}
	budget := array.NewBudget()
	data, err := array.Make[byte](budget, int(t.end-t.begin), "its bytes")
	if err == nil {
		err = budget.Fits(8*(t.end-t.begin)/int64(t.DType.Size()), "its numbers as float64")
	}
	if err == nil {
		err = readFull(r, data, h.start+t.begin)
	}
	t.Data = data
	return t.Tensor, err
}

// Decode reads a file of size bytes from r. Its errors name the tensor and the values that are
// wrong, not the file.
func Decode(r io.ReaderAt, size int64) (*File, error) {
	budget := array.NewBudget()
	h, err := parseFile(r, size, budget)
	if err != nil {
		return nil, err
	}
	data, err := h.payload(r, budget)
	if err != nil {
		return nil, err
	}
	return &File{Tensors: h.list(data), Metadata: h.metadata, byName: h.byName}, nil
}

// Metadata returns the metadata of a file of size bytes and reads nothing but its header.
func Metadata(r io.ReaderAt, size int64) (map[string]string, error) {
	h, err := parseFile(r, size, array.NewBudget())
	if err != nil {
		return nil, err
	}
	return h.metadata, nil
}

// perTensor is the memory that reading a tensor's entry takes, besides its text and its data.
const perTensor = 1024

// parseFile reads the header of a file of size bytes and checks it against them.
func parseFile(r io.ReaderAt, size int64, budget *array.Budget) (*header, error) {
	text, err := readHeader(r, size, budget)
	if err != nil {
		return nil, err
	}
	most := min(strings.Count(text, `"data_offsets"`), len(text)/len(shortestEntry))
	if err := budget.Take(perTensor*int64(most), fmt.Sprintf("%d tensors", most)); err != nil {
		return nil, err
	}
	h, err := parseHeader(text)
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	h.size, h.start = size, prefix+int64(len(text))
	return h, h.layout(size - h.start)
}

// readHeader returns the JSON header after checking its length against the file's.
func readHeader(r io.ReaderAt, size int64, budget *array.Budget) (string, error) {
	if size < prefix+2 {
		return "", fmt.Errorf("%d bytes are too few for a safetensors file", size)
	}
	var length [prefix]byte
	if err := readFull(r, length[:], 0); err != nil {
		return "", err
	}
	n := binary.LittleEndian.Uint64(length[:])
	switch {
	case n < 2:
		return "", fmt.Errorf("header of %d bytes: too short to be JSON", n)
	case n > MaxHeader:
		return "", fmt.Errorf("header of %d bytes: at most %d are allowed (is this a safetensors "+
			"file?)", n, MaxHeader)
	case int64(n) > size-prefix:
		return "", array.Damaged("header of %d bytes, but only %d bytes follow", n, size-prefix)
	}
	if err := budget.Take(int64(n), "the header"); err != nil {
		return "", err
	}
	var header strings.Builder // gives a string with no second copy
	header.Grow(int(n))
	got, err := io.Copy(&header, io.NewSectionReader(r, prefix, int64(n)))
	if err != nil {
		return "", err
	}
	if got != int64(n) {
		return "", array.Damaged("expected a header of %d bytes, got %d", n, got)
	}
	return header.String(), nil
}

// payload reads the data of all tensors.
func (h *header) payload(r io.ReaderAt, budget *array.Budget) ([]byte, error) {
	b, err := array.Make[byte](budget, int(h.size-h.start), "tensors")
	if err != nil {
		return nil, err
	}
	return b, readFull(r, b, h.start)
}

// readFull fills b from the given offset of r.
func readFull(r io.ReaderAt, b []byte, offset int64) error {
	n, err := r.ReadAt(b, offset)
	if n == len(b) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return array.Damaged("expected %d bytes at offset %d, got %d", len(b), offset, n)
	}
	return err
}

// placed is a tensor without data, with its place in the payload.
type placed struct {
	Tensor
	begin, end int64
}

// header is the parsed header of a file.
type header struct {
	tensors  []placed
	metadata map[string]string
	byName   map[string]int // places in tensors

	size, start int64 // of the file, and of the payload in it
}

// list returns the tensors, with their data where the payload is given.
func (h *header) list(payload []byte) []Tensor {
	tensors := make([]Tensor, len(h.tensors))
	for i, t := range h.tensors {
		tensors[i] = t.Tensor
		if payload != nil {
			tensors[i].Data = payload[t.begin:t.end:t.end]
		}
	}
	return tensors
}

// layout sorts the tensors by their place in the payload, indexes them and checks that they fill its
// size bytes exactly.
func (h *header) layout(size int64) error {
	slices.SortStableFunc(h.tensors, func(a, b placed) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end))
	})
	h.byName = make(map[string]int, len(h.tensors))
	last, at := "", int64(0)
	for i, t := range h.tensors {
		if _, twice := h.byName[t.Name]; twice {
			return fmt.Errorf("header: duplicate key %.80q", t.Name)
		}
		h.byName[t.Name] = i
	}
	for _, t := range h.tensors {
		if err := t.check(size); err != nil {
			return fmt.Errorf("tensor %.80q: %w", t.Name, err)
		}
		if t.begin < at {
			return fmt.Errorf("tensor %.80q: begins at byte %d, inside tensor %.80q, which ends at %d",
				t.Name, t.begin, last, at)
		}
		if t.begin > at {
			return fmt.Errorf("tensor %.80q: begins at byte %d, leaving a hole after byte %d",
				t.Name, t.begin, at)
		}
		last, at = t.Name, t.end
	}
	if at != size {
		return array.Damaged("the tensors end at byte %d of the payload, but it has %d", at, size)
	}
	return nil
}

// check reports what is wrong with a tensor in a payload of size bytes. One of a dtype that is not
// read may have any number of them.
func (t placed) check(size int64) error {
	if t.DType == "" {
		return errors.New("has no dtype")
	}
	isRead := t.DType.Size() > 0
	n, err := count(t.Shape, 1)
	if isRead && err == nil {
		n, err = byteCount(t.DType, t.Shape)
	}
	switch {
	case err != nil:
		return err
	case t.begin > t.end:
		return fmt.Errorf("data_offsets [%d, %d] are reversed", t.begin, t.end)
	case isRead && t.end-t.begin != int64(n):
		return fmt.Errorf("%s%v needs %d bytes, data_offsets [%d, %d] hold %d", t.DType, t.Shape, n,
			t.begin, t.end, t.end-t.begin)
	case t.end > size:
		return array.Damaged("data_offsets [%d, %d] go beyond the payload of %d bytes", t.begin,
			t.end, size)
	}
	return nil
}
