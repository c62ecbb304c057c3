package mat

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"torchpe/data/array"
)

// ErrHDF5 says that a file is HDF5, as MATLAB's version 7.3 is: a reader of HDF5 reads it.
var ErrHDF5 = errors.New("an HDF5 file (MATLAB v7.3, from save -v7.3): read it as HDF5, or save " +
	"it again in MATLAB with save -v7")

// signature begins the HDF5 data of a file (HDF5 File Format Specification, II.A), in one of MATLAB
// at byte 512.
const (
	signature   = "\x89HDF\r\n\x1a\n"
	signatureAt = 512
)

const (
	// 116 of text, 8 for the place of MATLAB's own data, 2 of version, 2 of byte order
	headerBytes = 128
)

// file is an open .mat file.
type file struct {
	r     io.ReaderAt
	size  int64
	order binary.ByteOrder
	// variables are in the file's order, each with a name of its own. What has no name MATLAB keeps
	// for itself: the workspaces of functions and the contents of objects.
	variables []variable

	budget  *array.Budget
	buffer  *bufio.Reader // of the variable that is being read
	inflate io.ReadCloser // what unpacks it; nil before the first compressed one
}

// variable is a variable of a file and where it lies.
type variable struct {
	header
	at, bytes int64 // of its element in the file, after the tag
	packed    bool

	number4 array.Number // its numbers in a file of version 4; zero elsewhere
	order4  binary.ByteOrder
}

// newFile reads the header of a file of size bytes and those of its variables.
func newFile(r io.ReaderAt, size int64) (*file, error) {
	order, err := byteOrder(r, size)
	f := &file{r: r, size: size, order: order, buffer: bufio.NewReader(nil),
		budget: array.NewBudget()}
	at, next := int64(headerBytes), f.next
	switch {
	case errors.Is(err, errVersion4):
		at, next = 0, f.next4
	case err != nil:
		return nil, err
	}
	seen := map[string]bool{}
	for number := 1; at < size; number++ {
		v, err := next(at)
		if err != nil {
			return nil, fmt.Errorf("the variable at byte %d (number %d of the file): %w", at, number,
				err)
		}
		at = v.at + v.bytes
		if !v.packed && v.number4.Bytes == 0 { // compressed data and version 4 have no padding
			at = min(size, at+(-v.bytes&7))
		}
		if v.name == "" {
			if err := f.check(&v); err != nil {
				return nil, fmt.Errorf("a variable without a name: %w", err)
			}
			continue
		}
		if seen[v.name] {
			return nil, fmt.Errorf("two variables are called %s", array.Quote(v.name))
		}
		seen[v.name] = true
		if err := f.budget.Take(int64(len(v.name))+256, "names of variables"); err != nil {
			return nil, err
		}
		f.variables = append(f.variables, v)
	}
	return f, nil
}

// check reads a compressed variable to its checksum: it may be damage that took its name.
func (f *file) check(v *variable) error {
	if !v.packed {
		return nil
	}
	s, err := f.open(v)
	if err != nil {
		return err
	}
	return s.finish()
}

