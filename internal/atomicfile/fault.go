package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// Fault is called before every file operation of this package, including those of a [Root] and its
// files. Tests set it to make an operation fail: the operation returns Fault's error. Opening a file to
// write is the operation create, and open to read.
var Fault func(operation, name string) error

// ErrShort makes a read, when Fault returns it, return half of the requested bytes and no error.
var ErrShort = errors.New("short read")

func fault(operation, name string) error {
	if Fault == nil {
		return nil
	}
	if err := Fault(operation, name); err != nil {
		return &fs.PathError{Op: operation, Path: name, Err: err}
	}
	return nil
}

// attempt calls do unless Fault makes the operation fail.
func attempt(operation, name string, do func() error) error {
	if err := fault(operation, name); err != nil {
		return err
	}
	return do()
}

// CheckRegular returns an error unless info describes a regular file. Opening a pipe would wait for a
// writer, and reading a device may never end.
func CheckRegular(info fs.FileInfo) error {
	kind := "a device"
	switch {
	case info.Mode().IsRegular():
		return nil
	case info.IsDir():
		kind = "a folder"
	case info.Mode()&fs.ModeNamedPipe != 0:
		kind = "a pipe"
	case info.Mode()&fs.ModeSocket != 0:
		kind = "a socket"
	}
	return errors.New(kind + ", not a regular file")
}

// CheckOpening returns an error that names the path unless it is a regular file or a folder. A
// missing path is not an error here: opening it reports that.
func CheckOpening(path string, stat func(string) (fs.FileInfo, error)) error {
	info, err := stat(path)
	if err != nil || info.IsDir() {
		return nil
	}
	if err := CheckRegular(info); err != nil {
		return &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return nil
}

// ReadFile reads a whole regular file.
func ReadFile(path string) ([]byte, error) {
	if err := fault("read", path); err != nil && !errors.Is(err, ErrShort) {
		return nil, err
	}
	if err := CheckOpening(path, os.Stat); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// Root is an os.Root whose file operations can be made to fail by Fault.
type Root struct{ *os.Root }

// OpenRoot opens a directory.
func OpenRoot(dir string) (Root, error) {
	if err := CheckOpening(dir, os.Stat); err != nil {
		return Root{}, err
	}
	r, err := os.OpenRoot(dir)
	return Root{r}, err
}

// Open opens a file for reading.
func (r Root) Open(name string) (*Opened, error) {
	return r.OpenFile(name, os.O_RDONLY, 0)
}

// OpenFile opens a regular file or a folder.
func (r Root) OpenFile(name string, flag int, mode fs.FileMode) (*Opened, error) {
	operation, writes := "open", flag&(os.O_WRONLY|os.O_RDWR) != 0
	if writes {
		operation = "create"
	}
	if err := errors.Join(fault(operation, name), CheckOpening(name, r.Stat)); err != nil {
		return nil, err
	}
	f, err := r.Root.OpenFile(name, flag, mode)
	return &Opened{f, writes}, err
}

// SyncDir makes renames and removals in a directory survive a power loss.
func (r Root) SyncDir(name string) error {
	f, err := r.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// ReadFile reads a whole file.
func (r Root) ReadFile(name string) ([]byte, error) {
	f, err := r.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// Lstat describes a file.
func (r Root) Lstat(name string) (fs.FileInfo, error) {
	if err := fault("lstat", name); err != nil {
		return nil, err
	}
	return r.Root.Lstat(name)
}

// MkdirAll creates a directory with its parents.
func (r Root) MkdirAll(name string, mode fs.FileMode) error {
	return attempt("mkdir", name, func() error { return r.Root.MkdirAll(name, mode) })
}

// Rename renames a file.
func (r Root) Rename(from, to string) error {
	return attempt("rename", from, func() error { return r.Root.Rename(from, to) })
}

// Link gives a file another name, which must not exist.
func (r Root) Link(from, to string) error {
	return attempt("link", to, func() error { return r.Root.Link(from, to) })
}

// Remove removes a file.
func (r Root) Remove(name string) error {
	return attempt("remove", name, func() error { return r.Root.Remove(name) })
}

// RemoveAll removes a directory and its contents.
func (r Root) RemoveAll(name string) error {
	return attempt("remove", name, func() error { return r.Root.RemoveAll(name) })
}

// Opened is an open file whose operations can be made to fail by Fault.
type Opened struct {
	*os.File
	writes bool // it was opened to write
}

// Read reads into b.
func (f *Opened) Read(b []byte) (int, error) {
	err := fault("read", f.Name())
	if errors.Is(err, ErrShort) {
		b, err = b[:(len(b)+1)/2], nil
	}
	if err != nil {
		return 0, err
	}
	return f.File.Read(b)
}

// ReadAt fills b with the bytes at an offset.
func (f *Opened) ReadAt(b []byte, offset int64) (int, error) {
	if err := fault("read", f.Name()); err != nil && !errors.Is(err, ErrShort) {
		return 0, err
	}
	return f.File.ReadAt(b, offset)
}

// Write writes b. If Fault makes it fail, it writes the first half of b.
func (f *Opened) Write(b []byte) (int, error) {
	if err := fault("write", f.Name()); err != nil {
		n, _ := f.File.Write(b[:len(b)/2])
		return n, err
	}
	return f.File.Write(b)
}

// Truncate cuts the file to a size.
func (f *Opened) Truncate(size int64) error {
	return attempt("truncate", f.Name(), func() error { return f.File.Truncate(size) })
}

// Close closes the file, even if it returns an error. Fault makes it fail only if the file was
// opened to write.
func (f *Opened) Close() error {
	var err error
	if f.writes {
		err = fault("close", f.Name())
	}
	return errors.Join(err, f.File.Close())
}

// Sync flushes the file to disk.
func (f *Opened) Sync() error {
	return attempt("sync", f.Name(), func() error { return f.File.Sync() })
}
