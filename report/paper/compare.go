package paper

import (
	"fmt"
	"math"
	"slices"

	"torchpe/report/stats"
	"torchpe/report/table"
)

// quantity is a number of each model that the paper prints, too.
type quantity struct {
	name, heading string // as in the printed numbers; for people
	of            func(Model) float64
	groups        []Group // where it is another selection than the table's; nil otherwise
}

// finite leaves out what is not a number.
func finite(x []float64) []float64 {
	return slices.DeleteFunc(slices.Clone(x), func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
}

// beside sets the printed numbers of a table of the paper beside ours, a row an encoding: mean and SD of both, n, and the
// difference with Welch's test, corrected for the number of rows (Holm).
func beside(printed string, groups []Group, quantities ...quantity) (table.Table, error) {
	numbers, labels, err := printedTable(printed)
	if err != nil {
		return table.Table{}, err
	}
	for _, g := range groups { // what the paper lacks follows
		if !slices.Contains(labels, g.Label) {
			labels = append(labels, g.Label)
		}
	}
	t := table.Table{Columns: []table.Column{{Heading: "PE", Name: "pe"}}}
	for _, label := range labels {
		t.Rows = append(t.Rows, table.Row{table.Text(label)})
	}
	for _, q := range quantities {
		t.Columns = append(t.Columns,
			table.Column{Heading: q.heading + ", paper", Name: q.name + "_paper", Decimals: 3},
			table.Column{Heading: "here", Name: q.name, Decimals: 3},
			table.Column{Heading: "n", Name: q.name + "_n"},
			table.Column{Heading: "difference", Name: q.name + "_difference", Decimals: 3},
			table.Column{Heading: "p", Name: q.name + "_p"})
		from := groups
		if q.groups != nil {
			from = q.groups
		}
		for i, cells := range q.cells(numbers, labels, from) {
			t.Rows[i] = append(t.Rows[i], cells...)
		}
	}
	t.Rows = slices.DeleteFunc(t.Rows, func(r table.Row) bool {
		return !slices.ContainsFunc(r[1:], func(c table.Cell) bool { return c != table.Cell{} })
	})
	t.Note = fmt.Sprintf("Mean ± SD. The paper's n is %d. difference: here less paper; p: Welch's t, two-sided, corrected by Holm over the rows.", printedN)
	return t, nil
}

// cells returns the cells of a quantity for each label.
func (q quantity) cells(numbers map[[2]string]stats.Summary, labels []string, groups []Group) [][]table.Cell {
	out := make([][]table.Cell, len(labels))
	var tested []int
	var ps []float64
	for i, label := range labels {
		printed, known := numbers[[2]string{label, q.name}]
		row := make([]table.Cell, 5)
		if known {
			row[0] = table.MeanSD(printed.Mean, printed.SD)
		}
		if at := slices.IndexFunc(groups, func(g Group) bool { return g.Label == label }); at >= 0 {
			own := finite(groups[at].values(q.of))
			if len(own) > 0 {
				row[1], row[2] = table.MeanSD(stats.Mean(own), stats.SD(own)), table.Count(len(own))
			}
			if known && len(own) > 0 {
				row[3] = table.Number(stats.Mean(own) - printed.Mean)
				test, err := stats.WelchTFrom(stats.Summary{Mean: stats.Mean(own), SD: stats.SD(own), N: len(own)}, printed)
				if err == nil { // one number, or none that varies, has no test
					tested, ps = append(tested, i), append(ps, test.P)
				}
			}
		}
		out[i] = row
	}
	if corrected, err := stats.Holm(ps); err == nil {
		for k, i := range tested {
			out[i][4] = table.P(corrected[k])
		}
	}
	return out
}

// perModel is the table of a figure's numbers: a row a model, a column a measure. The columns of names and seed are there already.
func perModel(title string, models []Model, columns ...measureColumn) table.Table {
	t := table.Table{Title: title, Columns: []table.Column{
		{Heading: "PE", Name: "pe"}, {Heading: "σ", Name: "sigma", Decimals: 2}, {Heading: "seed", Name: "seed"}, {Heading: "run", Name: "run"},
	}}
	for _, c := range columns {
		t.Columns = append(t.Columns, table.Column{Heading: c.heading, Name: c.name, Decimals: 3})
	}
	for _, m := range models {
		sigma := table.Cell{}
		if m.Member.Sigma != nil {
			sigma = table.Number(*m.Member.Sigma)
		}
		row := table.Row{table.Text(m.Run.Config.PE), sigma, table.Count(int(m.Member.Seed)), table.Text(m.Run.Name)}
		for _, c := range columns {
			row = append(row, table.Number(c.of(m)))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// measureColumn is a measure of a model with its heading and name.
type measureColumn struct {
	heading, name string
	of            func(Model) float64
}

// correlation says how two measures of groups' means correlate: "Spearman ρ = .96, p < .001, n = 20".
func correlation(x, y []float64, of string) (text string, rho float64) {
	test, err := stats.Spearman(x, y)
	if err != nil {
		return "", math.NaN()
	}
	return fmt.Sprintf("Spearman ρ = %s, %s, n = %d %s", decimals(test.Statistic, 2), pText(test.P), test.N, of), test.Statistic
}

// decimals formats a number that lies within -1 and 1 as papers do: without the zero before the point.
func decimals(v float64, digits int) string {
	text := fmt.Sprintf("%.*f", digits, math.Abs(v))
	if math.Abs(v) < 1 && text[0] == '0' {
		text = text[1:]
	}
	if v < 0 {
		return "−" + text
	}
	return text
}

func pText(p float64) string {
	if p < 0.001 {
		return "p < .001"
	}
	return "p = " + decimals(p, 3)
}
