package text

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"torchpe/data/array"
	"torchpe/internal/wording"
)

// Table is a matrix of numbers with the names of its rows and columns. Its shape is [rows,
// columns]; names are not counted in it.
type Table struct {
	Columns []string // nil where the file has none
	Rows    []string // nil where the file has none
	Corner  string   // the header above the names of rows, or empty
	// Commented says that the names of columns stand in a comment above them.
	Commented bool
	array.Array
}

// delimiter is the separator of two cells. It is a tab in files called .tsv or .tab. In others it is the
// first of these that the first line has outside quotes: a comma, a semicolon, a tab if that line holds
// names (which can have spaces in them), blanks. A .csv file of one column has commas.
type delimiter byte

// The delimiters. A cell between two commas, tabs or semicolons can be empty; one between blanks,
// which are runs of spaces and tabs, cannot.
const (
	comma     delimiter = ','
	tab       delimiter = '\t'
	semicolon delimiter = ';'
	blanks    delimiter = ' '
)

// Choice states whether a file has a header or names of rows, or lets Read decide.
type Choice int

// The choices.
const (
	Auto Choice = iota // decided from the file
	Yes
	No
)

// ParseChoice returns the choice called yes, no or auto; the empty text is Auto.
func ParseChoice(text string) (Choice, error) {
	switch text {
	case "auto", "":
		return Auto, nil
	case "yes":
		return Yes, nil
	case "no":
		return No, nil
	}
	return Auto, fmt.Errorf("%q is none of auto, yes, no", text)
}

// Options states the layout of a file. Read decides what the zero Options leave open.
type Options struct {
	// Header is Yes if the first line holds the names of columns. Auto takes its cells after the first
	// as names in four cases:
	//   - they are not numbers, or quoted numbers above bare ones;
	//   - they are distinct whole numbers far outside the rows below;
	//   - they count 0, 1... or 1, 2, 3... above rows with fractions;
	//   - they stand beside an empty cell above an index, as pandas writes them.
	// Files called .1D have no names. Whole numbers that may as well be the first row are an error. So
	// is a mixture of names and numbers, because the first row could be damaged.
	Header Choice
	// RowNames is Yes if the first cell of each line is the name of its row. Auto decides so if that
	// cell is not a number in the first rows, if the header's first cell is empty, or if the header has
	// one cell fewer than the rows. A name that looks like a number, such as 7%, is then an error,
	// because a column of numbers would be lost.
	RowNames Choice
}

// Read reads the table in the file at path, which must be a regular file.
func Read(path string, o Options) (Table, error) {
	budget := array.NewBudget()
	data, err := load(path, budget)
	if err != nil {
		return Table{}, err
	}
	return parse(data, path, o, budget)
}

// load reads a whole file.
func load(path string, budget *array.Budget) ([]byte, error) {
	return array.InFile("text", path, func(f *array.File) ([]byte, error) {
		data, err := array.Make[byte](budget, int(f.Size()), "a text")
		if err == nil {
			_, err = io.ReadFull(f, data)
		}
		return data, err
	})
}

// parser goes through a file line by line.
type parser struct {
	name      string
	afni      bool // the file is AFNI's
	delimiter delimiter
	rest      []byte // what follows the current line
	line      int    // number of the current line, from 1
	above     []byte // the last comment before it
	aboveLine int
	layout
	data    []float64
	budget  *array.Budget
	guessed bool // that the first cells are names
	headed  bool // guessed that the first line is names
}

// parse reads a table from bytes, in which it may change line ends.
func parse(data []byte, name string, o Options, budget *array.Budget) (t Table, err error) {
	defer array.Catch(&err)
	p := &parser{name: name, afni: strings.EqualFold(filepath.Ext(name), ".1D"), budget: budget,
		guessed: o.RowNames == Auto}
	p.headed = o.Header == Auto
	p.rest = p.normalize(data)
	p.choose(o)
	if p.header {
		head, line := *p, p.titles
		if head.line = p.titlesLine; line == nil {
			line, _ = p.next()
			head.line = p.line
		}
		t.Columns, t.Corner = head.names(line)
		t.Commented = p.titles != nil
		if i := slices.Index(t.Columns, ""); i >= 0 {
			head.fail(0, "column %d has no name: name it if it holds numbers, else delete it "+
				"(an index, or a line that ends with a separator)", i+1)
		}
		p.columns, p.counted = len(t.Columns), head.line
	}
	rows := 0
	for line, ok := p.next(); ok; line, ok = p.next() {
		if rows == 0 {
			p.reserve(line)
		}
		rows++
		if rowName := p.row(line); p.rowNames {
			t.Rows = append(t.Rows, rowName)
			p.take(len(rowName) + 32)
		}
	}
	if rows == 0 {
		p.failWhole("a line of names but no rows of numbers")
	}
	t.Array = array.Array{Shape: []int{rows, p.columns}, Data: p.data}
	p.checkShort(t)
	return t, nil
}

