package document

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/report/page"
	"torchpe/report/table"
)

// writePage writes files as a page would.
func writePage(t *testing.T, dir string, names ...string) {
	t.Helper()
	d := expect.Must(openDirectory(dir))
	for _, name := range names {
		expect.NoError(t, os.WriteFile(d.file(name), []byte(name), 0o644))
	}
	expect.NoError(t, d.close())
}

func names(dir string) (out []string) {
	for _, e := range expect.Must(os.ReadDir(dir)) {
		out = append(out, e.Name())
	}
	return out
}

// A command that several items need is listed once, with all of them.
func TestMissingOnce(t *testing.T) {
	d := expect.Must(Open(t.TempDir(), "x"))
	for _, item := range []Item{
		{Title: "A", Missing: []page.Result{{What: "σ of 2", Command: "sweep"}, {What: "rope"}}},
		{Title: "B", Missing: []page.Result{{What: "σ of 2", Command: "sweep"}, {What: "nope", Command: "sweep"}}},
	} {
		expect.Must(d.Add(item))
	}
	expect.Equal(t, "missing", d.missing,
		[]page.Result{{What: "A; B: σ of 2; B: nope", Command: "sweep"}, {What: "A: rope"}})
}

// A figure that could not be drawn is noted, beside what was left out.
func TestUndrawnIsNoted(t *testing.T) {
	d := expect.Must(Open(t.TempDir(), "x"))
	numbers := []Named{{Name: "f", Table: table.Table{Columns: table.Columns("x")}}}
	expect.Must(d.Add(Item{ID: "f", Title: "A", Undrawn: errors.New("no room"), Tables: numbers}))
	w := expect.Must(d.Finish([]string{"a run"}))
	expect.Equal(t, "notes", w.Notes, []string{"a run", "A: not drawn: no room"})
}

func TestEarlierFilesGo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	writePage(t, dir, "index.html", "fig 1 (a).svg", "fig2.svg")
	expect.NoError(t, os.WriteFile(filepath.Join(dir, "mine.txt"), nil, 0o644))
	writePage(t, dir, "index.html", "fig2.svg")
	if got, want := names(dir), []string{".made", "fig2.svg", "index.html",
		"mine.txt"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A list that leads out of the directory removes nothing there.
func TestListStaysInside(t *testing.T) {
	dir := t.TempDir()
	out, kept := filepath.Join(dir, "out"), filepath.Join(dir, "kept")
	writePage(t, out, "index.html")
	expect.NoError(t, os.WriteFile(kept, nil, 0o644))
	expect.NoError(t, os.WriteFile(filepath.Join(out, listFile), []byte("../kept\n"+kept+"\n..\n"),
		0o644))
	writePage(t, out, "index.html")
	expect.NoError(t, expect.ErrorOf(os.Stat(kept)))
}

func TestRefused(t *testing.T) {
	for file, want := range map[string]string{"config.json": "run directory",
		"index.html": "did not make"} {
		dir := t.TempDir()
		expect.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte("x"), 0o644))
		if _, err := openDirectory(dir); !errors.Is(err, fs.ErrExist) ||
			!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", file, err)
		}
		expect.Equal(t, fmt.Sprintf("%s: left", file), names(dir), []string{file})
	}
}
