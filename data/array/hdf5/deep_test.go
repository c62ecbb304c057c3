package hdf5

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Indices of chunks and links that are several levels deep are followed. The files are too large to
// commit.
func TestDeepIndices(t *testing.T) {
	const python = "/usr/bin/python3"
	if err := exec.Command(python, "-c", "import h5py").Run(); err != nil {
		t.Skip("needs h5py (Debian's python3-h5py) to write its files")
	}
	dir := t.TempDir()
	if out, err := exec.Command(python, "testdata/deep.py", dir).CombinedOutput(); err != nil {
		t.Fatalf("deep.py: %v\n%s", err, out)
	}
	for file, datasets := range map[string][]string{
		"new.h5": {},
		"old.h5": {"tree", "tree-deflated", "tree-sparse"},
	} {
		path := filepath.Join(dir, file)
		for _, name := range datasets {
			a, err := Read(path, name)
			if err != nil {
				t.Errorf("%s %s: %v", file, name, err)
				continue
			}
			for i, v := range a.Data {
				want := float64(i)
				if strings.HasSuffix(name, "sparse") && i != 140007 && (i < 279997 || i%10 != 7) {
					want = 0
				}
				if v != want {
					t.Errorf("%s %s[%d] = %v, want %v", file, name, i, v, want)
					break
				}
			}
			if len(a.Data) < 5000 {
				t.Errorf("%s %s has %d numbers", file, name, len(a.Data))
			}
		}
		entries, err := List(path)
		n := 0
		for _, e := range entries {
			if strings.HasPrefix(e.Name, "/many/") {
				n++
			}
		}
		if n != 20001 || err != nil {
			t.Errorf("%s: List finds %d of 20001 links, %v", file, n, err)
		}
		if a, err := Read(path, "many/a17777"); err != nil || len(a.Shape) != 0 ||
			len(a.Data) != 1 || a.Data[0] != 1 {
			t.Errorf("%s: many/a17777 is %v, %v", file, a, err)
		}
	}
}
