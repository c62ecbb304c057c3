package text

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"torchpe/internal/expect"
)

// FuzzParse checks any bytes under any name: no panic, and what is accepted is a table with as many
// names as it has rows and columns.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.*")
	expect.NoError(f, err)
	for _, path := range files {
		raw, err := os.ReadFile(path)
		expect.NoError(f, err)
		if len(raw) < 2000 {
			f.Add(raw, filepath.Base(path))
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte, name string) {
		var got Table
		var err error
		expect.AllocationsAtMost(t, justified(raw),
			func() { got, err = Parse(bytes.NewReader(raw), name, Options{}) })
		if err != nil {
			return
		}
		if err := got.Check(); err != nil || len(got.Shape) != 2 || got.Shape[0] < 1 ||
			got.Shape[1] < 1 {
			t.Errorf("shape %v, %v", got.Shape, err)
		}
		if got.Columns != nil && len(got.Columns) != got.Shape[1] || got.Rows != nil &&
			len(got.Rows) != got.Shape[0] {
			t.Errorf("%d and %d names for shape %v", len(got.Columns), len(got.Rows), got.Shape)
		}
	})
}

// justified returns how many bytes reading may allocate: a cell of two bytes becomes a name of 16
// or a number of 8, in rooms that double.
func justified(raw []byte) int { return 64*len(raw) + 64<<10 }
