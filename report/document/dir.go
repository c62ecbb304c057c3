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

// listFile names the file that lists the files of a report, one per line.
const listFile = ".made"

// directory is the folder of a report, which a later report may overwrite. It removes the files of the
// earlier report that the new one lacks, and no others.
type directory struct {
	root    string
	earlier []string // files of the earlier report
	written []string // files of this report
}

// refusedError is the error for a directory that holds no report. It matches fs.ErrExist.
type refusedError string

func (r refusedError) Error() string      { return string(r) }
func (refusedError) Is(target error) bool { return target == fs.ErrExist }

// openDirectory opens a directory for a report and creates it if needed. It returns an error that matches
// fs.ErrExist for a directory that holds a run or a page that torchpe did not write.
func openDirectory(dir string) (*directory, error) {
	if hasFile(dir, "config.json") {
		return nil, refusedError(dir + " is a run directory: name another one with --out")
	}
	text, err := atomicfile.ReadFile(filepath.Join(dir, listFile))
	// reports of early versions have report.json and no list
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

// file returns the path of a file of the report and records its name.
func (d *directory) file(name string) string {
	d.written = append(d.written, name)
	return filepath.Join(d.root, name)
}

// close removes files of the earlier report that this one lacks, and writes the list of files.
func (d *directory) close() error {
	for _, name := range d.earlier {
		// an edited list must not lead outside the directory
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
