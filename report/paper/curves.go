package paper

import (
	"maps"
	"math"
	"slices"

	"torchpe/report/figure"
	"torchpe/report/runs"
	"torchpe/report/table"
	"torchpe/train/runlog"
)

// courses returns a measure of each group's models over training, a line a group, and the table of
// all of it.
func courses(all []group, x func(runlog.Record) int, xName string,
	of map[string]func(runlog.Record) float64) (map[string][]figure.LineSeries, table.Table, error) {
	names := slices.Sorted(maps.Keys(of))
	lines := map[string][]figure.LineSeries{}
	t := table.Table{Columns: []table.Column{{Heading: "PE", Name: "pe"},
		{Heading: "seed", Name: "seed"}, {Heading: xName, Name: xName}}}
	for _, name := range names {
		t.Columns = append(t.Columns, table.Column{Heading: name, Name: name, Decimals: 4})
	}
	for _, g := range all {
		read, at, err := recordsOf(g, x)
		if err != nil {
			return nil, t, err
		}
		for _, name := range names {
			line := figure.LineSeries{Label: g.name(), ColorOf: g.Label, X: at}
			any := false
			for k, own := range read {
				values := runs.Curve(at, runs.Measured(own, of[name]), g.Models[k].HasStopped())
				line.Values = append(line.Values, values)
				any = any || slices.ContainsFunc(values, func(v float64) bool { return !math.IsNaN(v) })
			}
			if any {
				lines[name] = append(lines[name], line)
			}
		}
		for i, own := range read {
			for _, step := range slices.Sorted(maps.Keys(own)) {
				row := table.Row{table.Text(g.Label), table.Count(int(g.Models[i].Member.Seed)), table.Count(step)}
				for _, name := range names {
					row = append(row, table.Number(of[name](own[step])))
				}
				t.Rows = append(t.Rows, row)
			}
		}
	}
	return lines, t, nil
}

// recordsOf returns the records of each model of a group by x, and all x.
func recordsOf(g group, x func(runlog.Record) int) ([]map[int]runlog.Record, []float64, error) {
	var models []runs.Model
	for _, m := range g.Models {
		models = append(models, m.Model)
	}
	return runs.RecordsBy(models, x)
}

// stoppedNote returns runs.StoppedNote for a caption, where a model has stopped.
func stoppedNote(models []Model) string {
	if slices.ContainsFunc(models, func(m Model) bool { return m.HasStopped() }) {
		return " " + runs.StoppedNote
	}
	return ""
}

// sortedRecords returns records by their steps.
func sortedRecords(of map[int]runlog.Record) []runlog.Record {
	var out []runlog.Record
	for _, step := range slices.Sorted(maps.Keys(of)) {
		out = append(out, of[step])
	}
	return out
}

func byEpoch(r runlog.Record) int { return r.Epoch }
func byStep(r runlog.Record) int  { return r.Step }

// exemplars returns, of groups by sigma, those nearest to a small, a middle and a large one of the
// paper's.
func exemplars(all []group) []group {
	var out []group
	for _, want := range []float64{0.2, 1, 2} {
		best := -1
		for i, g := range all {
			if best < 0 || math.Abs(g.Sigma-want) < math.Abs(all[best].Sigma-want) {
				best = i
			}
		}
		if best >= 0 && !slices.ContainsFunc(out, func(g group) bool { return g.Sigma == all[best].Sigma }) {
			out = append(out, all[best])
		}
	}
	return out
}
