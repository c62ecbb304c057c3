package atomicfile

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
)

// TempSuffix ends the name of a file that WriteIn is writing.
const TempSuffix = ".torchpe-tmp"

// WriteIn replaces the file name below root by text, in one step. A durable file is on disk when
// WriteIn returns. Of two writers at the same time one wins.
func WriteIn(root Root, name string, text []byte, durable bool) error {
	temp := name + TempSuffix
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil && durable {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = root.Rename(temp, name)
	}
	if err != nil {
		_ = root.Remove(temp) // the first error is the one to report
		return err
	}
	if !durable {
		return nil
	}
	dir, err := root.Open(filepath.Dir(name))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// CreateIn makes the file name below root, which must not exist, with text in it. Of many that make it
// at the same time, on other hosts too, one succeeds; the others fail with fs.ErrExist. It is whole at
// once, but on file systems without hard links.
func CreateIn(root Root, name string, text []byte) error {
	temp := fmt.Sprintf("%s-%016x%s", name, rand.Uint64(), TempSuffix)
	err := create(root, temp, text)
	if err == nil {
		err = root.Link(temp, name)
		_ = root.Remove(temp) // whatever happens to it, name is made or not
	}
	if errors.Is(err, syscall.EPERM) || errors.Is(err, errors.ErrUnsupported) {
		return create(root, name, text)
	}
	return err
}

// create makes a new file; one that it cannot fill it removes.
func create(root Root, name string, text []byte) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = root.Remove(name) // the first error is the one to report
	}
	return err
}
