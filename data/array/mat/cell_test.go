package mat

import (
	"os"
	"path/filepath"
	"testing"

	"torchpe/internal/expect"
)

// The cells of mixed-v6.mat and mixed-v7.mat, which scipy wrote (make.py): a matrix [3 4] of 0 to 11
// and a text.
func TestCells(t *testing.T) {
	for _, name := range []string{"mixed-v6.mat", "mixed-v7.mat"} {
		path := filepath.Join("testdata", name)
		cells, err := ListCells(path, "c")
		if err != nil || len(cells) != 2 || cells[0].Class != "double" || cells[0].Shape[0] != 3 ||
			cells[0].Shape[1] != 4 || cells[1].Class != "char" {
			t.Fatalf("%s: %+v, %v", name, cells, err)
		}
		a, err := ReadCell(path, "c", 0)
		if err != nil || a.Shape[0] != 3 || a.Data[5] != 5 {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
		for i, want := range map[int]string{1: "holds text", 2: "has no cell 2"} {
			expect.Error(t, expect.ErrorOf(ReadCell(path, "c", i)), want)
		}
		for variable, want := range map[string]string{"tc": "no cell array", "zzz": "holds no variable"} {
			expect.Error(t, expect.ErrorOf(ListCells(path, variable)), want)
		}
	}
}

// A cell array that claims more cells than the file has.
func TestCellsThatAreNotThere(t *testing.T) {
	m := little
	path := filepath.Join(t.TempDir(), "c.mat")
	cell := m.matrix(m.start(int(classDouble), "", 1, 1), m.element(miDouble, make([]byte, 8)))
	file := m.file(m.matrix(m.start(int(classCell), "c", 1<<20, 1), cell))
	expect.NoError(t, os.WriteFile(path, file, 0o666))
	expect.Error(t, expect.ErrorOf(ListCells(path, "c")), "its cell 2")
}
