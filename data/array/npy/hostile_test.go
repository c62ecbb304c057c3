package npy

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torchpe/data/array"
	"torchpe/internal/expect"
)

// npyFile returns an .npy file of version 1 with the given header and n bytes of data.
func npyFile(header string, n int) []byte {
	b := append([]byte(magic), 1, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(header)))
	b = append(b, header...)
	return append(b, make([]byte, n)...)
}

// header2 begins a file of version 2 or 3 whose header claims n bytes.
func header2(version byte, n uint32) []byte {
	b := append([]byte(magic), version, 0)
	return binary.LittleEndian.AppendUint32(b, n)
}

// shaped returns a file of the given dtype and shape with n bytes of zeros for data.
func shaped(descr, shape string, n int) []byte {
	return npyFile("{'descr': '"+descr+"', 'fortran_order': False, 'shape': "+shape+", }\n", n)
}

// hostile lists files that are damaged or wrong in one way each, with the whole message.
var hostile = []struct {
	name string
	file []byte
	want string
}{
	{"empty", nil, "has 0 bytes, too few for an .npy array"},
	{"seven bytes", []byte("\x93NUMPY\x01"), "has 7 bytes, too few for an .npy array"},
	{"text", []byte("1,2,3\n4,5,6\n"),
		`begins with "1,2,3\n", not with "\x93NUMPY": not an .npy array`},
	{"archive", []byte("PK\x03\x04............"),
		"a zip archive (.npz), not a single array: read it with ReadMember"},
	{"version 4", header2(4, 10), "format version 4.0, want 1.0, 2.0 or 3.0"},
	{"version 1.1", []byte("\x93NUMPY\x01\x01\x00\x00"),
		"format version 1.1, want 1.0, 2.0 or 3.0"},
	{"cut in the length", []byte("\x93NUMPY\x01\x00\x00"),
		"ends within the header's length" + damaged},
	{"cut in a long length", []byte("\x93NUMPY\x02\x00\x00\x00\x00"),
		"ends within the header's length" + damaged},
	{"header beyond the file", npyFile("{}", 0)[:11],
		"expected 2 bytes of header, got 1" + damaged},
	{"header of 4 GB", header2(2, 1<<32-1), "expected 4294967295 bytes of header, got 0" + damaged},
	{"long header", append(header2(3, 65537), make([]byte, 65537)...),
		"header of 65537 bytes: at most 65536 are read, and an array of numbers needs about 118"},
	{"no header", npyFile("", 0), `header: is "", want a dictionary in braces` + damaged},
	{"code", npyFile("__import__('os')", 0),
		`header: is "__import__('os')", want a dictionary in braces` + damaged},
	{"unfinished", npyFile("{'descr': '<f8'", 0),
		`header: is "{'descr': '<f8'", want a dictionary in braces` + damaged},
	{"unfinished string", npyFile("{'descr", 0),
		`header: is "{'descr", want a dictionary in braces` + damaged},
	{"escape", npyFile(`{'d\x65scr': '<f8'}`, 0),
		`header: has "'d\\x65scr': '<f8'", want an entry such as 'shape': (3, 4)` + damaged},
	{"descr number", npyFile("{'descr': 8}", 0),
		`header: has "'descr': 8", want an entry such as 'shape': (3, 4)` + damaged},
	{"no shape", npyFile("{'descr': '<f8', 'fortran_order': False}", 0),
		`header: lacks the key "shape"`},
	{"no keys", npyFile("{}", 0), `header: lacks the key "descr"`},
	{"key twice", npyFile("{'descr': '<f8', 'descr': '<f4'}", 0),
		`header: has the key "descr" twice`},
	{"unknown key", npyFile("{'order': 'C'}", 0),
		`header: unknown key "order", want descr, fortran_order and shape`},
	{"no colon", npyFile("{'descr' '<f8'}", 0),
		`header: has "'descr' '<f8'", want an entry such as 'shape': (3, 4)` + damaged},
	{"fortran 1", npyFile("{'fortran_order': 1}", 0),
		`header: has "'fortran_order': 1", want an entry such as 'shape': (3, 4)` + damaged},
	{"fortran text", npyFile("{'fortran_order': 'C'}", 0),
		`header: the value of fortran_order is "'C'"` + damaged},
	{"list without end, closed", npyFile("{'descr': ["+strings.Repeat("[", 60000)+"}", 0),
		`header: has "'descr': ` + strings.Repeat("[", 51) + `"..., want an entry such as ` +
			`'shape': (3, 4)` + damaged},
	{"shape number", shaped("<f8", "3", 24),
		`header: has "'shape': 3,", want an entry such as 'shape': (3, 4)` + damaged},
	{"shape (3)", shaped("<f8", "(3)", 24),
		`header: the shape (3) is not a tuple, which has a comma` + damaged},
	{"shape (,)", shaped("<f8", "(,)", 24),
		`header: "" is no length of an axis` + damaged},
	{"shape 1 2", shaped("<f8", "(1 2)", 24),
		`header: the shape (1 2) is not a tuple, which has a comma` + damaged},
	{"shape 1.5", shaped("<f8", "(1.5,)", 24),
		`header: has "'shape': (1.5,),", want an entry such as 'shape': (3, 4)` + damaged},
	{"negative length", shaped("<f8", "(2, -3)", 48),
		"header: shape [2 -3] has a negative length" + damaged},
	{"huge length", shaped("<f8", "(99999999999999999999,)", 8),
		`header: "99999999999999999999" is no length of an axis` + damaged},
	{"product overflow", shaped("<f8", "(4294967296, 4294967296)", 0),
		"header: shape [4294967296 4294967296] is larger than any file" + damaged},
	{"bytes overflow", shaped("|u1", "(4611686018427387904,)", 0),
		"header: shape [4611686018427387904] is larger than any file" + damaged},
	{"65 axes", shaped("<f8", "("+strings.Repeat("1, ", 65)+")", 8),
		"header: the shape has more than 64 axes"},
	{"500 million numbers in 200 bytes", shaped("<f8", "(500000000,)", 200),
		"expected 4000000000 bytes of data for shape [500000000] of <f8, got 200" + damaged},
	{"truncated", shaped("<f8", "(2, 3)", 40),
		"expected 48 bytes of data for shape [2 3] of <f8, got 40" + damaged},
	{"a byte more", shaped("<f8", "(2, 3)", 49),
		"expected 48 bytes of data for shape [2 3] of <f8, got 49" + damaged},
	{"no data", shaped("<f2", "()", 0),
		"expected 2 bytes of data for shape [] of <f2, got 0" + damaged},
	{"after the header", npyFile("{'descr': '<f8', 'fortran_order': False, 'shape': (), } x", 8),
		`header: is "{'descr': '<f8', 'fortran_order': False, 'shape': (), } x", want a ` +
			`dictionary in braces` + damaged},
	{"NUL after the header", npyFile("{'descr': '<f8', 'fortran_order': False, 'shape': (), }\x00",
		8),
		`header: is "{'descr': '<f8', 'fortran_order': False, 'shape': (), }\x00", want a ` +
			`dictionary in braces` + damaged},
	{"empty dtype", shaped("", "()", 8), "the dtype is empty"},
	{"only a mark", shaped("<", "()", 8), "the dtype is empty"},
	{"unknown dtype", shaped("<x8", "()", 8), `dtype "<x8" want b1, i1-i8, u1-u8, f2, f4 or f8`},
	{"no order", shaped("|f8", "()", 8),
		`dtype "|f8" does not say its byte order, want < or > before f8`},
	{"a type that differs between machines", shaped("int", "()", 8),
		`dtype "int" want b1, i1-i8, u1-u8, f2, f4 or f8`},
	{"records", npyFile("{'descr': [('a', '<f8'), ('b', [('c', '|O')], (2,))], 'fortran_order': "+
		"False, 'shape': (1,), }", 8),
		`dtype "[('a', '<f8'), ('b', [('c', '|O')], (2,))]" is one of records: store each field ` +
			`as an array of its own`},
	{"list without end", npyFile("{'descr': ["+strings.Repeat("[", 60000), 0),
		`header: is "{'descr': ` + strings.Repeat("[", 50) + `"..., want a dictionary in braces` + damaged},
	{"a boolean of 2", append(shaped("|b1", "(2, 2)", 3), 2),
		"the element at index [1 1] of the array of |b1 is the byte 2, and a boolean is 0 or 1" + damaged},
}

