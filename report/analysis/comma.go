package analysis

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// decimalComma matches what a decimal comma makes of a number: 1,5 or 1.234,5 or -,5e3.
var decimalComma = regexp.MustCompile(`^[+-]?(\d{1,3}([.' ]\d{3})+|\d*),\d+([eE][+-]?\d+)?$`)

// refuseCommas returns an error where a name of a text table is a number with a decimal comma: quoted, it would silently be taken as
// a name, and a column or row of numbers be lost.
func refuseCommas(file string, names ...[]string) error {
	for _, name := range slices.Concat(names...) {
		if text := strings.TrimSpace(name); decimalComma.MatchString(text) {
			return fmt.Errorf("%s%s: %q looks like a number with a decimal comma: write numbers with a point, and names that are no numbers", file, place(file, text), text)
		}
	}
	return nil
}

// place says where a text file has a cell first, in quotes or without: ": line 3, column 5", counted in bytes from 1.
func place(file, cell string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	for _, pattern := range []string{`"\s*` + regexp.QuoteMeta(cell) + `\s*"`, `(?:^|[^\d.,])` + regexp.QuoteMeta(cell) + `(?:[^\d,]|$)`} {
		if at := regexp.MustCompile(pattern).FindIndex(text); at != nil {
			start := at[0] + bytes.Index(text[at[0]:at[1]], []byte(cell))
			return fmt.Sprintf(": line %d, column %d", 1+bytes.Count(text[:start], []byte("\n")), start-bytes.LastIndexByte(text[:start], '\n'))
		}
	}
	return ""
}

// numberedNames is a note where names of rows are numbers, but do not count the rows: it may be a column of data, in quotes.
func numberedNames(a Array) string {
	counts := true
	for i, name := range a.Rows {
		v, err := strconv.ParseFloat(name, 64)
		if err != nil {
			return ""
		}
		counts = counts && (v == float64(i) || v == float64(i+1))
	}
	if len(a.Rows) == 0 || counts {
		return ""
	}
	return fmt.Sprintf("%s: the first column (%s...) is taken as names of the rows, not as numbers: take off its quotes if it is data", a.Source, a.Rows[0])
}
