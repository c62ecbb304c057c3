package report

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/tw"
)

// AccuracyRow is the final accuracy of one positional encoding on the Latin square task, as means over its members. All
// accuracies are fractions from 0 to 1; NaN is a number that is not there.
type AccuracyRow struct {
	PE         string
	Members    int
	Train      float64
	IIDTest    float64 // held-out puzzles of the training distribution
	Validation float64 // the 108 human puzzles, out of distribution

	// The validation puzzles by how many vectors their solution integrates.
	Vector1, Vector2, Vector3 float64
}

// accuracyColumn is one number of a row, with its heading for readers and its name for machines.
type accuracyColumn struct {
	heading, csv string
	value        func(AccuracyRow) float64
}

var accuracyColumns = []accuracyColumn{
	{"train", "train", func(r AccuracyRow) float64 { return r.Train }},
	{"IID test", "iid_test", func(r AccuracyRow) float64 { return r.IIDTest }},
	{"validation", "validation", func(r AccuracyRow) float64 { return r.Validation }},
	{"1-vector", "vector_1", func(r AccuracyRow) float64 { return r.Vector1 }},
	{"2-vector", "vector_2", func(r AccuracyRow) float64 { return r.Vector2 }},
	{"3-vector", "vector_3", func(r AccuracyRow) float64 { return r.Vector3 }},
}

func (r AccuracyRow) check() error {
	if r.PE == "" {
		return errors.New("a row has no name: set PE to its encoding")
	}
	if r.Members < 1 {
		return fmt.Errorf("row %q has %d members: it needs at least one", r.PE, r.Members)
	}
	for _, c := range accuracyColumns {
		if v := c.value(r); v < 0 || v > 1 {
			return fmt.Errorf("row %q: %s accuracy %g is outside 0 to 1: give a fraction, not a percentage", r.PE, c.heading, v)
		}
	}
	return nil
}

func checkAccuracyRows(rows []AccuracyRow) error {
	if len(rows) == 0 {
		return errors.New("accuracy table: no rows: give at least one")
	}
	for _, r := range rows {
		if err := r.check(); err != nil {
			return fmt.Errorf("accuracy table: %w", err)
		}
	}
	return nil
}

// AccuracyTable writes the rows, in their order, as a table for a terminal: three decimals, and – for what is missing.
func AccuracyTable(w io.Writer, rows []AccuracyRow) error {
	if err := checkAccuracyRows(rows); err != nil {
		return err
	}
	header := []string{"PE", "n"}
	align := tw.Alignment{tw.AlignLeft, tw.AlignRight}
	for _, c := range accuracyColumns {
		header = append(header, c.heading)
		align = append(align, tw.AlignRight)
	}
	var text bytes.Buffer // tablewriter drops errors of the writer it is given
	table := tablewriter.NewTable(&text,
		tablewriter.WithHeaderAutoFormat(tw.Off), // or σ becomes Σ and "IID test" is shouted
		tablewriter.WithHeaderAutoWrap(tw.WrapNone),
		tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithHeaderAlignmentConfig(tw.CellAlignment{PerColumn: align}),
		tablewriter.WithRowAlignmentConfig(tw.CellAlignment{PerColumn: align}),
	)
	table.Header(header)
	for _, r := range rows {
		cells := []string{r.PE, strconv.Itoa(r.Members)}
		for _, c := range accuracyColumns {
			cells = append(cells, threeDecimals(c.value(r)))
		}
		if err := table.Append(cells); err != nil {
			return fmt.Errorf("accuracy table, row %q: %w", r.PE, err)
		}
	}
	if err := table.Render(); err != nil {
		return fmt.Errorf("accuracy table: %w", err)
	}
	if _, err := w.Write(text.Bytes()); err != nil {
		return fmt.Errorf("accuracy table: %w", err)
	}
	return nil
}

func threeDecimals(v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	return strconv.FormatFloat(v, 'f', 3, 64)
}

// AccuracyCSV writes the rows as CSV (RFC 4180) with every digit, and an empty cell for what is missing.
func AccuracyCSV(w io.Writer, rows []AccuracyRow) error {
	if err := checkAccuracyRows(rows); err != nil {
		return err
	}
	out := csv.NewWriter(w)
	header := []string{"pe", "members"}
	for _, c := range accuracyColumns {
		header = append(header, c.csv)
	}
	out.Write(header) // a failed write comes back from out.Error
	for _, r := range rows {
		cells := []string{r.PE, strconv.Itoa(r.Members)}
		for _, c := range accuracyColumns {
			cell := ""
			if v := c.value(r); !math.IsNaN(v) {
				cell = strconv.FormatFloat(v, 'f', -1, 64)
			}
			cells = append(cells, cell)
		}
		out.Write(cells)
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("accuracy table as CSV: %w", err)
	}
	return nil
}
