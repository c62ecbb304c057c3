package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
)

// TempSuffix is the suffix of the temporary files of WriteIn, StageIn and CreateIn.
const TempSuffix = ".torchpe-tmp"

// WriteIn atomically replaces the contents of the file name below root by text. If durable is true,
// the file is on disk when WriteIn returns. If two write concurrently, one wins.
func WriteIn(root Root, name string, text []byte, durable bool) error {
	if err := StageIn(root, name, durable, Text(text)); err != nil {
		return err
	}
	if err := root.Rename(name+TempSuffix, name); err != nil {
		_ = root.Remove(name + TempSuffix) // the first error is the one to report
		return err
	}
	if !durable {
		return nil
	}
	return root.SyncDir(filepath.Dir(name))
}

// StageIn writes the file name below root under its temporary name, which ends with [TempSuffix]. If
// durable is true, the file is on disk when StageIn returns. An error leaves no temporary file.
func StageIn(root Root, name string, durable bool, body func(io.Writer) error) error {
	return write(root, name+TempSuffix, os.O_TRUNC, durable, body)
}

// write writes a file, which flag truncates or requires to be new. An error leaves no file.
func write(root Root, name string, flag int, durable bool, body func(io.Writer) error) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|flag, 0o666)
	if err != nil {
		return err
	}
	err = buffered(f, body)
	if err == nil && durable {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		_ = root.Remove(name) // the first error is the one to report
	}
	return err
}

// Text returns a function that writes a text.
func Text(text []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	}
}

// CreateIn creates the file name below root with the contents text. It returns fs.ErrExist if the
// file exists. If several call it concurrently, even on different hosts, exactly one succeeds. The
// file appears with all its contents, except on file systems without hard links.
func CreateIn(root Root, name string, text []byte) error {
	temp := fmt.Sprintf("%s-%016x%s", name, rand.Uint64(), TempSuffix)
	err := write(root, temp, os.O_EXCL, false, Text(text))
	if err == nil {
		err = root.Link(temp, name)
		_ = root.Remove(temp) // name exists, or err says why not
	}
	if errors.Is(err, syscall.EPERM) || errors.Is(err, errors.ErrUnsupported) {
		return write(root, name, os.O_EXCL, false, Text(text))
	}
	return err
}
