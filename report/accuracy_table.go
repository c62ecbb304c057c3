package report

import (
	"errors"
	"fmt"

	"torchpe/report/table"
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
	heading, name string
	value         func(AccuracyRow) float64
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

// AccuracyTable is the rows, in their order, as a table, whose title and note are left to the caller.
func AccuracyTable(rows []AccuracyRow) (table.Table, error) {
	if err := checkAccuracyRows(rows); err != nil {
		return table.Table{}, err
	}
	t := table.Table{Columns: []table.Column{{Heading: "PE", Name: "pe"}, {Heading: "n", Name: "members"}}}
	for _, c := range accuracyColumns {
		t.Columns = append(t.Columns, table.Column{Heading: c.heading, Name: c.name, Decimals: 3})
	}
	for _, r := range rows {
		row := table.Row{table.Text(r.PE), table.Count(r.Members)}
		for _, c := range accuracyColumns {
			row = append(row, table.Number(c.value(r)))
		}
		t.Rows = append(t.Rows, row)
	}
	return t, nil
}
