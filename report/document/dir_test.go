package document

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/report/page"
)

// writePage writes files as a page would.
func writePage(t *testing.T, dir string, names ...string) {
	t.Helper()
	d, err := openDirectory(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if err := os.WriteFile(d.file(name), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.close(); err != nil {
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

// A command that several items need is listed once, with all of them.
func TestMissingOnce(t *testing.T) {
	d, err := Open(t.TempDir(), "x")
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range []Item{
		{Title: "A", Missing: []page.Result{{What: "σ of 2", Command: "sweep"}, {What: "rope"}}},
		{Title: "B", Missing: []page.Result{{What: "σ of 2", Command: "sweep"}, {What: "nope", Command: "sweep"}}},
	} {
		if _, err := d.Add(item); err != nil {
			t.Fatal(err)
		}
	}
	if want := []page.Result{{What: "A; B: σ of 2; B: nope", Command: "sweep"},
		{What: "A: rope"}}; !slices.Equal(d.missing, want) {
		t.Errorf("%q, want %q", d.missing, want)
	}
}

func TestEarlierFilesGo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	writePage(t, dir, "index.html", "fig 1 (a).svg", "fig2.svg")
	if err := os.WriteFile(filepath.Join(dir, "mine.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	writePage(t, dir, "index.html", "fig2.svg")
	if got, want := names(t, dir), []string{".made", "fig2.svg", "index.html",
		"mine.txt"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A list that leads out of the directory removes nothing there.
func TestListStaysInside(t *testing.T) {
	dir := t.TempDir()
	out, kept := filepath.Join(dir, "out"), filepath.Join(dir, "kept")
	writePage(t, out, "index.html")
	if err := os.WriteFile(kept, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(out, listFile), []byte("../kept\n"+kept+"\n..\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	writePage(t, out, "index.html")
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
		if _, err := openDirectory(dir); !errors.Is(err, fs.ErrExist) ||
			!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", file, err)
		}
		if got := names(t, dir); !slices.Equal(got, []string{file}) {
			t.Errorf("%s: left %q", file, got)
		}
	}
}
