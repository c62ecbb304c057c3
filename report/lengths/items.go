package lengths

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"torchpe/internal/stats"
	"torchpe/internal/wording"
	"torchpe/report/cohort"
	"torchpe/report/figure"
	"torchpe/report/item"
	"torchpe/report/table"
	"torchpe/train/runlog"
)

// The data of items, in drafts of a report.
type (
	spec  = item.Spec[*Report, *draft]
	row   = item.Row[*draft]
	panel = item.Panel[*draft]
)

// draft is an item in the making.
type draft struct {
	item.Draft
	*Report
}

// draft makes an item without drawing it.
func (r *Report) draft(it spec) (*draft, error) {
	d := &draft{Draft: item.Draft{Marks: true}, Report: r}
	return d, it.Fill(r, d, words)
}

// specs lists the items of a report in their order.
func specs() []spec {
	pairs := func(draw panel) []row { return []row{{Height: 2.6, Most: 2, Panels: []panel{draw}}} }
	return []spec{
		{ID: "scores", Section: "What these runs say", Title: "Accuracy on inputs longer than in training",
			Of: languages, Tables: []func(*draft){scores},
			Caption: "Mean ± SD, over the models that have fitted (" + criterion + "), of the mean accuracy at " +
				"{lengths}; empty if none has, or if the encoding has no positions for longer inputs."},
		{ID: "perplexity", Section: "What these runs say", Title: "Perplexity of held-out text",
			Of: texts, Tables: []func(*draft){perplexities},
			Caption: "Next characters of the last tenth of each file, in windows of this many " +
				"characters: perplexity, and the share predicted correctly, mean ± SD over " +
				"the models. train: share in training. Windows for which an encoding has no positions " +
				"are missing."},
		{ID: "best", Section: "Scores", Title: "Best accuracy on inputs longer than in training",
			Of: languages, Tables: []func(*draft){best},
			Caption: "The best model's mean accuracy over the longer lengths, of all seeds and learning rates, " +
				"fitted or not, and how many these are: the best of more is higher. It is the score of Ruoss et " +
				"al. 2023, who take the best of ten seeds and three learning rates."},
		{ID: "lengths", Section: "Accuracy by length", Title: "Accuracy against the length of the input",
			Of: languages, Rows: pairs(curves),
			Caption: "Share of correct symbols in outputs for held-out inputs; one line per encoding (of more than " +
				"ten, the ten best on longer inputs), bands from smallest to largest of its models. A line ends " +
				"early if the encoding has no positions for longer inputs. *: not all models have fitted (" +
				criterion + "); they say nothing about longer inputs."},
		{ID: "models", Section: "Models", Title: "Training, lengths of training, and longer",
			Of: languages, Tables: []func(*draft){models},
			Caption: "Train: mean over the steps since the last record but one; IID: held-out inputs of the lengths " +
				"of training; longer: of all models, fitted or not."},
		{ID: "text", Section: "Text", Title: "Perplexity by length, and loss by position",
			Of: texts, Rows: pairs(textCurves),
			Caption: "Left: perplexity of held-out text in windows of this many characters. Right: " +
				"mean loss at the positions of the longest windows for which the encoding has positions. " +
				"One line per encoding (of more than ten, the ten of the lowest perplexity), bands from the smallest " +
				"to the largest of its models."},
	}
}

// languages and texts return the groups on formal languages, and on texts.

func languages(r *Report) []cohort.Group { return groupsOf(r.languages) }
func texts(r *Report) []cohort.Group     { return groupsOf(r.texts) }

func groupsOf(tasks []task) (all []cohort.Group) {
	for _, t := range tasks {
		all = append(all, t.groups...)
	}
	return all
}

const criterion = "accuracy .99 on held-out inputs of the lengths of training"

// words maps names in braces in captions to their texts.
var words = item.Words[*draft]{"lengths": testedLengths}

// testedLengths describes the lengths at which models were tested.
func testedLengths(d *draft) string {
	return item.Each(cohort.ModelsOf(d.Groups), func(m cohort.Model) string {
		c := m.Run.Config.Sequence
		_, longer := c.Lengths()
		return fmt.Sprintf("%s above %d, to %d, %s of each", wording.Count(len(longer), "length"), c.TrainLength,
			c.TestLength, wording.Count(c.Tests, "sequence"))
	})
}

// bestOf returns the greatest of a group's accuracies on longer inputs, or an empty cell.
func (d *draft) bestOf(g cohort.Group) table.Cell {
	all := d.Known(g, "validation")
	if len(all) == 0 {
		return table.Cell{}
	}
	return table.Number(slices.Max(all))
}

