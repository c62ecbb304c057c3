package table

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"torchpe/internal/atomicfile"
)

// formats lists the files that Save writes, in order.
var formats = []struct {
	extension string
	write     func(Table, io.Writer) error
}{
	{"csv", Table.CSV}, {"tex", Table.LaTeX}, {"md", Table.Markdown}, {"html", Table.HTML},
	{"json", Table.JSON},
}

// Formats returns the extensions of the files that Save writes.
func Formats() []string {
	var all []string
	for _, f := range formats {
		all = append(all, f.extension)
	}
	return all
}

// Save writes t to the existing directory dir as name.csv, name.tex, name.md, name.html and name.json. Each
// file is written completely or not at all. It writes nothing if the table is invalid.
func (t Table) Save(dir, name string) error {
	if name == "" || name == "." || name == ".." || filepath.Base(name) != name {
		return t.errorf("files", fmt.Errorf(
			"name %q: want a file name without directory and extension", name))
	}
	bodies := make([]bytes.Buffer, len(formats))
	for i, f := range formats {
		if err := f.write(t, &bodies[i]); err != nil {
			return err
		}
	}
	var failed []error
	for i, f := range formats {
		failed = append(failed, atomicfile.Write(filepath.Join(dir, name+"."+f.extension),
			func(w io.Writer) error {
				_, err := w.Write(bodies[i].Bytes())
				return err
			}))
	}
	return errors.Join(failed...)
}
