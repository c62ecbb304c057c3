package arrayfile

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"torchpe/data/array"
	"torchpe/data/array/text"
)

// inText reads a table. Its first column holds names of the rows if its heading says so, even if
// they are numbers. It is an error if another column has such a heading, or if rows and columns
// have the same names in different orders.
func inText(file string, header text.Choice) Array {
	t := array.Got(text.Read(file, text.Options{Header: header}))
	at := slices.IndexFunc(t.Columns, text.IsID)
	switch {
	case t.Rows != nil || len(t.Columns) < 2 || at < 0:
	case at > 0 && len(t.Columns) == t.Shape[0] && !isAxes(t.Columns): // tokens by tokens, one called No
	default:
		if i, why := notID(t.Data[at:], len(t.Columns)); why != "" {
			array.Failf("%s: the heading of its column %d, %q, is one of names of tokens, but "+
				"%v in row %d %s: correct it, or use another heading if it is data (x1)", file, at+1, t.Columns[at],
				t.Data[at+i*len(t.Columns)], i+1, why)
		}
		if at > 0 {
			array.Failf("%s: the heading of its column %d, %q, is one of names of tokens: put "+
				"it first, or use another heading if it is data (x1)", file, at+1, t.Columns[at])
		}
		t = array.Got(text.Read(file, text.Options{Header: text.Yes, RowNames: text.Yes}))
	}
	if slices.Equal(slices.Sorted(slices.Values(t.Rows)), slices.Sorted(slices.Values(t.Columns))) {
		for i, name := range t.Rows {
			if name != t.Columns[i] {
				array.Failf("%s: row %d is named %q but column %d %q: the rows and columns of a "+
					"matrix between tokens are the same tokens in the same order", file, i+1, name, i+1, t.Columns[i])
			}
		}
	}
	return Array{Array: t.Array, Rows: t.Rows, Columns: t.Columns}
}

// notID returns a number in the first column that is not a name, and the reason, or "" if all are
// whole and distinct.
func notID(data []float64, columns int) (row int, why string) {
	seen := map[float64]bool{}
	for i := 0; i < len(data); i += columns {
		switch v := data[i]; {
		case v != math.Trunc(v) || math.Abs(v) > 1<<53: // or NaN
			return i / columns, "is not a whole number"
		case seen[v]:
			return i / columns, "is also in a row above"
		}
		seen[data[i]] = true
	}
	return 0, ""
}

// Named uses the first column of a matrix as names of its rows if all tokens (nil: unknown) are
// among its numbers. It returns an error if the column may be names or data: distinct integers that
// count the rows, are all ten times as large as any other number, or have fractions beside them in
// half of the rows. Otherwise it returns a unchanged.
func (a Array) Named(tokens []string) (Array, error) {
	if len(a.Shape) != 2 || a.Rows != nil || a.Shape[1] < 2 || isAxes(a.Columns) {
		return a, nil
	}
	n, width := a.Shape[0], a.Shape[1]
	if _, why := notID(a.Data, width); why != "" ||
		slices.ContainsFunc(a.Data, func(v float64) bool { return v-v != 0 }) {
		return a, nil // callers report values that are not finite
	}
	rest, names := make([]float64, 0, n*(width-1)), make([]string, 0, n)
	fractions, counts := 0, n > 2 // rows with fractions
	least, most := math.Inf(1), 0.0
	for i := range n {
		row := a.Data[i*width : (i+1)*width]
		names, rest = append(names, strconv.FormatFloat(row[0], 'f', -1, 64)), append(rest, row[1:]...)
		if slices.ContainsFunc(row[1:], func(v float64) bool { return v != math.Trunc(v) }) {
			fractions++
		}
		least = min(least, row[0])
		for _, v := range row[1:] {
			most = max(most, math.Abs(v))
		}
		counts = counts && row[0] == a.Data[0]+float64(i) && (a.Data[0] == 0 || a.Data[0] == 1)
	}
	if HasAll(names, tokens) {
		a.Rows, a.Data, a.Shape = names, rest, []int{n, width - 1}
		if a.Columns != nil {
			a.Columns = a.Columns[1:]
		}
		return a, nil
	}
	if a.Data[0] >= 0 && n > 2 && (2*fractions >= n || counts || least > 10*most) {
		return a, fmt.Errorf("%s: its first column (%s, %s, ...) may be the tokens' names or numbers "+
			"of its own: give it as text with a header, whose first cell is id if it names them, x1 "+
			"(and x2 the next) if not", a.Source, names[0], names[1])
	}
	return a, nil
}

// HasAll reports whether there are tokens and each of them is among names. Integers are compared as
// numbers: 1.0 is 1.
func HasAll(names, tokens []string) bool {
	among := map[string]bool{}
	for _, name := range names {
		among[PlainNumber(name)] = true
	}
	return len(tokens) > 0 && !slices.ContainsFunc(tokens,
		func(t string) bool { return !among[PlainNumber(t)] })
}

// Twice returns the indexes of a name and of an earlier equal one; ok is false if all differ. Empty
// names count as different.
func Twice(names []string) (first, second int, ok bool) {
	place := make(map[string]int, len(names))
	for i, name := range names {
		if j, twice := place[name]; twice && name != "" {
			return j, i, true
		}
		place[name] = i
	}
	return 0, 0, false
}

// PlainNumber formats an integer with digits only, 1 for 1.0 and 01. Other text, and numbers that a
// float64 may round, are returned unchanged.
func PlainNumber(name string) string {
	name = strings.TrimSpace(name)
	v, err := text.Number(name)
	if err != nil || v != math.Trunc(v) || math.Abs(v) >= 1<<53 {
		return name
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// Numbering reports whether names are the numbers 0..N-1 or 1..N, and whether they come in order.
func Numbering(names []string) (counts, inOrder bool) {
	for first := range 2 {
		all, ordered := make([]string, len(names)), true
		for i, name := range names {
			all[i] = strconv.Itoa(first + i)
			ordered = ordered && PlainNumber(name) == all[i]
		}
		if HasAll(names, all) {
			return true, ordered
		}
	}
	return false, false
}

// isAxes reports whether columns are headed as axes or dimensions are: x,y or d1,d2 or row,column.
func isAxes(columns []string) bool {
	if len(columns) < 2 {
		return false
	}
	a, b := strings.ToLower(columns[0]), strings.ToLower(columns[1])
	if slices.Contains([]string{"row column", "row col", "column row", "col row", "r c", "c r",
		"frame row", "time row", "lat lon", "lon lat", "latitude longitude", "longitude latitude"},
		a+" "+b) {
		return true
	}
	if stem := strings.TrimRight(a, "0123456789"); stem != "" && stem != a {
		return stem == strings.TrimRight(b, "0123456789")
	}
	differ := 0
	for i := range min(len(a), len(b)) { // x (mm), y (mm)
		differ += max(int(a[i])-int(b[i]), int(b[i])-int(a[i]))
	}
	return len(a) == len(b) && differ == 1
}
