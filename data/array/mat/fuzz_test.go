package mat

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"torchpe/data/array"
	"torchpe/internal/expect"
)

// seeds returns the fixtures and the broken files.
func seeds(f *testing.F) [][]byte {
	f.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", "*.mat"))
	if err != nil || len(paths) == 0 {
		f.Fatal("no fixtures:", err)
	}
	var all [][]byte
	for _, path := range paths {
		b, err := os.ReadFile(path)
		expect.NoError(f, err)
		all = append(all, b)
	}
	for _, files := range [][]broken{brokenFiles(), brokenStructs(), brokenPacked(f)} {
		for _, file := range files {
			if len(file.file) < 4096 {
				all = append(all, file.file)
			}
		}
	}
	return all
}

// room is the budget of a file in fuzz tests, which the zeros of a sparse matrix may take.
const room = 16 << 20

// justified returns how many bytes reading may allocate: 8 for each byte that comes out of deflate,
// in rooms that double, and the constant of its reader.
func justified(file []byte) int { return room + 2*8*array.MaxInflate*len(file) + 1<<20 }

// justifiedPlain is that of a file without compression: a byte becomes a number of 8, again in
// rooms that double.
func justifiedPlain(file []byte) int { return room + 2*8*len(file) + 64<<10 }

// limit sets the budget of files.
func limit(f *testing.F) {
	before := array.Limit()
	array.SetLimit(room)
	f.Cleanup(func() { array.SetLimit(before) })
}

// check holds an array that was accepted against the bytes that it came from.
func check(t *testing.T, a array.Array, file []byte) {
	t.Helper()
	expect.NoError(t, a.Check())
	if len(a.Shape) < 2 {
		t.Fatalf("shape %v", a.Shape)
	}
	if len(a.Data) > array.MaxInflate*len(file)+room/8 {
		t.Fatalf("%d numbers from %d bytes", len(a.Data), len(file))
	}
}

// FuzzRead checks any bytes and any name: no panic, and what is accepted has as many numbers as its
// shape says and no more than deflate can make of the file, and is the same alone as among the
// others.
func FuzzRead(f *testing.F) {
	limit(f)
	for _, b := range seeds(f) {
		f.Add(b, "s.run.mask")
		f.Add(b, "s.a")
	}
	f.Fuzz(func(t *testing.T, b []byte, name string) {
		var f *file
		var err error
		expect.AllocationsAtMost(t, justified(b), func() {
			f, err = array.Try(func() *file { return newFile(bytes.NewReader(b), int64(len(b))) })
		})
		if err != nil {
			return
		}
		read := func(name string) (array.Array, error) {
			return array.Try(func() array.Array { return f.read(name) })
		}
		if a, err := read(name); err == nil {
			check(t, a, b)
			if a.Name != name {
				t.Fatalf("%q is called %q", name, a.Name)
			}
		}
		for _, v := range f.variables {
			array.Try(func() any {
				f.cells(v.name, func(_ int, s *stream, h *header) bool {
					check(t, s.array(h), b)
					return true
				})
				return nil
			})
		}
		var as []array.Array
		expect.AllocationsAtMost(t, justified(b), func() { as, err = array.Try(f.readAll) })
		if err != nil {
			return
		}
		for _, a := range as {
			check(t, a, b)
			alone, err := read(a.Name)
			if err != nil || !equal([]array.Array{a}, []array.Array{alone}) {
				t.Fatalf("%v alone is %v, %v", a, alone, err)
			}
		}
	})
}

// FuzzPacked checks the bytes of any one variable: compressed it reads the same as plain, or
// neither is accepted.
func FuzzPacked(f *testing.F) {
	limit(f)
	for _, b := range seeds(f) {
		if len(b) > headerBytes && kind(b[headerBytes]) == miMatrix {
			f.Add(b[headerBytes:], "s.a", true)
			f.Add(b[headerBytes:], "x", false)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, name string, bigEndian bool) {
		m := little
		if bigEndian {
			m = big
		}
		if len(b) < 8 || kind(m.Uint32(b)) != miMatrix ||
			int64(m.Uint32(b[4:])) != int64(len(b)-8) {
			return // more than a variable, or less
		}
		plain, packed := m.file(b), m.file(m.packed(t, b))
		var as []array.Array
		var err error
		expect.AllocationsAtMost(t, justifiedPlain(plain), func() { as, err = readBytes(plain) })
		as2, err2 := readBytes(packed)
		if (err == nil) != (err2 == nil) || !equal(as, as2) {
			t.Fatalf("plain %v, %v, compressed %v, %v", as, err, as2, err2)
		}
		a, err := readOne(plain, name)
		a2, err2 := readOne(packed, name)
		if (err == nil) != (err2 == nil) || !equal([]array.Array{a}, []array.Array{a2}) {
			t.Fatalf("plain %v, %v, compressed %v, %v", a, err, a2, err2)
		}
		if err == nil {
			check(t, a, plain)
		}
	})
}
