package mat

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
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
			if _, err := ReadCell(path, "c", i); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: cell %d: %v", name, i, err)
			}
		}
		for variable, want := range map[string]string{"tc": "no cell array", "zzz": "holds no variable"} {
			if _, err := ListCells(path, variable); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %s: %v", name, variable, err)
			}
		}
	}
}

// A cell array that claims more cells than the file has.
func TestCellsThatAreNotThere(t *testing.T) {
	m := little
	path := filepath.Join(t.TempDir(), "c.mat")
	cell := m.matrix(m.start(int(classDouble), "", 1, 1), m.element(miDouble, make([]byte, 8)))
	file := m.file(m.matrix(m.start(int(classCell), "c", 1<<20, 1), cell))
	if err := os.WriteFile(path, file, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := ListCells(path, "c"); err == nil || !strings.Contains(err.Error(), "its cell 2") {
		t.Error(err)
	}
}
