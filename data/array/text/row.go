package text

import (
	"bytes"
	"errors"
	"strconv"

	"torchpe/data/array"
)

// names returns the names of the columns in the header line, and that of the column of names.
func (p *parser) names(line []byte) (names []string, corner string, err error) {
	n := p.count(line)
	if err := p.take(len(line) + 16*n); err != nil {
		return nil, "", err
	}
	names = make([]string, 0, n)
	text := string(line) // which names are parts of
	c := p.cells(line)
	for n := 0; c.next(); n++ {
		if c.fault != "" {
			return nil, "", p.fail(c.start, "cell %d, %s, %s", n+1, array.Quote(c.text), c.fault)
		}
		if err := p.checkUTF8(c); err != nil {
			return nil, "", err
		}
		name := text[c.textAt : c.textAt+len(c.text)]
		if name != string(c.text) { // it has quotes in it
			name = string(c.text)
		}
		if p.headed && decimalComma.MatchString(name) {
			return nil, "", p.fail(c.start, "cell %d is %s, which looks like a number with a decimal "+
				"comma: write numbers with a point, or give the columns other names", n+1, array.Quote(name))
		}
		if n > 0 || !p.rowNames || p.short {
			names = append(names, name)
		} else {
			corner = name
		}
	}
	return names, corner, nil
}

// checkUTF8 refuses a name in another encoding.
func (p *parser) checkUTF8(c cells) error {
	if at, problem := array.NotUTF8(string(c.text)); problem != "" {
		return p.fail(c.textAt+at, "the name %s: %s", array.Quote(c.text), problem)
	}
	return nil
}

// row appends the numbers of a line to the data and returns the row's name. The first row, or the
// header, says how many columns there are.
func (p *parser) row(line []byte) (name string, err error) {
	c := p.cells(line)
	before, n := len(p.data), 0
	if p.rowNames {
		c.next()
		if c.fault != "" {
			return "", p.fail(c.start, "cell 1, %s, %s", array.Quote(c.text), c.fault)
		}
		if err := p.checkUTF8(c); err != nil {
			return "", err
		}
		if isComment(c.text) && !c.quoted {
			return "", p.failCommented(line)
		}
		if p.guessed && looksLikeNumber(c.text) {
			return "", p.fail(c.start, "the first cell is %s, which looks like a number but is none: "+
				"write numbers with a point and without other signs (0.07 for 7%%), or give the rows "+
				"other names", array.Quote(c.text))
		}
		name = string(c.text)
		n = 1
	}
	last := c.text // the cell before
	for ; c.next(); last = c.text {
		n++
		// With as many names as cells no comma can lie within a number.
		if p.delimiter == comma && (!p.header || p.short) && isFraction(last, c) {
			return "", p.fail(c.start, "cell %d is %s, behind %s and a comma: write decimals with a point, "+
				"thousands without a comma, and whole numbers without a 0 before them", n,
				array.Quote(c.text), array.Quote(last))
		}
		if p.counted > 0 && len(p.data)-before == p.columns {
			return "", p.fail(c.start, "cell %d, %s, is one more than in line %d", n,
				array.Quote(c.text), p.counted)
		}
		if v, err := number(c.text); err == nil && c.fault == "" {
			if array.BeyondInteger(v, c.text) {
				return "", p.fail(c.start, "cell %d is %s, beyond 2^53: a float64 would round it; write "+
					"it with a point or an exponent if that is meant", n, array.Quote(c.text))
			}
			p.data = append(p.data, v)
		} else {
			return "", p.notNumber(c, n, err)
		}
	}
	got := len(p.data) - before
	switch {
	case got == 0 && n == 0:
		return "", p.fail(0, "nothing but tabs: if they separate cells, give the file a name in .tsv")
	case got == 0:
		return "", p.fail(0, "%s has a name but no numbers", array.Quote(line))
	case p.counted == 0:
		p.columns, p.counted = got, p.line
	case got < p.columns:
		return "", p.fail(len(line), "the line ends after %d of the %d numbers that line %d has: "+
			"%s", got, p.columns, p.counted, array.Quote(line))
	}
	return name, nil
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

// notNumber returns the error of the n-th cell, which is no number.
func (p *parser) notNumber(c cells, n int, err error) error {
	if c.fault != "" {
		return p.fail(c.start, "cell %d, %s, %s", n, array.Quote(c.text), c.fault)
	}
	switch {
	case errors.Is(err, strconv.ErrRange):
		return p.fail(c.start, "cell %d is %s, too large for a float64", n, array.Quote(c.text))
	case isBlankRow(c.text):
		return p.fail(c.start, "cell %d is %s: blanks stand between its numbers: give the file a name "+
			"in .txt", n, array.Quote(c.text))
	case bytes.IndexByte(c.text, ',') >= 0 && p.delimiter != comma:
		return p.fail(c.start, "cell %d is %s, not a number: write decimals with a point", n,
			array.Quote(c.text))
	case bytes.IndexByte(c.text, ';') >= 0 && p.delimiter == comma:
		return p.fail(c.start, "cell %d is %s, not a number: with semicolons between cells, "+
			"write decimals with a point", n, array.Quote(c.text))
	}
	return p.fail(c.start, "cell %d is %s, not a number", n, array.Quote(c.text))
}
