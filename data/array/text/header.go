package text

import (
	"bytes"
	"math"
	"slices"
	"strings"

	"torchpe/data/array"
)

// isHeader reports whether the first line holds the names of columns; second is nil where there is
// none.
func (p *parser) isHeader(first, second []byte) bool {
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
				names, at = array.Quote(a.text), a.start
			}
			isName = true
		case k == numeric || k == quotedNumber && len(a.text) > 0:
			if !isNumber {
				numbers = array.Quote(a.text)
			}
			isNumber = true
		}
		if isName && isNumber {
			if p.delimiter == comma && (strings.Contains(names, ";") || isBlankRow(bytes.Trim([]byte(names), `"`))) {
				p.fail(at, "the first line has cells such as %s between its "+
					"commas: with semicolons or blanks between cells, write decimals with a point", names)
			}
			p.fail(at, "the first line has names such as %s and numbers such as %s: "+
				"if it names the columns, put quotes around all names; if it holds numbers, one "+
				"is damaged", names, numbers)
		}
	}
	if isName && !usable {
		p.fail(0, "the first line is %s...: all of its cells look like numbers but are "+
			"none: write them in decimal digits with a point, or put quotes around names", names)
	}
	return isName || p.isNumbered(first)
}

// isNumbered reports whether a first line of whole numbers names the columns. It is an error where
// the line may as well be the first row.
func (p *parser) isNumbered(first []byte) bool {
	next := *p
	second, ok := next.next()
	if !ok {
		return false
	}
	if p.count(second) == p.count(first)+1 && hasName(p.cells(second)) {
		return true // no cell above the row names
	}
	b := below{corner: none}
	if p.count(first) > 1 {
		switch c := p.cells(first); {
		case !c.next():
		case len(c.text) == 0:
			b.corner = empty
		case c.kind() == textual:
			b.corner, b.title = named, c.text
		}
	}
	c := p.cells(first)
	if b.corner != none {
		c.next()
	}
	p.take(48 * p.count(first))
	for c.next() {
		n, ok := parseWhole(c.text)
		if !ok {
			return false
		}
		b.names = append(b.names, float64(n))
	}
	if sorted := slices.Sorted(slices.Values(b.names)); len(slices.Compact(sorted)) < len(b.names) {
		return false
	}
	b.read(*p)
	is := b.choose(p.delimiter)
	if is == Auto {
		p.fail(0, "the first line, %s, may name the columns or be the first row: say "+
			"--header yes or --header no (or put quotes around names, or write numbers with a point, "+
			"such as 10.0)", array.Quote(first))
	}
	return is == Yes
}

// The cells above a first column.
const (
	none = iota // the first cell is a whole number, too
	empty
	named
)

// below describes the rows under a line of distinct whole numbers.
type below struct {
	corner int
	title  []byte    // in the corner
	names  []float64 // the numbers of the line
	// low and high are the bounds of each column.
	low, high []float64
	rows      int
	cells     int  // that hold numbers
	whole     int  // of these, in digits alone
	wholeRow  bool // some row is of whole numbers that are not all equal, as in a row of zeros
	rising    int  // rows that rise from cell to cell
	steady    int  // of these, by one step
	again     bool // some row is the line once more
	mirrored  bool // the first column is the line, as in a symmetric matrix
	// What the column under the corner holds.
	texts, dates int  // no numbers; of these, those that begin with a digit
	index        bool // numbers that rise
	first        float64
}

// read goes through the rows that p comes to.
func (b *below) read(p parser) {
	n := len(b.names)
	b.low, b.high = slices.Repeat([]float64{math.Inf(1)}, n), slices.Repeat([]float64{math.Inf(-1)}, n)
	b.mirrored, b.index = true, true
	last := math.Inf(-1)
	for line, ok := p.next(); ok; line, ok = p.next() {
		c := p.cells(line)
		if b.corner != none && c.next() {
			v, err := number(c.text)
			if err != nil {
				b.texts++
				if c.text[0] >= '0' && c.text[0] <= '9' {
					b.dates++
				}
			}
			b.index = b.index && err == nil && v > last
			if b.rows == 0 {
				b.first = v
			}
			last = v
		}
		b.row(c)
	}
	b.mirrored = b.mirrored && b.corner == none && b.rows+1 == n
}

