package mat

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// number6 returns the start of a 2x3 double called x.
func number6() []byte { return little.start(int(classDouble), "x", 2, 3) }

// headed returns a file with a header that ends in four bytes.
func headed(text, end string) []byte {
	return []byte(fmt.Sprintf("%-116s", text) + "\x00\x00\x00\x00\x00\x00\x00\x00" + end)
}

// first holds how errors begin that are found while the variables are listed, in a file of one.
const first = "the variable at byte 128 (number 1 of the file): "

// version4 is the error of a file of MATLAB 4, damaged or not.
const version4 = "begins as a file of MATLAB 4, which is not read: load it in MATLAB or Octave and save it again " +
	"with save -v7, or with scipy: savemat(NEW, loadmat(OLD))"

// sparseBad begins the error of a sparse matrix whose indices are wrong.
const sparseBad = `variable "x": the indices of the sparse matrix of shape [2 2] do not rise from 0`

// sparseOf returns a file with a sparse matrix of as many columns as jc has starts and an end of.
func sparseOf(m maker, rows int, ir, jc []byte, values ...float64) []byte {
	return m.file(m.matrix(m.start(int(classSparse), "x", rows, len(jc)/4-1), m.element(miInt32, ir),
		m.element(miInt32, jc), m.element(miDouble, m.doubles(values...))))
}

// broken is a file that is damaged or wrong in one way, with the whole message; where that is
// empty, which one is left open.
type broken struct {
	name string
	file []byte
	want string
}

