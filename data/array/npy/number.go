package npy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"torchpe/data/array"
)

// number is a type of numbers that an array can hold.
type number struct {
	array.Number
	boolean bool
}

// numbers lists the types by numpy's letter and size in bytes (numpy.dtype.str without the byte
// order).
var numbers = map[string]number{"b1": {array.Uint(1), true}}

func init() {
	for _, name := range []string{"i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2",
		"f4", "f8"} {
		numbers[name] = number{Number: array.Number{Kind: name[0], Bytes: int(name[1] - '0')}}
		spellings[numbers[name].String()] = name
	}
}

// spellings are names that numpy takes for types, and other programs write.
var spellings = map[string]string{"bool": "b1", "half": "f2", "single": "f4", "float": "f8", "double": "f8"}

// canonical returns a descr as numpy spells it. numpy takes one without a byte order, or with =, in
// that of the machine.
func canonical(descr string) string {
	name := strings.TrimPrefix(descr, "=")
	if short, ok := spellings[descr]; ok {
		name = short
	}
	switch n, ok := numbers[name]; {
	case !ok:
		return descr
	case n.Bytes == 1:
		return "|" + name
	case binary.NativeEndian.Uint16([]byte{1, 0}) == 1:
		return "<" + name
	}
	return ">" + name
}

// decode returns the number that b begins with.
func (n number) decode(b []byte, o binary.ByteOrder) (float64, error) {
	if n.boolean && b[0] > 1 {
		return 0, array.Damaged("is the byte %d, and a boolean is 0 or 1", b[0])
	}
	return n.Exact(b, o)
}

// dtype returns the type and the byte order of a descr such as "<f8".
func dtype(descr string) (number, binary.ByteOrder, error) {
	mark, name := byte('|'), descr
	if descr != "" && strings.IndexByte("<>|=", descr[0]) >= 0 {
		mark, name = descr[0], descr[1:]
	}
	n, ok := numbers[name]
	switch {
	case !ok:
		return number{}, nil, unreadable(descr, name)
	case mark == '<', n.Bytes == 1:
		return n, binary.LittleEndian, nil
	case mark == '>':
		return n, binary.BigEndian, nil
	}
	return number{}, nil, fmt.Errorf("dtype %s does not say its byte order, want < or > before %s",
		array.Quote(descr), name)
}

// unreadable explains why an array of a type cannot be read and what to store in its place.
func unreadable(descr, name string) error {
	if strings.HasPrefix(descr, "[") {
		return fmt.Errorf("dtype %s is one of records: store each field as an array of its own",
			array.Quote(descr))
	}
	if name == "" {
		return errors.New("the dtype is empty")
	}
	why := "want b1, i1-i8, u1-u8, f2, f4 or f8"
	switch name[0] {
	case 'c':
		why = "holds complex numbers: store the real parts (a.real), and the imaginary ones " +
			"as an array of their own"
	case 'O':
		why = "holds Python objects, which are programs and not numbers: store an array of numbers"
	case 'f':
		why = "holds floating-point numbers of a size that differs between machines: store float64"
	case 'U', 'S', 'a':
		why = "holds text: store numbers here, and text in a file of its own"
	case 'M', 'm':
		why = "holds dates or times: store a number of seconds as float64"
	case 'V':
		why = "holds raw bytes (a bfloat16 or a type of another library?): store float32"
	}
	return fmt.Errorf("dtype %s %s", array.Quote(descr), why)
}
