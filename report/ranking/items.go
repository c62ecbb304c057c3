package ranking

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"torchpe/data/array/safetensors"
	"torchpe/internal/number"
	"torchpe/internal/stats"
	"torchpe/internal/wording"
	"torchpe/report/cohort"
	"torchpe/report/document"
	"torchpe/report/figure"
	"torchpe/report/item"
	"torchpe/report/table"
	"torchpe/train/runlog"
)

type spec = item.Spec[*Report, *item.Draft]

// add makes the items of all tasks and adds them to a document.
func (r *Report) add(to *document.Document) error {
	var all []spec
	for _, t := range r.tasks {
		all = append(all, t.specs()...)
	}
	_, err := item.Add(to, all, func(it spec) (*item.Draft, error) {
		d := &item.Draft{}
		return d, it.Fill(r, d, nil)
	})
	return err
}

// specs lists the items of a task in their order.
func (t task) specs() []spec {
	id := table.NameOf(t.name)
	return []spec{
		{ID: "ranks_" + id, Section: t.title, Title: "Encodings by " + t.nameOf(t.heldOut),
			Tables: []func(*item.Draft){t.addRanks},
			Caption: "Mean ± SD over n seeds. Rank: 95 % interval, by a bootstrap over seeds, with deviations " +
				"drawn from those of all encodings, and enlarged for an encoding with a larger spread. One " +
				"differs from the first if it is further behind than any of alike encodings in 95 % of the " +
				"draws, and Welch's test of the two has p below .05. Better and worse than: so many others, by the " +
				"same tests. The test examples are the same for all: others would give somewhat different ranks. " +
				"Without a rank: not all models have fitted, or fewer than two seeds. Step: the time of a training " +
				"step and model, with measurements, relative to nope; other load on the machine changes it. " +
				"Parameters: the trained ones of the encoding."},
		{ID: "iid_" + id, Section: t.title, Title: "Held-out against IID",
			Rows: []item.Row[*item.Draft]{{Height: 4.5, Panels: []item.Panel[*item.Draft]{t.scatter}}},
			Caption: "Dots are ranked encodings, means over seeds: examples like those of training (IID), and " +
				"examples unlike them."},
		{ID: "families_" + id, Section: t.title, Title: "Families of encodings",
			Tables: []func(*item.Draft){t.addFamilies}, Caption: "{families}"},
	}
}

// heading returns the heading of a measure in the task.
func (t task) heading(key string) string {
	return runlog.HeadingIn(t.groups()[0].Models[0].Run.Config.Facts().Measures, key)
}

// nameOf names a measure in the task: "validation accuracy", or "accuracy on longer inputs".
func (t task) nameOf(key string) string {
	heading := t.heading(key)
	if heading == "longer" {
		return "accuracy on longer inputs"
	}
	m, _ := runlog.FindMeasure(key)
	return strings.TrimSpace(heading + " " + m.Scale.Name)
}

// measures returns the columns of a task's table.
func (t task) measures() (columns []item.Column) {
	keys := []string{"train", t.iid, t.heldOut}
	if m := t.groups()[0].Models[0]; m.Run.Config.Masked != nil {
		keys[0] = "train_mse"
	}
	for _, key := range slices.Compact(keys) {
		columns = append(columns, item.Column{Measure: key, Heading: t.heading(key)})
	}
	return columns
}

// addRanks lists all encodings, the ranked ones first.
func (t task) addRanks(d *item.Draft) {
	out := table.Table{Title: d.Title, Columns: table.Columns("rank", "rank, 95 %", "encoding", "n", "fitted",
		"epochs or steps")}
	out.Columns[1].Name = "rank_95"
	nope := slices.IndexFunc(t.groups(), func(g cohort.Group) bool { return g.Label == "nope" })
	places := map[string]int{} // in t.ranked
	for i, s := range t.ranked {
		places[s.Label] = i
	}
	d.AddMeans(&out, t.groups(), t.measures(), func(g cohort.Group) table.Row {
		row := table.Row{{}, {}, table.Text(g.Label), table.Count(len(g.Models)), fitted(g), lengths(g)}
		if i, isRanked := places[g.Label]; isRanked {
			row[0] = table.Text(fmt.Sprintf("%g", t.ranked[i].Rank))
			row[1] = table.Text(fmt.Sprintf("%d to %d", t.ranked[i].LowRank, t.ranked[i].HighRank))
		}
		return row
	})
	out.Columns = append(out.Columns, table.Column{Heading: "differs from the first", Name: "differs"},
		table.Column{Heading: "better than"}, table.Column{Heading: "worse than"},
		table.Column{Heading: "step, times nope", Name: "step_times_nope", Decimals: 2},
		table.Column{Heading: "parameters"})
	for i, g := range t.groups() {
		differs, step, better, worse := "", table.Cell{}, table.Cell{}, table.Cell{}
		if i < len(t.ranked) {
			better, worse = table.Count(t.ranked[i].Better), table.Count(t.ranked[i].Worse)
			if i > 0 {
				differs = map[bool]string{true: "yes", false: "no"}[t.ranked[i].Differs]
			}
		}
		if nope >= 0 {
			step = table.Number(stepTime(g) / stepTime(t.groups()[nope]))
		}
		out.Rows[i] = append(out.Rows[i], table.Text(differs), better, worse, step, parameters(g))
	}
	d.AddTable("", out)
	d.Lead = t.lead()
}

