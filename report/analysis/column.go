package analysis

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"torchpe/data/array/arrayfile"
	"torchpe/internal/nearest"
)

// Column are numbers with where they come from.
type Column struct {
	Source string    `json:"source"`
	Values []float64 `json:"-"`
}

// maxText is the longest text file whose columns are read.
const maxText = 256 << 20

// ReadColumn reads numbers: a list such as 0.1,0.2,0.3, or FILE[:column]. The columns of .csv, .tsv and .txt go by name, or by
// place from 0; only the one that is asked for must hold numbers. A matrix of .npy has columns by place; .safetensors, .npz,
// HDF5 and .mat take FILE:tensor of one axis. Numbers must be finite.
func ReadColumn(reference string) (Column, error) {
	if values, ok := list(reference); ok {
		return finite(Column{"the list " + reference, values})
	}
	file, selector, err := arrayfile.Split(reference)
	if err != nil {
		return Column{}, err
	}
	if slices.Contains([]string{".csv", ".tsv", ".tab", ".txt"}, strings.ToLower(filepath.Ext(file))) {
		values, err := textColumn(file, selector)
		if err != nil {
			return Column{}, err
		}
		return finite(Column{reference, values})
	}
	c, err := arrayColumn(file, selector)
	if err != nil {
		return Column{}, err
	}
	return finite(c)
}

// list reads numbers between commas.
func list(s string) ([]float64, bool) {
	var out []float64
	for part := range strings.SplitSeq(s, ",") {
		v, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil {
			return nil, false
		}
		out = append(out, v)
	}
	return out, true
}

func finite(c Column) (Column, error) {
	if len(c.Values) == 0 {
		return c, fmt.Errorf("%s holds no numbers", c.Source)
	}
	for i, v := range c.Values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return c, fmt.Errorf("%s: number %d is %v: leave it out", c.Source, i, v)
		}
	}
	return c, nil
}

// arrayColumn reads a vector, or a column by place of a .npy matrix.
func arrayColumn(file, selector string) (Column, error) {
	if strings.EqualFold(filepath.Ext(file), ".npy") {
		a, err := ReadArray(file, func(shape []int) error {
			if len(shape) < 1 || len(shape) > 2 {
				return fmt.Errorf("shape %v: want a vector or a matrix", shape)
			}
			return nil
		})
		if err != nil {
			return Column{}, err
		}
		if len(a.Shape) == 1 && selector == "" {
			return Column{file, a.Data}, nil
		}
		columns := 1
		if len(a.Shape) == 2 {
			columns = a.Shape[1]
		}
		at, err := strconv.Atoi(selector)
		if selector == "" && columns == 1 {
			at, err = 0, nil
		}
		if err != nil || at < 0 || at >= columns {
			return Column{}, fmt.Errorf("%s has shape %v: name a column by its place, %s:0 to %s:%d", file, a.Shape, file, file, columns-1)
		}
		out := Column{Source: file + ":" + strconv.Itoa(at)}
		for i := at; i < len(a.Data); i += columns {
			out.Values = append(out.Values, a.Data[i])
		}
		return out, nil
	}
	reference := file
	if selector != "" {
		reference += ":" + selector
	}
	a, err := ReadArray(reference, func(shape []int) error {
		long := 0
		for _, n := range shape {
			if n != 1 {
				long++
			}
		}
		if len(shape) < 1 || long > 1 {
			return fmt.Errorf("shape %v: want a vector", shape)
		}
		return nil
	})
	return Column{a.Source, a.Data}, err
}

// textColumn reads a column of a text table.
func textColumn(file, selector string) ([]float64, error) {
	head, rows, err := textRows(file, selector)
	if err != nil {
		return nil, err
	}
	width := len(rows[0])
	at := slices.Index(head, selector)
	if at < 0 {
		if at, err = strconv.Atoi(selector); err != nil || at < 0 || at >= width {
			at = -1
		}
	}
	if selector == "" && width == 1 {
		at = 0
	}
	if at < 0 {
		have := fmt.Sprintf("places 0 to %d", width-1)
		if head != nil {
			have = strings.Join(head, ", ")
		}
		if selector == "" {
			return nil, fmt.Errorf("%s has %s: name one as %s:COLUMN; there are %s", file, counted(width, "column"), file, have)
		}
		return nil, fmt.Errorf("%s has no column %q%s; there are %s", file, selector, nearest.Hint(selector, head), have)
	}
	var out []float64
	for i, row := range rows {
		v, err := strconv.ParseFloat(strings.TrimSpace(row[at]), 64)
		if err != nil {
			if err := refuseCommas(file, row[at:at+1]); err != nil {
				return nil, err
			}
			return nil, fmt.Errorf("%s: column %s, row %d below the names is %.40q, want a number", file, selector, i+1, row[at])
		}
		out = append(out, v)
	}
	return out, nil
}

// textRows reads the cells of a text table; head is nil where the first row is one of numbers.
func textRows(file, selector string) (head []string, rows [][]string, err error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, nil, err
	}
	if info.Size() > maxText {
		return nil, nil, fmt.Errorf("%s: %d bytes; a table for statistics has at most %d", file, info.Size(), maxText)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, err
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	first, _, _ := bytes.Cut(text, []byte("\n"))
	if bytes.ContainsAny(first, ",;\t") || !bytes.Contains(bytes.TrimSpace(first), []byte(" ")) {
		r := csv.NewReader(bytes.NewReader(text))
		r.Comment = '#'
		for _, delimiter := range "\t,;" { // the first that is there
			if bytes.ContainsRune(first, delimiter) {
				r.Comma = delimiter
				break
			}
		}
		for {
			row, err := r.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", file, err)
			}
			rows = append(rows, row)
		}
	} else {
		for line := range strings.Lines(string(text)) {
			if cells := strings.Fields(line); len(cells) > 0 && cells[0][0] != '#' {
				rows = append(rows, cells)
			}
		}
	}
	if isHead(rows, selector) {
		for _, name := range rows[0] {
			head = append(head, strings.TrimSpace(name))
		}
		rows = rows[1:]
		if err := refuseCommas(file, head); err != nil {
			return nil, nil, err
		}
	}
	if len(rows) == 0 {
		return nil, nil, fmt.Errorf("%s: no rows of numbers", file)
	}
	for i, row := range rows {
		if len(row) != len(rows[0]) {
			return nil, nil, fmt.Errorf("%s: row %d has %d cells, the first %d", file, i+1, len(row), len(rows[0]))
		}
	}
	return head, rows, nil
}

// isHead says whether the first row holds names: it has no number, or a word above a number, or the name that is asked for.
func isHead(rows [][]string, selector string) bool {
	if len(rows) == 0 {
		return false
	}
	if !slices.ContainsFunc(rows[0], number) {
		return true
	}
	if _, err := strconv.Atoi(selector); err != nil && slices.Contains(rows[0], selector) {
		return true // such as 0.1, which counts no columns
	}
	if len(rows) > 1 && len(rows[1]) == len(rows[0]) {
		for i, cell := range rows[0] {
			if !number(cell) && number(rows[1][i]) {
				return true
			}
		}
	}
	return false
}

func number(s string) bool {
	_, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	return err == nil
}
