package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"

	"torchpe/report/table"
	"torchpe/train/config"
	"torchpe/train/runlog"
)

// escaped writes text to a file. It replaces control characters, and characters that change the direction of
// text, with escapes such as \u001b, which JSON also reads: names of columns, variables and files may contain
// terminal commands.
type escaped struct {
	file *os.File
	err  error // the first error of file; main returns it, so commands need not check each print
}

// Fd returns the descriptor of the file, from which a table gets the terminal's width.
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

// isControl reports whether escaped shows a character as an escape.
func isControl(r rune) bool {
	return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) ||
		r == '\u2028' || r == '\u2029')
}

// fileOf returns the file behind a writer, to detect terminals.
func fileOf(w io.Writer) (*os.File, bool) {
	if e, ok := w.(*escaped); ok {
		return e.file, true
	}
	f, ok := w.(*os.File)
	return f, ok
}

// onTerminal reports whether w is a terminal that can draw.
func onTerminal(w io.Writer) bool {
	f, ok := fileOf(w)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// forPeople reports whether a person reads the table: on a terminal, or if COLUMNS sets a width.
func (c *call) forPeople() bool { return onTerminal(c.out) || os.Getenv("COLUMNS") != "" }

// printTable prints rows of text below their headings. On a narrow terminal it first drops the columns whose
// headings are in droppable, last to first.
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
	_ = t.Terminal(w) // main returns errors of w
}

// printed returns a function that prints a table, for a result.
func printed(head []string, rows [][]string, droppable ...string) func(io.Writer) {
	return func(w io.Writer) { printTable(w, head, rows, droppable...) }
}

// printMembers prints a table with one row per member and one per baseline of the task.
func printMembers(w io.Writer, task *config.TaskFacts, r runlog.Result) {
	head, rows, narrow := task.ResultTable(r)
	printTable(w, head, rows, narrow...)
}

// printJSON prints a value as indented JSON, a table as a list of objects.
func printJSON(w io.Writer, v any) error {
	if t, ok := v.(table.Table); ok {
		return t.Objects(w)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
