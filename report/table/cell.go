package table

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"torchpe/internal/stats"
)

// Cell is the value at one place of a table. The zero Cell is a missing value.
type Cell struct {
	kind      kind
	text      string
	value, sd float64
	count     int
}

type kind uint8

const (
	missing kind = iota
	text
	number
	count
	meanSD
	pValue
)

// dash stands for a missing value.
const dash = "–"

// Text returns a cell of text.
func Text(s string) Cell { return Cell{kind: text, text: s} }

// Number returns a cell with a number. NaN is a missing value.
func Number(v float64) Cell { return Cell{kind: number, value: v} }

// Count returns a cell with an integer.
func Count(n int) Cell { return Cell{kind: count, count: n} }

// MeanSD returns a cell with a mean and a standard deviation. A missing one is NaN. In CSV and JSON its
// column becomes two columns, name and name_sd.
func MeanSD(mean, sd float64) Cell { return Cell{kind: meanSD, value: mean, sd: sd} }

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

// P returns a cell with a p-value from 0 to 1, or NaN for a missing one. Tables for people show three
// decimals without the leading zero, and "< .001" for smaller values (APA style, 7th edition, section
// 6.36).
func P(p float64) Cell { return Cell{kind: pValue, value: p} }

func (c Cell) check() error {
	switch {
	case c.kind == pValue && (c.value < 0 || c.value > 1):
		return fmt.Errorf("p-value %g is outside 0 to 1", c.value)
	case c.kind == meanSD && c.sd < 0:
		return fmt.Errorf("standard deviation %g is negative", c.sd)
	case c.kind > pValue:
		return errors.New("unknown kind of cell")
	}
	return nil
}

// shown formats the cell for people.
func (c Cell) shown(decimals int) string {
	switch c.kind {
	case text:
		return c.text
	case number:
		return rounded(c.value, decimals)
	case count:
		return strings.Replace(strconv.Itoa(c.count), "-", "−", 1)
	case meanSD:
		if math.IsNaN(c.value) && math.IsNaN(c.sd) {
			return dash
		}
		return rounded(c.value, decimals) + " ± " + rounded(c.sd, decimals)
	case pValue:
		if c.value < 0.001 {
			return "< .001"
		}
		return strings.TrimPrefix(rounded(c.value, 3), "0")
	}
	return dash
}

// hugeNumber is the smallest magnitude shown with an exponent.
const hugeNumber = 1e15

// rounded formats v with the given number of decimals and a minus sign instead of a hyphen.
func rounded(v float64, decimals int) string {
	switch {
	case math.IsNaN(v):
		return dash
	case math.IsInf(v, 1):
		return "∞"
	case math.IsInf(v, -1):
		return "−∞"
	}
	format := byte('f')
	if math.Abs(v) >= hugeNumber {
		format = 'e'
	}
	s := strconv.FormatFloat(v, format, decimals, 64)
	if strings.Trim(s, "-0.") == "" {
		s = strings.TrimPrefix(s, "-") // -0.0004 rounds to 0.000, not to -0.000
	}
	return strings.ReplaceAll(s, "-", "−")
}

// exact formats v with the fewest digits that read back as v. NaN gives an empty string.
func exact(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	format := byte('f')
	if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e21) { // as encoding/json writes numbers
		format = 'e'
	}
	return strconv.FormatFloat(v, format, -1, 64)
}
