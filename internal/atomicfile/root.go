package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
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