// brokenFiles lists files without compression.
func brokenFiles() []broken {
	m, n6 := little, number6()
	doubles := m.element(miDouble, make([]byte, 48))
	flags := func(class int) []byte { return m.element(miUint32, m.words(class, 0)) }
	dims := m.element(miInt32, m.words(2, 3))
	name := m.element(miInt8, []byte("x"))
	matrix := func(parts ...[]byte) []byte { return m.file(m.matrix(parts...)) }
	damaged := ": could the file be damaged?"
	return []broken{
		{"empty", nil, "the file has 0 bytes, too few for a .mat file, whose header has 128"},
		{"127 bytes", m.file()[:127], "the file has 127 bytes, too few for a .mat file, whose " +
			"header has 128"},
		{"text", []byte(strings.Repeat("1.5 2.5\n", 20)),
			`has "5\n" where a .mat file has its byte order, IM or MI`},
		{"Octave", []byte("# Created by Octave 7.3.0\n# name: x\n"),
			"a file in Octave's own format: load it in Octave and save it again with save -v7"},
		{"version 4", append(m.words(0, 2, 3, 0, 2), "x\x00"...), version4},
		{"version 4, big", append(big.words(1010, 2, 3, 0, 2), "x\x00"...), version4},
		{"version 4 of a VAX", append(m.words(2000, 1, 1, 0, 2), "x\x0012345678"...), version4},
		{"version 4, sparse and negative", append(m.words(2, -1, 1<<30, 1, 4096), make([]byte, 200)...), version4},
		{"version 4, a name of no bytes", make([]byte, 200),
			`has "\x00\x00" where a .mat file has its byte order, IM or MI`},
		{"version 4, a name of 4 GB", append(m.words(0, 2, 3, 0, -1), make([]byte, 200)...),
			`has "\x00\x00" where a .mat file has its byte order, IM or MI`},
		{"version 4, cut in its header", m.words(0, 2, 3, 0), "the file has 16 bytes, too few for a .mat file, " +
			"whose header has 128"},
		{"sparse of a billion rows", sparseOf(m, 1<<30, m.words(), m.words(make([]int, 1025)...)),
			`variable "x": all numbers of a sparse matrix of shape [1073741824 1024]: reading needs 8.8 TB`},
		{"sparse with a row too many", sparseOf(m, 2, m.words(2), m.words(0, 1, 1), 5), sparseBad},
		{"sparse with rows that fall", sparseOf(m, 2, m.words(1, 0), m.words(0, 2, 2), 5, 6), sparseBad},
		{"sparse with columns that fall", sparseOf(m, 2, m.words(0, 1), m.words(0, 2, 1), 5, 6), sparseBad},
		{"sparse with numbers missing", sparseOf(m, 2, m.words(0, 1), m.words(0, 1, 2), 5), sparseBad},
		{"sparse with more starts than rows", sparseOf(m, 2, m.words(0, 1), m.words(0, 1, 3), 5, 6), sparseBad},
		{"zeros", make([]byte, 15), "the file has 15 bytes, too few for a .mat file, whose " +
			"header has 128"},
		{"version 3", headed("MATLAB 5.0 MAT-file", "\x00\x03IM"),
			"format version 0x0300, want 0x0100 (MATLAB 5 to 7)" + damaged},
		{"other order", headed("MATLAB 5.0 MAT-file", "\x00\x01MI"),
			"format version 0x0001, want 0x0100 (MATLAB 5 to 7)" + damaged},
		{"7.3 without HDF5", append(headed("MATLAB 7.3 MAT-file", "\x00\x02IM"),
			make([]byte, 1000)...),
			"begins as MATLAB v7.3, which is HDF5, but has no HDF5 data at byte 512: could the file " +
				"be damaged?"},
		{"7.3 cut", append(headed("MATLAB 7.3 MAT-file", "\x00\x02IM"), make([]byte, 388)...),
			"begins as MATLAB v7.3, which is HDF5, but has no HDF5 data at byte 512: could the file " +
				"be damaged?"},
		{"HDF5", []byte(signature + strings.Repeat("\x00", 100)), ErrHDF5.Error()},
		{"cut in a tag", m.file([]byte{14, 0, 0}), first + "expected a tag of 8 bytes, the file " +
			"has 3: could the file be damaged?"},
		{"beyond the file", m.file(m.tag(miMatrix, 1<<32-1)),
			first + "expected 4294967295 bytes, the file has 0: could the file be damaged?"},
		{"unknown type", m.file(m.tag(99, 0)), first + "is of type 99 (unknown), want miMATRIX " +
			"or miCOMPRESSED" + damaged},
		{"no matrix", m.file(doubles), first + "is of type miDOUBLE, want miMATRIX or " +
			"miCOMPRESSED" + damaged},
		{"small form", m.file(m.small(miMatrix, "abcd")),
			first + "is of type 262158 (unknown), want miMATRIX or miCOMPRESSED" + damaged},
		{"no flags", matrix(dims), first + "the type of its array flags is miINT32, want miUINT32" +
			damaged},
		{"short flags", matrix(m.small(miUint32, "\x06\x00\x00\x00")),
			first + "4 bytes of array flags, want 8" + damaged},
		{"long flags", matrix(m.element(miUint32, make([]byte, 12))),
			first + "12 bytes of array flags: at most 8 are read"},
		{"cut in flags", matrix(m.tag(miUint32, 8), []byte{6, 0, 0, 0}),
			first + "expected 8 bytes of array flags, the variable has 4" + damaged},
		{"class 0", matrix(flags(0), dims, name), first + "class 0, want 1 to 17" + damaged},
		{"class 18", matrix(flags(18), dims, name), first + "class 18, want 1 to 17" + damaged},
		{"no dimensions", matrix(flags(6)), first + "expected 8 bytes of the tag of its " +
			"dimensions, the variable has 0" + damaged},
		{"dimensions of doubles", matrix(flags(6), m.element(miDouble, m.doubles(2, 3))),
			first + "the type of its dimensions is miDOUBLE, want miINT32 or miUINT32" + damaged},
		{"one dimension", matrix(flags(6), m.small(miInt32, "\x01\x00\x00\x00")),
			first + "4 bytes of dimensions, want 4 for each axis and two axes at least" + damaged},
		{"2.5 dimensions", matrix(flags(6), m.element(miInt32, make([]byte, 10))),
			first + "10 bytes of dimensions, want 4 for each axis and two axes at least" + damaged},
		{"65 dimensions", matrix(flags(6), m.element(miInt32, make([]byte, 260))),
			first + "260 bytes of dimensions: at most 256 are read"},
		{"negative dimension", matrix(m.start(6, "x", 2, -3), doubles),
			first + "shape [2 -3] has a negative length" + damaged},
		{"negative by miUINT32", matrix(flags(6), m.element(miUint32, m.words(1<<31, 1)), name),
			first + "shape [-2147483648 1] has a negative length" + damaged},
		{"product overflow", matrix(m.start(6, "x", 1<<30, 1<<30, 1<<30), doubles),
			first + "shape [1073741824 1073741824 1073741824] is larger than any file" + damaged},
		{"bytes overflow", matrix(m.start(9, "x", 1<<30, 1<<30), doubles),
			first + `"x": shape [1073741824 1073741824] is larger than any file` + damaged},
		{"overflow of a cell", matrix(m.start(1, "x", 1<<30, 1<<30, 1<<30)),
			first + "shape [1073741824 1073741824 1073741824] is larger than any file" + damaged},
		{"no name", matrix(flags(6), dims), first + "expected 8 bytes of the tag of its name, " +
			"the variable has 0" + damaged},
		{"name of numbers", matrix(flags(6), dims, doubles),
			first + "the type of its name is miDOUBLE, want miINT8 or miUTF8" + damaged},
		{"long name", matrix(m.start(6, strings.Repeat("x", 4097), 0, 0)),
			first + "4097 bytes of name: at most 4096 are read"},
		{"NUL in the name", matrix(m.start(6, "x\x00y", 2, 3), doubles),
			first + `its name "x\x00y" holds a NUL` + damaged},
		{"name beyond the variable", matrix(flags(6), dims, m.tag(miInt8, 100), []byte("x")),
			first + "expected 100 bytes of name, the variable has 1" + damaged},
		{"no numbers", matrix(n6), first +
			`"x": expected 8 bytes of the tag of its numbers, the variable has 0` + damaged},
		{"text for numbers", matrix(n6, m.element(miUTF8, make([]byte, 6))),
			first + `"x": the type of its numbers is miUTF8, want one of numbers` + damaged},
		{"compressed numbers", matrix(n6, m.element(miCompressed, make([]byte, 6))),
			first + `"x": the type of its numbers is miCOMPRESSED, want one of numbers` + damaged},
		{"numbers beyond the variable", matrix(n6, m.tag(miDouble, 48), make([]byte, 40)),
			first + `"x": expected 48 bytes of numbers, the variable has 40` + damaged},
		{"fewer numbers", matrix(n6, m.element(miDouble, make([]byte, 40))),
			first + `"x": expected 48 bytes of numbers for shape [2 3] stored as miDOUBLE, the ` +
				`variable has 40` + damaged},
		{"more numbers", matrix(n6, m.element(miUint8, make([]byte, 7))),
			first + `"x": expected 6 bytes of numbers for shape [2 3] stored as miUINT8, the ` +
				`variable has 7` + damaged},
		{"500 million numbers", matrix(m.start(6, "x", 500_000_000, 1), doubles),
			first + `"x": expected 4000000000 bytes of numbers for shape [500000000 1] stored as ` +
				`miDOUBLE, the variable has 48` + damaged},
		{"five bytes in a tag", matrix(n6, m.words(5<<16|2, 0)),
			first + `"x": the tag of its numbers claims 5 bytes for itself, which has 4` + damaged},
		{"after the numbers", matrix(n6, doubles, make([]byte, 8)),
			`variable "x": 8 bytes follow its numbers` + damaged},
		{"a name twice", m.file(m.matrix(n6, doubles), m.matrix(n6, doubles)),
			`two variables are called "x"`},
		{"a logical of 2", matrix(m.start(9|isLogical, "x", 1, 2), m.small(miUint8, "\x01\x02")),
			`variable "x": the element at index [0 1] of the array of logical is 2, and a logical ` +
				`is 0 or 1` + damaged},
		{"300 in a uint8", matrix(m.start(9, "x", 2, 1), m.small(miInt16, "\x01\x00\x2c\x01")),
			`variable "x": the element at index [1 0] of the array of uint8 is 300, which is none ` +
				`of its class` + damaged},
		{"1.5 in an int32", matrix(m.start(12, "x", 1, 1), m.element(miDouble, m.doubles(1.5))),
			`variable "x": the element at index [0 0] of the array of int32 is 1.5, which is none ` +
				`of its class` + damaged},
		{"-1 in a uint64", matrix(m.start(15, "x", 1, 1), m.small(miInt8, "\xff")),
			`variable "x": the element at index [0 0] of the array of uint64 is -1, which is none ` +
				`of its class` + damaged},
	}
}

