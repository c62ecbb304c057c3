package hdf5

import (
	"os"
	"path/filepath"
	"testing"
)

// FuzzRead reads all datasets of damaged files, with checksums of metadata off so that damage is not seen at once.
func FuzzRead(f *testing.F) {
	paths, err := filepath.Glob("testdata/*.h5")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		all, err := everything(b, true)
		if err != nil {
			return
		}
		for name, a := range all {
			if err := a.Check(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if len(a.Data) > deflateGain*len(b)+unwritten {
				t.Fatalf("%s: %d numbers out of %d bytes", name, len(a.Data), len(b))
			}
		}
	})
}
