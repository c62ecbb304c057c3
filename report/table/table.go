// Package table is the one kind of table that reports have: titled columns of text, numbers, counts, means with their SD and
// p-values, written for people (terminal, LaTeX, Markdown, HTML) and for machines (CSV, JSON).
//
// People see rounded numbers and – for what is missing; machines get every digit and an empty cell or null. The same table
// always gives the same bytes. Any text is legal in a title, heading, note or cell: each format escapes it. A table that is
// not one (a row too short, two columns of one name) is an error of every writer, which then writes nothing.
//
// It imports tablewriter and report's atomicfile.
package table

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode"
)

// Table is a table with its title and the note below it, both of which may be empty. Each row has one cell a column.
type Table struct {
	Title, Note string
	Columns     []Column
	Rows        []Row
}

// Row is one line of a table.
type Row []Cell

// Column says how a column is called and shown.
type Column struct {
	Heading  string // for people: "σ, validation"
	Name     string // for machines: lower-case letters, digits and _; needed by CSV and JSON only
	Unit     string // shown after the heading in parentheses, where it is not empty
	Align    Align
	Decimals int // of its numbers, for people
}

// Align is where the text of a column stands.
type Align uint8

// The zero Align puts numbers right and columns with text in them left.
const (
	AlignAuto Align = iota
	AlignLeft
	AlignRight
	AlignCenter
)

// heading is the heading with its unit.
func (c Column) heading() string {
	if c.Unit == "" {
		return c.Heading
	}
	return c.Heading + " (" + c.Unit + ")"
}

// align resolves AlignAuto for column j.
func (t Table) align(j int) Align {
	if a := t.Columns[j].Align; a != AlignAuto {
		return a
	}
	for _, row := range t.Rows {
		if row[j].kind == text {
			return AlignLeft
		}
	}
	if len(t.Rows) == 0 {
		return AlignLeft
	}
	return AlignRight
}

// shown is the grid for people: headings and cells as each format's escape makes them of a single line of text.
func (t Table) shown(escape func(string) string) (header []string, rows [][]string) {
	for _, c := range t.Columns {
		header = append(header, escape(oneLine(c.heading())))
	}
	for _, row := range t.Rows {
		var cells []string
		for j, c := range row {
			cells = append(cells, escape(oneLine(c.shown(t.Columns[j].Decimals))))
		}
		rows = append(rows, cells)
	}
	return header, rows
}

// maxDecimals is more than a float64 has.
const maxDecimals = 17

// check returns what makes t no table for people.
func (t Table) check() error {
	if len(t.Columns) == 0 {
		return errors.New("no columns: give at least one")
	}
	for j, c := range t.Columns {
		if c.Decimals < 0 || c.Decimals > maxDecimals {
			return fmt.Errorf("column %d (%s): %d decimals: give 0 to %d", j+1, c.Heading, c.Decimals, maxDecimals)
		}
		if c.Align > AlignCenter {
			return fmt.Errorf("column %d (%s): unknown alignment %d", j+1, c.Heading, c.Align)
		}
	}
	for i, row := range t.Rows {
		if len(row) != len(t.Columns) {
			return fmt.Errorf("row %d has %d cells for %d columns", i+1, len(row), len(t.Columns))
		}
		for j, c := range row {
			if err := c.check(); err != nil {
				return fmt.Errorf("row %d, column %d (%s): %w", i+1, j+1, t.Columns[j].Heading, err)
			}
		}
	}
	return nil
}

var machineName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// checkNames returns what makes t no table for machines.
func (t Table) checkNames() error {
	seen := map[string]bool{}
	for j, c := range t.Columns {
		if !machineName.MatchString(c.Name) {
			return fmt.Errorf("column %d (%s): name %q: want lower-case letters, digits and _, such as iid_test", j+1, c.Heading, c.Name)
		}
		for _, name := range t.machineNames(j) {
			if seen[name] {
				return fmt.Errorf("two columns are named %q", name)
			}
			seen[name] = true
		}
	}
	return nil
}

// write checks t, has body render it to memory and then writes it in one call.
func (t Table) write(w io.Writer, format string, checks []func() error, body func(*bytes.Buffer) error) error {
	var b bytes.Buffer
	for _, check := range checks {
		if err := check(); err != nil {
			return t.errorf(format, err)
		}
	}
	if err := body(&b); err != nil {
		return t.errorf(format, err)
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return t.errorf(format, err)
	}
	return nil
}

func (t Table) errorf(format string, err error) error {
	if t.Title == "" {
		return fmt.Errorf("table as %s: %w", format, err)
	}
	return fmt.Errorf("table %q as %s: %w", t.Title, format, err)
}

// forPeople and forMachines are the checks of the writers.
func (t Table) forPeople() []func() error   { return []func() error{t.check} }
func (t Table) forMachines() []func() error { return []func() error{t.check, t.checkNames} }

// oneLine makes s valid UTF-8 without line breaks, control characters (an escape sequence would steer the terminal), marks that turn the
// direction of what follows, and code points that no character may have; runs of space become one.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r), r == '\u2028', r == '\u2029':
			return ' '
		case unicode.Is(unicode.Bidi_Control, r), r == '\uFEFF', r&0xfffe == 0xfffe, 0xfdd0 <= r && r <= 0xfdef:
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return strings.Trim(spaces.ReplaceAllString(s, " "), " ")
}

var spaces = regexp.MustCompile(` {2,}`)
