// Package paper holds the facts of the paper (Ito et al., arXiv 2406.08272): seeds, encodings, grids of
// σ and printed numbers.
package paper

import (
	_ "embed" // the printed tables
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Seeds returns the 15 seeds of the published runs.
func Seeds() []uint64 {
	return []uint64{2235, 6312, 6068, 9742, 8880, 2197, 669, 6256, 3309, 2541, 8643, 7785, 195, 6914, 29}
}

// The encodings of Table 1 that the text compares.
const (
	Learned = "learn-0.2" // the only learned encoding of Table 1
	Truth   = "2d-fixed"  // encodes the true positions
)

// Encodings returns the eight encodings of Table 1 in its order, from 2d-fixed and learn-0.2 to
// c-nope.
func Encodings() []string {
	_, encodings := Table("1")
	return encodings
}

// MaskedEncodings returns the eight encodings of masked prediction.
func MaskedEncodings() []string {
	return []string{"1d-fixed", "relative", "rope", "random", "learn-0.1", "learn-0.2", "learn-1.0", "learn-2.0"}
}

// Sigmas returns the grid of Figure 2 and Tables A2, A3 and A5: 0.1 to 2 in tenths.
func Sigmas() []float64 {
	_, encodings := Table("A2")
	return sigmasOf(encodings)
}

// OptimizerSigmas returns the σ of Figure A7 and Table A4, the study of optimizers.
func OptimizerSigmas() []float64 {
	_, encodings := Table("A4")
	return sigmasOf(encodings)
}

// MaskedSigmas returns the σ of masked prediction.
func MaskedSigmas() []float64 { return sigmasOf(MaskedEncodings()) }

// sigmasOf returns the σ of the learned encodings.
func sigmasOf(encodings []string) (sigmas []float64) {
	for _, pe := range encodings {
		if sigma, isLearned := strings.CutPrefix(pe, "learn-"); isLearned {
			sigmas = append(sigmas, parse(sigma))
		}
	}
	return sigmas
}

//go:embed printed.csv
var printedCSV string

// Number is a cell of a printed table: a mean and SD over one model for each of Seeds.
type Number struct {
	Table    string // 1, A2, ... A6
	PE       string // 2d-fixed, learn-0.2
	Quantity string // validation or train (accuracy), cosine (attention), adam or sgd (validation accuracy)
	Mean, SD float64
}

// printedNumbers returns the numbers of Table 1 and Tables A2 to A6 in their order.
func printedNumbers() []Number {
	rows, err := csv.NewReader(strings.NewReader(printedCSV)).ReadAll()
	if err != nil {
		panic(fmt.Sprintf("printed.csv: %v", err)) // a constant of this program
	}
	numbers := make([]Number, 0, len(rows))
	for _, row := range rows[1:] {
		numbers = append(numbers, Number{Table: row[0], PE: row[1], Quantity: row[2],
			Mean: parse(row[3]), SD: parse(row[4])})
	}
	return numbers
}

// Table returns the numbers of a table by encoding and quantity, and its encodings in their order.
func Table(name string) (numbers map[[2]string]Number, encodings []string) {
	numbers = map[[2]string]Number{}
	for _, n := range printedNumbers() {
		if n.Table == name {
			numbers[[2]string{n.PE, n.Quantity}] = n
			if !slices.Contains(encodings, n.PE) {
				encodings = append(encodings, n.PE)
			}
		}
	}
	return numbers, encodings
}

// parse reads a number of printed.csv.
func parse(text string) float64 {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic(fmt.Sprintf("printed.csv: %v", err)) // a constant of this program
	}
	return v
}