// checkShort fails where a header with a cell less than the rows may be no header of rows
// with names: the rows end with a separator, the first cells are numbers that name nothing, or the rows
// of one column have decimal commas.
func (p *parser) checkShort(t Table) {
	if !p.short || !p.guessed {
		return
	}
	numbers, known, trailing := 0, map[float64]bool{}, p.delimiter != blanks
	for i, name := range t.Rows {
		if v, err := number([]byte(name)); err == nil && v == math.Trunc(v) && !known[v] {
			known[v] = true
		} else if err == nil {
			numbers++
		}
		trailing = trailing && math.IsNaN(t.Data[(i+1)*p.columns-1])
	}
	switch {
	case trailing:
		p.failShort("and their last cells are all empty: delete the separators that end the lines")
	case numbers > 0:
		p.failShort("and the first cells, such as %s, name no rows: name all columns", array.Quote(t.Rows[0]))
	case p.delimiter == comma && p.columns == 1 && len(known) > 0 && !p.quotedRow:
		p.failShort("which may be decimal commas: write decimals with a point, or put quotes around "+
			"the names of rows, such as %s", array.Quote(t.Rows[0]))
	}
}

// failShort fails for a header with a cell less than the rows.
func (p *parser) failShort(format string, args ...any) {
	array.Failf("%s:%d: it names %s, and the rows have %d cells, %s", p.name, p.counted,
		wording.Count(p.columns, "column"), p.columns+1, fmt.Sprintf(format, args...))
}

// normalize takes off a byte order mark, makes all line ends LF and refuses what is not text.
func (p *parser) normalize(data []byte) []byte {
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		p.failWhole("UTF-16, want UTF-8: save it as such, or as plain CSV")
	}
	if bytes.HasPrefix(data, []byte("\x1f\x8b")) {
		p.failWhole("compressed by gzip: unpack it first")
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	for at := 0; ; at++ { // a CR without LF ends a line too
		i := bytes.IndexByte(data[at:], '\r')
		if i < 0 {
			break
		}
		if at += i; at+1 == len(data) || data[at+1] != '\n' {
			data[at] = '\n'
		}
	}
	if i := bytes.IndexByte(data, 0); i >= 0 {
		p.line = bytes.Count(data[:i], []byte("\n")) + 1
		p.fail(i-(bytes.LastIndexByte(data[:i], '\n')+1), "a NUL byte: not a text file; save the data as .csv or .npy")
	}
	return data
}

// next returns the next line that is neither blank nor a comment, without its end.
func (p *parser) next() (line []byte, ok bool) {
	for len(p.rest) > 0 {
		var found bool
		if line, p.rest, found = bytes.Cut(p.rest, []byte("\n")); found {
			line = bytes.TrimSuffix(line, []byte("\r"))
		}
		p.line++
		blank := " \t"
		start := bytes.TrimLeft(line, blank)
		if p.delimiter == tab && len(start) == 0 {
			start = bytes.TrimLeft(line, " ") // tabs stand between cells, even if all are empty
		}
		if len(start) == 0 && p.isTabs(line) {
			return line, true
		}
		if len(start) == 0 || p.afni && bytes.HasPrefix(start, []byte("//")) {
			continue
		}
		if !isComment(start) || p.rowNames && p.counted > 0 && p.isRow(line, p.columns+1) {
			return line, true
		}
		p.above, p.aboveLine = line, p.line
	}
	return nil, false
}

// isTabs reports whether a line of nothing but tabs, where blanks separate, is a row of empty cells.
func (p *parser) isTabs(line []byte) bool {
	cells := p.columns
	if p.rowNames {
		cells++
	}
	return p.delimiter == blanks && p.counted > 0 && cells > 1 && bytes.Count(line, []byte("\t")) == cells-1
}

// isComment reports whether a line begins as comments do.
func isComment(line []byte) bool {
	return len(line) > 0 && (line[0] == '#' || line[0] == '%') && !excelError.Match(line)
}

// reserve allocates memory for the numbers of the current line and of all lines after it. It assumes that
// all lines have equally many numbers, and at most one number for each byte.
func (p *parser) reserve(line []byte) {
	columns, rows := p.count(line), 1
	if len(p.rest) > 0 {
		rows += bytes.Count(p.rest, []byte("\n")) + 1
	}
	most := len(line) + len(p.rest) + 1
	if columns > 0 && rows <= math.MaxInt/columns {
		most = min(most, rows*columns)
	}
	data, err := array.Make[float64](p.budget, most, "its numbers")
	if err != nil {
		p.failWhole("%w", err)
	}
	p.data = data[:0]
}

// take counts memory for names.
func (p *parser) take(bytes int) {
	if err := p.budget.Take(int64(bytes), "its names"); err != nil {
		p.failWhole("%w", err)
	}
}

// fail ends the reading with an error at a place in the current line, counted in bytes from 0.
func (p *parser) fail(at int, format string, args ...any) {
	array.Failf("%s:%d:%d: %s", p.name, p.line, at+1, fmt.Sprintf(format, args...))
}

// failCell ends the reading with an error about a cell of the line, which the message names.
func (p *parser) failCell(format string, args ...any) {
	array.Failf("%s:%d: %s", p.name, p.line, fmt.Sprintf(format, args...))
}

// failWhole ends the reading with an error about the whole file.
func (p *parser) failWhole(format string, args ...any) {
	array.Failf("%s: %w", p.name, fmt.Errorf(format, args...))
}
