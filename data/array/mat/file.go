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

// headerBytes are 116 of text, 8 for the place of MATLAB's own data, 2 of version, 2 of byte order.
const headerBytes = 128

// file is an open .mat file. Its functions end with array.Fail where the file is wrong.
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
}

// newFile reads the header of a file of size bytes and those of its variables.
func newFile(r io.ReaderAt, size int64) *file {
	f := &file{r: r, size: size, buffer: bufio.NewReader(nil), budget: array.NewBudget()}
	f.order = f.byteOrder()
	seen := map[string]bool{}
	for at, number := int64(headerBytes), 1; at < size; number++ {
		v := f.next(at, number)
		at = v.at + v.bytes
		if !v.packed { // compressed data have no padding
			at = min(size, at+(-v.bytes&7))
		}
		if v.name == "" {
			f.check(&v)
			continue
		}
		if seen[v.name] {
			array.Failf("two variables are called %s", array.Quote(v.name))
		}
		seen[v.name] = true
		array.Fail(f.budget.Take(int64(len(v.name))+256, "names of variables"))
		f.variables = append(f.variables, v)
	}
	return f
}

// variable returns the variable of a name; nil where there is none.
func (f *file) variable(name string) *variable {
	for i := range f.variables {
		if f.variables[i].name == name {
			return &f.variables[i]
		}
	}
	return nil
}

// check reads a compressed variable to its checksum: it may be damage that took its name.
func (f *file) check(v *variable) {
	if v.packed {
		defer array.Within("a variable without a name")
		f.open(v).finish()
	}
}

// readAt fills b from a byte of the file on.
func (f *file) readAt(b []byte, at int64) {
	if n, err := f.r.ReadAt(b, at); n < len(b) {
		array.Fail(err)
	}
}

// byteOrder returns the order of the file. It ends where the file is of another version or no .mat file.
func (f *file) byteOrder() binary.ByteOrder {
	b := make([]byte, min(headerBytes, max(0, f.size)))
	if n, err := f.r.ReadAt(b, 0); n < len(b) {
		array.Failf("header: %w", err)
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
		return order
	}
	if bytes.HasPrefix(b, []byte(signature)) {
		array.Fail(ErrHDF5)
	}
	if start := make([]byte, len(signature)); f.size >= signatureAt+int64(len(start)) {
		if f.readAt(start, signatureAt); string(start) == signature {
			array.Fail(ErrHDF5)
		}
	}
	switch {
	case strings.HasPrefix(string(b), "MATLAB 7.3 MAT-file") || order != nil &&
		order.Uint16(b[124:]) == 0x0200:
		array.FailDamaged("begins as MATLAB v7.3, which is HDF5, but has no HDF5 data "+
			"at byte %d", signatureAt)
	case order != nil:
		array.FailDamaged("format version %#04x, want 0x0100 (MATLAB 5 to 7)",
			order.Uint16(b[124:]))
	case isVersion4(b):
		array.Failf("begins as a file of MATLAB 4, which is not read: load it in MATLAB or Octave and save it " +
			"again with save -v7, or with scipy: savemat(NEW, loadmat(OLD))")
	case strings.HasPrefix(string(b), "# Created by Octave"),
		strings.HasPrefix(string(b), "Octave-1-"):
		array.Failf("a file in Octave's own format: load it in Octave and save it again with save -v7")
	case len(b) < headerBytes:
		array.Failf("the file has %d bytes, too few for a .mat file, whose header has %d", len(b),
			headerBytes)
	default:
		array.Failf("has %q where a .mat file has its byte order, IM or MI: not a .mat "+
			"file of MATLAB 5 to 7 (one from save -ascii is text: read it as such)", b[126:])
	}
	return nil
}

// isVersion4 reports whether b begins like a file of MATLAB 4 ("MAT-File Format", version 4): in either
// byte order a number with the decimal digits M (the machine), O (0), P (the type of numbers) and T (the
// kind of matrix), rows, columns, whether there are imaginary parts, and the bytes of a name. The text of a
// header of version 5 is no such number.
func isVersion4(b []byte) bool {
	const start = 20 // bytes before the name
	begins := func(order binary.ByteOrder) bool {
		kind, name := order.Uint32(b), order.Uint32(b[start-4:])
		return kind < 5000 && kind/100%10 == 0 && kind/10%10 < 6 && kind%10 < 3 && name >= 1 && name <= maxName
	}
	return len(b) >= start && (begins(binary.LittleEndian) || begins(binary.BigEndian))
}

// next reads the header of the variable at a byte of the file and checks its size.
func (f *file) next(at int64, number int) variable {
	defer array.Within("the variable at byte %d (number %d of the file)", at, number)
	if f.size-at < 8 {
		array.FailDamaged("expected a tag of 8 bytes, the file has %d", f.size-at)
	}
	var tag [8]byte
	f.readAt(tag[:], at)
	v := variable{at: at + 8, bytes: int64(f.order.Uint32(tag[4:]))}
	switch k := kind(f.order.Uint32(tag[:])); k {
	case miMatrix:
	case miCompressed:
		v.packed = true
	default:
		array.FailDamaged("is of type %s, want %s or %s", k, miMatrix, miCompressed)
	}
	if left := f.size - v.at; v.bytes > left {
		array.FailDamaged("expected %d bytes, the file has %d", v.bytes, left)
	}
	s := f.open(&v)
	h := s.header()
	if h.isReal() && !h.void && h.class != classSparse {
		s.checkData(h)
	}
	v.header = *h
	return v
}

// open returns the bytes of a variable without its tags. It ends what was opened before.
func (f *file) open(v *variable) *stream {
	f.buffer.Reset(io.NewSectionReader(f.r, v.at, v.bytes))
	s := &stream{r: f.buffer, order: f.order, left: v.bytes, packed: v.packed, budget: f.budget}
	if !v.packed {
		return s
	}
	var err error
	if f.inflate == nil {
		f.inflate, err = zlib.NewReader(f.buffer)
	} else {
		err = f.inflate.(zlib.Resetter).Reset(f.buffer, nil)
	}
	if err != nil {
		f.inflate = nil
		array.Fail(array.Ended(err, "the compressed data's header", 2, 0))
	}
	s.r, s.left = f.inflate, 8
	tag := s.bytes(8, "tag")
	k, size := kind(f.order.Uint32(tag)), int64(f.order.Uint32(tag[4:]))
	if k != miMatrix {
		array.FailDamaged("its compressed data are of type %s, want %s", k, miMatrix)
	}
	if size/array.MaxInflate > v.bytes {
		array.FailDamaged("claims to unpack %d bytes from %d, more than deflate can", size, v.bytes)
	}
	s.left = size
	return s
}

// failWithout ends reading of a file that lacks a variable, and names those that it has.
func (f *file) failWithout(name string) {
	if len(f.variables) == 0 {
		array.Failf("holds no variable %s, and no other", array.Quote(name))
	}
	var names []string
	for _, v := range f.variables {
		names = append(names, fmt.Sprintf("%s (%s)", array.Quote(v.name), v.className()))
	}
	array.Failf("holds no variable %s; it holds %s", array.Quote(name), array.Join(names))
}
