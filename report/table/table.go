// Package table writes tables of text, numbers, counts, means with SDs, and p-values for people (terminal,
// LaTeX, Markdown, HTML) and for machines (CSV, JSON).
//
// Tables for people have rounded numbers, and – for missing values. Tables for machines have full
// precision, and an empty cell or null. The same table always gives the same bytes. Titles, headings,
// notes and cells may hold any text, which each format escapes. Writers return an error for columns
// of one name, and write nothing.
package table

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"torchpe/internal/atomicfile"
)

// Table is a table with a title above and a note below it, which may be empty. Each row has one cell per
// column.
type Table struct {
	Title, Note string
	More        string // option that shows columns dropped on a narrow terminal, such as "--csv -"
	Columns     []Column
	Rows        []Row
}

// Row is one line of a table.
type Row []Cell

// Column describes a column. Columns with text are aligned left, others right.
type Column struct {
	Heading  string // for people, such as "σ, validation"
	Name     string // for CSV and JSON: lower-case letters, digits and _; NameOf(Heading) if empty
	Unit     string // shown after the heading in parentheses; may be empty
	Decimals int    // decimals of its numbers in tables for people

	DropPriority int // a narrow terminal drops columns of the highest priority first
}

// Columns returns columns with these headings.
func Columns(headings ...string) (all []Column) {
	for _, h := range headings {
		all = append(all, Column{Heading: h})
	}
	return all
}

// NameOf makes a name of a text: letters in lower case, digits, and _ for all else.
func NameOf(text string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToLower(text))
}

// name returns the name for CSV and JSON.
func (c Column) name() string { return cmp.Or(c.Name, NameOf(c.Heading)) }

// heading returns the heading with its unit.
func (c Column) heading() string {
	if c.Unit == "" {
		return c.Heading
	}
	return c.Heading + " (" + c.Unit + ")"
}

// Uniform returns t with cells of one kind in each column: numbers where some are not whole, texts where
// some are texts.
func (t Table) Uniform() Table {
	rows := make([]Row, len(t.Rows))
	for i, row := range t.Rows {
		rows[i] = slices.Clone(row)
	}
	for j := range t.Columns {
		column := missing
		for _, row := range rows {
			column = max(column, row[j].kind)
		}
		for _, row := range rows {
			row[j] = row[j].as(column)
		}
	}
	t.Rows = rows
	return t
}

// WithoutEmptyColumns returns t without the columns that have no value in any row.
func (t Table) WithoutEmptyColumns() Table {
	out := t
	out.Columns, out.Rows = nil, make([]Row, len(t.Rows))
	for j, c := range t.Columns {
		if !slices.ContainsFunc(t.Rows, func(r Row) bool { return !r[j].IsMissing() }) {
			continue
		}
		out.Columns = append(out.Columns, c)
		for i, row := range t.Rows {
			out.Rows[i] = append(out.Rows[i], row[j])
		}
	}
	return out
}

// isLeft reports whether column j is aligned left: it has text or no rows.
func (t Table) isLeft(j int) bool {
	return len(t.Rows) == 0 || slices.ContainsFunc(t.Rows,
		func(r Row) bool { return r[j].kind == text })
}

// shown returns headings and cells for people, each as a single line of text passed through escape.
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

var machineName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// checkNames returns an error for the first invalid or repeated name of a column.
func (t Table) checkNames() error {
	seen := map[string]bool{}
	for j, c := range t.Columns {
		if !machineName.MatchString(c.name()) {
			return fmt.Errorf("column %d (%s): name %q: want lower-case letters, digits and _, "+
				"such as iid_test", j+1, c.Heading, c.name())
		}
	}
	for _, name := range slices.Concat(t.machineNames()...) {
		if seen[name] {
			return fmt.Errorf("two columns are named %q", name)
		}
		seen[name] = true
	}
	return nil
}

// format is a form in which a table is written.
type format struct {
	extension, name string
	machine         bool // its columns are identified by Column.Name
	body            func(Table, *bytes.Buffer) error
}

// formats lists the forms of the files that Save writes, in order.
var formats = []format{
	{"csv", "CSV", true, Table.csv},
	{"tex", "LaTeX", false, Table.latex},
	{"md", "Markdown", false, Table.markdown},
	{"html", "HTML", false, Table.html},
	{"json", "JSON", true, Table.json},
}

// Formats returns the extensions of the files that Save writes.
func Formats() []string {
	var all []string
	for _, f := range formats {
		all = append(all, f.extension)
	}
	return all
}

// Write writes t in the form of one of the Formats.
func (t Table) Write(w io.Writer, extension string) error {
	for _, f := range formats {
		if f.extension == extension {
			return t.write(w, f)
		}
	}
	return fmt.Errorf("table format %q: want one of %s", extension, strings.Join(Formats(), ", "))
}

// CSV writes t as CSV with the names of the columns and full precision.
func (t Table) CSV(w io.Writer) error { return t.Write(w, "csv") }

// JSON writes t as a JSON object with full precision.
func (t Table) JSON(w io.Writer) error { return t.Write(w, "json") }

// Objects writes the rows of t as a JSON list of objects with full precision.
func (t Table) Objects(w io.Writer) error {
	return t.write(w, format{name: "JSON", machine: true, body: Table.objectList})
}

// HTML writes t as a <table> element, which is also well-formed XML.
func (t Table) HTML(w io.Writer) error { return t.Write(w, "html") }

// write renders t to memory and writes it in one call.
func (t Table) write(w io.Writer, f format) (err error) {
	if f.machine {
		err = t.checkNames()
	}
	var b bytes.Buffer
	if err == nil {
		err = f.body(t, &b)
	}
	if err == nil {
		_, err = w.Write(b.Bytes())
	}
	if err != nil {
		return fmt.Errorf("table %q as %s: %w", t.Title, f.name, err)
	}
	return nil
}

// Save writes t to the existing directory dir as a file in each of the Formats: name.csv, name.tex ... It
// writes all of them or none.
func (t Table) Save(dir, name string) error {
	var files []atomicfile.File
	for _, f := range formats {
		files = append(files, atomicfile.File{Path: filepath.Join(dir, name+"."+f.extension),
			Body: func(w io.Writer) error { return t.write(w, f) }})
	}
	return atomicfile.WriteAll(files...)
}

// oneLine returns s as one line of valid UTF-8. It replaces control characters, which could form terminal
// escape sequences, and removes bidirectional marks and code points that are not characters. Runs of
// spaces become one space.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r), r == '\u2028', r == '\u2029':
			return ' '
		case unicode.Is(unicode.Bidi_Control, r), r == '\uFEFF', r&0xfffe == 0xfffe, 0xfdd0 <= r &&
			r <= 0xfdef:
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return strings.Trim(spaces.ReplaceAllString(s, " "), " ")
}

var spaces = regexp.MustCompile(` {2,}`)
