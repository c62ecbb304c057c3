package series

import (
	"slices"
	"strings"

	"torchpe/data/array/text"
)

// indexNames are those that programs give a column which counts rows or says their time; pandas
// writes the first.
var indexNames = []string{"unnamed: 0", "index", "idx", "time", "time_s", "t", "frame", "frames",
	"sample", "tr", "volume"}

// indexColumn returns the name of the first column of a table with names where it seems to count
// frames, else nothing: it rises throughout, and is called like an index, or goes from 0 or 1 by
// steps of 1. Such a column can be a token all the same.
func indexColumn(t text.Table) string {
	rows, columns := t.Shape[0], t.Shape[1]
	if rows < 3 || columns < 2 {
		return ""
	}
	counts := t.Data[0] == 0 || t.Data[0] == 1
	for i := 1; i < rows; i++ {
		step := t.Data[i*columns] - t.Data[(i-1)*columns]
		if !(step > 0) {
			return ""
		}
		counts = counts && step == 1
	}
	name := t.Columns[0]
	if !counts && !slices.Contains(indexNames, strings.ToLower(strings.TrimSpace(name))) {
		return ""
	}
	return name
}