// brokenStructs lists damaged structs s; the test reads s.a.
func brokenStructs() []broken {
	m := little
	start := m.start(int(classStruct), "s", 1, 1)
	width := m.small(miInt32, "\x02\x00\x00\x00")
	names := m.small(miInt8, "b\x00a\x00")
	b := m.matrix(m.start(6, "", 1, 1), m.small(miUint8, "\x05"))
	of := func(parts ...[]byte) []byte {
		return m.file(m.matrix(append([][]byte{start},
			parts...)...))
	}
	damaged := ": could the file be damaged?"
	return []broken{
		{"no names", of(), "expected 8 bytes of the tag of its field name length, the " +
			"variable has 0" + damaged},
		{"no length", of(m.element(miInt32, nil)), "0 bytes of field name length, want 4" +
			damaged},
		{"long length", of(m.element(miInt32, make([]byte, 8))),
			"8 bytes of field name length: at most 4 are read"},
		{"length 0", of(m.small(miInt32, "\x00\x00\x00\x00"), names),
			"4 bytes of field names, each of 0" + damaged},
		{"length -1", of(m.small(miInt32, "\xff\xff\xff\xff"), names),
			"4 bytes of field names, each of -1" + damaged},
		{"length 3", of(m.small(miInt32, "\x03\x00\x00\x00"), names),
			"4 bytes of field names, each of 3" + damaged},
		{"2 MB of names", of(width, m.element(miInt8, make([]byte, 2<<20))),
			"2097152 bytes of field names: at most 1048576 are read"},
		{"no fields", of(width, names),
			`expected 8 bytes of the tag of its contents of the field "b", the variable has 0` +
				damaged},
		{"one field", of(width, names, b),
			`expected 8 bytes of the tag of its contents of the field "a", the variable has 0` +
				damaged},
		{"field beyond the struct", of(width, names, m.tag(miMatrix, 1000)),
			`expected 1000 bytes of contents of the field "b", the variable has 0` + damaged},
		{"numbers for a field", of(width, names, m.element(miDouble, make([]byte, 8))),
			`the type of its contents of the field "b" is miDOUBLE, want miMATRIX` + damaged},
		{"compressed field", of(width, names, m.element(miCompressed, make([]byte, 8))),
			`the type of its contents of the field "b" is miCOMPRESSED, want miMATRIX` + damaged},
		{"field in a tag", of(width, names, m.small(miMatrix, "abcd"), b), ``},
		{"a name twice", of(width, m.small(miInt8, "a\x00a\x00"), b, b),
			`two fields are called "a"` + damaged},
		{"NUL name", of(width, m.small(miInt8, "\x00a\x00a"), b, b),
			`the struct has no field "a"; it has "", ""`},
	}
}

