package own

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"torchpe/internal/number"
	"torchpe/report/document"
	"torchpe/report/figure"
	"torchpe/report/runs"
	"torchpe/report/table"
	"torchpe/train/runlog"
)

// The sections of a report, in order.
const (
	errorsSection    = "Errors"
	positionsSection = "Learned positions"
	attentionSection = "Attention"
	runsSection      = "Runs"
)

// Heights of rows of panels, in inches.
const (
	plotHeight = 2.3
	mapHeight  = 2.6
)

// baselineNames are the names of the errors without a model, best first.
var baselineNames = []struct{ key, name string }{
	{"gaussian", "conditional Gaussian"}, {"mean", "mean of the visible"}, {"zero", "zero"}}

// levels returns the shares of tokens masked in tests, in order, and of these the one nearest to
// that of training.
func (s *Study) levels() (all []string, main string) {
	r := s.groups[0].models[0].Run
	return slices.Sorted(maps.Keys(r.Result.Baselines["zero"])), r.Config.Masked.MainTest()
}

// percent writes "0.50" as "50 %", which does not break.
func percent(level string) string {
	v, _ := strconv.ParseFloat(level, 64)
	return number.Percent(v)
}

func (s *Study) baseline(key, level string) float64 {
	if v, ok := s.groups[0].models[0].Run.Result.Baselines[key][level]; ok {
		return v
	}
	return math.NaN()
}

// references are the baselines that a model should beat.
func (s *Study) references(level string) (out []figure.Reference) {
	for _, b := range baselineNames[:2] {
		if v := s.baseline(b.key, level); !math.IsNaN(v) {
			out = append(out, figure.Reference{Label: b.name, Y: v})
		}
	}
	return out
}

// values returns a measure of each model of a group.
func (g group) values(of func(runs.Model) float64) []float64 {
	var out []float64
	for _, m := range g.models {
		out = append(out, of(m))
	}
	return out
}

// hasStopped reports whether a model of the group has stopped at its criterion.
func (g group) hasStopped() bool { return slices.ContainsFunc(g.models, runs.Model.HasStopped) }

// steps returns the number of training steps of the group's models, or their range.
func (g group) steps() table.Cell {
	steps := g.values(func(m runs.Model) float64 { return float64(m.Result.Steps) })
	least, most := int(slices.Min(steps)), int(slices.Max(steps))
	if least == most {
		return table.Count(least)
	}
	return table.Text(fmt.Sprintf("%d to %d", least, most))
}

func testError(level string) func(runs.Model) float64 {
	return func(m runs.Model) float64 { return runs.TestMSE(m.Result.MaskedMeasures, level) }
}

func trainError(m runs.Model) float64 { return runs.TrainMSE(m.Result.MaskedMeasures) }
func modularity(m runs.Model) float64 { return runs.Modularity(m.Result.MaskedMeasures) }
func clustering(m runs.Model) float64 { return runs.Clustering(m.Result.MaskedMeasures) }

// errors draws the course of training and the errors at its end, beside the baselines.
func (s *Study) errors() (document.Item, error) {
	_, level := s.levels()
	item := document.Item{ID: "errors", Section: errorsSection, Title: "Errors over training and at its end"}
	kinds := []struct {
		title string
		of    func(runlog.Record) float64
	}{
		{"Training", func(r runlog.Record) float64 { return runs.TrainMSE(r.MaskedMeasures) }},
		{"Test, " + percent(level) + " masked",
			func(r runlog.Record) float64 { return runs.TestMSE(r.MaskedMeasures, level) }},
	}
	numbers := table.Table{Columns: []table.Column{{Heading: "PE", Name: "pe"}, {Heading: "seed", Name: "seed"},
		{Heading: "step", Name: "step"}, {Heading: "train MSE", Name: "train_mse", Decimals: 4},
		{Heading: "test MSE", Name: "test_mse", Decimals: 4}}}
	courses := make([]figure.Lines, len(kinds))
	for _, g := range s.groups {
		read, steps, err := runs.RecordsBy(g.models, byStep)
		if err != nil {
			return item, err
		}
		for k, kind := range kinds {
			if line, ok := lineOf(g, read, steps, kind.of); ok {
				line.Label = g.label
				courses[k].Series = append(courses[k].Series, line)
			}
		}
		for i, own := range read {
			for _, step := range slices.Sorted(maps.Keys(own)) {
				numbers.Rows = append(numbers.Rows, table.Row{table.Text(g.label),
					table.Text(strconv.FormatUint(g.models[i].Member.Seed, 10)), table.Count(step),
					table.Number(kinds[0].of(own[step])), table.Number(kinds[1].of(own[step]))})
			}
		}
	}
	var cells []figure.Cell
	var drawn []*figure.Lines
	for k := range courses {
		c := &courses[k]
		c.Title, c.XLabel, c.YLabel, c.Band = kinds[k].title, "Step", "MSE", figure.BandMinMax
		if c.References = s.references(level); c.Series != nil {
			drawn, cells = append(drawn, c), append(cells, figure.Cell{Panel: c})
		}
	}
	figure.ShareY(drawn...)
	if cells != nil {
		item.Panels = append(item.Panels, figure.Row{Height: plotHeight, Cells: cells})
	}
	if end := s.finalErrors(level); end.Groups != nil {
		item.Panels = append(item.Panels, figure.Row{Height: plotHeight, Cells: []figure.Cell{{Panel: end}}})
	}
	item.Caption = fmt.Sprintf("Mean squared error over masked tokens, in units of the data as they are trained on; "+
		"a dot or line a seed, bands from the least to the greatest. Dashed: errors without a model under the same "+
		"masks, the conditional Gaussian (the best linear prediction) and a regression on the mean of the "+
		"visible tokens. Trained with %.0f %% masked.", 100*s.groups[0].models[0].Run.Config.Masked.Level)
	if slices.ContainsFunc(s.groups, group.hasStopped) {
		item.Caption += " " + runs.StoppedNote
	}
	item.Tables = []document.Named{{Name: "errors", Table: numbers}}
	s.compose(&item)
	return item, nil
}

