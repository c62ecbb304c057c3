package document

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

// listFile lists the files of a report, one a line.
const listFile = ".made"

// directory is a folder that a report is written to again and again: it removes the files of an
// earlier report that the new one does not have, and nothing else.
type directory struct {
	root    string
	earlier []string // files of the report before
	written []string // files of this one
}

// refusedError says that the directory holds something else. It matches fs.ErrExist.
type refusedError string

func (r refusedError) Error() string      { return string(r) }
func (refusedError) Is(target error) bool { return target == fs.ErrExist }

// openDirectory creates the directory where there is none. It refuses one that holds a run, or a page that
// torchpe did not write, with an error that matches fs.ErrExist.
func openDirectory(dir string) (*directory, error) {
	if hasFile(dir, "config.json") {
		return nil, refusedError(dir + " is a run directory: name another one with --out")
	}
	text, err := atomicfile.ReadFile(filepath.Join(dir, listFile))
	// reports had no list once
	if errors.Is(err, fs.ErrNotExist) && hasFile(dir, "index.html") && !hasFile(dir, "report.json") {
		return nil, refusedError(dir + " has an index.html that torchpe did not make: remove it, or " +
			"name another --out")
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	return &directory{root: dir, earlier: strings.Split(string(text), "\n")}, nil
}

func hasFile(dir, name string) bool {
	_, err := os.Lstat(filepath.Join(dir, name))
	return err == nil
}

// file returns the path for a file of that name, and records it as one of the page.
func (d *directory) file(name string) string {
	d.written = append(d.written, name)
	return filepath.Join(d.root, name)
}

// close removes files of an earlier report that this one does not have, and writes the list of this
// one's.
func (d *directory) close() error {
	for _, name := range d.earlier {
		// a list that somebody edited leads nowhere else
		if name != filepath.Base(name) || slices.Contains(d.written, name) {
			continue
		}
		if info, err := os.Lstat(filepath.Join(d.root, name)); err != nil ||
			!info.Mode().IsRegular() {
			continue
		}
		if err := os.Remove(filepath.Join(d.root, name)); err != nil {
			return err
		}
	}
	return atomicfile.Write(filepath.Join(d.root, listFile), func(w io.Writer) error {
		_, err := io.WriteString(w, strings.Join(d.written, "\n")+"\n")
		return err
	})
}