// brokenPacked lists compressed variables.
func brokenPacked(t testing.TB) []broken {
	m, n6 := little, number6()
	whole := m.matrix(n6, m.element(miDouble, make([]byte, 48)))
	data := deflated(t, whole)
	of := func(data []byte) []byte { return m.file(m.tag(miCompressed, len(data)), data) }
	sum := bytes.Clone(data)
	sum[len(sum)-1]++
	bomb := deflated(t, m.matrix(m.start(9, "x", 2000, 2000),
		m.element(miUint8, make([]byte, 4_000_000))))
	damaged := ": could the file be damaged?"
	return []broken{
		{"nothing", of(nil), first + "expected 2 bytes of the compressed data's header, and " +
			"they end before" + damaged},
		{"no zlib", of([]byte("hello, world")), first + "the compressed data's header: after 0 " +
			"of 2 bytes: zlib: invalid header" + damaged},
		{"a dictionary", of([]byte("\x78\xbb\x12\x34\x56\x78\x03\x00")), first +
			"the compressed data's header: after 0 of 2 bytes: zlib: invalid dictionary" + damaged},
		{"an empty stream", of(deflated(t, nil)),
			first + "expected 8 bytes of tag, and they end before" + damaged},
		{"cut in the header", of(data[:12]), first + "expected 8 bytes of the tag of its array " +
			"flags, and they end before" + damaged},
		{"cut in the checksum", of(data[:len(data)-2]),
			`variable "x": at the end of its data: unexpected EOF` + damaged},
		{"wrong checksum", of(sum), `variable "x": at the end of its data: zlib: invalid checksum` +
			damaged},
		{"compressed twice", m.file(m.packed(t, m.packed(t, whole))),
			first + "its compressed data are of type miCOMPRESSED, want miMATRIX" + damaged},
		{"numbers", m.file(m.packed(t, m.element(miDouble, make([]byte, 8)))),
			first + "its compressed data are of type miDOUBLE, want miMATRIX" + damaged},
		{"more than it says", m.file(m.packed(t, append(bytes.Clone(whole), 0))),
			`variable "x": its compressed data go on after its end` + damaged},
		{"fewer than it says", m.file(m.packed(t, whole[:len(whole)-8])),
			`variable "x": expected 48 bytes of numbers, and they end before` + damaged},
		{"4 GB", m.file(m.packed(t, m.tag(miMatrix, 1<<32-1))),
			first + "claims to unpack 4294967295 bytes from 21, more than deflate can" + damaged},
		{"bomb cut", of(bomb[:3000]), ``},
		{"a plausible claim",
			of(append(deflated(t, slices.Concat(m.tag(miMatrix, 4_000_064),
				m.start(9, "x", 2000, 2000), m.tag(miUint8, 4_000_000))),
				make([]byte, 4000)...)),
			`variable "x": expected 4000000 bytes of numbers, and they end before` +
				damaged},
		{"bomb of a shape",
			m.file(m.packed(t, m.matrix(m.start(6, "x", 500_000_000, 1),
				m.element(miUint8, make([]byte, 4_000_000))))),
			first + `"x": expected 500000000 bytes of numbers for shape [500000000 1] stored as ` +
				`miUINT8, the variable has 4000000` + damaged},
		{"a cell with a wrong checksum",
			of(append(deflated(t, m.matrix(m.start(1, "c", 0, 0)))[:30], 1, 2, 3, 4)), ``},
	}
}

