package text

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"torchpe/data/array"
)

// Write writes t, which must be a matrix with a row and a column, with commas, so that
// Read reads it back: names in quotes where they could be taken for something else, numbers in
// the fewest digits that give back all bits, and NaN. Files called .1D hold no names.
func Write(w io.Writer, t Table) error {
	if err := t.writable(); err != nil {
		return fmt.Errorf("text: writing a table: %w", err)
	}
	b := bufio.NewWriterSize(w, 1<<16)
	columns := t.Shape[1]
	if len(t.Columns) > 0 {
		if len(t.Rows) > 0 {
			b.WriteString(`""`)
			b.WriteByte(',')
		}
		for j, name := range t.Columns {
			if j > 0 {
				b.WriteByte(',')
			}
			b.WriteString(quoted(name))
		}
		b.WriteByte('\n')
	}
	var digits []byte
	for i := range t.Shape[0] {
		if len(t.Rows) > 0 {
			b.WriteString(quoted(t.Rows[i]))
			b.WriteByte(',')
		}
		for j, v := range t.Data[i*columns : (i+1)*columns] {
			if j > 0 {
				b.WriteByte(',')
			}
			digits = strconv.AppendFloat(digits[:0], v, 'g', -1, 64)
			// The first line must not look like the numbers of columns.
			if i == 0 && len(t.Columns) == 0 && v == math.Trunc(v) && math.Abs(v) < 1e6 {
				digits = append(digits, ".0"...)
			}
			b.Write(digits)
		}
		b.WriteByte('\n')
	}
	if err := b.Flush(); err != nil { // also returns an earlier error
		return fmt.Errorf("text: writing a table: %w", err)
	}
	return nil
}

// writable reports what Read could not read back.
func (t Table) writable() error {
	if err := t.Check(); err != nil {
		return err
	}
	if len(t.Shape) != 2 || len(t.Data) == 0 {
		return fmt.Errorf("shape %v, want a row and a column or more", t.Shape)
	}
	if n := len(t.Columns); n > 0 && n != t.Shape[1] {
		return fmt.Errorf("%d names for %d columns", n, t.Shape[1])
	}
	if n := len(t.Rows); n > 0 && n != t.Shape[0] {
		return fmt.Errorf("%d names for %d rows", n, t.Shape[0])
	}
	if slices.Contains(t.Columns, "") {
		return errors.New("a column has an empty name")
	}
	return checkLines(t.Columns, t.Rows)
}

// checkLines returns an error if a cell contains a line end, which Read and Words take for the end of its row.
func checkLines(rows ...[]string) error {
	for _, row := range rows {
		for _, cell := range row {
			if strings.ContainsAny(cell, "\r\n\x00") {
				return fmt.Errorf("the name %s has a line end or a NUL in it", array.Quote(cell))
			}
		}
	}
	return nil
}

// WriteWords writes rows of words and numbers with commas, so that Words reads them back: words in quotes as
// Write has them.
func WriteWords(w io.Writer, rows [][]string) error {
	if err := checkLines(rows...); err != nil {
		return fmt.Errorf("text: writing words: %w", err)
	}
	var b bytes.Buffer
	for _, row := range rows {
		for i, cell := range row {
			if i > 0 {
				b.WriteByte(',')
			}
			if !IsNumber(cell) {
				cell = quoted(cell)
			}
			b.WriteString(cell)
		}
		b.WriteByte('\n')
	}
	_, err := w.Write(b.Bytes())
	return err
}

// quoted returns a name as it is where it is one word of ASCII that is no number, else in quotes.
func quoted(name string) string {
	bare := true
	for _, b := range []byte(name) {
		bare = bare && (b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' ||
			b == '_' || b == '.' || b == '-')
	}
	c := cells{text: []byte(name)}
	if bare && c.kind() == textual {
		return name
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}