// scores lists the mean accuracy on longer inputs by encoding and task.
func scores(d *draft) {
	d.AddTable("", byTask(d.Title, d.languages,
		func(g cohort.Group) table.Cell { return table.Mean(d.Known(g.Fitted(), "validation")) }))
	d.Lead = sentence("Of encodings that have fitted, the highest mean accuracy on longer inputs", longer.Measure,
		d.languages, func(g cohort.Group) float64 { return stats.Mean(d.Known(g.Fitted(), "validation")) })
}

// best lists the score used in the publications, with the number of models that it is taken from: "0.840 (9)".
func best(d *draft) {
	d.AddTable("", byTask(d.Title, d.best, func(g cohort.Group) table.Cell {
		most, ok := d.bestOf(g).Float()
		if !ok {
			return table.Cell{}
		}
		n := len(d.Known(g, longer.Measure))
		return table.Words(fmt.Sprintf("%s (%d)", runlog.FormatMeasure(longer.Measure, most), n))
	}))
}

// sentence says on which tasks each encoding, or several that tie, is best by a measure. It names none where they
// differ in more than the encoding and the learning rate, such as in the lengths of tests.
func sentence(what, measure string, tasks []task, of func(cohort.Group) float64) string {
	m, _ := runlog.FindMeasure(measure)
	won := map[string][]string{}
	for _, t := range tasks {
		measured := slices.DeleteFunc(slices.Clone(t.groups), func(g cohort.Group) bool { return math.IsNaN(of(g)) })
		if len(measured) == 0 {
			won["none"] = append(won["none"], t.name)
			continue
		}
		if names := item.Unlike(measured, cohort.DataKey, "members.lr"); names != "" {
			won["none"] = append(won["none"], fmt.Sprintf("%s (encodings differ in %s)", t.name, names))
			continue
		}
		best := slices.MaxFunc(measured, func(a, b cohort.Group) int {
			if m.Scale.Falls {
				a, b = b, a
			}
			return cmp.Compare(of(a), of(b))
		})
		text := runlog.FormatMeasure(measure, of(best))
		var first []string
		for _, g := range measured {
			if runlog.FormatMeasure(measure, of(g)) == text {
				first = append(first, g.Label)
			}
		}
		who := strings.Join(first, " and ")
		won[who] = append(won[who], fmt.Sprintf("%s (%s)", t.name, text))
	}
	var parts []string
	for _, label := range slices.Sorted(maps.Keys(won)) {
		parts = append(parts, label+" on "+strings.Join(won[label], ", "))
	}
	return fmt.Sprintf("%s: %s.", what, strings.Join(parts, "; "))
}

// byTask returns a table with one cell for each group: encodings as rows, tasks as columns.
func byTask(title string, tasks []task, cell func(cohort.Group) table.Cell) table.Table {
	t := table.Table{Title: title, Columns: table.Columns("encoding")}
	rows := map[string]table.Row{}
	var order []string
	for k, task := range tasks {
		t.Columns = append(t.Columns, table.Column{Heading: task.name, Decimals: longer.Table().Decimals,
			Name: strings.NewReplacer("-", "_", ", ", "_").Replace(task.name)})
		for _, g := range task.groups {
			if rows[g.Label] == nil {
				rows[g.Label] = make(table.Row, 1+len(tasks))
				rows[g.Label][0] = table.Text(g.Label)
				order = append(order, g.Label)
			}
			rows[g.Label][1+k] = cell(g)
		}
	}
	for _, label := range order {
		t.Rows = append(t.Rows, rows[label])
	}
	return t
}

// The columns of means.
var (
	train  = item.Column{Measure: "train", Heading: "train"}
	iid    = item.Column{Measure: "iid", Heading: "IID"}
	longer = item.Column{Measure: "validation", Heading: "longer", Name: "longer"}
)

// perplexity and accuracy return the columns of measures on windows of a length, which may be N for any.
func perplexity(length string) item.Column {
	return item.Column{Measure: "perplexity/" + length, Heading: "perplexity", Name: "perplexity"}
}

func accuracy(length string) item.Column {
	return item.Column{Measure: "length/" + length, Heading: "accuracy", Name: "accuracy"}
}

// mostLines is the number of lines that can be told apart.
const mostLines = 10

// withLine returns the labels of the groups that a figure shows: those with the best means of a measure. which says so
// if that is not all: ", the best 10 of 55".
func (d *draft) withLine(groups []cohort.Group, measure string) (labels map[string]bool, which string) {
	m, _ := runlog.FindMeasure(measure)
	of := func(g cohort.Group) float64 {
		switch mean := stats.Mean(d.Known(g, measure)); {
		case math.IsNaN(mean):
			return math.Inf(1)
		case m.Scale.Falls:
			return mean
		default:
			return -mean
		}
	}
	groups = slices.Clone(groups)
	slices.SortStableFunc(groups, func(a, b cohort.Group) int { return cmp.Compare(of(a), of(b)) })
	labels = map[string]bool{}
	for _, g := range groups[:min(mostLines, len(groups))] {
		labels[g.Label] = true
	}
	if len(groups) > mostLines {
		which = fmt.Sprintf(", the best %d of %d", mostLines, len(groups))
	}
	return labels, which
}

