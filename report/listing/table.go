package listing

import (
	"torchpe/report/table"
	"torchpe/train/runlog"
)

// Table returns the list as a table.
func (l *List) Table() table.Table {
	t := table.Table{Note: l.note}
	var tasks runlog.Task
	for _, r := range l.Rows {
		tasks |= r.model.Run.Config.Facts().Measures
	}
	for _, c := range l.columns {
		column := table.Column{Heading: c.Heading, Name: c.Name, Unit: c.Unit, DropPriority: c.DropPriority,
			Decimals: max(0, c.Decimals)}
		if c.measure != "" {
			column.Heading = runlog.HeadingIn(tasks, c.measure)
		}
		if c.Decimals == fromValues {
			for _, r := range l.Rows {
				column.Decimals = max(column.Decimals, r.values[c.Name].Decimals())
			}
		}
		t.Columns = append(t.Columns, column)
	}
	for _, r := range l.Rows {
		row := make(table.Row, len(l.columns))
		for j, c := range l.columns {
			row[j] = r.values[c.Name]
		}
		t.Rows = append(t.Rows, row)
	}
	return t.Uniform()
}
