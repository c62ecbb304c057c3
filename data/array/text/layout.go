package text

import (
	"bytes"
	"path/filepath"
	"strings"

	"torchpe/data/array"
)

// layout holds the delimiter of a file and which cells are names.
type layout struct {
	header   bool
	rowNames bool
	short    bool // the header has no cell above the names of rows
	// quotedRow says that the name of the first row stands in quotes.
	quotedRow bool
	columns   int // numbers in a row
	counted   int // line that said how many; 0 before there was one
	// titles is the comment line with the names of columns; nil where a line of the table has them.
	titles     []byte
	titlesLine int
}

// choose finds the delimiter and the names of a file from its first lines and what o says.
func (p *parser) choose(o Options) {
	start := *p // to look ahead without moving
	first, ok := start.next()
	if !ok {
		p.failWhole("no table: nothing but blank lines and comments")
	}
	start.refuseSeparator(first)
	p.delimiter = find(first, p.name)
	start = *p // with the delimiter, lines of tabs count
	first, _ = start.next()
	next := start
	second, _ := next.next()
	isHeader := func() bool { return start.isHeader(first, second) }
	switch o.Header {
	case Yes:
		is, err := array.Try(isHeader)
		if p.header = true; !is {
			p.findTitles(start, first)
		}
		if err != nil && p.titles != nil {
			start.line = start.aboveLine
			start.fail(0, "this comment and the line below both may name the columns: delete the comment, or put "+
				"quotes around the names")
		}
	case Auto:
		if p.header = !p.afni && isHeader(); !p.header {
			p.findTitles(start, first)
		}
	}
	if p.titles != nil {
		p.header, next, first, second = true, start, p.titles, first
	}
	p.short = p.header && second != nil && p.count(second) == p.count(first)+1
	row := p.cells(second)
	p.quotedRow = row.next() && row.quoted
	switch {
	case o.RowNames != Auto:
		p.rowNames = o.RowNames == Yes
		p.short = p.short && p.rowNames
	case p.short:
		p.rowNames = true
	case p.header:
		c := p.cells(first)
		c.next()
		third, _ := next.next()
		p.rowNames = len(c.text) == 0 && !c.ended || hasName(p.cells(second)) &&
			p.nextHasName(third)
	case !p.afni:
		p.rowNames = hasName(p.cells(first)) && p.nextHasName(second)
	}
	if !p.header && p.rowNames && p.isRow(start.above, p.count(first)) {
		start.line = start.aboveLine
		start.failCommented(start.above)
	}
}

// refuseSeparator fails for the line by which spreadsheets state what separates cells.
func (p *parser) refuseSeparator(first []byte) {
	if len(first) == len("sep=;") && bytes.EqualFold(first[:4], []byte("sep=")) {
		p.fail(0, "the first line, %s, is for spreadsheets: delete it", array.Quote(first))
	}
}

// findTitles takes the comment above the first line for the names of the columns where it has a
// text for each, as numpy.savetxt writes its header.
func (p *parser) findTitles(start parser, first []byte) {
	names := bytes.TrimLeft(start.above, "#% \t")
	names = append(bytes.Repeat([]byte(" "), len(start.above)-len(names)), names...) // columns stay
	n, numbers := p.count(first), p.cells(first)
	if k := p.count(names); p.afni || k < 2 || k != n && (k+1 != n || !hasName(numbers)) {
		return
	}
	for numbers.next(); numbers.next(); {
		if numbers.kind() != numeric && numbers.kind() != missing {
			return
		}
	}
	for c := p.cells(names); c.next(); {
		if c.kind() != textual || looksLikeNumber(c.text) || p.delimiter == blanks && !c.quoted &&
			strings.ContainsRune(".:,;", rune(c.text[len(c.text)-1])) { // prose
			above := *p
			is, err := array.Try(func() bool { return above.isNumbered(names) })
			if !is && (err == nil || p.headed) {
				return
			}
			break
		}
	}
	p.titles, p.titlesLine = names, start.aboveLine
}

// isRow reports whether a comment has the given number of cells and, behind the first, only numbers.
func (p *parser) isRow(line []byte, cells int) bool {
	if p.count(line) != cells {
		return false
	}
	c := p.cells(line)
	for c.next(); c.next(); {
		if c.kind() == textual {
			return false
		}
	}
	return true
}

// failCommented fails for a comment that may be a row.
func (p *parser) failCommented(line []byte) {
	p.fail(0, "%s is a comment by its first character but has the cells of a row: put quotes "+
		"around its name if it is a row, or delete it", array.Quote(line))
}

// find returns the delimiter of a file from its first line and its name.
func find(line []byte, name string) delimiter {
	extension := strings.ToLower(filepath.Ext(name))
	if extension == ".tsv" || extension == ".tab" {
		return tab
	}
	bare := make([]byte, 0, len(line)) // what is not in quotes
	inQuotes := false
	for _, b := range line {
		if b == '"' {
			inQuotes = !inQuotes
		} else if !inQuotes {
			bare = append(bare, b)
		}
	}
	for _, d := range []delimiter{comma, semicolon} {
		if bytes.IndexByte(bare, byte(d)) >= 0 {
			return d
		}
	}
	tabs := bytes.IndexByte(bare, '\t') >= 0
	switch {
	case extension == ".csv" && tabs:
		return tab
	case extension == ".csv" && !isBlankRow(line):
		return comma
	case !tabs || len(bytes.TrimSpace(line)) < len(line):
		return blanks // tools that align with tabs often end a line with one
	}
	for c := (cells{line: line, delimiter: blanks}); c.next(); {
		if c.kind() == textual {
			return tab
		}
	}
	return blanks
}

// isBlankRow reports whether a text is several numbers with blanks between them.
func isBlankRow(text []byte) bool {
	n := 0
	for c := (cells{line: text, delimiter: blanks}); c.next(); n++ {
		if c.kind() != numeric && c.kind() != missing {
			return false
		}
	}
	return n > 1
}

// count returns the number of cells of a line.
func (p *parser) count(line []byte) int {
	n := 0
	for c := p.cells(line); c.next(); n++ {
	}
	return n
}

// hasName reports whether the first of a row's cells is a name.
func hasName(c cells) bool {
	if !c.next() || c.ended {
		return false
	}
	switch c.kind() {
	case textual:
		return true
	case quotedNumber:
		return c.next() && !c.quoted
	}
	return false
}

// nextHasName reports whether the row below one with a name, nil where there is none, has a name
// too. If not, the first cell of the upper one is rather a damaged number, and reading it says so.
func (p *parser) nextHasName(below []byte) bool {
	return below == nil || hasName(p.cells(below))
}
