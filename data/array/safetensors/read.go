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
	i := slices.IndexFunc(f.Tensors, func(t Tensor) bool { return t.Name == name })
	if i < 0 {
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
		return parseFile(r, r.Size(), array.NewBudget()), nil
	})
	if err != nil {
		return nil, nil, err
	}
	return h.list(nil), func(name string) (Tensor, error) {
		return array.InFile(reading, path, func(r *array.File) (Tensor, error) {
			i, ok := h.byName[name]
			if !ok {
				return Tensor{}, fmt.Errorf("no tensor %q", name)
			}
			return h.tensors[i].read(r, h), nil
		})
	}, nil
}

// read returns a tensor with its data, which lie in the file that h was read from.
func (t placed) read(r *array.File, h *header) Tensor {
	defer array.Within("tensor %.80q", t.Name)
	array.Got(byteCount(t.DType, t.Shape))
	if r.Size() != h.size {
		array.Failf("the file had %d bytes and has %d now: it was replaced meanwhile", h.size, r.Size())
	}
	budget := array.NewBudget()
	t.Data = array.Got(array.Make[byte](budget, int(t.end-t.begin), "its bytes"))
	array.Fail(budget.Fits(8*(t.end-t.begin)/int64(t.DType.Size()), "its numbers as float64"))
	readFull(r, t.Data, h.start+t.begin)
	return t.Tensor
}

// Decode reads a file of size bytes from r. Its errors name the tensor and the values that are
// wrong, not the file.
func Decode(r io.ReaderAt, size int64) (f *File, err error) {
	defer array.Catch(&err)
	budget := array.NewBudget()
	h := parseFile(r, size, budget)
	data := array.Got(array.Make[byte](budget, int(h.size-h.start), "tensors"))
	readFull(r, data, h.start)
	return &File{Tensors: h.list(data), Metadata: h.metadata}, nil
}

// Metadata returns the metadata of a file of size bytes and reads nothing but its header.
func Metadata(r io.ReaderAt, size int64) (m map[string]string, err error) {
	defer array.Catch(&err)
	return parseFile(r, size, array.NewBudget()).metadata, nil
}

// perTensor is the memory that reading a tensor's entry takes, besides its text and its data.
const perTensor = 1024

// parseFile reads the header of a file of size bytes and checks it against them.
func parseFile(r io.ReaderAt, size int64, budget *array.Budget) *header {
	text := readHeader(r, size, budget)
	most := min(strings.Count(text, `"data_offsets"`), len(text)/len(shortestEntry))
	array.Fail(budget.Take(perTensor*int64(most), fmt.Sprintf("%d tensors", most)))
	h := parseHeader(text)
	h.size, h.start = size, prefix+int64(len(text))
	h.layout(size - h.start)
	return h
}

// readHeader returns the JSON header after checking its length against the file's.
func readHeader(r io.ReaderAt, size int64, budget *array.Budget) string {
	if size < prefix+2 {
		array.Failf("%d bytes are too few for a safetensors file", size)
	}
	var length [prefix]byte
	readFull(r, length[:], 0)
	n := binary.LittleEndian.Uint64(length[:])
	switch {
	case n < 2:
		array.Failf("header of %d bytes: too short to be JSON", n)
	case n > MaxHeader:
		array.Failf("header of %d bytes: at most %d are allowed (is this a safetensors "+
			"file?)", n, MaxHeader)
	case int64(n) > size-prefix:
		array.FailDamaged("header of %d bytes, but only %d bytes follow", n, size-prefix)
	}
	array.Fail(budget.Take(int64(n), "the header"))
	var header strings.Builder // gives a string with no second copy
	header.Grow(int(n))
	got := array.Got(io.Copy(&header, io.NewSectionReader(r, prefix, int64(n))))
	if got != int64(n) {
		array.FailDamaged("expected a header of %d bytes, got %d", n, got)
	}
	return header.String()
}

// readFull fills b from the given offset of r.
func readFull(r io.ReaderAt, b []byte, offset int64) {
	n, err := r.ReadAt(b, offset)
	if n == len(b) {
		return
	}
	if err == nil || errors.Is(err, io.EOF) {
		array.FailDamaged("expected %d bytes at offset %d, got %d", len(b), offset, n)
	}
	array.Fail(err)
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
func (h *header) layout(size int64) {
	slices.SortStableFunc(h.tensors, func(a, b placed) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end))
	})
	h.byName = make(map[string]int, len(h.tensors))
	for i, t := range h.tensors {
		if _, twice := h.byName[t.Name]; twice {
			array.Failf("header: duplicate key %.80q", t.Name)
		}
		h.byName[t.Name] = i
	}
	last := placed{}
	for _, t := range h.tensors {
		t.check(size, last)
		last = t
	}
	if last.end != size {
		array.FailDamaged("the tensors end at byte %d of the payload, but it has %d", last.end, size)
	}
}

// check fails for what is wrong with a tensor in a payload of size bytes, behind another one. One of a
// dtype that is not read may have any number of them.
func (t placed) check(size int64, before placed) {
	defer array.Within("tensor %.80q", t.Name)
	if t.DType == "" {
		array.Failf("has no dtype")
	}
	isRead := t.DType.Size() > 0
	n, err := count(t.Shape, 1)
	if isRead && err == nil {
		n, err = byteCount(t.DType, t.Shape)
	}
	array.Fail(err)
	switch {
	case t.begin > t.end:
		array.Failf("data_offsets [%d, %d] are reversed", t.begin, t.end)
	case isRead && t.end-t.begin != int64(n):
		array.Failf("%s%v needs %d bytes, data_offsets [%d, %d] hold %d", t.DType, t.Shape, n,
			t.begin, t.end, t.end-t.begin)
	case t.end > size:
		array.FailDamaged("data_offsets [%d, %d] go beyond the payload of %d bytes", t.begin,
			t.end, size)
	case t.begin < before.end:
		array.Failf("begins at byte %d, inside tensor %.80q, which ends at %d", t.begin, before.Name,
			before.end)
	case t.begin > before.end:
		array.Failf("begins at byte %d, leaving a hole after byte %d", t.begin, before.end)
	}
}