// row adds the numbers of a row.
func (b *below) row(c cells) {
	b.rows++
	same, whole, equal := true, true, true
	var o order
	for j := 0; j < len(b.names) && c.next(); j++ {
		v, err := number(c.text)
		if j == 0 {
			b.mirrored = b.mirrored && b.rows < len(b.names) && v == b.names[b.rows]
		}
		same, equal = same && v == b.names[j], equal && (o.n == 0 || v == o.last)
		if err != nil || v-v != 0 { // true for NaN and infinities
			o.fell, same = true, false
			continue
		}
		b.cells++
		if _, ok := parseWhole(bytes.TrimPrefix(c.text, []byte("-"))); ok {
			b.whole++
		} else {
			whole = false
		}
		o.add(v)
		b.low[j], b.high[j] = min(b.low[j], v), max(b.high[j], v)
	}
	b.again, b.wholeRow = b.again || same, b.wholeRow || whole && !equal
	if !o.fell {
		b.rising++
		if !o.uneven {
			b.steady++
		}
	}
}

// order follows numbers one after the other.
type order struct {
	n            int
	last, step   float64
	fell, uneven bool
}

func (o *order) add(v float64) {
	switch o.n++; {
	case o.n == 2:
		o.step = v - o.last
	case o.n > 2:
		o.uneven = o.uneven || v-o.last != o.step
	}
	o.fell = o.fell || o.n > 1 && v <= o.last
	o.last = v
}

// choose returns Yes where the line names the columns, No where it is a row, and Auto where it can be
// either.
func (b *below) choose(d delimiter) Choice {
	switch is := b.compare(d); {
	case b.corner == named && b.texts == b.rows && IsID(string(b.title)):
		return Yes // as pandas writes an index that has a name
	case b.corner == empty && (b.texts == b.rows || b.index && (b.rows > 2 || b.first == 0)):
		return Yes // pandas leaves the cell above its index empty
	case b.corner == named && b.texts == 0 && is == No:
		return Auto // a row cannot begin with a text
	case b.corner == named && b.texts > 0 && b.dates == b.rows && (b.title[0] < '0' || b.title[0] > '9'):
		return Yes // a word above dates
	default:
		return is
	}
}

// compare is choose by the numbers alone. The first row of a table is as any other: a line that stands
// out from 19 rows does so by chance once in 20 times.
func (b *below) compare(d delimiter) Choice {
	const enough, few = 19, 10 // few rows are a tenth or less
	n := len(b.names)
	var o order
	for _, v := range b.names {
		o.add(v)
	}
	rising, steady := n >= 5 && !o.fell, n >= 3 && !o.fell && !o.uneven
	counts := n >= 2 && !o.uneven && o.step == 1 && b.names[0] <= 1
	switch {
	case b.again || b.mirrored || b.cells == 0 || n < 2 && (b.corner == none || b.texts > 0):
		return No
	case b.whole < b.cells && !b.wholeRow: // no row is of whole numbers, as the line is
		chance := math.Pow(float64(b.whole+1)/float64(b.cells+2), float64(n))
		switch {
		case counts && d != blanks && (n > 2 || b.names[0] == 0), b.isFar(0.5) && b.rows >= enough,
			b.isFar(10) && b.rows > 1:
			return Yes
		case chance > 0.2:
			return No
		}
		return Auto
	case b.rows < 3 && !b.isFar(10):
		return No
	case b.isFar(3) && b.rows >= enough:
		return Yes
	case b.isFar(1), b.isOutside(), counts && b.whole < b.cells, rising && few*b.rising <= b.rows,
		steady && few*b.steady <= b.rows:
		return Auto
	}
	return No
}

// isFar reports whether the line lies outside all rows by the given multiple of their range.
func (b *below) isFar(times float64) bool {
	low, high := slices.Min(b.low), slices.Max(b.high)
	return b.allOutside(func(int) (float64, float64) { return low, high }, times)
}

// isOutside reports whether each number of the line lies outside of its column by its range.
func (b *below) isOutside() bool {
	return b.allOutside(func(j int) (float64, float64) { return b.low[j], b.high[j] }, 1)
}

func (b *below) allOutside(bounds func(j int) (low, high float64), times float64) bool {
	for j, v := range b.names {
		low, high := bounds(j)
		if by := times * (high - low); !(by > 0 && (v > high+by || v < low-by)) {
			return false
		}
	}
	return true
}
