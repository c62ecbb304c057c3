package analysis

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"torchpe/data/array"
	"torchpe/data/array/npy"
	"torchpe/data/array/text"
)

// CheckOut says whether Save knows the kind of a file, and may write it.
func CheckOut(path string, force bool, extensions ...string) error {
	extension := strings.ToLower(filepath.Ext(path))
	known := false
	for _, e := range extensions {
		known = known || e == extension
	}
	if !known {
		return fmt.Errorf("%s: want a file called %s", path, strings.Join(extensions, " or "))
	}
	if _, err := os.Lstat(path); !force && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s exists: use --force to overwrite it", path)
	}
	return nil
}

// Save writes a matrix with its names: .csv with them, .npy as float64 without.
func Save(path string, t text.Table) error {
	var b bytes.Buffer
	var err error
	if strings.EqualFold(filepath.Ext(path), ".npy") {
		err = npy.Write(&b, array.Array{Shape: t.Shape, Data: t.Data}, npy.Float64)
	} else {
		err = text.Write(&b, t, text.Comma)
	}
	if err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o666)
}

// Table returns the distances as a table with the names of tokens.
func (d DistanceMatrix) Table() text.Table {
	n := len(d.Tokens)
	return text.Table{Columns: d.Tokens, Rows: d.Tokens, Array: array.Array{Shape: []int{n, n}, Data: d.Values}}
}

// CSV returns a row a token: its name, its module where modules are known, and its coordinates x1, x2...
func (m Map) CSV() ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	head := []string{"token"}
	if m.Modules != nil {
		head = append(head, "module")
	}
	for i := range m.Coordinates[0] {
		head = append(head, fmt.Sprintf("x%d", i+1))
	}
	w.Write(head)
	for i, at := range m.Coordinates {
		row := []string{m.Tokens[i]}
		if m.Modules != nil {
			row = append(row, m.Modules[i])
		}
		for _, v := range at {
			row = append(row, strconv.FormatFloat(float64(v), 'g', -1, 64))
		}
		w.Write(row)
	}
	w.Flush()
	return b.Bytes(), w.Error()
}
