// Package outdir is a directory that a page and its files are written to, again and again: what an earlier page left there and the new
// one does not have is removed, and nothing else is touched. It imports the standard library and atomicfile.
package outdir

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"torchpe/report/internal/atomicfile"
)

// list is the file that names what was made, a line each.
const list = ".made"

// Dir is such a directory.
type Dir struct {
	Root    string
	earlier []string
	made    []string
}

// refused is an error that matches fs.ErrExist: what is there is in the way.
type refused string

func (r refused) Error() string      { return string(r) }
func (refused) Is(target error) bool { return target == fs.ErrExist }

// Open makes the directory. One that holds a run, or a page that was not made here, is refused before anything is written; the error
// matches fs.ErrExist.
func Open(dir string) (*Dir, error) {
	if has(dir, "config.json") {
		return nil, refused(dir + " is a run directory: name another one with --out")
	}
	text, err := os.ReadFile(filepath.Join(dir, list))
	if errors.Is(err, fs.ErrNotExist) && has(dir, "index.html") && !has(dir, "report.json") { // reports had no list once
		return nil, refused(dir + " has an index.html that torchpe did not make: name another directory with --out, or remove it")
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	return &Dir{Root: dir, earlier: strings.Split(string(text), "\n")}, nil
}

func has(dir, name string) bool {
	_, err := os.Lstat(filepath.Join(dir, name))
	return err == nil
}

// File returns where the file of that name goes, and counts it as made.
func (d *Dir) File(name string) string {
	d.made = append(d.made, name)
	return filepath.Join(d.Root, name)
}

// Close removes what an earlier page had and this one has not.
func (d *Dir) Close() error {
	for _, name := range d.earlier {
		if name != filepath.Base(name) || slices.Contains(d.made, name) { // a list that somebody edited leads nowhere else
			continue
		}
		if info, err := os.Lstat(filepath.Join(d.Root, name)); err != nil || !info.Mode().IsRegular() {
			continue
		}
		if err := os.Remove(filepath.Join(d.Root, name)); err != nil {
			return err
		}
	}
	return atomicfile.Write(filepath.Join(d.Root, list), func(w io.Writer) error {
		_, err := io.WriteString(w, strings.Join(d.made, "\n")+"\n")
		return err
	})
}
