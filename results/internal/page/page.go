// Package page reads the CSV files of a page of results, and puts into the page what follows from them.
package page

import (
	"encoding/csv"
	"os"
	"strconv"
	"strings"
	"testing"
)

// Row is a row of a CSV file by its headings.
type Row map[string]string

// Records reads a CSV file with a header.
func Records(t *testing.T, path string) (out []Row) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, cells := range rows[1:] {
		r := Row{}
		for i, name := range rows[0] {
			r[name] = cells[i]
		}
		out = append(out, r)
	}
	return out
}

// Number returns a cell as a number.
func (r Row) Number(t *testing.T, name string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(r[name], 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return v
}

// Correct returns 1 for each validation puzzle of items.csv that the model of a row answered, else 0; nil where its
// answers were not kept.
func Correct(r Row, items []Row) (right []float64) {
	for i, answer := range r["answers_validation"] {
		right = append(right, 0)
		if string(answer) == items[i]["answer"] {
			right[i] = 1
		}
	}
	return right
}

// Replace puts a text between the page's markers of its name.
func Replace(t *testing.T, page, name, text string) string {
	t.Helper()
	begin, end := "<!-- generated: "+name+" -->\n", "<!-- end -->"
	before, rest, found := strings.Cut(page, begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("README.md has no marker %q with an end", begin)
	}
	return before + begin + text + end + after
}

// Table writes a table: headings between bars, and rows of cells between bars.
func Table(headings string, rows []string) string {
	return headings + "\n|" + strings.Repeat("---|", strings.Count(headings, "|")-1) + "\n" +
		strings.Join(rows, "\n") + "\n"
}
