package hdf5

import (
	"encoding/binary"
	"fmt"
	"math"

	"torchpe/data/array"
)

// datatype is the type of a dataset's elements.
type datatype struct {
	class  int
	bytes  int
	big    bool
	signed bool
	exact  bool      // its bits are those of a number that can be read
	unused int       // bits of an integer above those that count
	shift  int       // bits of an integer below them
	dtype  string    // as numpy spells it, or what it is
	re     *datatype // of the real part of a complex number
	reAt   int       // where that begins
}

// The classes of datatypes.
const (
	classInteger = iota
	classFloat
	classTime
	classText
	classBits
	classOpaque
	classCompound
	classReference
	classEnum
	classVariable
	classArray
)

var classNames = []string{"integer", "float", "time", "text", "bit field", "opaque", "compound",
	"reference", "enumeration", "variable length", "array"}

// maxNested bounds the depth of nested datatypes.
const maxNested = 8

// datatype takes a datatype message, whole.
func (c *cursor) datatype(depth int) *datatype {
	head := c.u8()
	flags := uint32(c.uint(3))
	t := &datatype{class: int(head & 15)}
	version := head >> 4
	size := c.u32()
	if version > 4 && version < 8 {
		array.Failf("its datatype has version %d; versions 1 to 4 can be read", version)
	}
	if version < 1 || version > 4 || size == 0 || size > math.MaxInt32 || depth > maxNested {
		array.FailDamaged("a datatype of version %d with %d bytes, %d deep", version,
			size, depth)
	}
	t.bytes = int(size)
	t.dtype = "unknown"
	if t.class < len(classNames) {
		t.dtype = classNames[t.class]
	}
	switch t.class {
	case classInteger:
		t.big, t.signed = flags&1 != 0, flags&8 != 0
		t.shift = c.u16()
		precision := c.u16()
		t.unused = 8*t.bytes - precision - t.shift
		t.exact = t.unused >= 0 && precision > 0 && (t.bytes == 1 || t.bytes == 2 ||
			t.bytes == 4 || t.bytes == 8)
		kind := "u"
		if t.signed {
			kind = "i"
		}
		t.spell(kind)
	case classFloat:
		t.big = flags&1 != 0
		layout := string(c.take(12))
		t.exact = flags&0x40 == 0 && layout == ieee[t.bytes]
		t.spell("f")
	case classTime:
		c.skip(2)
	case classText:
		t.dtype = fmt.Sprintf("S%d", t.bytes)
	case classBits:
		c.skip(4)
	case classOpaque:
		c.skip(int(flags & 0xff)) // its tag
	case classEnum, classVariable, classArray:
		if t.class == classArray {
			rank := int(c.u8())
			if c.skip(4 * rank); version < 3 {
				c.skip(3 + 4*rank)
			}
		}
		base := c.datatype(depth + 1)
		if t.class == classEnum {
			t.enumeration(c, base, int(flags&0xffff), version)
		}
	case classCompound:
		t.compound(c, int(flags&0xffff), version, depth)
	}
	return t
}

// ieee are the bits of the floats of 16, 32 and 64 bits: offset, precision, exponent's place and
// size, mantissa's place and size, bias.
var ieee = map[int]string{
	2: "\x00\x00\x10\x00\x0a\x05\x00\x0a\x0f\x00\x00\x00",
	4: "\x00\x00\x20\x00\x17\x08\x00\x17\x7f\x00\x00\x00",
	8: "\x00\x00\x40\x00\x34\x0b\x00\x34\xff\x03\x00\x00",
}

// spell sets dtype as numpy does.
func (t *datatype) spell(kind string) {
	order := "<"
	switch {
	case t.bytes == 1:
		order = "|"
	case t.big:
		order = ">"
	}
	t.dtype = fmt.Sprintf("%s%s%d", order, kind, t.bytes)
	if !t.exact {
		t.dtype += " with unusual bits"
	}
}

