package text

import (
	"bytes"
	"errors"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// cells goes through the cells of a line.
type cells struct {
	line      []byte
	at        int // where the next cell begins
	delimiter delimiter
	ended     bool // there is no next cell
	// The current cell.
	text   []byte // without blanks and quotes around it
	start  int    // where it begins
	textAt int    // where the text begins, if there are no quotes in it
	quoted bool
	fault  string // what is wrong with its quotes
}

// cells returns the cells of a line. The line nil is one that is not there and has none.
func (p *parser) cells(line []byte) cells {
	return cells{line: line, delimiter: p.delimiter, ended: line == nil}
}

// isBlank reports whether a byte can stand around a cell.
func (c *cells) isBlank(b byte) bool {
	return b == ' ' || b == '\t' && c.delimiter != tab
}

// next goes to the next cell and reports whether there is one.
func (c *cells) next() bool {
	line, i := c.line, c.at
	for i < len(line) && c.isBlank(line[i]) {
		i++
	}
	if c.ended || i == len(line) && c.delimiter == blanks {
		return false
	}
	c.start, c.textAt, c.quoted = i, i, false
	if i < len(line) && line[i] == '"' {
		i = c.unquote()
	} else {
		if c.delimiter == blanks {
			for i < len(line) && line[i] != ' ' && line[i] != '\t' {
				i++
			}
		} else {
			for i < len(line) && line[i] != byte(c.delimiter) {
				i++
			}
		}
		end := i
		for end > c.start && c.isBlank(line[end-1]) {
			end--
		}
		c.text = line[c.start:end]
	}
	c.ended = i >= len(line)
	c.at = i + 1
	return true
}

// unquote takes the cell in quotes that begins at start, and returns where it and the blanks after
// it end.
func (c *cells) unquote() int {
	line, i := c.line, c.start+1
	c.quoted = true
	for doubled := false; ; i++ {
		n := bytes.IndexByte(line[i:], '"')
		if n < 0 {
			c.text, c.fault = line[c.start:], "has no second quote in its line"
			return len(line)
		}
		if i += n; i+1 < len(line) && line[i+1] == '"' {
			doubled = true
			i++
			continue
		}
		c.text, c.textAt = line[c.start+1:i], c.start+1
		if doubled {
			c.text = bytes.ReplaceAll(c.text, []byte(`""`), []byte(`"`))
		}
		break
	}
	for i++; i < len(line) && c.isBlank(line[i]) && (c.delimiter != blanks); i++ {
	}
	if i < len(line) && line[i] != byte(c.delimiter) && (c.delimiter != blanks || line[i] != '\t') {
		c.text, c.fault = line[c.start:], "goes on after its second quote"
	}
	return i
}

// kind is the class of a cell by its text.
type kind int

const (
	missing kind = iota
	numeric
	quotedNumber // or nothing, in quotes
	textual
)

// kind classifies the current cell.
func (c *cells) kind() kind {
	v, err := number(c.text)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange):
		return textual
	case c.quoted:
		return quotedNumber
	case math.IsNaN(v):
		return missing
	}
	return numeric
}

// decimal marks the bytes that a decimal number consists of. strconv alone would take hexadecimal
// numbers too.
var decimal = func() (is [256]bool) {
	for _, b := range []byte("0123456789+-.eE") {
		is[b] = true
	}
	return is
}()

// number returns the number that a cell is, NaN for one that is missing. Its error is strconv's.
func number(cell []byte) (float64, error) {
	for _, b := range cell {
		if !decimal[b] {
			return special(cell)
		}
	}
	if len(cell) == 0 {
		return math.NaN(), nil
	}
	return strconv.ParseFloat(string(cell), 64) // the string is on the stack
}

// special returns what numbers are not written in digits.
func special(cell []byte) (float64, error) {
	if len(cell) <= len("+infinity") {
		switch strings.ToLower(string(cell)) {
		case "nan", "+nan", "-nan", "n/a":
			return math.NaN(), nil
		case "na":
			if cell[0] == 'N' && cell[1] == 'A' {
				return math.NaN(), nil
			}
		case "inf", "+inf", "infinity", "+infinity":
			return math.Inf(1), nil
		case "-inf", "-infinity":
			return math.Inf(-1), nil
		}
	}
	return 0, strconv.ErrSyntax
}

// absent are words for a missing value, besides those of [Number]. Between names they may be names.
var absent = []string{"None", "NULL", "Null", "null", "NaT", "<NA>", "#N/A", "-", "--", ".", "?"}

// IsAbsent reports whether a cell, which is not a name, is a word for a missing value besides those of [Number].
func IsAbsent(cell string) bool { return slices.Contains(absent, cell) }

// commaNumber matches a number with a decimal comma: 1,5 or 1.234,5 or -,5e3.
const commaNumber = `[+-]?(\d{1,3}([.' ]\d{3})+|\d*),\d+(e[+-]?\d+)?`

var decimalComma = regexp.MustCompile(`(?i)^` + commaNumber + `$`)

// excelError matches what Excel writes for what is no number, at the beginning of a text.
var excelError = regexp.MustCompile(`(?i)^#(n/a|div/0!|value!|num!|ref!|name\?|null!)`)

// almost matches what is meant as a number but not written as one: hexadecimal and other bases,
// percent and per mille, a decimal comma, groups of thousands, a number with a minus sign of its own,
// an exponent with d, a currency, a text in Excel ('1), a bound, marks of significance, and what C
// writes for what is no number.
var almost = regexp.MustCompile(`(?i)^(` + strings.Join([]string{
	`[+-]?0x[0-9a-f]+`, `[+-]?0[bo][0-7]+`,
	`[+-]?[\d.,]+ ?[%‰]`,
	commaNumber,
	`[+-]?\d{1,3}([', \x{a0}\x{2009}\x{202f}]\d{3})+(\.\d*)?`,
	`[−–] ?[\d.]+(e[+−-]?\d+)?`,
	`[+-]?(\d+\.\d*|\.\d+|\d+)d[+-]\d+`, `[+-]?(\d+\.\d*|\.\d+)d\d+`,
	`[+-]?[$€£¥] ?[\d.,]+`, `[+-]?[\d.,]+ ?[$€£¥]`,
	`'[+-]?[\d.,]+'?`, `[<>~≈≤≥]=? ?[+-]?[\d.]+(e[+-]?\d+)?`, `[+-]?[\d.]+\*+`, `\([\d.,]+\)`,
	`[+-]?1\.#[a-z]+0*`,
}, "|") + `)$`)

// looksLikeNumber reports whether a cell that is no number is meant as one.
func looksLikeNumber(cell []byte) bool {
	const longest = 64
	return len(cell) <= longest && (almost.Match(cell) || excelError.Match(cell))
}

// parseWhole reports whether a cell is a whole number in nothing but digits, and which.
func parseWhole(cell []byte) (int, bool) {
	for _, b := range cell {
		if b < '0' || b > '9' {
			return 0, false
		}
	}
	n, err := strconv.Atoi(string(cell))
	return n, err == nil
}
