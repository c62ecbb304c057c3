package mat

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"torchpe/data/array"
	"torchpe/internal/expect"
)

// maker puts files together by the letter of "MAT-File Format", byte by byte and in either order.
type maker struct {
	binary.ByteOrder
	binary.AppendByteOrder
}

var (
	little = maker{binary.LittleEndian, binary.LittleEndian}
	big    = maker{binary.BigEndian, binary.BigEndian}
)

// file returns a file of the elements.
func (m maker) file(elements ...[]byte) []byte {
	b := []byte(fmt.Sprintf("%-116s", "MATLAB 5.0 MAT-file, put together by a test"))
	b = append(b, make([]byte, 8)...)
	b = m.AppendUint16(m.AppendUint16(b, 0x0100), 'M'<<8|'I')
	return append(b, bytes.Join(elements, nil)...)
}

// tag returns the first 8 bytes of an element.
func (m maker) tag(k kind, size int) []byte {
	return m.AppendUint32(m.AppendUint32(nil, uint32(k)), uint32(size))
}

// element returns an element with its padding.
func (m maker) element(k kind, data []byte) []byte {
	b := append(m.tag(k, len(data)), data...)
	return append(b, make([]byte, -len(data)&7)...)
}

// small returns an element in the small form.
func (m maker) small(k kind, data string) []byte {
	b := m.AppendUint32(nil, uint32(len(data))<<16|uint32(k))
	return append(append(b, data...), make([]byte, 4-len(data))...)
}

// words returns numbers of 32 bits.
func (m maker) words(values ...int) []byte {
	var b []byte
	for _, v := range values {
		b = m.AppendUint32(b, uint32(v))
	}
	return b
}

// doubles returns numbers of 64 bits.
func (m maker) doubles(values ...float64) []byte {
	var b []byte
	for _, v := range values {
		b = m.AppendUint64(b, math.Float64bits(v))
	}
	return b
}

// start returns the header of a matrix; class has its flags in the second byte.
func (m maker) start(class int, name string, shape ...int) []byte {
	return slices.Concat(m.element(miUint32, m.words(class, 0)),
		m.element(miInt32, m.words(shape...)), m.element(miInt8, []byte(name)))
}

// matrix returns a matrix of a header and the rest.
func (m maker) matrix(parts ...[]byte) []byte {
	return m.element(miMatrix, bytes.Join(parts, nil))
}

// deflated compresses b with zlib.
func deflated(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := expect.Must(zlib.NewWriterLevel(&out, zlib.BestCompression))
	expect.Must(w.Write(b))
	expect.NoError(t, w.Close())
	return out.Bytes()
}

// packed returns a compressed element, which has no padding.
func (m maker) packed(t testing.TB, b []byte) []byte {
	t.Helper()
	data := deflated(t, b)
	return append(m.tag(miCompressed, len(data)), data...)
}

// readBytes reads all of a file in memory.
func readBytes(b []byte) ([]array.Array, error) { return readSized(bytes.NewReader(b), len(b)) }

// readSized reads all of a file of a size.
func readSized(r io.ReaderAt, size int) ([]array.Array, error) {
	return array.Try(func() []array.Array { return newFile(r, int64(size)).readAll() })
}

// readAll reads the variables of real numbers, and the others to their checksums: damage may have made
// a variable of numbers look like one.
func (f *file) readAll() (all []array.Array) {
	for i := range f.variables {
		if v := &f.variables[i]; v.isReal() {
			all = append(all, f.readVariable(v, "", v.name))
		} else {
			f.check(v)
		}
	}
	if len(all) == 0 {
		array.Failf("no real numbers")
	}
	return all
}

// readOne reads one variable of a file in memory.
func readOne(b []byte, name string) (array.Array, error) {
	return array.Try(func() array.Array {
		return newFile(bytes.NewReader(b), int64(len(b))).read(name)
	})
}

// flags of a matrix, above its class.
const (
	isComplex = 0x800
	isGlobal  = 0x400
	isLogical = 0x200
)

