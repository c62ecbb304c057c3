package mat

import (
	"errors"
	"fmt"
	"strings"

	"torchpe/data/array"
)

// class is the class of a matrix ("MAT-File Format", table 1-3; 16 and 17 are not in it and are
// read as scipy does).
type class byte

const (
	classCell     class = 1
	classStruct   class = 2
	classObject   class = 3
	classChar     class = 4
	classSparse   class = 5
	classDouble   class = 6
	classSingle   class = 7
	classInt8     class = 8
	classUint8    class = 9
	classInt16    class = 10
	classUint16   class = 11
	classInt32    class = 12
	classUint32   class = 13
	classInt64    class = 14
	classUint64   class = 15
	classFunction class = 16
	classOpaque   class = 17
)

var classNames = map[class]string{
	classCell: "cell", classStruct: "struct", classObject: "object", classChar: "char",
	classSparse: "double", classDouble: "double", classSingle: "single", classInt8: "int8",
	classUint8: "uint8", classInt16: "int16", classUint16: "uint16", classInt32: "int32",
	classUint32: "uint32", classInt64: "int64", classUint64: "uint64",
	classFunction: "function_handle", classOpaque: "object",
}

const (
	maxRank = 64   // axes; as many as numpy has at most
	maxName = 4096 // bytes of a name; MATLAB's have 63 at most
)

// header describes a matrix.
type header struct {
	class            class
	complex, logical bool
	shape            []int // nil for objects of new kinds
	name             string
	object           string // an object's class
	void             bool   // a matrix without a header, which is []
	least            int64  // of a sparse matrix's numbers, how many are used
}

// header reads the header of a matrix.
func (s *stream) header() *header {
	if s.left == 0 { // MATLAB writes so for fields and cells that nothing was put into
		return &header{class: classDouble, shape: []int{0, 0}, void: true}
	}
	b := s.all("array flags", 8, miUint32)
	if len(b) != 8 {
		array.FailDamaged("%d bytes of array flags, want 8", len(b))
	}
	flags := s.order.Uint32(b)
	h := &header{class: class(flags), complex: flags&0x800 != 0, logical: flags&0x200 != 0}
	if _, ok := classNames[h.class]; !ok {
		array.FailDamaged("class %d, want 1 to 17", h.class)
	}
	if h.class != classOpaque {
		h.shape = s.shape()
	}
	h.name = s.text("name")
	if h.class == classOpaque {
		s.text("kind of object") // MCOS, java or handle
	}
	if h.class == classOpaque || h.class == classObject {
		h.object = s.text("object's class")
	}
	return h
}

// shape reads the lengths of a matrix's axes. Some writers say miUINT32 for the same four bytes.
func (s *stream) shape() (shape []int) {
	b := s.all("dimensions", 4*maxRank, miInt32, miUint32)
	if len(b)%4 != 0 || len(b) < 8 {
		array.FailDamaged("%d bytes of dimensions, want 4 for each axis and two axes at least", len(b))
	}
	for ; len(b) > 0; b = b[4:] {
		shape = append(shape, int(int32(s.order.Uint32(b))))
	}
	count(shape, 1)
	return shape
}

// count returns the number of elements of a shape.
func count(shape []int, bytes int) int {
	n, err := array.Count(shape, bytes)
	if err != nil {
		array.FailDamaged("%w", err)
	}
	return n
}

// text reads a name.
func (s *stream) text(what string) string {
	text := string(s.all(what, maxName, miInt8, miUTF8))
	if strings.IndexByte(text, 0) >= 0 {
		array.FailDamaged("its %s %s holds a NUL", what, array.Quote(text))
	}
	return text
}

// isReal reports whether the matrix is one of real numbers, which can be read.
func (h *header) isReal() bool {
	return h.class >= classSparse && h.class <= classUint64 && !h.complex
}

// className returns what [Entry] calls Class.
func (h *header) className() string {
	name := classNames[h.class]
	switch {
	case h.object != "":
		return h.object
	case h.class < classSparse || h.class > classUint64:
		return name
	case h.logical:
		name = "logical"
	}
	if h.complex {
		name = "complex " + name
	}
	if h.class == classSparse {
		name = "sparse " + name
	}
	return name
}

// unreadable explains why a variable cannot be read and what to store in its place.
func (h *header) unreadable() error {
	if h.complex {
		return fmt.Errorf("holds complex numbers (%s): store the real parts (real(x)), and the "+
			"imaginary ones as a variable of their own (imag(x))", h.className())
	}
	return Unreadable(h.className())
}

// Unreadable explains why a variable of a class cannot be read and what to store in its place.
func Unreadable(class string) error {
	how := "x = double(x), or a property of it"
	switch class {
	case "cell":
		return errors.New("is a cell array, whose cells are not read: store the numbers of a " +
			"cell as a variable (x = c{1})")
	case "char":
		return errors.New("holds text (char): store numbers here, and text in a file of its own")
	case "function_handle":
		return errors.New("is a function (function_handle): store its results as a variable")
	case "table":
		how = "x = table2array(t)"
	case "timetable":
		how = "x = t.Variables"
	case "datetime":
		how = "x = posixtime(t)"
	case "duration":
		how = "x = seconds(t)"
	case "string":
		how = "x = char(s), in a file of its own"
	}
	return fmt.Errorf("is an object of the class %s, which only MATLAB reads: store its numbers as "+
		"a variable (%s)", array.Quote(class), how)
}