// enumeration takes the names and values of the members. An enumeration of integers is read as integers.
func (t *datatype) enumeration(c *cursor, base *datatype, members int, version byte) {
	for range members {
		c.name(version)
	}
	c.skip(members * base.bytes)
	if base.class == classInteger && base.bytes == t.bytes {
		*t = *base
	}
}

// name takes the name of a member of a datatype.
func (c *cursor) name(version byte) string {
	start := c.at
	name := c.text()
	if version < 3 {
		c.skip((8 - (c.at-start)%8) % 8)
	}
	return name
}

// compound takes the members of a compound; two floats that are named r and i, or real and imag,
// make complex numbers.
func (t *datatype) compound(c *cursor, members int, version byte, depth int) {
	var names []string
	var types []*datatype
	var places []int
	for range members {
		names = append(names, c.name(version))
		if version < 3 {
			places = append(places, int(c.u32()))
		} else {
			places = append(places, int(c.uint(encoded(uint64(t.bytes)))))
		}
		if version == 1 {
			c.skip(28)
		}
		m := c.datatype(depth + 1)
		if types = append(types, m); m.class > classArray {
			return // the length of its description is unknown
		}
		if at := len(types) - 1; len(t.dtype) < 200 { // a text for people
			t.dtype += fmt.Sprintf("%s %.40s %s", []string{" of", ","}[min(at, 1)], names[at], m.dtype)
		}
	}
	if members != 2 || types[0].class != classFloat || types[1].class != classFloat ||
		!types[0].exact || !types[1].exact {
		return
	}
	if names[0] == "r" && names[1] == "i" || names[0] == "real" && names[1] == "imag" {
		for i, m := range types {
			if places[i] < 0 || places[i] > t.bytes-m.bytes {
				array.FailDamaged("member %q of a compound of %d bytes begins at %d", names[i],
					t.bytes, places[i])
			}
		}
		t.re, t.reAt = types[0], places[0]
		t.dtype = fmt.Sprintf("complex of %s", t.re.dtype)
	}
}

// isReal reports whether the elements are real numbers that can be read.
func (t *datatype) isReal() bool {
	return t.exact && (t.class == classInteger || t.class == classFloat)
}

// get returns the number in b.
func (t *datatype) get(b []byte) (float64, error) {
	order := binary.ByteOrder(binary.LittleEndian)
	if t.big {
		order = binary.BigEndian
	}
	if t.class == classFloat {
		return array.Float(t.bytes).Float64(b, order), nil
	}
	above := 64 - 8*t.bytes + t.unused
	u := array.Uint(t.bytes).Bits(b, order) << above
	if !t.signed {
		u >>= above + t.shift
		v := float64(u)
		return exactly(v, v >= 1<<64 || uint64(v) != u, u)
	}
	i := int64(u) >> (above + t.shift)
	v := float64(i)
	return exactly(v, v >= 1<<63 || int64(v) != i, i)
}

func exactly[I int64 | uint64](v float64, rounded bool, i I) (float64, error) {
	if rounded {
		return 0, fmt.Errorf("is %d, which a float64 would round", i)
	}
	return v, nil
}

// dataspace takes a dataspace message and returns the shape of the dataset.
func (c *cursor) dataspace() []int {
	version, rank := c.u8(), int(c.u8())
	c.skip(1)
	kind := byte(1)
	switch version {
	case 1:
		c.skip(5)
	case 2:
		kind = c.u8()
	default:
		array.Failf("its dataspace has version %d; versions 1 and 2 can be read", version)
	}
	if rank > 32 {
		array.Failf("its dataspace has %d axes; HDF5 has at most 32", rank)
	}
	if kind == 2 {
		return []int{0} // null: no elements
	}
	shape := make([]int, rank)
	for i := range shape {
		n := c.length()
		if n > math.MaxInt64/2 {
			array.FailDamaged("an axis of %d elements", n)
		}
		shape[i] = int(n)
	}
	return shape
}