// TestHostileFiles checks the message of each broken file, and that none costs more memory than its
// length and a constant.
func TestHostileFiles(t *testing.T) {
	for _, test := range hostile {
		t.Run(test.name, func(t *testing.T) {
			var err error
			expect.AllocationsAtMost(t, 2*len(test.file)+64<<10, func() {
				_, err = tryRead(bytes.NewReader(test.file), int64(len(test.file)))
			})
			expect.Message(t, err, test.want)
		})
	}
}

// TestUnreadableNumpyFiles checks the messages for arrays that numpy can store but that are no real
// numbers, or none that a float64 holds.
func TestUnreadableNumpyFiles(t *testing.T) {
	for file, want := range map[string]string{
		"c16.npy": `dtype "<c16" holds complex numbers: store the real parts (a.real), and the ` +
			`imaginary ones as an array of their own`,
		"c8.npy": `dtype "<c8" holds complex numbers: store the real parts (a.real), and the ` +
			`imaginary ones as an array of their own`,
		"object.npy": `dtype "|O" holds Python objects, which are programs and not numbers: ` +
			`store an array of numbers`,
		"text.npy":  `dtype "<U4" holds text: store numbers here, and text in a file of its own`,
		"bytes.npy": `dtype "|S3" holds text: store numbers here, and text in a file of its own`,
		"date.npy":  `dtype "<M8[D]" holds dates or times: store a number of seconds as float64`,
		"longdouble.npy": `dtype "<f16" holds floating-point numbers of a size that differs ` +
			`between machines: store float64`,
		"raw.npy": `dtype "|V2" holds raw bytes (a bfloat16 or a type of another library?): ` +
			`store float32`,
		"records.npy": `dtype "[('name', '<U4'), ('x', '<f8', (2,))]" is one of records: store ` +
			`each field as an array of its own`,
		"big-i8.npy": "the element at index [1 2] of the array of <i8 is 9007199254740993, " +
			"beyond 2^53: a float64 would round it; store such numbers in double precision if that " +
			"is meant",
		"big-F-i8.npy": "the element at index [0 2] of the array of <i8 is " +
			"-1152921504606846976, beyond 2^53: a float64 would round it; store such numbers in " +
			"double precision if that is meant",
		"big-u8.npy": "the element at index [0] of the array of <u8 is 18446744073709551615, " +
			"beyond 2^53: a float64 would round it; store such numbers in double precision if that " +
			"is meant",
	} {
		_, err := Read(filepath.Join("testdata", file))
		expect.Message(t, err, "npy: "+filepath.Join("testdata", file)+": "+want)
	}
	_, err := readArchive("testdata/bzip2.npz")
	expect.Message(t, err, `npy: testdata/bzip2.npz: array "a": is compressed by method 12, want 0 `+
		`(numpy.savez) or 8 (numpy.savez_compressed)`)
}

