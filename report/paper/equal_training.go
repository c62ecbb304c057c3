package paper

import (
	"math"

	"torchpe/internal/stats"
	"torchpe/report/figure"
	"torchpe/report/table"
	"torchpe/train/runlog"
)

// trainingLevels are the training accuracies at which models are compared.
var trainingLevels = []float64{.3, .35, .4, .45, .5, .55, .6, .65, .7, .75, .8, .85, .9, .95, .99}

// atTraining returns the validation and IID accuracy of a model when its training accuracy first
// was at each level: between the record before and the first one at or above it, in proportion. NaN
// where it never was, or was already at the first record.
func atTraining(records []runlog.Record, levels []float64) (validation, iid []float64) {
	for _, level := range levels {
		v, i := math.NaN(), math.NaN()
		for k, r := range records {
			if !(r.TrainAccuracy >= level) {
				continue
			}
			if k > 0 {
				before := records[k-1]
				share := (level - before.TrainAccuracy) / (r.TrainAccuracy - before.TrainAccuracy)
				v = before.ValidationAccuracy + share*(r.ValidationAccuracy-before.ValidationAccuracy)
				i = before.IIDAccuracy + share*(r.IIDAccuracy-before.IIDAccuracy)
			}
			break
		}
		validation, iid = append(validation, v), append(iid, i)
	}
	return validation, iid
}

// equalTraining shows validation against training accuracy along training: a model that learns fast
// and one that generalises are told apart.
func (s *Study) equalTraining(d *draft) error {
	all := s.mainGroups()
	if len(all) == 0 {
		d.missing(s.command(s.onPuzzles("fig2")), "models on puzzles")
		return nil
	}
	t := table.Table{Title: "Accuracy when training accuracy was first at a level", Columns: []table.Column{
		{Heading: "PE", Name: "pe"}, {Heading: "training", Name: "train",
			Decimals: 2}, {Heading: "validation", Name: "validation", Decimals: 3},
		{Heading: "IID test", Name: "iid", Decimals: 3}, {Heading: "n", Name: "n"}, {Heading: "of", Name: "of"},
	}}
	done := map[string]bool{} // groups that the table has: learn-0.2 is in both parts
	for _, part := range []struct {
		title string
		of    []group
	}{{"Learned, by initial σ", learned(all)}, {"Common encodings", common(all)}} {
		var validation, iid []figure.LineSeries
		for _, g := range part.of {
			v, i, err := atTrainingOf(g)
			if err != nil {
				return err
			}
			if len(v.X) == 0 {
				continue
			}
			validation, iid = append(validation, v), append(iid, i)
			if done[g.Label] {
				continue
			}
			done[g.Label] = true
			for k, level := range v.X {
				own := finite(column(v.Values, k))
				t.Rows = append(t.Rows, table.Row{table.Text(g.Label), table.Number(level),
					table.MeanSD(stats.Mean(own), stats.SD(own)),
					table.MeanSD(stats.Mean(finite(column(i.Values, k))),
						stats.SD(finite(column(i.Values, k)))), table.Count(len(own)), table.Count(len(g.Models))})
			}
		}
		if validation == nil {
			continue
		}
		d.row(2.4, againstTraining(part.title, "Validation accuracy", validation),
			againstTraining(part.title+": held out, same kind", "IID test accuracy", iid))
	}
	if t.Rows == nil {
		d.missing(s.command(s.onPuzzles("fig2")),
			"models that were recorded while they learned their training puzzles")
		return nil
	}
	d.Caption = "Accuracy on validation puzzles, and on held-out puzzles of the training kind, when training " +
		"accuracy (the running mean of an epoch) was first at each level, between two records in proportion. " +
		"How long an encoding took does not matter here. A mean is over the models that came so far, whose " +
		"number the table has: the right end of a line may be of fewer models than its " +
		"left." + fitNote(modelsOf(all))
	d.table("", t)
	return nil
}

// atTrainingOf returns the two lines of a group over the levels that some model of it passed.
func atTrainingOf(g group) (validation, iid figure.LineSeries, err error) {
	records, _, err := recordsOf(g, byStep)
	if err != nil {
		return validation, iid, err
	}
	var v, i [][]float64
	for _, own := range records {
		a, b := atTraining(sortedRecords(own), trainingLevels)
		v, i = append(v, a), append(i, b)
	}
	validation, iid = figure.LineSeries{Label: g.name(), ColorOf: g.Label}, figure.LineSeries{
		Label: g.name(), ColorOf: g.Label}
	validation.Values, iid.Values = make([][]float64, len(v)), make([][]float64, len(v))
	for k, level := range trainingLevels {
		if len(finite(column(v, k))) == 0 {
			continue
		}
		validation.X, iid.X = append(validation.X, level), append(iid.X, level)
		for m := range v {
			validation.Values[m], iid.Values[m] = append(validation.Values[m],
				v[m][k]), append(iid.Values[m], i[m][k])
		}
	}
	return validation, iid, nil
}

// column returns the k-th value of each row.
func column(rows [][]float64, k int) []float64 {
	var out []float64
	for _, r := range rows {
		out = append(out, r[k])
	}
	return out
}

func againstTraining(title, yLabel string, series []figure.LineSeries) figure.Panel {
	return figure.Lines{Title: title, XLabel: "Training accuracy", YLabel: yLabel, Series: series,
		Band: figure.BandSD, Markers: true, YMin: 0, YMax: 1, References: chanceLine}
}
