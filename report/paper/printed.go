package paper

import (
	_ "embed" // the printed numbers
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"

	"torchpe/report/stats"
)

// printedCSV holds the numbers of the paper's Table 1 and Tables A2 to A6 (Ito et al., arXiv 2406.08272), each over 15 seeds.
//
//go:embed printed.csv
var printedCSV string

// printedN is how many models a printed number is over.
const printedN = 15

// Printed is a number of the paper.
type Printed struct {
	Table    string // 1, A2, ... A6
	PE       string // as runs.Label has it
	Quantity string // validation or train (accuracy), cosine (attention), adam or sgd (validation accuracy)
	stats.Summary
}

// PrintedNumbers returns the numbers of the paper's tables, in their order.
func PrintedNumbers() ([]Printed, error) {
	rows, err := csv.NewReader(strings.NewReader(printedCSV)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("printed numbers: %w", err)
	}
	var out []Printed
	for i, row := range rows[1:] {
		p := Printed{Table: row[0], PE: row[1], Quantity: row[2], Summary: stats.Summary{N: printedN}}
		var errMean, errSD error
		p.Mean, errMean = strconv.ParseFloat(row[3], 64)
		p.SD, errSD = strconv.ParseFloat(row[4], 64)
		if errMean != nil || errSD != nil {
			return nil, fmt.Errorf("printed numbers, line %d: %v", i+2, row)
		}
		out = append(out, p)
	}
	return out, nil
}

// printedTable returns the numbers of one table by encoding and quantity, and its encodings in their order.
func printedTable(table string) (numbers map[[2]string]stats.Summary, labels []string, err error) {
	all, err := PrintedNumbers()
	if err != nil {
		return nil, nil, err
	}
	numbers = map[[2]string]stats.Summary{}
	for _, p := range all {
		if p.Table != table {
			continue
		}
		if len(labels) == 0 || labels[len(labels)-1] != p.PE {
			labels = append(labels, p.PE)
		}
		numbers[[2]string{p.PE, p.Quantity}] = p.Summary
	}
	return numbers, labels, nil
}
