package train

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
)

// WriteCSV writes one row for each token: its name, if it has one, and its coordinates. --positions reads
// such files.
func (p TokenPositions) WriteCSV(w io.Writer) error {
	var head []string
	if p.Names != nil {
		head = append(head, "name")
	}
	for axis := range p.Coordinates[0] {
		head = append(head, fmt.Sprintf("x%d", axis+1))
	}
	rows := [][]string{head}
	for i, at := range p.Coordinates {
		var row []string
		if p.Names != nil {
			row = append(row, p.Names[i])
		}
		for _, v := range at {
			row = append(row, strconv.FormatFloat(v, 'g', -1, 64))
		}
		rows = append(rows, row)
	}
	return csv.NewWriter(w).WriteAll(rows)
}
