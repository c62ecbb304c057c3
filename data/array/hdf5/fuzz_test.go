package hdf5

import (
	"os"
	"path/filepath"
	"testing"

	"torchpe/data/array"
	"torchpe/internal/expect"
)

// FuzzRead reads all datasets of damaged files, with checksums of metadata off so that damage is
// not seen at once. What opening allocates goes with the file. A dataset may take what deflate can
// make of the file and what was never written, 8 bytes for each of these, once stored and once as
// numbers, real or complex.
func FuzzRead(f *testing.F) {
	paths, err := filepath.Glob("testdata/*.h5")
	expect.NoError(f, err)
	for _, path := range paths {
		b, err := os.ReadFile(path)
		expect.NoError(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var opened *file
		var entries []Entry
		expect.AllocationsAtMost(t, 64*len(b)+1<<20, func() {
			entries, _ = array.Try(func() []Entry {
				opened = inMemory(b)
				opened.lax = true
				return opened.list()
			})
		})
		for _, e := range entries[:min(len(entries), 40)] { // one of them may claim megabytes
			var a array.Array
			var err error
			expect.AllocationsAtMost(t, 2*8*(array.MaxInflate*len(b)+unwritten), func() {
				a, err = opened.tryRead(e.Name, true)
				array.Try(func() []float64 { return opened.readReferences(e.Name) })
			})
			if err != nil {
				continue
			}
			if err := a.Check(); err != nil {
				t.Fatalf("%s: %v", e.Name, err)
			}
			if len(a.Data) > array.MaxInflate*len(b)+unwritten {
				t.Fatalf("%s: %d numbers out of %d bytes", e.Name, len(a.Data), len(b))
			}
		}
	})
}