// TestEveryCutAndEveryExtension checks that a file with any number of bytes missing, or one byte
// more, is refused.
func TestEveryCutAndEveryExtension(t *testing.T) {
	for _, name := range []string{"v1.npy", "v2.npy", "f4-be-F.npy"} {
		whole := expect.Must(os.ReadFile(filepath.Join("testdata", name)))
		for n := range whole {
			if _, err := tryRead(bytes.NewReader(whole[:n]), int64(n)); err == nil {
				t.Errorf("%s: the first %d of %d bytes were accepted", name, n, len(whole))
			}
			// A file that is cut while it is read.
			if _, err := tryRead(bytes.NewReader(whole[:n]), int64(len(whole))); err == nil {
				t.Errorf("%s: the first %d of %d bytes were accepted as all", name, n, len(whole))
			}
		}
		expect.Refused(t, name, expect.ErrorOf(tryRead(bytes.NewReader(append(whole, 0)), int64(len(whole)+1))))
	}
	for _, name := range []string{"stored.npz", "deflated.npz"} {
		whole := expect.Must(os.ReadFile(filepath.Join("testdata", name)))
		for n := range whole {
			if _, err := readAll(whole[:n]); err == nil {
				t.Errorf("%s: the first %d of %d bytes were accepted", name, n, len(whole))
			}
		}
	}
}

