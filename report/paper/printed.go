package paper

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"torchpe/internal/number"
	"torchpe/internal/paper"
	"torchpe/internal/stats"
	"torchpe/report/cohort"
	"torchpe/report/item"
	"torchpe/report/table"
)

// accuracyTable adds the paper's table of that number: printed accuracies beside ours.
func accuracyTable(printed string) func(*draft) {
	return func(d *draft) {
		d.addPrinted(printed, part{d.Groups, []item.Column{{Measure: "validation", Heading: "validation"},
			{Measure: "train", Heading: "training"}, {Measure: "iid", Heading: "IID test"}}})
	}
}

// likenessTable adds the printed similarities of attention beside ours.
func likenessTable(d *draft) {
	d.addPrinted("A3", part{d.Groups, []item.Column{{Measure: "cosine", Heading: "attention cosine"}}})
}

// optimizerTable adds the printed accuracies by optimizer beside ours.
func optimizerTable(d *draft) {
	d.addPrinted("A4",
		part{smallAdam(d.study), []item.Column{{Measure: "validation", Heading: "Adam", Name: "adam"}}},
		part{smallSGD(d.study), []item.Column{{Measure: "validation", Heading: "SGD", Name: "sgd"}}})
}

func (d *draft) addPrinted(printed string, parts ...part) {
	t := d.study.besidePrinted(printed, parts...)
	t.Title = d.Title
	d.AddTable("", t)
}

// accuracyCaption is the caption of tables of accuracies.
var accuracyCaption = fmt.Sprintf("Final accuracies, %d,%03d epochs in the paper and {epochs} here.{fit}",
	paper.Epochs/1000, paper.Epochs%1000)

// part is a part of a table with printed numbers: groups and measures, which have the names of the printed
// ones.
type part struct {
	groups  []cohort.Group
	columns []item.Column
}

// roundedSD is the largest SD that is printed as .000.
const roundedSD = 0.0005

// besidePrinted returns the printed numbers of a table of the paper beside ours, with one row for each encoding
// that has models, those of the paper first. It has mean and SD of both, n, and, for models in the paper's
// set-up, the difference with Welch's interval and, for at least item.FewestForP models, Welch's test,
// corrected for the number of rows (Holm). A measure that the table does not print has only mean and n. A
// column for each part counts the fitted models. Columns without numbers are left out.
func (s *Study) besidePrinted(printed string, parts ...part) table.Table {
	numbers, labels := paper.Table(printed)
	var ours []cohort.Group
	for _, p := range parts {
		ours = append(ours, p.groups...)
	}
	labels = slices.DeleteFunc(slices.Clone(labels), func(label string) bool { return groupNamed(ours, label) == nil })
	for _, g := range ours { // encodings that the paper lacks come last
		if !slices.Contains(labels, g.Label) {
			labels = append(labels, g.Label)
		}
	}
	t := table.Table{Columns: table.Columns("PE")}
	for _, label := range labels {
		unfitted := pick(groupNamed(ours, label), func(g cohort.Group) bool { return g.Mark() != "" })
		mark := ""
		if unfitted != nil {
			mark = unfitted[0].Mark()
		}
		t.Rows = append(t.Rows, table.Row{table.Marked(label, mark)})
	}
	addFitted := func(name string, groups []cohort.Group) {
		t.Columns = append(t.Columns, table.Column{Heading: "fitted", Name: name})
		for i, label := range labels {
			cell := table.Cell{}
			for _, g := range groupNamed(groups, label) {
				cell = table.Text(g.FittedText())
			}
			t.Rows[i] = append(t.Rows[i], cell)
		}
	}
	for _, p := range parts {
		if len(p.groups) == 0 {
			continue
		}
		for _, c := range p.columns {
			columns, rows := s.columns(c, numbers, labels, p.groups)
			t.Columns = append(t.Columns, columns...)
			for i, cells := range rows {
				t.Rows[i] = append(t.Rows[i], cells...)
			}
		}
		if len(parts) == 1 {
			addFitted("fitted", p.groups)
		} else {
			addFitted(p.columns[0].Name+"_fitted", p.groups)
		}
	}
	t = t.WithoutEmptyColumns()
	t.Note = fmt.Sprintf("Mean ± SD. The paper's n is %d", len(paper.Seeds()))
	if differs := unlikePaper(cohort.ModelsOf(ours)); differs != nil {
		t.Note += fmt.Sprintf("; its set-up differs, so no difference is given: %s.",
			strings.Join(differs, ", "))
		return t
	}
	t.Note += fmt.Sprintf("; a printed SD of .000 is rounded, and counts as %.4f. difference: here minus paper, "+
		"with Welch's 95 %% interval; p: Welch's t, two-sided, corrected by Holm over the rows, of %d models or "+
		"more.", roundedSD, item.FewestForP)
	return t
}

