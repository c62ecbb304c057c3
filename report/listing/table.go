package listing

import (
	"io"

	"torchpe/internal/atomicfile"
	"torchpe/report/table"
)

// kindOf returns the kind that all values of a column have: whole numbers, numbers, or text where
// any is text.
func (l *List) kindOf(c column) kind {
	k := missing
	for _, r := range l.Rows {
		k = max(k, r.values[c.Name].kind)
	}
	return k
}

// Table returns the list as a table.
func (l *List) Table() table.Table {
	t := table.Table{Note: l.note}
	kinds := make([]kind, len(l.columns))
	for j, c := range l.columns {
		kinds[j] = l.kindOf(c)
		column := table.Column{Heading: c.Heading, Name: c.Name, Unit: c.Unit, DropPriority: c.DropPriority,
			Decimals: max(0, c.Decimals)}
		if c.Decimals == fromValues {
			for _, r := range l.Rows {
				column.Decimals = max(column.Decimals, r.values[c.Name].decimals())
			}
		}
		t.Columns = append(t.Columns, column)
	}
	for _, r := range l.Rows {
		row := make(table.Row, len(l.columns))
		for j, c := range l.columns {
			row[j] = r.values[c.Name].cell(kinds[j])
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// WriteCSV writes the list to a file, whole or not at all.
func (l *List) WriteCSV(path string) error {
	return atomicfile.Write(path, func(w io.Writer) error { return l.Table().CSV(w) })
}
