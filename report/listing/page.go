package listing

import (
	"torchpe/report/cohort"
	"torchpe/report/document"
	"torchpe/report/item"
)

// WritePage writes an averaged list to a directory: index.html with the table and the curves, and files for
// each of them.
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
	runs := document.Item{ID: "runs", Section: "Runs", Title: t.Title,
		Tables: []document.Named{{Name: "runs", Table: t}}}
	caption := "Mean over the seeds of a configuration, if all have a record; band: smallest to largest."
	var models []cohort.Model
	for _, r := range l.Rows {
		models = append(models, r.averaged()...)
	}
	caption += item.StoppedNote(models)
	for i := range curves {
		curves[i].Caption = caption
	}
	for _, item := range append([]document.Item{runs}, curves...) {
		if _, err := d.Add(item); err != nil {
			return err
		}
	}
	return d.Close()
}
