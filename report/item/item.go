// Package item holds what the reports share: the measures of models by name, and the layouts of their figures
// and tables. A report is a list of items; a Draft is an item in the making. Package cohort says which models
// exist, and which may be averaged.
package item

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"torchpe/report/cohort"
	"torchpe/report/document"
	"torchpe/report/figure"
	"torchpe/report/page"
	"torchpe/report/table"
)

// Draft is an item in the making.
type Draft struct {
	document.Item
	Groups []cohort.Group
	Texts  map[string]string // caption sentences about drawn panels, by name
	Marks  bool              // marks unfitted models: a star after the label, hollow dots

	partial []string // measures that only some models of a group have

	// Measure returns a measure of a model; Value if nil.
	Measure Measured
}

// Row adds a row of the panels that are not empty, if any. A panel of many named groups gets its own row, to
// leave space for the names.
func (d *Draft) Row(height float64, panels ...figure.Panel) {
	var rows [][]figure.Cell
	isFull := true // whether the last row is full
	for _, p := range panels {
		if isEmpty(p) {
			continue
		}
		isAlone := hasManyNames(p)
		if isFull || isAlone {
			rows = append(rows, nil)
		}
		isFull = isAlone
		rows[len(rows)-1] = append(rows[len(rows)-1], figure.Cell{Panel: p})
	}
	for _, cells := range rows {
		d.Panels = append(d.Panels, figure.Row{Height: height, Cells: cells})
	}
}

// hasManyNames reports whether a panel has more named groups than fit beside another panel. Numbers, such as σ,
// do not count as names: some may be left out.
func hasManyNames(p figure.Panel) bool {
	const most = 15
	boxes, _ := p.(figure.Boxes)
	names := 0
	for _, g := range boxes.Groups {
		if _, err := strconv.ParseFloat(strings.TrimSuffix(g.Label, "*"), 64); err != nil {
			names++
		}
	}
	return names > most
}

// isEmpty reports whether a panel has nothing to show.
func isEmpty(p figure.Panel) bool {
	switch p := p.(type) {
	case nil:
		return true
	case figure.Boxes:
		return p.Groups == nil
	case figure.Lines:
		return p.Series == nil
	case figure.Scatter:
		return p.Points == nil
	case figure.Matrix:
		return p.Values == nil
	case figure.Strip:
		return p.Groups == nil
	}
	return false
}

// Grid adds panels in rows of nearly the same length, at most most, the longer ones first.
func (d *Draft) Grid(height float64, most int, panels []figure.Panel) {
	rows := (len(panels) + most - 1) / most
	for i := range rows {
		end := func(row int) int { return (row*len(panels) + rows - 1) / rows }
		d.Row(height, panels[end(i):end(i+1)]...)
	}
}

// AddTable adds a table under the item's own name with a suffix, which may be empty.
func (d *Draft) AddTable(suffix string, t table.Table) {
	d.Tables = append(d.Tables, document.Named{Name: d.ID + suffix, Table: t})
}

// Lacks notes a result that is missing from the runs, and the command that makes it.
func (d *Draft) Lacks(command, format string, args ...any) {
	m := page.Result{What: fmt.Sprintf(format, args...), Command: command}
	if !slices.Contains(d.Missing, m) {
		d.Missing = append(d.Missing, m)
	}
}

// Finish draws the panels and returns the item.
func (d *Draft) Finish() document.Item {
	if d.partial != nil {
		d.Caption += fmt.Sprintf(" Means over fewer models, as others lack the number or took it otherwise: %s.",
			strings.Join(d.partial, "; "))
	}
	if d.Panels == nil {
		return d.Item
	}
	on := figure.Page{Width: figure.PageWidth, GroupNames: d.Legend}
	if d.isNarrow() {
		on.Width = figure.ColumnWidth
		if d.Compose(on); d.Undrawn == nil {
			return d.Item
		}
		on.Width = figure.PageWidth // for its wide legend
	}
	d.Compose(on)
	return d.Item
}

// isNarrow reports whether the figure is one column of square panels, which would leave half a page blank.
func (d *Draft) isNarrow() bool {
	for _, row := range d.Panels {
		switch row.Cells[0].Panel.(type) {
		case figure.Map, figure.Matrix:
		default:
			return false
		}
		if len(row.Cells) > 1 {
			return false
		}
	}
	return true
}