// columns returns the columns of a measure and their cells for each label. Those of the printed numbers are
// empty for a measure that is not printed.
func (s *Study) columns(of item.Column, numbers map[[2]string]paper.Number, labels []string,
	groups []cohort.Group) ([]table.Column, [][]table.Cell) {
	c := of.Table()
	isPrinted := slices.ContainsFunc(labels,
		func(label string) bool { _, ok := numbers[[2]string{label, c.Name}]; return ok })
	own := func(label string) []float64 {
		for _, g := range groupNamed(groups, label) {
			return s.values(g, of.Measure)
		}
		return nil
	}
	here := c.Heading
	if isPrinted {
		here = "here"
	}
	cells := make([][]table.Cell, len(labels))
	var tested []int
	var ps []float64
	for i, label := range labels {
		row := make([]table.Cell, 6)
		printed, known := numbers[[2]string{label, c.Name}]
		if known {
			row[0] = table.MeanSD(printed.Mean, printed.SD)
		}
		x := own(label)
		if len(x) > 0 {
			row[1], row[2] = table.MeanSD(stats.Mean(x), stats.SD(x)), table.Count(len(x))
		}
		if known && len(x) > 0 && unlikePaper(cohort.ModelsOf(groups)) == nil {
			row[3] = table.Number(stats.Mean(x) - printed.Mean)
			theirs := stats.Summary{Mean: printed.Mean, SD: max(printed.SD, roundedSD), N: len(paper.Seeds())}
			ours := item.Summary(x)
			if v, err := stats.WelchInterval(ours, theirs, 0.95); err == nil && len(x) >= item.FewestForInterval {
				row[4] = table.Interval(v.Low, v.High)
			}
			if test, err := stats.WelchTFrom(ours, theirs); err == nil && len(x) >= item.FewestForP {
				tested, ps = append(tested, i), append(ps, test.P)
			}
		}
		cells[i] = row
	}
	if corrected, err := stats.Holm(ps); err == nil {
		for k, i := range tested {
			cells[i][5] = table.P(corrected[k])
		}
	}
	return []table.Column{
		{Heading: c.Heading + ", paper", Name: c.Name + "_paper", Decimals: c.Decimals},
		{Heading: here, Name: c.Name, Decimals: c.Decimals},
		{Heading: "n", Name: c.Name + "_n"},
		{Heading: "difference", Name: c.Name + "_difference", Decimals: c.Decimals},
		{Heading: "95 %", Name: c.Name + "_interval", Decimals: c.Decimals},
		{Heading: "p", Name: c.Name + "_p"},
	}, cells
}

// correlation describes the correlation of two measures over groups: "Spearman ρ = .96, p < .001, n = 20".
func correlation(x, y []float64, of string) (text string, rho float64) {
	test, err := stats.Spearman(x, y)
	if err != nil {
		return "", math.NaN()
	}
	return fmt.Sprintf("Spearman ρ = %s, %s, n = %d %s", item.Decimals(test.Statistic, 2), number.PText(test.P),
		test.N, of), test.Statistic
}
