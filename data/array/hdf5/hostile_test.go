package hdf5

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torchpe/data/array"
	"torchpe/internal/expect"
)

// everything reads all datasets of a file that lies in memory, with no checksum of metadata
// verified where lax.
func everything(b []byte, lax bool) (map[string]array.Array, error) {
	return array.Try(func() map[string]array.Array {
		f := inMemory(b)
		f.lax = lax
		entries, all := f.list(), map[string]array.Array{}
		for _, e := range entries[:min(len(entries), 40)] { // one of them may claim megabytes
			if a, err := f.tryRead(e.Name, true); err == nil {
				all[e.Name] = a
			}
		}
		return all
	})
}

func inMemory(b []byte) *file { return open(bytes.NewReader(b), int64(len(b))) }

func (f *file) tryRead(name string, realParts bool) (array.Array, error) {
	return array.Try(func() array.Array { return f.read(name, realParts) })
}

func fixture(name string) []byte {
	return expect.Must(os.ReadFile(filepath.Join("testdata", name)))
}

// Damage anywhere gives an error or numbers, never a panic, and no more room than the file is good
// for.
func TestEveryByteDamaged(t *testing.T) {
	for _, name := range []string{"userblock.h5", "userblock-new.h5"} {
		good := fixture(name)
		for i := range good {
			for _, v := range []byte{0, 0xff, good[i] ^ 0x80} {
				if v == good[i] {
					continue
				}
				b := bytes.Clone(good)
				b[i] = v
				all, _ := everything(b, true)
				for at, a := range all {
					if err := a.Check(); err != nil {
						t.Fatalf("%s with %#x at byte %d: %s: %v", name, v, i, at, err)
					}
				}
			}
		}
	}
}

// A file that was cut gives an error, or what it still holds is right.
func TestTruncated(t *testing.T) {
	good := fixture("userblock-new.h5")
	want, err := everything(good, false)
	if err != nil || len(want) != 1 {
		t.Fatal(want, err)
	}
	for n := range good {
		all, err := everything(good[:n], false)
		if err == nil && len(all) > 0 {
			t.Fatalf("cut to %d of %d bytes: no error", n, len(good))
		}
	}
}

// A wrong checksum is an error where the file has one.
func TestChecksums(t *testing.T) {
	good := fixture("userblock-new.h5")
	b := bytes.Clone(good)
	at := bytes.Index(b, []byte("OHDR"))
	if at < 0 {
		t.Fatal("no OHDR in the fixture")
	}
	b[at+12] ^= 1
	expect.Error(t, expect.ErrorOf(readX(b)), "checksum")
	b = fixture("layouts-old.h5")
	f := inMemory(b)
	d := f.dataset("checked")
	c := f.cursor(d.layout, "layout")
	c.skip(3)
	var first uint64
	d.chunksV1(c.offset(), 2, func(k chunk) { first = max(first, k.address) })
	b[first] ^= 1
	expect.Error(t, expect.ErrorOf(f.tryRead("checked", false)), "checksum")
}

func readX(b []byte) (array.Array, error) {
	return array.Try(func() array.Array { return inMemory(b).read("x", false) })
}

func TestNotHDF5(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"empty": "", "text": strings.Repeat("1 2 3\n",
		1000), "cut": signature[:5]} {
		path := filepath.Join(dir, name)
		expect.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		expect.Error(t, expect.ErrorOf(List(path)), "not an HDF5 file", path)
	}
	expect.Error(t, expect.ErrorOf(List(dir)), "not a regular file")
	b := fixture("userblock.h5")
	b[1024+8] = 9
	expect.Error(t, expect.ErrorOf(everything(b, false)), "version 9")
}

// A shape that claims a terabyte costs no room.
func TestClaimsCostNothing(t *testing.T) {
	for _, name := range []string{"layouts-old.h5", "layouts-new.h5"} {
		good := fixture(name)
		shape := append(le(5), le(7)...)
		huge := append(le(1<<20), le(1<<20)...)
		b := bytes.ReplaceAll(good, shape, huge)
		if bytes.Equal(b, good) {
			t.Fatal("no shape to change")
		}
		expect.AllocationsAtMost(t, 16<<20, func() {
			f := inMemory(b)
			f.lax = true
			for _, dataset := range []string{"contiguous", "compact", "chunked", "deflated"} {
				expect.Error(t, expect.ErrorOf(f.tryRead(dataset, false)), "could the file be damaged")
			}
		})
	}
}

func le(v uint64) []byte {
	return binary.LittleEndian.AppendUint64(nil, v)
}

// Known answers: Bob Jenkins' own for lookup3 with the initial value 0.
func TestLookup3(t *testing.T) {
	for text, want := range map[string]uint32{"": 0xdeadbeef,
		"Four score and seven years ago": 0x17770551} {
		expect.Equal(t, fmt.Sprintf("lookup3(%q)", text), lookup3([]byte(text)), want)
	}
}

// A single chunk that is not the whole dataset is damage; with an index, known or not, it is refused.
func TestHostileSingleChunk(t *testing.T) {
	layout := []byte{4, 2, 2, 3, 1, 5, 7, 8, 1} // version, chunked, filtered, 3 axes of 1 byte, those, single chunk
	for bad, want := range map[string]string{
		"\x04\x02\x02\x03\x01\x07\x05\x08\x01": "its only chunk has the shape [7 5], it has [5 7]",
		"\x04\x02\x02\x03\x01\x05\x06\x08\x01": "its only chunk has the shape [5 6], it has [5 7]",
		"\x04\x02\x02\x03\x01\x05\x07\x08\x03": `libver="latest"`,
		"\x04\x02\x02\x03\x01\x05\x07\x08\xff": `libver="latest"`,
	} {
		b := bytes.Replace(fixture("userblock-new.h5"), layout, []byte(bad), 1)
		f := inMemory(b)
		f.lax = true
		expect.Error(t, expect.ErrorOf(f.tryRead("x", false)), want)
	}
}

// LZF that is cut, leads before its beginning or makes more than a chunk is an error, and no more
// comes out than the room that it is given.
func TestHostileLZF(t *testing.T) {
	room := make([]byte, 300)
	good := "\x02abc\xe0\x00\x02" // abc, and 9 bytes from 3 back on
	if b := unLZF([]byte(good), room); string(b) != "abcabcabcabc" {
		t.Errorf("%q", b)
	}
	bomb := "\x00a" + strings.Repeat("\xe0\xff\x00", 100)
	for _, bad := range []string{good[:2], good[:5], good[:6], "\x20\x00", "\x02abc\x20\x03", "\xff", bomb} {
		expect.Refused(t, bad, expect.ErrorOf(array.Try(func() []byte { return unLZF([]byte(bad), room) })))
	}
}