// finalErrors returns a panel of the test errors at the end of training.
func (s *Study) finalErrors(level string) figure.Boxes {
	end := figure.Boxes{Title: "Test error after training, " + percent(level) + " masked", YLabel: "MSE",
		References: s.references(level)}
	for _, g := range s.groups {
		if values := g.values(testError(level)); hasNumber(values) {
			end.Groups = append(end.Groups, figure.Group{Label: g.label, Values: values})
		}
	}
	return end
}

// hasNumber reports whether a number is among values.
func hasNumber(values []float64) bool {
	return slices.ContainsFunc(values, func(v float64) bool { return !math.IsNaN(v) })
}

func byStep(r runlog.Record) int { return r.Step }

// lineOf returns a measure of a group's models over training from their records by step; ok is false
// where there is no number.
func lineOf(g group, read []map[int]runlog.Record, steps []float64,
	of func(runlog.Record) float64) (line figure.LineSeries, ok bool) {
	line.X = steps
	for i, own := range read {
		values := runs.Curve(steps, runs.Measured(own, of), g.models[i].HasStopped())
		ok = ok || hasNumber(values)
		line.Values = append(line.Values, values)
	}
	return line, ok
}

// errorTable lists the errors by encoding, with the baselines below.
func (s *Study) errorTable() document.Item {
	levels, _ := s.levels()
	t := table.Table{Title: "Errors and network scores by encoding", Columns: []table.Column{
		{Heading: "encoding", Name: "encoding"}, {Heading: "n", Name: "n"}, {Heading: "steps", Name: "steps"},
		{Heading: "train MSE", Name: "train_mse", Decimals: 3}}}
	measures := []func(runs.Model) float64{trainError}
	for _, level := range levels {
		t.Columns = append(t.Columns, table.Column{Heading: "test MSE, " + percent(level),
			Name: "test_mse_" + strings.TrimPrefix(level, "0."), Decimals: 3})
		measures = append(measures, testError(level))
	}
	if slices.ContainsFunc(s.groups, func(g group) bool { return hasNumber(g.values(modularity)) }) {
		t.Columns = append(t.Columns, table.Column{Heading: "modularity Q", Name: "modularity", Decimals: 3},
			table.Column{Heading: "clustering C", Name: "clustering", Decimals: 3})
		measures = append(measures, modularity, clustering)
	}
	for _, g := range s.groups {
		row := table.Row{table.Text(g.label), table.Count(len(g.models)), g.steps()}
		for _, of := range measures {
			row = append(row, table.Mean(g.values(of)))
		}
		t.Rows = append(t.Rows, row)
	}
	for _, b := range baselineNames {
		row := table.Row{table.Text("baseline: " + b.name), {}, {}, {}}
		for _, level := range levels {
			row = append(row, table.Number(s.baseline(b.key, level)))
		}
		t.Rows = append(t.Rows, append(row, make(table.Row, len(t.Columns)-len(row))...))
	}
	return document.Item{ID: "table_errors", Section: errorsSection, Title: t.Title,
		Caption: "Mean ± SD over n seeds; the share is of tokens masked in the test.",
		Tables:  []document.Named{{Name: "table_errors", Table: t}}}
}