// lead returns a sentence on the encodings that are not shown to differ from the first.
func (t task) lead() string {
	if len(t.ranked) == 0 {
		return "No encoding has two models or more that have all fitted."
	}
	var first, alike []string
	for _, s := range t.ranked {
		switch {
		case s.Rank == t.ranked[0].Rank:
			first = append(first, s.Label)
		case !s.Differs:
			alike = append(alike, s.Label)
		}
	}
	is := " is first"
	if len(first) > 1 {
		is = " share the first place"
	}
	text := fmt.Sprintf("%s%s of %d that are ranked.", wording.List(12, first), is, len(t.ranked))
	switch {
	case len(first) == len(t.ranked):
		return text
	case alike == nil:
		return text + " All others differ from it."
	}
	return text + fmt.Sprintf(" Not shown to differ from it (%d): %s.", len(alike), wording.List(12, alike))
}

func fitted(g cohort.Group) table.Cell {
	n := 0
	for _, m := range g.Models {
		reached, known := m.Fitted()
		if !known {
			return table.Cell{}
		}
		if reached {
			n++
		}
	}
	return table.Count(n)
}

// lengths returns the number of epochs or steps after which the models of a group had fitted, or ended.
func lengths(g cohort.Group) table.Cell {
	var all []int
	for _, m := range g.Models {
		n, fit := m.Result.Steps, m.Result.Fit
		isFit := fit != nil && fit.Reached
		switch {
		case m.Run.Config.HasPuzzles() && isFit:
			n = fit.Epoch
		case m.Run.Config.HasPuzzles():
			n = m.Result.Epochs
		case isFit:
			n = fit.Step
		}
		all = append(all, n)
	}
	return table.Text(wording.Range(all))
}

// stepTime returns the median over the models of a group of the time of a step, with measurements. A model of
// an ensemble has its share.
func stepTime(g cohort.Group) float64 {
	times := cohort.Finite(g.Values(func(m cohort.Model) float64 {
		return 1 / m.Run.Result.StepsPerSecond / m.Run.TrainedTogether()
	}))
	if len(times) == 0 {
		return math.NaN()
	}
	slices.Sort(times)
	return stats.Quantile(times, .5)
}

// parameters returns the number of the encoding's trained parameters in the checkpoint of the group's first model:
// Adam keeps a mean of the gradient for these. A checkpoint of SGD does not distinguish them.
func parameters(g cohort.Group) table.Cell {
	m := g.Models[0]
	tensors, _, err := safetensors.List(runlog.CheckpointPath(m.Run.Dir))
	switch {
	case m.Member.PELR != nil && *m.Member.PELR == 0:
		return table.Count(0)
	case err != nil || m.Optimizer() == "sgd":
		return table.Cell{}
	}
	n := 0
	for _, t := range tensors {
		if strings.HasPrefix(t.Name, runlog.ParameterTensor("adam.m", "pe.")) {
			size := 1
			for _, d := range t.Shape[1:] {
				size *= d
			}
			n += size
		}
	}
	return table.Count(n)
}

// scatter draws held-out against IID numbers; nothing for tasks that have only one of them.
func (t task) scatter(d *item.Draft) ([]figure.Panel, error) {
	if t.iid == t.heldOut {
		return nil, nil
	}
	panel := figure.Scatter{XLabel: wording.Capital(t.nameOf(t.iid)), YLabel: wording.Capital(t.nameOf(t.heldOut))}
	numbers := table.Table{Columns: table.Columns("encoding", "iid", "held out")}
	for _, s := range t.ranked {
		at := figure.ScatterPoint{Label: s.Label, ColorOf: "all", X: stats.Mean(d.Known(s.group, t.iid)), Y: s.Mean}
		if math.IsNaN(at.X) {
			continue
		}
		panel.Points = append(panel.Points, at)
		numbers.Rows = append(numbers.Rows,
			table.Row{table.Text(s.Label), table.Number(at.X), table.Number(at.Y)})
	}
	if panel.Points == nil {
		return nil, nil
	}
	d.AddTable("", numbers)
	return []figure.Panel{panel}, nil
}

// addFamilies lists the families, and tests whether their ranks differ.
func (t task) addFamilies(d *item.Draft) {
	families, p := Families(t.standings(), func(scheme string) string { return t.families[scheme] })
	out := table.Table{Title: d.Title, Columns: append(table.Columns("family", "schemes"),
		table.Column{Heading: "median rank", Decimals: 1})}
	for _, f := range families {
		out.Rows = append(out.Rows, table.Row{table.Text(f.Name), table.Count(f.N), table.Number(f.Median)})
	}
	d.AddTable("", out)
	if !math.IsNaN(p) {
		d.Texts["families"] = "A scheme with several entries has the mean of their ranks. Chance that ranks " +
			"permuted among schemes differ as much between families: " + number.PText(p) +
			" (Kruskal and Wallis)."
	}
}