// byteOrder returns the order of a file of version 5.
func byteOrder(r io.ReaderAt, size int64) (binary.ByteOrder, error) {
	b := make([]byte, min(headerBytes, max(0, size)))
	if n, err := r.ReadAt(b, 0); n < len(b) {
		return nil, fmt.Errorf("header: %w", err)
	}
	var order binary.ByteOrder
	if len(b) == headerBytes {
		// The number 0x4D49, "MI", in the order of the machine that wrote the file
		switch string(b[126:]) {
		case "IM":
			order = binary.LittleEndian
		case "MI":
			order = binary.BigEndian
		}
	}
	if order != nil && order.Uint16(b[124:]) == 0x0100 {
		return order, nil
	}
	if bytes.HasPrefix(b, []byte(signature)) {
		return nil, ErrHDF5
	}
	if start := make([]byte, len(signature)); size >= signatureAt+int64(len(start)) {
		if n, err := r.ReadAt(start, signatureAt); n < len(start) {
			return nil, err
		}
		if string(start) == signature {
			return nil, ErrHDF5
		}
	}
	switch {
	case strings.HasPrefix(string(b), "MATLAB 7.3 MAT-file") || order != nil &&
		order.Uint16(b[124:]) == 0x0200:
		return nil, array.Damaged("begins as MATLAB v7.3, which is HDF5, but has no HDF5 data "+
			"at byte %d", signatureAt)
	case order != nil:
		return nil, array.Damaged("format version %#04x, want 0x0100 (MATLAB 5 to 7)",
			order.Uint16(b[124:]))
	case isVersion4(b):
		return nil, errVersion4
	case strings.HasPrefix(string(b), "# Created by Octave"),
		strings.HasPrefix(string(b), "Octave-1-"):
		return nil, errors.New(
			"a file in Octave's own format: load it in Octave and save it again with save -v7")
	case len(b) < headerBytes:
		return nil, fmt.Errorf("the file has %d bytes, too few for a .mat file, whose header has "+
			"%d", len(b), headerBytes)
	}
	return nil, fmt.Errorf("has %q where a .mat file has its byte order, IM or MI: not a .mat "+
		"file of MATLAB 5 to 7 (one from save -ascii is text: read it as such)", b[126:])
}

// next reads the header of the variable at a byte of the file and checks its size.
func (f *file) next(at int64) (variable, error) {
	if f.size-at < 8 {
		return variable{}, array.Damaged("expected a tag of 8 bytes, the file has %d", f.size-at)
	}
	var tag [8]byte
	if n, err := f.r.ReadAt(tag[:], at); n < len(tag) {
		return variable{}, err
	}
	v := variable{at: at + 8, bytes: int64(f.order.Uint32(tag[4:]))}
	switch k := kind(f.order.Uint32(tag[:])); k {
	case miMatrix:
	case miCompressed:
		v.packed = true
	default:
		return variable{}, array.Damaged("is of type %s, want %s or %s", k, miMatrix,
			miCompressed)
	}
	if left := f.size - v.at; v.bytes > left {
		return variable{}, array.Damaged("expected %d bytes, the file has %d", v.bytes, left)
	}
	s, err := f.open(&v)
	if err != nil {
		return variable{}, err
	}
	h, err := s.header()
	if err != nil {
		return variable{}, err
	}
	if h.isReal() && !h.void && h.class != classSparse {
		if _, err := s.data(h); err != nil {
			return variable{}, fmt.Errorf("%s: %w", array.Quote(h.name), err)
		}
	}
	v.header = *h
	return v, nil
}

// open returns the bytes of a variable without its tags. It ends what was opened before.
func (f *file) open(v *variable) (*stream, error) {
	f.buffer.Reset(io.NewSectionReader(f.r, v.at, v.bytes))
	s := &stream{r: f.buffer, order: f.order, left: v.bytes, packed: v.packed, budget: f.budget}
	if !v.packed {
		return s, nil
	}
	var err error
	if f.inflate == nil {
		f.inflate, err = zlib.NewReader(f.buffer)
	} else {
		err = f.inflate.(zlib.Resetter).Reset(f.buffer, nil)
	}
	if err != nil {
		f.inflate = nil
		return nil, array.Ended(err, "the compressed data's header", 2, 0)
	}
	s.r, s.left = f.inflate, 8
	tag, err := s.bytes(8, "tag")
	if err != nil {
		return nil, err
	}
	k, size := kind(f.order.Uint32(tag)), int64(f.order.Uint32(tag[4:]))
	if k != miMatrix {
		return nil, array.Damaged("its compressed data are of type %s, want %s", k, miMatrix)
	}
	if size/array.MaxInflate > v.bytes {
		return nil, array.Damaged("claims to unpack %d bytes from %d, more than deflate can",
			size, v.bytes)
	}
	s.left = size
	return s, nil
}

// names lists the variables for a message.
func (f *file) names() string {
	var names []string
	for _, v := range f.variables {
		names = append(names, fmt.Sprintf("%s (%s)", array.Quote(v.name), v.className()))
	}
	return array.Join(names)
}
