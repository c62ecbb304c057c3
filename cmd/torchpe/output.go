package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/tw"
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

// printTable prints rows under a header that is left as it is written.
func printTable(w io.Writer, head []string, rows [][]string) error {
	t := tablewriter.NewTable(w, tablewriter.WithHeaderAutoFormat(tw.Off), tablewriter.WithHeaderAlignment(tw.AlignLeft))
	t.Header(head)
	if err := t.Bulk(rows); err != nil {
		return err
	}
	return t.Render()
}

// printJSON prints v indented.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
