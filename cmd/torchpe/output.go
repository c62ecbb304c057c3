package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"torchpe/internal/number"
	"torchpe/report/table"
)

// moreText writes " and n more", or nothing for n below 1.
func moreText(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}

// escaped writes text with its control characters, and marks that change the direction of writing, as
// escapes such as \u001b, which JSON reads too: names of columns, variables and files may hold what
// terminals take for commands.
type escaped struct {
	file *os.File
	err  error // the first of file: main returns it, so that commands need not look after each print
}

// Fd returns the descriptor of the file, of which a table asks the width of the terminal.
func (e *escaped) Fd() uintptr { return e.file.Fd() }

func (e *escaped) Write(b []byte) (int, error) {
	var out bytes.Buffer
	size := len(b)
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if isControl(r) {
			fmt.Fprintf(&out, "\\u%04x", r)
		} else {
			out.Write(b[:n])
		}
		b = b[n:]
	}
	if _, err := e.file.Write(out.Bytes()); err != nil {
		e.err = cmp.Or(e.err, err)
		return 0, err
	}
	return size, nil
}

// isBroken reports whether writing to the standard output has failed.
func isBroken(w io.Writer) bool {
	e, ok := w.(*escaped)
	return ok && e.err != nil
}

// isControl reports whether escaped shows a character as an escape.
func isControl(r rune) bool {
	return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) ||
		r == '\u2028' || r == '\u2029')
}

// fileOf returns the file that a writer writes to, for terminals.
func fileOf(w io.Writer) (*os.File, bool) {
	if e, ok := w.(*escaped); ok {
		return e.file, true
	}
	f, ok := w.(*os.File)
	return f, ok
}

// share prints an accuracy with three decimals, or a dash where there is none.
func share(a float64) string { return number.Accuracy(a) }

// orNaN returns an entry of m, or NaN where there is none.
func orNaN(m map[string]float64, key string) float64 {
	if v, ok := m[key]; ok {
		return v
	}
	return math.NaN()
}

// printTable prints rows of texts under their headings. A narrow terminal drops the columns with the
// headings in droppable, the last one first, before other columns.
func printTable(w io.Writer, head []string, rows [][]string, droppable ...string) {
	var t table.Table
	for _, h := range head {
		t.Columns = append(t.Columns, table.Column{Heading: h, DropPriority: slices.Index(droppable, h) + 1})
	}
	for _, r := range rows {
		var cells table.Row
		for _, s := range r {
			cells = append(cells, table.Text(s))
		}
		t.Rows = append(t.Rows, cells)
	}
	_ = t.Terminal(w) // but for errors of w there are none
}

// jsonFlag declares --json.
func jsonFlag(cmd *cobra.Command) *bool { return cmd.Flags().Bool("json", false, "print as JSON") }

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