// curves draws accuracy against length.
func curves(d *draft) (panels []figure.Panel, err error) {
	t := table.Table{Columns: table.Columns("task", "PE", "seed", "length", "accuracy")}
	for _, task := range d.languages {
		lines := d.ByNumber(task.groups, "length", func(g cohort.Group, m cohort.Model, n int, v float64) {
			t.Rows = append(t.Rows, table.Row{table.Text(task.name), table.Text(g.Label), item.Seed(m),
				table.Count(n), table.Number(v)})
		})
		shown, which := d.withLine(task.groups, longer.Measure)
		lines = slices.DeleteFunc(lines, func(l figure.LineSeries) bool { return !shown[l.ColorOf] })
		panels = append(panels, figure.Lines{
			Title:  task.name + ", trained to " + task.trainLength() + which,
			XLabel: "Length of the input", YLabel: "Accuracy", Band: figure.BandMinMax, Markers: true, YMax: 1,
			Series: lines})
	}
	d.AddTable("", t)
	return panels, nil
}

// models lists train, IID and longer accuracy of each group, with the best of its models.
func models(d *draft) {
	t := table.Table{Title: d.Title, Columns: append(table.Columns("task", "encoding", "n", "fitted"),
		train.Table(), iid.Table(), longer.Table(),
		item.Column{Measure: longer.Measure, Heading: "best of n", Name: "best"}.Table())}
	for _, task := range d.languages {
		for _, g := range task.groups {
			row := table.Row{table.Text(task.name), table.Text(g.Label), table.Count(len(g.Models)),
				table.Count(len(g.Fitted().Models)), d.Mean(g, train), d.Mean(g, iid), d.Mean(g, longer),
				d.bestOf(g)}
			t.Rows = append(t.Rows, row)
		}
	}
	d.AddTable("", t)
}

// perplexities lists perplexity and accuracy by the length of the window.
func perplexities(d *draft) {
	t := table.Table{Title: d.Title, Columns: append(table.Columns("text", "encoding", "n", "window", "trained"),
		perplexity("N").Table(), accuracy("N").Table(), train.Table())}
	for _, task := range d.texts {
		for _, g := range task.groups {
			trained := g.Models[0].Run.Config.Sequence.TrainLength
			for _, n := range item.Numbers("perplexity", g.Models...) {
				length := strconv.Itoa(n)
				all := d.Known(g, perplexity(length).Measure)
				t.Rows = append(t.Rows, table.Row{table.Text(task.name), table.Text(g.Label), table.Count(len(all)),
					table.Count(n), table.Count(trained), table.Mean(all), d.Mean(g, accuracy(length)),
					d.Mean(g, train)})
			}
		}
	}
	d.Lead = sentence("The lowest perplexity in windows of the length of training", perplexity("N").Measure, d.texts,
		func(g cohort.Group) float64 {
			length := strconv.Itoa(g.Models[0].Run.Config.Sequence.TrainLength)
			return stats.Mean(d.Known(g, perplexity(length).Measure))
		})
	d.AddTable("", t)
}

// textCurves draws, for each text, perplexity against the length of the window beside loss against the position
// in the longest window.
func textCurves(d *draft) (panels []figure.Panel, err error) {
	t := table.Table{Columns: table.Columns("text", "PE", "seed", "number", "at", "value")}
	d.Marks = false // texts have no criterion of fit
	for _, task := range d.texts {
		trained := task.groups[0].Models[0].Run.Config.Sequence.TrainLength
		shown, which := d.withLine(task.groups, perplexity(strconv.Itoa(trained)).Measure)
		left := figure.Lines{Title: task.name + ", trained on " + task.trainLength() + which,
			XLabel: "Characters of a window", YLabel: "Perplexity", Band: figure.BandMinMax, Markers: true}
		right := figure.Lines{Title: task.name, XLabel: "Position", YLabel: "Loss (nats)", Band: figure.BandMinMax}
		lines := func(name, measure string, of cohort.Group) []figure.LineSeries {
			return d.ByNumber([]cohort.Group{of}, measure, func(g cohort.Group, m cohort.Model, n int, v float64) {
				t.Rows = append(t.Rows, table.Row{table.Text(task.name), table.Text(g.Label), item.Seed(m),
					table.Text(name), table.Count(n), table.Number(v)})
			})
		}
		for _, g := range task.groups {
			perplexities, losses := lines("perplexity", "perplexity", g), lines("loss", "position_loss", g)
			if shown[g.Label] {
				left.Series, right.Series = append(left.Series, perplexities...), append(right.Series, losses...)
			}
		}
		panels = append(panels, left, right)
	}
	d.AddTable("", t)
	return panels, nil
}
