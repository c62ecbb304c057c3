// Package outdir manages a directory that a page and its files are written to again and again: it
// removes files of an earlier page that the new one does not have, and nothing else. It imports the
// standard library and atomicfile.
package outdir

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"torchpe/internal/atomicfile"
)

// list is the file that lists the files of a page, one a line.
const list = ".made"

// Dir is a directory for a page and its files.
type Dir struct {
	Root    string
	earlier []string
	made    []string
}

// refused is an error that matches fs.ErrExist: the directory holds something else.
type refused string

func (r refused) Error() string      { return string(r) }
func (refused) Is(target error) bool { return target == fs.ErrExist }

// Open creates the directory where there is none. It refuses one that holds a run, or a page that
// torchpe did not write, with an error that matches fs.ErrExist.
func Open(dir string) (*Dir, error) {
	if has(dir, "config.json") {
		return nil, refused(dir + " is a run directory: name another one with --out")
	}
	text, err := os.ReadFile(filepath.Join(dir, list))
	// reports had no list once
	if errors.Is(err, fs.ErrNotExist) && has(dir, "index.html") && !has(dir, "report.json") {
		return nil, refused(dir + " has an index.html that torchpe did not make: remove it, or " +
			"name another --out")
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

// File returns the path for a file of that name, and records it as one of the page.
func (d *Dir) File(name string) string {
	d.made = append(d.made, name)
	return filepath.Join(d.Root, name)
}

// Close removes files of an earlier page that this one does not have, and writes the list of this
// one's.
func (d *Dir) Close() error {
	for _, name := range d.earlier {
		// a list that somebody edited leads nowhere else
		if name != filepath.Base(name) || slices.Contains(d.made, name) {
			continue
		}
		if info, err := os.Lstat(filepath.Join(d.Root, name)); err != nil ||
			!info.Mode().IsRegular() {
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