// TestBroken checks the message of each broken file, and that none costs more memory than its
// length and a constant, or if it is compressed what can come of its bytes.
func TestBroken(t *testing.T) {
	check := func(file broken, most int, read func() error, begin string) {
		t.Run(file.name, func(t *testing.T) {
			var err error
			expect.AllocationsAtMost(t, 2*len(file.file)+most, func() { err = read() })
			switch {
			case err == nil:
				t.Error("no error, want", file.want)
			case file.want != "" && !strings.HasPrefix(err.Error(), begin+file.want):
				t.Errorf("got  %v\nwant %s%s", err, begin, file.want)
			}
		})
	}
	for _, file := range brokenFiles() {
		check(file, 64<<10, func() error { _, err := readBytes(file.file); return err }, "")
	}
	for _, file := range brokenStructs() {
		check(file, 64<<10, func() error { _, err := readOne(file.file, "s.a"); return err },
			`variable "s": `)
		expect.Refused(t, file.name, expect.ErrorOf(readOne(file.file, "s")))
	}
	// The reader of deflate and the first numbers, 512 kB, are the constant.
	for _, file := range brokenPacked(t) {
		check(file, 1<<20, func() error { _, err := readBytes(file.file); return err }, "")
	}
}

// TestLongLists checks that messages do not grow with the names in a file.
func TestLongLists(t *testing.T) {
	var names, cells []byte
	for i := range 25 {
		names = fmt.Appendf(names, "f%02d\x00", i)
		cells = append(cells,
			little.matrix(little.start(int(classCell), fmt.Sprintf("c%d", i), 0, 0))...)
	}
	_, err := readOne(little.file(cells), "x")
	if err == nil || !strings.HasSuffix(err.Error(), `"c19" (cell) and 5 more`) {
		t.Error(err)
	}
	s := little.matrix(little.start(int(classStruct), "s", 1, 1),
		little.small(miInt32, "\x04\x00\x00\x00"), little.element(miInt8, names))
	if _, err = readOne(little.file(s), "s"); err == nil ||
		!strings.HasSuffix(err.Error(), `"f19" and 5 more`) {
		t.Error(err)
	}
	long := little.matrix(little.start(int(classCell), strings.Repeat("n", 4096), 0, 0))
	_, err = readOne(little.file(long), "x")
	expect.Message(t, err, `holds no variable "x"; it holds "`+strings.Repeat("n", 60)+`"... (cell)`)
}

