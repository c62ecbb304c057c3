// Package atomicfile writes a file as a whole or not at all.
//
// A reader of the path sees the old contents or the new, never a half; a write that fails leaves the old file and no
// litter. It imports the standard library only.
package atomicfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Write has body write the contents of path: into a temporary file beside it, which is synced and then renamed to path.
// A symbolic link is followed and stays a link. What is not a regular file (/dev/stdout, /dev/null, a named pipe) is
// opened and appended to, for renaming over it would replace the device. A new file's mode is 0666 less the umask, an
// existing file keeps its own.
func Write(path string, body func(io.Writer) error) error {
	mode := fs.FileMode(0)
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fmt.Errorf("write %s: %w", path, err)
	case info.IsDir():
		return fmt.Errorf("write %s: it is a directory: name a file", path)
	case !info.Mode().IsRegular() || isStream(path):
		return writeDevice(path, body)
	default:
		mode = info.Mode().Perm()
	}
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		target = path // it is new, or its directory is missing and the next step says so
	}
	if err := writeRenamed(target, mode, body); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// isStream reports whether path names an open stream of the process, such as /dev/stdout, which may lead to a regular file.
func isStream(path string) bool {
	path = filepath.Clean(path)
	return path == "/dev/stdout" || path == "/dev/stderr" || strings.HasPrefix(path, "/dev/fd/") || strings.HasPrefix(path, "/proc/")
}

func writeDevice(path string, body func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := errors.Join(buffered(f, body), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// writeRenamed gives the file the given mode, or the default one for mode 0.
func writeRenamed(target string, mode fs.FileMode, body func(io.Writer) error) (err error) {
	f, err := createBeside(target)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if err := buffered(f, body); err != nil {
		return err
	}
	if mode != 0 {
		if err := f.Chmod(mode); err != nil {
			return err
		}
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), target); err != nil {
		return err
	}
	return syncDir(filepath.Dir(target))
}

// createBeside makes a new file in target's directory. os.CreateTemp would do but for its fixed mode 0600, which keeps
// a figure from the group that shares the directory.
func createBeside(target string) (*os.File, error) {
	dir := filepath.Dir(target)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("directory %s does not exist: make it first", dir)
	}
	for try := 0; ; try++ {
		name := filepath.Join(dir, fmt.Sprintf(".torchpe-%d-%d.tmp", os.Getpid(), try))
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, fs.ErrExist) && try < 1000 {
			continue
		}
		return f, err
	}
}

func buffered(f *os.File, body func(io.Writer) error) error {
	w := bufio.NewWriter(f)
	if err := body(w); err != nil {
		return err
	}
	return w.Flush()
}

// syncDir makes the rename survive a power cut. A file system that cannot sync a directory is no reason to fail.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	d.Sync()
	return nil
}
