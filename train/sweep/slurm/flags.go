package slurm

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"torchpe/internal/atomicfile"
)

// Flags are the flags of a submission by name, each with its values. They are stored with the sweep,
// and change nothing of what is computed.
type Flags map[string][]string

// flagsFile returns the path of the stored flags.
func flagsFile(dir string) string { return filepath.Join(dir, folder, "flags.json") }

// write stores the flags of a sweep in dir.
func (f Flags) write(dir string) error {
	if f == nil {
		return nil
	}
	text, err := json.MarshalIndent(f, "", " ")
	if err != nil {
		return err
	}
	path := flagsFile(dir)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return atomicfile.Write(path, func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
}

// ReadFlags returns the flags with which the sweep in dir was last submitted and their file; none
// where it never was.
func ReadFlags(dir string) (flags Flags, path string, err error) {
	path = flagsFile(dir)
	text, err := atomicfile.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, path, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &flags)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w: remove it to give all flags anew", path, err)
	}
	return flags, path, err
}