// TestMatlabForms reads what MATLAB writes and scipy does not, plain and compressed, in both byte
// orders: values stored in every type whatever their class, tags with the data in them, fields that
// nothing was put into, and its own data at the end. The bytes are spelled out by the tables of
// "MAT-File Format".
func TestMatlabForms(t *testing.T) {
	for order, m := range map[string]maker{"little": little, "big": big} {
		u16 := func(v ...uint16) []byte {
			var b []byte
			for _, v := range v {
				b = m.AppendUint16(b, v)
			}
			return b
		}
		matrices := [][]byte{
			// A double of small integers in columns 1 2, 3 4, 5 6, its name in the tag.
			m.matrix(m.element(miUint32, m.words(int(classDouble), 0)),
				m.element(miInt32, m.words(2, 3)), m.small(miInt8, "tc"),
				m.element(miUint8, []byte{1, 2, 3, 4, 5, 6})),
			m.matrix(m.start(int(classDouble), "byte", 1, 1), m.small(miUint8, "\x07")),
			m.matrix(m.start(int(classDouble), "negative", 2, 1), m.small(miInt8, "\xff\x80")),
			m.matrix(m.start(int(classDouble), "short", 1, 2),
				m.small(miInt16, string(u16(0x8000, 0x7fff)))),
			m.matrix(m.start(int(classDouble), "ushort", 1, 3),
				m.element(miUint16, u16(0, 1, 0xffff))),
			m.matrix(m.start(int(classDouble), "long", 1, 1),
				m.small(miInt32, string(m.words(-5)))),
			m.matrix(m.start(int(classInt64), "ulong", 1, 1),
				m.small(miUint32, string(m.words(1<<32-1)))),
			m.matrix(m.start(int(classDouble), "wide", 1, 1),
				m.element(miInt64, m.AppendUint64(nil, 1<<53))),
			m.matrix(m.start(int(classUint64), "uwide", 1, 1),
				m.element(miUint64, m.AppendUint64(nil, 1<<53))),
			m.matrix(m.start(int(classDouble), "float", 1, 1),
				m.small(miSingle, string(m.AppendUint32(nil, 0x3fc00000)))),
			m.matrix(m.start(int(classInt16), "as_double", 1, 2),
				m.element(miDouble, m.doubles(-32768, 32767))),
			m.matrix(m.start(int(classDouble)|isLogical|isGlobal, "flag", 1, 2),
				m.element(miDouble, m.doubles(0, 1))),
			m.matrix(m.start(int(classUint8)|isLogical, "mask", 1, 3),
				m.small(miUint8, "\x01\x00\x01")),
			m.matrix(m.start(int(classSingle), "cube", 2, 1, 2),
				m.element(miSingle, m.words(0x3f800000, 0x40000000, 0x40400000, 0x40800000))),
			m.matrix(m.start(int(classDouble), "empty", 0, 5), m.element(miDouble, nil)),
			m.matrix(m.start(int(classStruct), "s", 1, 1), m.small(miInt32, string(m.words(6))),
				m.element(miInt8, []byte("first\x00none\x00\x00last\x00\x00")),
				m.matrix(m.start(int(classChar), "", 1, 2), m.small(miUTF8, "V1")),
				m.tag(miMatrix, 0), // a field that nothing was put into
				m.matrix(m.start(int(classDouble), "", 1, 2),
					m.element(miDouble, m.doubles(0.5, -0.5)))),
			// A table, as MATLAB writes objects of new kinds: no dimensions, then three names.
			m.matrix(m.element(miUint32, m.words(int(classOpaque), 0)), m.small(miInt8, "t"),
				m.small(miInt8, "MCOS"),
				m.element(miInt8, []byte("table")), m.matrix(m.start(int(classUint32), "", 2, 1),
					m.element(miUint32, m.words(0xdd000000, 2)))),
			m.matrix(m.start(int(classObject), "line", 1, 1), m.element(miInt8, []byte("inline"))),
			// What belongs to the objects has no name.
			m.matrix(m.start(int(classUint8), "", 1, 2), m.small(miUint8, "\x00\x01")),
		}
		want := []array.Array{
			{Name: "tc", Shape: []int{2, 3}, Data: []float64{1, 3, 5, 2, 4, 6}},
			{Name: "byte", Shape: []int{1, 1}, Data: []float64{7}},
			{Name: "negative", Shape: []int{2, 1}, Data: []float64{-1, -128}},
			{Name: "short", Shape: []int{1, 2}, Data: []float64{-32768, 32767}},
			{Name: "ushort", Shape: []int{1, 3}, Data: []float64{0, 1, 65535}},
			{Name: "long", Shape: []int{1, 1}, Data: []float64{-5}},
			{Name: "ulong", Shape: []int{1, 1}, Data: []float64{4294967295}},
			{Name: "wide", Shape: []int{1, 1}, Data: []float64{9007199254740992}},
			{Name: "uwide", Shape: []int{1, 1}, Data: []float64{9007199254740992}},
			{Name: "float", Shape: []int{1, 1}, Data: []float64{1.5}},
			{Name: "as_double", Shape: []int{1, 2}, Data: []float64{-32768, 32767}},
			{Name: "flag", Shape: []int{1, 2}, Data: []float64{0, 1}},
			{Name: "mask", Shape: []int{1, 3}, Data: []float64{1, 0, 1}},
			{Name: "cube", Shape: []int{2, 1, 2}, Data: []float64{1, 3, 2, 4}},
			{Name: "empty", Shape: []int{0, 5}, Data: []float64{}},
		}
		classes := strings.Fields("double double double double double double int64 double uint64 " +
			"double int16 logical logical single double struct table inline")
		var mixed [][]byte
		for i, b := range matrices {
			if i%2 == 0 {
				b = m.packed(t, b)
			}
			mixed = append(mixed, b)
		}
		for flavour, elements := range map[string][][]byte{"plain": matrices, "mixed": mixed} {
			t.Run(order+" "+flavour, func(t *testing.T) {
				b := m.file(elements...)
				as := expect.Must(readBytes(b))
				if !equal(as, want) {
					t.Errorf("got  %v\nwant %v", as, want)
				}
				path := expect.File(t, "a.mat", string(b))
				entries := expect.Must(List(path))
				var listed []string
				for _, e := range entries {
					listed = append(listed, e.Class)
				}
				expect.Equal(t, "listed", listed, classes)
				if e := entries[16]; e.Name != "t" || e.Shape != nil {
					t.Errorf("listed %v for a table", e)
				}
				for name, want := range map[string]array.Array{
					"s.none": {Name: "s.none", Shape: []int{0, 0}, Data: []float64{}},
					"s.last": {Name: "s.last", Shape: []int{1, 2}, Data: []float64{0.5, -0.5}},
				} {
					a, err := ReadVariable(path, name)
					if err != nil || !equal([]array.Array{a}, []array.Array{want}) {
						t.Errorf("got %v and %v, want %v", a, err, want)
					}
				}
				_, err := ReadVariable(path, "t")
				expect.Message(t, err, "mat: "+path+`: variable "t": is an object of the class "table", `+
					`which only MATLAB reads: `+
					`store its numbers as a variable (x = table2array(t))`)
			})
		}
	}
}

