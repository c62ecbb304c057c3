package text

import (
	"bytes"
	"iter"

	"torchpe/data/array"
)

// Words goes through the rows of a text of words, such as names and modules, in the layout that
// Read takes. Names hold commas more often than tabs: a tab in the first line separates.
func Words(path string) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		p := &parser{name: path, budget: array.NewBudget()}
		data, err := load(path, p.budget)
		if err == nil {
			err = p.begin(data)
		}
		for err == nil {
			var row []string
			if row, err = array.Try(p.words); err == nil && (row == nil || !yield(row, nil)) {
				return
			}
		}
		yield(nil, err)
	}
}

// begin takes a text of words and finds what separates them.
func (p *parser) begin(data []byte) (err error) {
	defer array.Catch(&err)
	p.rest = p.normalize(data)
	p.separate()
	return nil
}

// words returns the words of the next line; nil at the end.
func (p *parser) words() []string {
	line, ok := p.next()
	if !ok {
		return nil
	}
	if (p.delimiter == blanks || p.width(p.delimiter, line) == 1) &&
		p.width(comma, line)+p.width(semicolon, line) > 2 {
		p.fail(0, "%s has a comma or a semicolon, which by the name of the file or its "+
			"first line separate no cells: put quotes around names with either", array.Quote(line))
	}
	row, _ := p.names(bytes.TrimSpace(line))
	if p.delimiter == tab && (p.columns == 0 || len(row) < p.columns) { // cells at an end may be empty
		row, _ = p.names(line)
	}
	p.columns = max(p.columns, len(row))
	return row
}

// separate finds what separates words.
func (p *parser) separate() {
	ahead := *p
	line, ok := ahead.next()
	if !ok {
		p.failWhole("no table: nothing but blank lines and comments")
	}
	ahead.refuseSeparator(line)
	line = bytes.TrimSpace(line)
	p.delimiter = find(line, p.name)
	switch {
	case p.width(tab, line) > 1:
		p.delimiter = tab
	case p.width(comma, line) > 1 && p.width(semicolon, line) > 1:
		ahead.fail(0, "%s has commas and semicolons: put quotes around names with either, "+
			"and write decimals with a point", array.Quote(line))
	case p.delimiter != blanks && p.width(p.delimiter, line) == 1: // one column
		n := p.width(blanks, line)
		for n > 1 && ok && p.width(blanks, line) == n {
			line, ok = ahead.next()
		}
		if n > 1 && !ok {
			p.failWhole("its lines have no %q and %d words each: put it between cells, or quotes "+
				"around words that are one cell", p.delimiter, n)
		}
	}
}

// width returns the number of a line's cells between delimiters, 1 where quotes fit other ones.
func (p *parser) width(d delimiter, line []byte) int {
	n := 0
	for c := (cells{line: line, delimiter: d}); c.next(); n++ {
		if c.fault != "" {
			return 1
		}
	}
	return n
}

// Number returns the number that a cell is, NaN for one that is missing, or an error.
func Number(cell string) (float64, error) { return number([]byte(cell)) }

// IsNumber reports whether a cell is a number that is not missing.
func IsNumber(cell string) bool {
	v, err := Number(cell)
	return err == nil && v == v
}
