// Package atomicfile writes a file as a whole or not at all.
//
// A reader of the path sees the old contents or the new contents, never a part. A write that fails
// leaves the old file in place and no temporary file.
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

// Write replaces the contents of path by what body writes. The contents go to a temporary file in the
// same directory, which is synced and renamed to path. A symbolic link is followed and stays a link.
// Devices, pipes and streams such as /dev/stdout are appended to, because a rename would replace
// them. A new file gets mode 0666 less the umask; an existing file keeps its mode.
func Write(path string, body func(io.Writer) error) error {
	return WriteAll(File{path, body})
}

// File is a path and the function that writes its contents.
type File struct {
	Path string
	Body func(io.Writer) error
}

// WriteAll writes several files as [Write] does. It replaces the first path only after the contents
// of all files are on disk. A full disk or an error of a body therefore leaves every file unchanged.
func WriteAll(files ...File) (err error) {
	var staged []staging
	defer func() {
		for _, s := range staged { // not renamed yet
			remove(s.temporary)
		}
	}()
	for _, f := range files {
		s, err := stage(f)
		if err != nil {
			return fmt.Errorf("write %s: %w", f.Path, err)
		}
		if s.temporary != "" { // a device is already written
			staged = append(staged, s)
		}
	}
	for len(staged) > 0 {
		s := staged[0]
		err := fault("rename", s.target)
		if err == nil {
			err = os.Rename(s.temporary, s.target)
		}
		if err != nil {
			return fmt.Errorf("write %s: %w", s.target, err)
		}
		staged = staged[1:]
		syncDir(filepath.Dir(s.target))
	}
	return nil
}

// staging is a file whose contents are on disk under a temporary name.
type staging struct{ temporary, target string }

// stage writes the contents to a temporary file beside f, or straight to a device. For a device the
// result has no temporary file.
func stage(f File) (staging, error) {
	mode := fs.FileMode(0)
	switch info, err := os.Stat(f.Path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return staging{}, err
	case info.IsDir():
		return staging{}, errors.New("it is a directory: give a file")
	case !info.Mode().IsRegular() || isStream(f.Path):
		return staging{}, writeDevice(f)
	default:
		mode = info.Mode().Perm()
	}
	target, err := filepath.EvalSymlinks(f.Path)
	if err != nil {
		target = f.Path // a new file; writeBeside reports a missing directory
	}
	temporary, err := writeBeside(target, mode, f.Body)
	return staging{temporary, target}, err
}

// isStream reports whether path names an open stream of the process, such as /dev/stdout. The stream
// may be redirected to a regular file.
func isStream(path string) bool {
	path = filepath.Clean(path)
	return path == "/dev/stdout" || path == "/dev/stderr" || strings.HasPrefix(path, "/dev/fd/") ||
		strings.HasPrefix(path, "/proc/")
}

func writeDevice(f File) error {
	file, err := os.OpenFile(f.Path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	device := &Opened{file, true}
	return errors.Join(buffered(device, f.Body), device.Close())
}

// writeBeside writes and syncs a temporary file in target's directory and returns its name. Mode 0
// means the default mode.
func writeBeside(target string, mode fs.FileMode, body func(io.Writer) error) (name string, err error) {
	f, err := createBeside(target)
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			remove(f.Name())
		}
	}()
	if err := buffered(f, body); err != nil {
		return "", err
	}
	if mode != 0 {
		if err := f.Chmod(mode); err != nil {
			return "", err
		}
	}
	if err := f.Sync(); err != nil {
		return "", err
	}
	return f.Name(), f.Close()
}

// createBeside creates a temporary file in target's directory. It does not use os.CreateTemp, whose
// mode 0600 would hide a figure from the group that shares the directory.
func createBeside(target string) (*Opened, error) {
	dir := filepath.Dir(target)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("directory %s does not exist: create it first", dir)
	}
	for try := 0; ; try++ {
		name := filepath.Join(dir, fmt.Sprintf(".torchpe-%d-%d.tmp", os.Getpid(), try))
		if err := fault("create", name); err != nil {
			return nil, err
		}
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, fs.ErrExist) && try < 1000 {
			continue
		}
		return &Opened{f, true}, err
	}
}

func buffered(f *Opened, body func(io.Writer) error) error {
	w := bufio.NewWriterSize(f, 1<<16)
	if err := body(w); err != nil {
		return err
	}
	return w.Flush()
}

// remove removes a temporary file. It ignores errors, because the caller reports an earlier one.
func remove(name string) {
	if fault("remove", name) == nil {
		_ = os.Remove(name)
	}
}

// syncDir makes a rename survive a power cut. It ignores errors, because some file systems cannot
// sync a directory.
func syncDir(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
}
