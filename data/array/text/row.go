package text

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"torchpe/data/array"
)

// names returns the names of the columns in the header line, and that of the column of names.
func (p *parser) names(line []byte) (names []string, corner string) {
	n := p.count(line)
	p.take(len(line) + 16*n)
	names = make([]string, 0, n)
	text := string(line) // which names are parts of
	c := p.cells(line)
	for n := 0; c.next(); n++ {
		p.checkName(c, n+1)
		name := text[c.textAt : c.textAt+len(c.text)]
		if name != string(c.text) { // it has quotes in it
			name = string(c.text)
		}
		if p.headed && decimalComma.MatchString(name) {
			p.failCell("cell %d is %s, which looks like a number with a decimal "+
				"comma: write numbers with a point, or give the columns other names", n+1, array.Quote(name))
		}
		name = norm.NFC.String(name)
		if n > 0 || !p.rowNames || p.short {
			names = append(names, name)
		} else {
			corner = name
		}
	}
	return names, corner
}

// checkName refuses the n-th cell as a name where its quotes or its encoding are wrong.
func (p *parser) checkName(c cells, n int) {
	if c.fault != "" {
		p.failCell("cell %d, %s, %s", n, array.Quote(c.text), c.fault)
	}
	if at, problem := array.NotUTF8(string(c.text)); problem != "" {
		p.fail(c.textAt+at, "the name %s: %s", array.Quote(c.text), problem)
	}
}

// row appends the numbers of a line to the data and returns the row's name. The first row, or the
// header, says how many columns there are.
func (p *parser) row(line []byte) (name string) {
	c := p.cells(line)
	before, n := len(p.data), 0
	if p.rowNames {
		c.next()
		p.checkName(c, 1)
		if isComment(c.text) && !c.quoted {
			p.failCommented(line)
		}
		if p.guessed && looksLikeNumber(c.text) {
			p.fail(c.start, "the first cell is %s, which looks like a number but is none: "+
				"write numbers with a point and without other signs (0.07 for 7%%), or give the rows "+
				"other names", array.Quote(c.text))
		}
		name = norm.NFC.String(string(c.text))
		n = 1
	}
	last := c.text // the cell before
	for ; c.next(); last = c.text {
		n++
		// With as many names as cells no comma can lie within a number.
		if p.delimiter == comma && (!p.header || p.short) && isFraction(last, c) {
			p.failCell("cell %d is %s, behind %s and a comma: write decimals with a point, "+
				"thousands without a comma, and whole numbers without a 0 before them", n,
				array.Quote(c.text), array.Quote(last))
		}
		if p.counted > 0 && len(p.data)-before == p.columns {
			p.failCell("cell %d, %s, is one more than in line %d", n,
				array.Quote(c.text), p.counted)
		}
		v, err := number(c.text)
		if err != nil && IsAbsent(string(c.text)) {
			v, err = math.NaN(), nil
		}
		if err != nil || c.fault != "" {
			p.failNumber(c, n, err)
		}
		if array.BeyondInteger(v, c.text) {
			p.failCell("cell %d is %s, beyond 2^53: a float64 would round it; write "+
				"it with a point or an exponent if that is meant", n, array.Quote(c.text))
		}
		p.data = append(p.data, v)
	}
	got := len(p.data) - before
	switch {
	case got == 0 && n == 0:
		p.fail(0, "nothing but tabs: if they separate cells, give the file a name in .tsv")
	case got == 0:
		p.fail(0, "%s has a name but no numbers", array.Quote(line))
	case p.counted == 0:
		p.columns, p.counted = got, p.line
	case got < p.columns:
		p.fail(len(line), "the line ends after %d of the %d numbers that line %d has: "+
			"%s", got, p.columns, p.counted, array.Quote(line))
	}
	return name
}

// isFraction reports whether a cell is digits after a 0, behind one of a whole number: the comma
// between them is rather one of decimals (1,05) or of thousands (1,050).
func isFraction(before []byte, c cells) bool {
	if len(c.text) < 2 || c.text[0] != '0' || c.quoted || len(before) > 1 && before[0] == '0' {
		return false
	}
	before = bytes.TrimLeft(before, "+-")
	_, isWhole := parseWhole(before)
	_, digits := parseWhole(c.text)
	return isWhole && digits && len(before) > 0
}

// hasNumber reports whether a cell of a line is a number, the names of rows aside.
func (p *parser) hasNumber(line []byte) bool {
	c := p.cells(line)
	if p.rowNames {
		c.next()
	}
	for c.next() {
		if k := c.kind(); k == numeric || k == quotedNumber && len(c.text) > 0 {
			return true
		}
	}
	return false
}

// failNumber fails for the n-th cell, which is no number.
func (p *parser) failNumber(c cells, n int, err error) {
	why := ", not a number"
	first, _ := utf8.DecodeRune(c.text)
	switch {
	case c.fault != "":
		p.failCell("cell %d, %s, %s", n, array.Quote(c.text), c.fault)
	case errors.Is(err, strconv.ErrRange):
		why = ", too large for a float64"
	case isBlankRow(c.text) && len(c.text) < len(bytes.TrimSpace(c.line)):
		why = ": write decimals with a point, and the same separator between all cells"
	case isBlankRow(c.text) && p.columns > 1:
		between, here := map[delimiter]string{comma: "commas", semicolon: "semicolons", tab: "tabs"}, "blanks"
		if bytes.IndexByte(c.text, '\t') >= 0 {
			here = between[tab]
		}
		why = fmt.Sprintf(": line %d has %s between cells, and this line %s: use one of them", p.counted,
			between[p.delimiter], here)
	case isBlankRow(c.text):
		why = ": blanks stand between its numbers: give the file a name in .txt"
	case bytes.IndexByte(c.text, ',') >= 0 && p.delimiter != comma:
		why += ": write decimals with a point"
	case bytes.IndexByte(c.text, ';') >= 0 && p.delimiter == comma:
		why += ": with semicolons between cells, write decimals with a point"
	case unicode.IsLetter(first) && p.header && !p.hasNumber(c.line):
		ahead := *p
		line, ok := ahead.next()
		for ; ok && !p.hasNumber(line); line, ok = ahead.next() {
		}
		if ok { // else all is words
			p.failCell("no cell of the line is a number: leave one line of names above the numbers")
		}
		why += ": leave out columns of words"
	case unicode.IsLetter(first):
		why += ": leave out columns of words"
	}
	p.failCell("cell %d is %s%s", n, array.Quote(c.text), why)
}
