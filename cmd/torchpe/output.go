package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"

	"torchpe/report/table"
)

// share prints an accuracy with three decimals, or a dash where there is none.
func share(a float64) string {
	if math.IsNaN(a) {
		return "–"
	}
	return fmt.Sprintf("%.3f", a)
}

// orNaN returns an entry of m, or NaN where there is none.
func orNaN(m map[string]float64, key string) float64 {
	if v, ok := m[key]; ok {
		return v
	}
	return math.NaN()
}

// printTable prints rows of texts under their headings.
func printTable(w io.Writer, head []string, rows [][]string) error {
	var t table.Table
	for _, h := range head {
		t.Columns = append(t.Columns, table.Column{Heading: h, Align: table.AlignLeft})
	}
	for _, r := range rows {
		var cells table.Row
		for _, s := range r {
			cells = append(cells, table.Text(s))
		}
		t.Rows = append(t.Rows, cells)
	}
	return t.Terminal(w)
}

// printJSON prints v indented.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
