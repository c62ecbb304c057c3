package atomicfile

import (
	"path/filepath"
	"testing"
)

// A file is new, then replaced; what fails leaves the old one and nothing else.
func TestWriteIn(t *testing.T) {
	dir := t.TempDir()
	root, err := OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, text := range []string{"old", "new and longer", ""} {
		if err := WriteIn(root, "a", []byte(text), text != ""); err != nil {
			t.Fatal(err)
		}
		if got, err := root.ReadFile("a"); err != nil || string(got) != text {
			t.Errorf("%q, %v, want %q", got, err, text)
		}
	}
	if err := root.MkdirAll("folder/full", 0o777); err != nil {
		t.Fatal(err)
	}
	if err := WriteIn(root, "folder", []byte("x"), true); err == nil {
		t.Error("replaced a folder")
	}
	if err := WriteIn(root, "../outside", []byte("x"), true); err == nil {
		t.Error("wrote outside the root")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 2 {
		t.Errorf("%v, %v: want a and folder alone", files, err)
	}
}
