package atomicfile

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
)

// TempSuffix ends the names of the temporary files of WriteIn and CreateIn.
const TempSuffix = ".torchpe-tmp"

// WriteIn atomically replaces the contents of the file name below root by text. If durable is true,
// the file is on disk when WriteIn returns. Of two concurrent writers one wins.
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

// CreateIn creates the file name below root with the contents text. It returns fs.ErrExist if the file
// exists. Of several concurrent callers, also on different hosts, exactly one succeeds. The file
// appears with all its contents, except on file systems without hard links.
func CreateIn(root Root, name string, text []byte) error {
	temp := fmt.Sprintf("%s-%016x%s", name, rand.Uint64(), TempSuffix)
	err := create(root, temp, text)
	if err == nil {
		err = root.Link(temp, name)
		_ = root.Remove(temp) // name exists or err says why not
	}
	if errors.Is(err, syscall.EPERM) || errors.Is(err, errors.ErrUnsupported) {
		return create(root, name, text)
	}
	return err
}

// create writes a new file, and removes it again if the write fails.
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