// TestNoPadding reads a matrix whose size leaves out the padding of its last element, which then
// follows it.
func TestNoPadding(t *testing.T) {
	x := little.matrix(little.start(int(classDouble), "x", 1, 3),
		append(little.tag(miUint8, 3), 1, 2, 3))
	y := little.matrix(little.start(int(classDouble), "y", 1, 1), little.small(miUint8, "\x04"))
	want := []array.Array{{Name: "x", Shape: []int{1, 3}, Data: []float64{1, 2, 3}},
		{Name: "y", Shape: []int{1, 1}, Data: []float64{4}}}
	as, err := readBytes(little.file(x, y))
	if err != nil || !equal(as, want) {
		t.Errorf("got %v and %v, want %v", as, err, want)
	}
	if as, err = readBytes(little.file(x[:len(x)-5])); err != nil || !equal(as, want[:1]) {
		t.Errorf("at the end of the file: got %v and %v, want %v", as, err, want[:1])
	}
}

// TestDeepStruct goes into 20000 structs, each in the one before.
func TestDeepStruct(t *testing.T) {
	const depth = 20000
	inner := little.matrix(little.start(int(classDouble), "", 1, 1), little.small(miUint8, "\x09"))
	part := func(name string) []byte {
		return slices.Concat(little.start(int(classStruct), name, 1, 1),
			little.small(miInt32, string(little.words(2))), little.small(miInt8, "a\x00"))
	}
	var b []byte
	for i := range depth {
		name := ""
		if i == 0 {
			name = "s"
		}
		left := depth - 1 - i
		size := len(part(name)) + left*(8+len(part(""))) + len(inner)
		b = append(append(b, little.tag(miMatrix, size)...), part(name)...)
	}
	b = append(b, inner...)
	for _, file := range [][]byte{little.file(b), little.file(little.packed(t, b))} {
		a, err := readOne(file, "s"+strings.Repeat(".a", depth))
		if err != nil || !slices.Equal(a.Data, []float64{9}) {
			t.Errorf("%v %v", a.Data, err)
		}
	}
}