// TestDamagedArchive turns over each bit of an archive's members: their checksums find it.
func TestDamagedArchive(t *testing.T) {
	for _, name := range []string{"stored.npz", "deflated.npz"} {
		whole := expect.Must(os.ReadFile(filepath.Join("testdata", name)))
		want := expect.Must(readAll(whole))
		end := bytes.Index(whole, []byte("PK\x01\x02")) // the directory
		for i := range end * 8 {
			whole[i/8] ^= 1 << (i % 8)
			got, err := readAll(whole)
			// Names and times in a member's own header are not read, the directory has them.
			if err == nil && !equal(got, want) {
				t.Errorf("%s: bit %d of byte %d was turned over and not found", name, i%8, i/8)
			}
			whole[i/8] ^= 1 << (i % 8)
		}
	}
}

// zipOf returns an archive of one member a.npy with the sizes, flags and method of h and the bytes
// of packed.
func zipOf(t testing.TB, h zip.FileHeader, packed []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	h.Name = "a.npy"
	w, err := z.CreateRaw(&h)
	if err == nil {
		_, err = w.Write(packed)
	}
	if err == nil {
		err = z.Close()
	}
	expect.NoError(t, err)
	return b.Bytes()
}

// deflated compresses b with deflate.
func deflated(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := expect.Must(flate.NewWriter(&out, flate.BestCompression))
	expect.Must(w.Write(b))
	expect.NoError(t, w.Close())
	return out.Bytes()
}

