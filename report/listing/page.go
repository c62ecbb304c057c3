package listing

import (
	"slices"

	"torchpe/report/cohort"
	"torchpe/report/document"
)

// WritePage writes an averaged list to a directory: index.html with the table and the curves, each
// of which has files of its own.
func (l *List) WritePage(dir string) error {
	curves, err := l.curves()
	if err != nil {
		return err
	}
	d, err := document.Open(dir, "Comparison of runs")
	if err != nil {
		return err
	}
	t := l.Table()
	t.Title = "Configurations: mean ± SD over seeds"
	items := []document.Item{{ID: "runs", Section: "Runs", Title: t.Title,
		Tables: []document.Named{{Name: "runs", Table: t}}}}
	caption := "Mean over the seeds of a configuration, where all of them have a record; band: least and greatest."
	hasStopped := func(r Row) bool { return r.model.HasStopped() }
	if slices.ContainsFunc(l.Rows, func(r Row) bool { return slices.ContainsFunc(r.models, hasStopped) }) {
		caption += " " + cohort.StoppedNote
	}
	for _, c := range curves {
		items = append(items, document.Item{ID: c.name, Section: "Curves", Title: c.title,
			Caption: caption,
			Figure:  c.figure, Undrawn: c.undrawn, Tables: []document.Named{{Name: c.name, Table: c.numbers}}})
	}
	for _, item := range items {
		if _, err := d.Add(item); err != nil {
			return err
		}
	}
	return d.Close()
}
