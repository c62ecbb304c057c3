package listing

import (
	"fmt"
	"slices"

	"torchpe/report/cohort"
	"torchpe/report/document"
	"torchpe/report/figure"
	"torchpe/report/table"
	"torchpe/train/runlog"
)

// maxLines is the largest number of lines in a figure.
const maxLines = 12

// curves draws each measure over the steps, one line per row of an averaged list.
func (l *List) curves() ([]document.Item, error) {
	var models []cohort.Model
	for _, r := range l.Rows {
		models = append(models, r.averaged()...)
	}
	records, err := cohort.RecordsBy(models, func(r runlog.Record) int { return r.Step })
	if err != nil {
		return nil, err
	}
	labels := l.lineLabels()
	var out []document.Item
	for _, c := range l.columns {
		if c.measure == "" {
			continue
		}
		var series []figure.LineSeries
		from := 0
		for i, r := range l.Rows {
			line := figure.LineSeries{Label: labels[i]}
			own := records[from : from+len(r.models)]
			from += len(r.models)
			line.X, line.Values = cohort.Course(r.averaged(), own, c.measure,
				func(rec runlog.Record) float64 { return rec.Measures.Get(c.measure) })
			if line.X != nil {
				series = append(series, line)
			}
		}
		out = append(out, drawCurves(c, series)...)
	}
	return out, nil
}

// averaged returns the models behind an averaged row.
func (r Row) averaged() (models []cohort.Model) {
	for _, m := range r.models {
		models = append(models, m.model)
	}
	return models
}

// drawCurves makes as many figures as the lines need.
func drawCurves(c column, series []figure.LineSeries) (out []document.Item) {
	for part := range slices.Chunk(series, maxLines) {
		out = append(out, composeLines(c, part)...)
	}
	for i := range out {
		if len(out) > 1 {
			out[i].ID += fmt.Sprintf("_%d", i+1)
			out[i].Title += fmt.Sprintf(" (%d of %d)", i+1, len(out))
		}
		out[i].Tables[0].Name = out[i].ID
	}
	return out
}

// composeLines draws lines in one figure, or in more if their labels do not fit; a line that does not fit alone
// stays undrawn.
func composeLines(c column, lines []figure.LineSeries) []document.Item {
	title := runlog.AxisTitle(c.measure)
	f, err := figure.Compose(figure.Page{Width: figure.PageWidth,
		Rows: []figure.Row{{Height: 3, Cells: []figure.Cell{{Panel: figure.Lines{
			XLabel: "Step", YLabel: title, Series: lines, Band: figure.BandMinMax,
		}}}}}})
	if err == nil || len(lines) == 1 {
		return []document.Item{{ID: c.Name, Section: "Curves", Title: title, Figure: f, Undrawn: err,
			Tables: []document.Named{{Table: lineNumbers(c, lines)}}}}
	}
	return append(composeLines(c, lines[:len(lines)/2]), composeLines(c, lines[len(lines)/2:])...)
}

// lineNumbers returns the numbers of a figure's lines, one row per model and step.
func lineNumbers(c column, series []figure.LineSeries) table.Table {
	t := table.Table{Columns: append(table.Columns("line", "model", "step"),
		table.Column{Heading: c.Heading, Name: c.Name})}
	for _, line := range series {
		for model, values := range line.Values {
			for i, v := range values {
				t.Rows = append(t.Rows, table.Row{table.Text(line.Label), table.Count(model + 1),
					table.Count(int(line.X[i])), table.Number(v)})
			}
		}
	}
	return t
}

// lineLabels names each row by its encoding, its run if several were given, and the settings in which it
// differs from others with the same name.
func (l *List) lineLabels() []string {
	labels := make([]string, len(l.Rows))
	for i, r := range l.Rows {
		labels[i] = r.values["label"].String()
		if slices.ContainsFunc(l.Rows, func(o Row) bool { return o.root != r.root }) {
			labels[i] = shortenName(r.values["run"].String()) + ": " + labels[i]
		}
	}
	for _, c := range l.columns {
		if !c.isSetting && !slices.Contains([]string{"task", "status", cohort.DataKey, cohort.WeightsKey}, c.Name) {
			continue
		}
		values := map[string][]string{} // by label so far
		for i, r := range l.Rows {
			if v := r.values[c.Name].String(); !slices.Contains(values[labels[i]], v) {
				values[labels[i]] = append(values[labels[i]], v)
			}
		}
		own := slices.Clone(labels)
		for i, r := range l.Rows {
			if v := r.values[c.Name].String(); len(values[labels[i]]) > 1 && v != "" {
				own[i] += ", " + c.Heading + " " + v
			}
		}
		labels = own
	}
	return labels
}

// shortenName keeps the end of a long name.
func shortenName(name string) string {
	const most = 24
	if runes := []rune(name); len(runes) > most {
		return "…" + string(runes[len(runes)-most+1:])
	}
	return name
}
