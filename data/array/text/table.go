package text

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"

	"torchpe/data/array"
)

// Table is a matrix of numbers with the names of its rows and columns. Its shape is [rows,
// columns]; names are not counted in it.
type Table struct {
	Columns []string // nil where the file has none
	Rows    []string // nil where the file has none
	Corner  string   // what the header calls the names of rows, or empty
	// Commented says that the names of columns stand in a comment above them.
	Commented bool
	array.Array
}

// delimiter is the separator of two cells. It is a tab in files called .tsv or .tab; otherwise what
// the first line has outside quotes: a comma, else a semicolon, else tabs where that line holds names
// (which can have spaces in them), else blanks. A .csv file of one column has commas.
type delimiter byte

// The delimiters. A cell between two commas, tabs or semicolons can be empty; one between blanks,
// which are runs of spaces and tabs, cannot.
const (
	comma     delimiter = ','
	tab       delimiter = '\t'
	semicolon delimiter = ';'
	blanks    delimiter = ' '
)

// Choice states whether a file has a header or names of rows, or leaves it to Read.
type Choice int

// The choices.
const (
	Auto Choice = iota // see for yourself
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

// Options say what Read should not find out for itself. The zero Options leave everything to it.
type Options struct {
	// Header is Yes where the first line holds the names of columns. Auto takes the first line as
	// names where the cells after the first are no numbers, or quoted numbers above bare ones; where
	// they are distinct whole numbers far outside the rows below, or count 0, 1, 2... or 1, 2, 3...
	// above rows with fractions, or stand beside an empty cell above an index, as pandas writes them;
	// and never in .1D. Whole numbers that may as well be the first row are an error, and so are some
	// names and some numbers: the first row could be damaged.
	Header Choice
	// RowNames is Yes where the first cell of each line is the name of its row. Auto takes it so
	// where that of the first rows is no number, where the header's first cell is empty, and where
	// the header has a cell less than the rows. Names that look like numbers, such as 7%, are errors
	// then: a column of them would be lost.
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
func parse(data []byte, name string, o Options, budget *array.Budget) (Table, error) {
	p := &parser{name: name, afni: strings.EqualFold(filepath.Ext(name), ".1D"), budget: budget,
		guessed: o.RowNames == Auto}
	p.headed = o.Header == Auto
	var err error
	if p.rest, err = p.normalize(data); err != nil {
		return Table{}, err
	}
	if err := p.choose(o); err != nil {
		return Table{}, err
	}
	var t Table
	if p.header {
		head, line := *p, p.titles
		if head.line = p.titlesLine; line == nil {
			line, _ = p.next()
			head.line = p.line
		}
		if t.Columns, t.Corner, err = head.names(line); err != nil {
			return Table{}, err
		}
		t.Commented = p.titles != nil
		p.columns, p.counted = len(t.Columns), head.line
	}
	rows := 0
	for ; ; rows++ {
		line, ok := p.next()
		if !ok {
			break
		}
		if rows == 0 {
			if err := p.reserve(line); err != nil {
				return Table{}, err
			}
		}
		rowName, err := p.row(line)
		if err != nil {
			return Table{}, err
		}
		if p.rowNames {
			t.Rows = append(t.Rows, rowName)
			if err := p.take(len(rowName) + 32); err != nil {
				return Table{}, err
			}
		}
	}
	if rows == 0 {
		return Table{}, fmt.Errorf("text: %s: a line of names but no rows of numbers", name)
	}
	t.Array = array.Array{Shape: []int{rows, p.columns}, Data: p.data}
	return t, nil
}

// normalize takes off a byte order mark, makes all line ends LF and refuses what is not text.
func (p *parser) normalize(data []byte) ([]byte, error) {
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		return nil, fmt.Errorf("text: %s: UTF-16, want UTF-8: save it as such, or as plain CSV",
			p.name)
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
		return nil, p.fail(i-(bytes.LastIndexByte(data[:i], '\n')+1), "a NUL byte: not a text file")
	}
	return data, nil
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

// isComment reports whether a line begins as comments do.
func isComment(line []byte) bool { return len(line) > 0 && (line[0] == '#' || line[0] == '%') }

// reserve allocates memory for the numbers of the current line, the first of numbers, and of those
// after it: as many as the first has in each, but no more than a byte for each.
func (p *parser) reserve(line []byte) error {
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
		return fmt.Errorf("text: %s: %w", p.name, err)
	}
	p.data = data[:0]
	return nil
}

// take counts memory for names.
func (p *parser) take(bytes int) error {
	if err := p.budget.Take(int64(bytes), "its names"); err != nil {
		return fmt.Errorf("text: %s: %w", p.name, err)
	}
	return nil
}

// fail returns an error at a place in the current line, counted in bytes from 0.
func (p *parser) fail(at int, format string, args ...any) error {
	return fmt.Errorf("text: %s:%d:%d: %s", p.name, p.line, at+1, fmt.Sprintf(format, args...))
}
