package paper

import (
	"fmt"

	"torchpe/internal/paper"
	"torchpe/internal/stats"
	"torchpe/report/runs"
	"torchpe/report/table"
)

// nmarError sets the test errors on the simulated network beside the printed one: by encoding,
// those of predictions that need no training, and whether the encodings differ.
func (s *Study) nmarError(d *draft) error {
	models := trainedAt(s.NMAR, 0.5)
	s.missingMasked(d, "fig4", s.NMAR, 0.5)
	if len(models) == 0 {
		return nil
	}
	d.Caption = fmt.Sprintf(
		"Error on held-out time points of the simulated network, half of the nodes masked, %s: mean ± SD over seeds. "+
			"F: one-way analysis of variance over the encodings. The paper prints one error for all of its "+
			"models, and a test with n = 6 for each "+
			"encoding but without degrees of freedom; eight encodings have F(7, 40).", epochs(models))
	zscored := models[0].Run.Config.Masked.ZScore
	if zscored {
		d.Caption += " The series are z-scored here, so that these are shares of a node's variance: the " +
			"printed error is that of raw series."
	}
	t := nmarErrors(groups(models), zscored)
	t.Title = d.Title
	d.table("", t)
	return nil
}

// nmarErrors returns the table of errors with half of the nodes masked.
func nmarErrors(all []group, zscored bool) table.Table {
	const level = "0.50"
	t := table.Table{Columns: []table.Column{
		{Heading: "PE", Name: "pe"}, {Heading: "n", Name: "n"}, {Heading: "test MSE, 50 % masked",
			Name: "test_mse_50", Decimals: 4},
		{Heading: "less " + decimals(paper.NMARError, 3), Name: "difference", Decimals: 4}, {Heading: "F", Name: "f",
			Decimals: 2}, {Heading: "df", Name: "df"},
		{Heading: "p", Name: "p"},
	}}
	add := func(label string, n, error table.Cell, mean float64, test ...table.Cell) {
		row := table.Row{table.Text(label), n, error, table.Cell{}, table.Cell{}, table.Cell{}, table.Cell{}}
		if !zscored {
			row[3] = table.Number(mean - paper.NMARError)
		}
		copy(row[4:], test)
		t.Rows = append(t.Rows, row)
	}
	var pooled []float64
	var each [][]float64
	for _, g := range all {
		errors := finite(g.values(testMSE(level)))
		if len(errors) == 0 {
			continue
		}
		pooled, each = append(pooled, errors...), append(each, errors)
		add(g.Label, table.Count(len(errors)), table.MeanSD(stats.Mean(errors), stats.SD(errors)), stats.Mean(errors))
	}
	var test []table.Cell
	if f, err := stats.ANOVA(each...); err == nil { // one model of each encoding has none
		test = []table.Cell{table.Number(f.Statistic), table.Text(fmt.Sprintf("%g, %g", f.DF, f.DF2)), table.P(f.P)}
	}
	add("all", table.Count(len(pooled)), table.MeanSD(stats.Mean(pooled), stats.SD(pooled)),
		stats.Mean(pooled), test...)
	t.Rows = append(t.Rows, table.Row{table.Text("all, in the paper"), {},
		table.Number(paper.NMARError), {}, table.Number(paper.NMARF), {}, table.P(paper.NMARP)})
	for _, b := range []struct{ name, label string }{{"gaussian", "conditional Gaussian"},
		{"mean", "mean of the visible"}, {"zero", "zero"}} {
		if v, ok := all[0].Models[0].Run.Result.Baselines[b.name][level]; ok {
			add(b.label, table.Cell{}, table.Number(v), v)
		}
	}
	return t
}

// nodeOrder says in what order a run's models had the nodes that a figure orders by module.
func nodeOrder(r *runs.Run) string {
	if r.Config.Masked.NMAR.Order == "" {
		return "as in the data, so that a fixed line (1d-fixed) is modular without having learned it"
	}
	return fmt.Sprintf("for the models in an order drawn by data seed %d", r.Config.DataSeed)
}
