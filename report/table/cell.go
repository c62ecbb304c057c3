package table

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"torchpe/internal/number"
	"torchpe/internal/stats"
)

// Cell is a value of a table: text, a number, a count, a mean with its SD, or a p-value. The zero Cell
// is a missing value.
type Cell struct {
	kind      kind
	text      string
	mark      string  // after the text, only for people
	isWords   bool    // of a text: ours, not a name
	value, sd float64 // of an interval its ends
	count     int
}

// kind is the kind of a cell. A column of several kinds takes the last of them, see Table.Uniform.
type kind uint8

const (
	missing kind = iota
	count
	decimal
	meanSD
	interval
	pValue
	text
)

// Text returns a cell of text.
func Text(s string) Cell { return Cell{kind: text, text: s} }

// Marked returns a cell of text with a mark behind it, such as a star, in tables for people.
func Marked(s, mark string) Cell { return Cell{kind: text, text: s, mark: mark} }

// Words returns a cell of text about numbers, such as "−.012 to .034". Its minus signs are hyphens in CSV and
// JSON and on a terminal, as those of numbers.
func Words(s string) Cell { return Cell{kind: text, text: s, isWords: true} }

// Number returns a cell with a number. NaN is a missing value.
func Number(v float64) Cell {
	if math.IsNaN(v) {
		return Cell{}
	}
	return Cell{kind: decimal, value: v}
}

// Count returns a cell with an integer.
func Count(n int) Cell { return Cell{kind: count, count: n, value: float64(n)} }

// MeanSD returns a cell with a mean and a standard deviation. A missing one is NaN. In CSV and JSON its
// column becomes two columns, name and name_sd.
func MeanSD(mean, sd float64) Cell { return Cell{kind: meanSD, value: mean, sd: sd} }

// Interval returns a cell with the ends of an interval. In CSV and JSON its column becomes two columns,
// name_low and name_high.
func Interval(low, high float64) Cell { return Cell{kind: interval, value: low, sd: high} }

// Mean returns a cell with the mean and SD of the values that are not NaN. It returns a single value as a
// Number, and the zero Cell for none.
func Mean(values []float64) Cell {
	values = slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	switch len(values) {
	case 0:
		return Cell{}
	case 1:
		return Number(values[0])
	}
	return MeanSD(stats.Mean(values), stats.SD(values))
}

// P returns a cell with a p-value from 0 to 1, or NaN for a missing one. Tables for people show it as
// [number.P] does.
func P(p float64) Cell { return Cell{kind: pValue, value: p} }

// IsMissing reports whether the cell has no value.
func (c Cell) IsMissing() bool { return c.kind == missing }

// IsText reports whether the cell is text, even text that spells a number.
func (c Cell) IsText() bool { return c.kind == text }

// String returns the value with every digit. It is empty for a missing value.
func (c Cell) String() string {
	switch c.kind {
	case missing:
		return ""
	case text:
		return c.text
	case count:
		return strconv.Itoa(c.count)
	}
	return strconv.FormatFloat(c.value, 'g', -1, 64)
}

// Float returns the cell's number, or the number that its text spells in decimals.
func (c Cell) Float() (v float64, ok bool) {
	if c.kind != text {
		return c.value, c.kind != missing
	}
	if strings.Trim(c.text, "0123456789.+-eE") != "" { // not inf, nan or hexadecimal
		return 0, false
	}
	v, err := strconv.ParseFloat(c.text, 64)
	return v, err == nil
}

// Compare orders two values: numbers by size, before texts.
func (c Cell) Compare(d Cell) int {
	a, isA := c.Float()
	b, isB := d.Float()
	switch {
	case c.kind == count && d.kind == count: // of which float64 holds no more than 53 bits
		return cmp.Compare(c.count, d.count)
	case isA && isB:
		return cmp.Compare(a, b)
	case isA:
		return -1
	case isB:
		return 1
	}
	return strings.Compare(c.text, d.text)
}

// Decimals returns the number of decimals that show a number in full, at most six, or those that show two digits of
// a number below 1e-5.
func (c Cell) Decimals() int {
	const most = 6
	if c.kind != decimal {
		return 0
	}
	_, decimals, _ := strings.Cut(strconv.FormatFloat(c.value, 'f', -1, 64), ".")
	zeros := len(decimals) - len(strings.TrimLeft(decimals, "0"))
	return min(len(decimals), max(most, zeros+2)) // two digits of a smaller number
}

// as returns the cell as one of a column of the given kind.
func (c Cell) as(column kind) Cell {
	switch {
	case c.kind == missing || c.kind == column:
		return c
	case column == text:
		return Text(c.String())
	case c.kind == count:
		return Number(c.value)
	}
	return c
}

// plain returns a text with hyphens for minus signs, which programs read and terminals can search.
func plain(s string) string { return strings.ReplaceAll(s, "−", "-") }

// shown formats the cell for people.
func (c Cell) shown(decimals int) string {
	size := math.Abs(c.value)
	if c.kind == meanSD && c.sd > size {
		size = c.sd
	}
	if (c.kind == decimal || c.kind == meanSD) && decimals > 2 {
		decimals = number.DecimalsFor(size, decimals)
	}
	switch c.kind {
	case text:
		return c.text + c.mark
	case decimal:
		return number.Fixed(c.value, decimals)
	case count:
		return number.Minus(strconv.Itoa(c.count))
	case meanSD: // of one value, which has no SD, the value
		if math.IsNaN(c.sd) {
			return number.Fixed(c.value, decimals)
		}
		return number.Fixed(c.value, decimals) + " ± " + number.Fixed(c.sd, decimals)
	case interval:
		return number.Fixed(c.value, decimals) + " to " + number.Fixed(c.sd, decimals)
	case pValue:
		return number.P(c.value)
	}
	return number.Dash
}
