package analysis

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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

// DistanceTable returns the distances of a model as a table with the names of tokens, or those of
// several as a stack.
func DistanceTable(all []DistanceMatrix) text.Table {
	n := len(all[0].Tokens)
	t := text.Table{Columns: all[0].Tokens, Rows: all[0].Tokens, Array: array.Array{Shape: []int{n, n}}}
	if len(all) > 1 {
		t.Shape = []int{len(all), n, n}
	}
	for _, d := range all {
		t.Data = append(t.Data, d.Values...)
	}
	return t
}

// MapsCSV returns a row a token: its name, its module where modules are known, and its coordinates
// x1, x2... Of several maps the first column is the member.
func MapsCSV(all []Map) ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	m := all[0]
	head := []string{mapToken}
	if len(all) > 1 {
		head = []string{mapMember, mapToken}
	}
	if m.Modules != nil {
		head = append(head, mapModule)
	}
	for i := range m.Coordinates[0] {
		head = append(head, fmt.Sprintf("x%d", i+1))
	}
	w.Write(head)
	for k, m := range all {
		for i, at := range m.Coordinates {
			row := []string{m.Tokens[i]}
			if len(all) > 1 {
				member := k
				if m.Member != nil {
					member = *m.Member
				}
				row = []string{strconv.Itoa(member), m.Tokens[i]}
			}
			if m.Modules != nil {
				row = append(row, m.Modules[i])
			}
			for _, v := range at {
				row = append(row, strconv.FormatFloat(float64(v), 'g', -1, 64))
			}
			w.Write(row)
		}
	}
	w.Flush()
	return b.Bytes(), w.Error()
}

// The columns of a map's file that hold no coordinates.
const (
	mapMember = "member"
	mapToken  = "token"
	mapModule = "module"
)

// mapColumns returns the places of the tokens and of the first coordinate in a map's first line; -1
// where it is the first line of no map.
func mapColumns(head []string) (token, from int) {
	token = slices.Index(head, mapToken)
	if token != 0 && !(token == 1 && head[0] == mapMember) {
		return -1, -1
	}
	from = token + 1
	if from < len(head) && head[from] == mapModule {
		from++
	}
	for i, name := range head[from:] {
		if name != fmt.Sprintf("x%d", i+1) {
			return -1, -1
		}
	}
	if from == len(head) {
		return -1, -1
	}
	return token, from
}

// maxMapBytes is the longest file of a map that is read.
const maxMapBytes = 256 << 20

// readMap reads what MapsCSV wrote: the names of tokens, and a table a member. It returns nil for a
// file of another kind.
func readMap(path string) (*Model, error) {
	if !strings.EqualFold(filepath.Ext(path), ".csv") {
		return nil, nil
	}
	start, err := array.FirstBytes(path, 1<<16)
	if err != nil {
		return nil, err
	}
	first, _, _ := strings.Cut(string(start), "\n")
	head := strings.Split(strings.TrimRight(first, "\r"), ",")
	token, from := mapColumns(head)
	if from < 0 {
		return nil, nil
	}
	body, err := array.ReadText(path, maxMapBytes)
	if err != nil {
		return nil, err
	}
	rows, err := csv.NewReader(strings.NewReader(body)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	m := &Model{Subject: Subject{Source: path}}
	for i, row := range rows[1:] {
		if i == 0 || token == 1 && row[0] != rows[i][0] {
			m.Tables = append(m.Tables, Table{Block: len(m.Tables), Dim: len(head) - from})
		}
		t := &m.Tables[len(m.Tables)-1]
		if t.Block == 0 {
			m.Names = append(m.Names, row[token])
		} else if t.Tokens >= len(m.Names) || m.Names[t.Tokens] != row[token] {
			return nil, fmt.Errorf("%s: line %d: token %q: want the tokens of each member in one order",
				path, i+2, row[token])
		}
		t.Tokens++
		for k, cell := range row[from:] {
			v, err := strconv.ParseFloat(cell, 64)
			if err != nil {
				return nil, fmt.Errorf("%s: line %d: %s is %q: want a number", path, i+2, head[from+k], cell)
			}
			t.Values = append(t.Values, v)
		}
	}
	for _, t := range m.Tables {
		if t.Tokens != len(m.Names) || t.Tokens < 2 {
			return nil, fmt.Errorf("%s: %d tokens of a member, %d of the first: want the same, 2 or more",
				path, t.Tokens, len(m.Names))
		}
	}
	if m.Tables == nil {
		return nil, fmt.Errorf("%s: no tokens", path)
	}
	return m, nil
}
