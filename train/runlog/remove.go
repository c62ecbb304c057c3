package runlog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Remove removes the run in dir with its directory. It fails with ErrNoRun where there is none,
// with ErrSchema where a newer torchpe made it, and with a [LockedError] where a process writes to
// it. A symbolic link, or a directory with a folder in it that is not of a run, is refused; other
// files in it go with the run. A crash on the way leaves a run that can be removed again, or the
// rest of a directory that is none.
func Remove(dir string, opts Options) error {
	dir, err := filepath.Abs(dir)
	if err == nil {
		err = checkDir(dir)
	}
	if err != nil {
		return fmt.Errorf("remove run: %w", err)
	}
	reader, err := Open(dir) // looked at before the lock, to leave alone what is no run
	if err == nil {
		err = errors.Join(reader.checkFolders(), reader.Close())
	}
	if err != nil {
		return fmt.Errorf("remove run: %w", err)
	}
	r, err := lockDir(dir, opts)
	if err != nil {
		return fmt.Errorf("remove run: %w", err)
	}
	if err := errors.Join(r.removeAll(), r.Close()); err != nil {
		return fmt.Errorf("remove run: %w", err)
	}
	return nil
}

// checkFolders returns an error that names the folders which no run has.
func (r *Reader) checkFolders() error {
	entries, err := r.entries(".")
	if err != nil {
		return err
	}
	var foreign []string
	for _, e := range entries {
		if e.IsDir() && e.Name() != boardDir {
			foreign = append(foreign, e.Name())
		}
	}
	slices.Sort(foreign)
	if foreign != nil {
		return fmt.Errorf("%s: holds folders that are not of a run (%s): move them away first",
			r.dir, strings.Join(foreign, ", "))
	}
	return nil
}

// removeAll removes the files that make the directory a run, then the others, and the directory.
// The lock stays until the end.
func (r *Run) removeAll() error {
	parent, err := os.OpenRoot(filepath.Dir(r.dir))
	if err != nil {
		return fmt.Errorf("%s: %w", r.dir, Cause(err))
	}
	defer parent.Close()
	name := filepath.Base(r.dir)
	opened, err := r.root.Stat(".")
	if err != nil {
		return fmt.Errorf("%s: %w", r.dir, Cause(err))
	}
	if present, err := parent.Lstat(name); err != nil || !os.SameFile(opened, present) {
		return fmt.Errorf("%s: the directory was replaced meanwhile: try again", r.dir)
	}
	for _, file := range runFiles {
		if err := r.remove(file); err != nil {
			return err
		}
	}
	if err := parent.RemoveAll(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", r.dir, Cause(err))
	}
	l := r.lock
	r.lock = nil // its file is gone: there is nothing to empty
	return l.Unlock()
}
