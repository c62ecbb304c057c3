package analysis

import (
	"fmt"
	"strconv"

	"torchpe/data/array/arrayfile"
)

// numberedNames is a note where names of rows are numbers, but do not count the rows: it may be a
// column of data, in quotes.
func numberedNames(a arrayfile.Array) string {
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
	return fmt.Sprintf("%s: the first column (%s...) is taken as names of the rows, not as "+
		"numbers: take off its quotes, or head it otherwise (x1), if it is data", a.Source, a.Rows[0])
}
