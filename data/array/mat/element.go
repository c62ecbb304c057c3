package mat

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"torchpe/data/array"
)

// kind is the type of a data element ("MAT-File Format", table 1-1).
type kind uint32

const (
	miInt8       kind = 1
	miUint8      kind = 2
	miInt16      kind = 3
	miUint16     kind = 4
	miInt32      kind = 5
	miUint32     kind = 6
	miSingle     kind = 7
	miDouble     kind = 9
	miInt64      kind = 12
	miUint64     kind = 13
	miMatrix     kind = 14
	miCompressed kind = 15
	miUTF8       kind = 16
	miUTF16      kind = 17
	miUTF32      kind = 18
)

var kindNames = map[kind]string{
	miInt8: "miINT8", miUint8: "miUINT8", miInt16: "miINT16", miUint16: "miUINT16",
	miInt32: "miINT32", miUint32: "miUINT32",
	miSingle: "miSINGLE", miDouble: "miDOUBLE", miInt64: "miINT64", miUint64: "miUINT64",
	miMatrix:     "miMATRIX",
	miCompressed: "miCOMPRESSED", miUTF8: "miUTF8", miUTF16: "miUTF16", miUTF32: "miUTF32",
}

// String returns the name that MATLAB gives the type.
func (k kind) String() string {
	if name, ok := kindNames[k]; ok {
		return name
	}
	return fmt.Sprintf("%d (unknown)", uint32(k))
}

// stream hands out the bytes of a matrix and knows how many are left of it.
type stream struct {
	r      io.Reader
	order  binary.ByteOrder
	left   int64 // bytes of this matrix
	after  int64 // bytes of the structs around it that follow it
	packed bool  // the bytes come out of deflate, so that they may end before
	budget *array.Budget
}

// Read reads bytes of the matrix.
func (s *stream) Read(b []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	n, err := s.r.Read(b[:min(int64(len(b)), s.left)])
	s.left -= int64(n)
	return n, err
}

// element is a data element inside a matrix: what follows its tag.
type element struct {
	io.Reader
	kind  kind
	size  int64
	small bool // the bytes stood in the tag
}

// next reads the tag of the element that holds what.
func (s *stream) next(what string, kinds ...kind) *element {
	tag := s.bytes(8, "the tag of its "+what)
	first := s.order.Uint32(tag)
	e := &element{Reader: s, kind: kind(first), size: int64(s.order.Uint32(tag[4:]))}
	if n := first >> 16; n != 0 { // the small form: two bytes of size, two of type, four of data
		if n > 4 {
			array.FailDamaged("the tag of its %s claims %d bytes for itself, which has 4", what, n)
		}
		e.kind, e.size, e.small = kind(first&0xffff), int64(n), true
		e.Reader = bytes.NewReader(tag[4 : 4+n])
	}
	if !slices.Contains(kinds, e.kind) {
		array.FailDamaged("the type of its %s is %s, want %s", what, e.kind, choice(kinds))
	}
	if !e.small && e.size > s.left {
		array.FailDamaged("expected %d bytes of %s, the variable has %d", e.size, what, s.left)
	}
	return e
}

// choice names kinds for a message.
func choice(kinds []kind) string {
	if len(kinds) == len(numbers) {
		return "one of numbers"
	}
	text := kinds[0].String()
	for _, k := range kinds[1:] {
		text += " or " + k.String()
	}
	return text
}

// all reads an element of at most limit bytes that holds what.
func (s *stream) all(what string, limit int64, kinds ...kind) []byte {
	e := s.next(what, kinds...)
	if e.size > limit {
		array.Failf("%d bytes of %s: at most %d are read", e.size, what, limit)
	}
	b := make([]byte, e.size)
	if n, err := io.ReadFull(e, b); err != nil {
		array.Fail(array.Ended(err, what, e.size, int64(n)))
	}
	s.pass(e)
	return b
}

// pass steps over the padding after an element whose bytes have been read. At the end of a matrix
// it may be missing.
func (s *stream) pass(e *element) {
	if !e.small {
		s.skip(min(s.left, -e.size&7))
	}
}

// skip steps over n bytes, which are no more than are left.
func (s *stream) skip(n int64) {
	if got, err := io.CopyN(io.Discard, s, n); err != nil {
		array.Fail(array.Ended(err, "data", n, got))
	}
}

// enter goes into a matrix of size bytes that lies in this one.
func (s *stream) enter(size int64) {
	s.after += s.left - size
	s.left = size
}

// bytes reads n bytes, a few.
func (s *stream) bytes(n int64, what string) []byte {
	if n > s.left {
		array.FailDamaged("expected %d bytes of %s, the variable has %d", n, what, s.left)
	}
	b := make([]byte, n)
	if got, err := io.ReadFull(s, b); err != nil {
		array.Fail(array.Ended(err, what, n, int64(got)))
	}
	return b
}

// finish reads a compressed variable to its end, where its checksum is.
func (s *stream) finish() {
	if !s.packed {
		return
	}
	s.left, s.after = s.left+s.after, 0
	s.skip(s.left)
	var b [1]byte
	switch _, err := io.ReadFull(s.r, b[:]); {
	case err == nil:
		array.FailDamaged("its compressed data go on after its end")
	case !errors.Is(err, io.EOF):
		array.FailDamaged("at the end of its data: %w", err)
	}
}
