package outdir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// page writes files as a page would.
func page(t *testing.T, dir string, names ...string) {
	t.Helper()
	d, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if err := os.WriteFile(d.File(name), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

func names(t *testing.T, dir string) (out []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestEarlierFilesGo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	page(t, dir, "index.html", "fig 1 (a).svg", "fig2.svg")
	if err := os.WriteFile(filepath.Join(dir, "mine.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	page(t, dir, "index.html", "fig2.svg")
	if got, want := names(t, dir), []string{".made", "fig2.svg", "index.html",
		"mine.txt"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A list that leads out of the directory removes nothing there.
func TestListStaysInside(t *testing.T) {
	dir := t.TempDir()
	out, kept := filepath.Join(dir, "out"), filepath.Join(dir, "kept")
	page(t, out, "index.html")
	if err := os.WriteFile(kept, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(out, list), []byte("../kept\n"+kept+"\n..\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	page(t, out, "index.html")
	if _, err := os.Stat(kept); err != nil {
		t.Error(err)
	}
}

func TestRefused(t *testing.T) {
	for file, want := range map[string]string{"config.json": "run directory",
		"index.html": "did not make"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, file), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(dir); !errors.Is(err, fs.ErrExist) ||
			!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", file, err)
		}
		if got := names(t, dir); !slices.Equal(got, []string{file}) {
			t.Errorf("%s: left %q", file, got)
		}
	}
}
