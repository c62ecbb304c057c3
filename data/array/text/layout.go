package text

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
)

// layout holds the delimiter of a file and which cells are names.
type layout struct {
	header   bool
	rowNames bool
	short    bool // the header has no cell above the row names
	columns  int  // numbers in a row
	counted  int  // line that said how many; 0 before there was one
}

// choose finds the delimiter and the names of a file from its first lines and what o says.
func (p *parser) choose(o Options) error {
	p.delimiter = o.Delimiter
	start := *p // to look ahead without moving
	first, ok := start.next()
	if !ok {
		return fmt.Errorf("text: %s: no table: nothing but blank lines and comments", p.name)
	}
	switch p.delimiter {
	case 0:
		p.delimiter = find(first, p.name)
	case Comma, Tab, Semicolon, Blanks:
	default:
		return fmt.Errorf("text: %s: delimiter %q, want a comma, a tab, a semicolon or Blanks",
			p.name, rune(o.Delimiter))
	}
	start = *p // with the delimiter, lines of tabs count
	first, _ = start.next()
	next := start
	second, _ := next.next()
	switch {
	case o.Header != Auto:
		p.header = o.Header == Yes
	case !p.afni:
		var err error
		if p.header, err = start.isHeader(first, second); err != nil {
			return err
		}
	}
	p.short = p.header && second != nil && p.count(second) == p.count(first)+1
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
	return nil
}

// find returns the delimiter of a file from its first line and its name.
func find(line []byte, name string) Delimiter {
	extension := strings.ToLower(filepath.Ext(name))
	if extension == ".tsv" || extension == ".tab" {
		return Tab
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
	for _, d := range []Delimiter{Comma, Semicolon} {
		if bytes.IndexByte(bare, byte(d)) >= 0 {
			return d
		}
	}
	tabs := bytes.IndexByte(bare, '\t') >= 0
	switch {
	case extension == ".csv" && tabs:
		return Tab
	case extension == ".csv":
		return Comma
	case !tabs || len(bytes.TrimSpace(line)) < len(line):
		return Blanks // tools that align with tabs often end a line with one
	}
	for c := (cells{line: line, delimiter: Blanks}); c.next(); {
		if c.kind() == textual {
			return Tab
		}
	}
	return Blanks
}

// count returns the number of cells of a line.
func (p *parser) count(line []byte) int {
	n := 0
	for c := p.cells(line); c.next(); n++ {
	}
	return n
}

// isHeader reports whether the first line holds the names of columns; second is nil where there is
// none.
func (p *parser) isHeader(first, second []byte) (bool, error) {
	a, b := p.cells(first), p.cells(second)
	if p.count(first) > 1 {
		if a.next(); p.count(second) == p.count(first)+1 {
			a = p.cells(first) // no cell above the row names
		}
		b.next()
	}
	names, numbers := "", ""
	isName, isNumber := false, false
	at, usable := 0, false // usable says that some name does not look like a number
	for a.next() {
		below := b.next() && !b.quoted
		k := a.kind()
		usable = usable || k == textual && (a.quoted || !looksLikeNumber(a.text)) ||
			k == quotedNumber && len(a.text) > 0
		switch {
		case k == textual || k == quotedNumber && below:
			if !isName {
				names, at = quote(a.text), a.start
			}
			isName = true
		case k == numeric || k == quotedNumber && len(a.text) > 0:
			if !isNumber {
				numbers = quote(a.text)
			}
			isNumber = true
		}
		if isName && isNumber {
			if p.delimiter == Comma && strings.Contains(names, ";") {
				return false, p.fail(at, "the first line has cells such as %s between its "+
					"commas: with semicolons between cells, write decimals with a point", names)
			}
			return false, p.fail(at, "the first line has names such as %s and numbers such as %s: "+
				"if it names the columns, put quotes around all names; if it holds numbers, one "+
				"is damaged", names, numbers)
		}
	}
	if isName && !usable {
		return false, p.fail(0, "the first line is %s...: all of its cells look like numbers but are "+
			"none: write them in decimal digits with a point, or put quotes around names", names)
	}
	return isName || p.delimiter != Blanks && p.isCounting(first, second), nil
}

// isCounting reports whether the first line is the numbers 0, 1, 2... or 1, 2, 3... that name
// columns without names. The line below must have a number that is not whole, or begin with the 0
// of a counted row where the first line begins empty.
func (p *parser) isCounting(first, second []byte) bool {
	a, b := p.cells(first), p.cells(second)
	a.next()
	corner := len(a.text) == 0
	if k := a.kind(); corner || k == textual {
		b.next()
		corner = corner && string(b.text) == "0"
	} else {
		a = p.cells(first)
	}
	n, base, fractions := 0, 0, false
	for ; a.next(); n++ {
		v, ok := parseWhole(a.text)
		if n == 0 {
			base = v
		}
		if !ok || base > 1 || v != base+n {
			return false
		}
		if b.next() {
			if _, ok := parseWhole(bytes.TrimPrefix(b.text, []byte("-"))); !ok &&
				b.kind() != textual {
				fractions = true
			}
		}
	}
	return n >= 2 && (fractions || corner)
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