// TestManyPacked checks that 1000 compressed variables do not cost a reader of deflate each.
func TestManyPacked(t *testing.T) {
	var elements [][]byte
	for i := range 1000 {
		elements = append(elements,
			little.packed(t, little.matrix(little.start(int(classDouble), fmt.Sprintf("x%05d", i),
				0, 0), little.tag(miDouble, 0))))
	}
	b := little.file(elements...)
	expect.AllocationsAtMost(t, 20<<20, func() {
		if n := len(newFile(bytes.NewReader(b), int64(len(b))).variables); n != 1000 {
			t.Fatal(n)
		}
	})
}

// fixture returns the bytes of a file of testdata.
func fixture(name string) []byte {
	return expect.Must(os.ReadFile(filepath.Join("testdata", name)))
}

// TestEveryCut checks that a file which ends too early is refused, or where it ends between two
// variables, as no file says how many it has, gives those before, and that a file which ends while
// it is read is refused.
func TestEveryCut(t *testing.T) {
	for _, name := range []string{"classes-v6.mat", "classes-v7.mat", "shapes-v6.mat",
		"shapes-v7.mat"} {
		b := fixture(name)
		want := expect.Must(readBytes(b))
		accepted := 0
		for n := range b {
			as, err := readBytes(b[:n])
			if err == nil {
				accepted++
				if len(as) != accepted || !equal(as, want[:accepted]) {
					t.Errorf("%s: the first %d of %d bytes gave %v", name, n, len(b), as)
				}
			}
			if _, err := readSized(bytes.NewReader(b[:n]), len(b)); err == nil {
				t.Errorf("%s: the first %d of %d bytes were accepted as all", name, n, len(b))
			}
		}
		if accepted != len(want)-1 {
			t.Errorf("%s: %d cuts were accepted of a file of %d variables", name,
				accepted, len(want))
		}
		expect.Refused(t, name, expect.ErrorOf(readBytes(append(b, 0))))
	}
}

// TestEveryBit turns over each bit of compressed variables: their checksums find it.
func TestEveryBit(t *testing.T) {
	for _, name := range []string{"classes-v7.mat", "shapes-v7.mat"} {
		b := fixture(name)
		want := expect.Must(readBytes(b))
		for i := headerBytes * 8; i < len(b)*8; i++ {
			b[i/8] ^= 1 << (i % 8)
			if got, err := readBytes(b); err == nil && !equal(got, want) {
				t.Errorf("%s: bit %d of byte %d was turned over and not found", name, i%8, i/8)
			}
			b[i/8] ^= 1 << (i % 8)
		}
	}
}

// TestByteSwap reads a file of scipy's with each number in the other byte order, by a swap of our
// own.
func TestByteSwap(t *testing.T) {
	b := fixture("classes-v6.mat")
	want := expect.Must(readBytes(b))
	slices.Reverse(b[124:126])
	slices.Reverse(b[126:128])
	sizes := map[kind]int{miInt16: 2, miUint16: 2, miInt32: 4, miUint32: 4, miSingle: 4,
		miDouble: 8, miInt64: 8, miUint64: 8}
	for at := headerBytes; at < len(b); {
		first := binary.LittleEndian.Uint32(b[at:])
		k, size, data := kind(first), int(binary.LittleEndian.Uint32(b[at+4:])), at+8
		slices.Reverse(b[at : at+4])
		next := data + (size+7)&^7
		if first>>16 != 0 {
			k, size, data, next = kind(first&0xffff), int(first>>16), at+4, at+8
		} else {
			slices.Reverse(b[at+4 : at+8])
		}
		if k == miMatrix {
			next = data
		}
		for i := data; sizes[k] > 0 && i < data+size; i += sizes[k] {
			slices.Reverse(b[i : i+sizes[k]])
		}
		at = next
	}
	got, err := readBytes(b)
	if err != nil || !equal(got, want) {
		t.Errorf("got %v and %v, want %v", got, err, want)
	}
}