// hostileArchives lists archives that are wrong in one way each, with the whole message.
func hostileArchives(t testing.TB) []struct {
	name string
	file []byte
	want string
} {
	good := shaped("<f8", "(2, 3)", 48)
	sum := crc32.ChecksumIEEE(good)
	stored := func(b []byte, packed, unpacked uint64) []byte {
		return zipOf(t, zip.FileHeader{Method: zip.Store, CRC32: sum, CompressedSize64: packed,
			UncompressedSize64: unpacked}, b)
	}
	packed := deflated(t, good)
	pack := func(b []byte, sum uint32, unpacked int) []byte {
		return zipOf(t, zip.FileHeader{Method: zip.Deflate, CRC32: sum,
			CompressedSize64: uint64(len(b)), UncompressedSize64: uint64(unpacked)}, b)
	}
	n := uint64(len(good))
	bomb := deflated(t, shaped("|u1", "(4000000,)", 4_000_000))
	var twice, other bytes.Buffer
	for b, names := range map[*bytes.Buffer][]string{&twice: {"a.npy", "a.npy"},
		&other: {"a.txt", "b/"}} {
		z := zip.NewWriter(b)
		for _, name := range names {
			expect.NoError(t, expect.ErrorOf(z.Create(name)))
		}
		expect.NoError(t, z.Close())
	}
	// Two members that are the same bytes: the directory's entry is there twice, the second with
	// another name.
	large := shaped("<f8", "(60,)", 480)
	shared := stored(large, uint64(len(large)), uint64(len(large)))
	at := bytes.Index(shared, []byte("PK\x01\x02"))
	end := bytes.Index(shared, []byte("PK\x05\x06"))
	entry := bytes.Replace(shared[at:end], []byte("a.npy"), []byte("b.npy"), 1)
	tail := bytes.Clone(shared[end:])
	shared = append(shared[:end:end], entry...)
	binary.LittleEndian.PutUint16(tail[8:], 2)
	binary.LittleEndian.PutUint16(tail[10:], 2)
	binary.LittleEndian.PutUint32(tail[12:], uint32(2*len(entry)))
	shared = append(shared, tail...)
	const noArchive = "neither an array of numpy (.npy) nor an archive of them (.npz), or damaged: " +
		"zip: not a valid zip file"
	return []struct {
		name string
		file []byte
		want string
	}{
		{"no archive", []byte("hello, world, these are more than 22 bytes"), noArchive},
		{"empty", nil, noArchive},
		{"a single array", good, "a single array (.npy), not an archive: read it with Read"},
		{"nothing in it", []byte("PK\x05\x06" + strings.Repeat("\x00", 18)),
			"a zip archive of 0 files, none of which ends in .npy"},
		{"no array in it", other.Bytes(), "a zip archive of 2 files, none of which ends in .npy"},
		{"a name twice", twice.Bytes(), `two arrays are called "a"`},
		{"encrypted", zipOf(t, zip.FileHeader{Flags: 1, CompressedSize64: n, UncompressedSize64: n},
			good), `array "a": is encrypted: store it without a password`},
		{"larger than the archive", stored(good, 1000, 1000),
			`array "a": claims 1000 bytes of the archive, which has 226 left for it` + damaged},
		{"beyond the archive's end", stored(good, 220, 220),
			`array "a": expected 220 bytes from byte 35 on, the file has 191` + damaged},
		{"stored in fewer bytes", stored(good, n, 1<<40),
			`array "a": is stored in 118 bytes but claims 1099511627776` + damaged},
		{"2^64-1 bytes", stored(good, 1<<64-1, 1<<64-1),
			`array "a": claims 18446744073709551615 bytes of the archive, which has 254 left ` +
				`for it` + damaged},
		{"4 GB from 77 bytes", pack(packed, sum, 4<<30),
			`array "a": claims to unpack 4294967296 bytes from 77, more than deflate can` + damaged},
		{"the same bytes twice", shared,
			`array "b": claims 549 bytes of the archive, which has 159 left for it` + damaged},
		{"wrong checksum", pack(packed, sum+1, len(good)),
			`array "a": at the end of its data: zip: checksum error` + damaged},
		{"deflate cut", pack(packed[:len(packed)-4], sum, len(good)), ``},
		{"no deflate data", pack(bytes.Repeat([]byte{0xff}, 20), sum, len(good)), ``},
		{"more than it says", pack(deflated(t, append(bytes.Clone(good), 1)), sum, len(good)),
			`array "a": at the end of its data: zip: not a valid zip file` + damaged},
		{"fewer than it says", pack(deflated(t, good[:len(good)-8]),
			crc32.ChecksumIEEE(good[:len(good)-8]), len(good)),
			`array "a": expected 48 bytes of numbers, and they end before` + damaged},
		{"header says more", pack(deflated(t, shaped("<f8", "(2, 4)", 48)), 0, len(good)),
			`array "a": expected 64 bytes of data for shape [2 4] of <f8, got 48` + damaged},
		{"bomb", pack(bomb[:3000], 0, 68+4_000_000-8), ``},
	}
}

// readAll reads an archive in memory.
func readAll(b []byte) ([]member0, error) {
	return array.Try(func() (as []member0) {
		for _, m := range membersOf(bytes.NewReader(b), int64(len(b))) {
			a := m.read()
			as = append(as, member0{a.Name, a.Shape, a.Data})
		}
		return as
	})
}

// TestHostileArchives checks the message of each broken archive, and that none costs more memory
// than what can come of its bytes.
func TestHostileArchives(t *testing.T) {
	for _, test := range hostileArchives(t) {
		t.Run(test.name, func(t *testing.T) {
			path := expect.File(t, "a.npz", string(test.file))
			var err error
			// The reader of deflate and the first numbers are 512 kB.
			expect.AllocationsAtMost(t, 1<<20, func() { _, err = readArchive(path) })
			if test.want != "" {
				expect.Message(t, err, "npy: "+path+": "+test.want)
			} else if err == nil || !strings.Contains(err.Error(), `array "a": `) {
				t.Error(err)
			}
		})
	}
}

// damaged ends the errors of files that contradict themselves.
const damaged = ": could the file be damaged?"
