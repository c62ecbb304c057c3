// Package lengths makes the report of tasks sequence and text: accuracy against the length of the input,
// a panel a formal language and a line an encoding, and tables of scores; of texts perplexity by length
// and loss by position. It reads run directories only.
package lengths

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"torchpe/internal/stats"
	"torchpe/internal/wording"
	"torchpe/report/document"
	"torchpe/report/figure"
	"torchpe/report/runs"
	"torchpe/report/table"
	"torchpe/train/config"
)

// Study holds the runs of a report.
type Study struct {
	Runs  int
	Notes []string // what was left out, and why
	tasks []task   // formal languages
	best  []task   // these, with learning rates in one group
	texts []task
}

// task is a formal language, or a text, with the models that were trained on it.
type task struct {
	name   string
	groups []runs.Group
}

// IsSequence reports whether a run is of task sequence or text.
func IsSequence(r *runs.Run) bool { return r.Config.Sequence != nil }

// Read finds the finished runs of tasks sequence and text in dir and below it.
func Read(dir string) (*Study, error) {
	found, skipped, err := runs.Find(dir)
	if err != nil {
		return nil, err
	}
	s := &Study{}
	for _, r := range skipped {
		s.Notes = append(s.Notes, fmt.Sprintf("%s: %s", r.Dir, r.Reason))
	}
	found = slices.DeleteFunc(found, func(r *runs.Run) bool { return !IsSequence(r) })
	s.Runs = len(found)
	models, diverged := runs.Models(found)
	if diverged > 0 {
		s.Notes = append(s.Notes, wording.Count(diverged, "model")+" diverged")
	}
	models, notes, err := runs.Distinct(models)
	if err != nil {
		return nil, err
	}
	s.Notes = append(s.Notes, notes...)
	var languages, texts []runs.Model
	for _, m := range models {
		to := &languages
		if m.Run.Config.Sequence.Text != nil {
			to = &texts
		}
		*to = append(*to, m)
	}
	if s.tasks, err = tasksOf(languages); err != nil {
		return nil, err
	}
	if s.best, err = tasksOf(languages, "members.lr"); err != nil {
		return nil, err
	}
	s.texts, err = tasksOf(texts)
	return s, err
}

// tasksOf sorts models by language or text; a group has one label in all of them. Texts of one name
// whose characters differ are two tasks.
func tasksOf(models []runs.Model, ignored ...string) (tasks []task, err error) {
	groups, err := runs.Groups(models, append(ignored, "sequence.language", "sequence.form", "sequence.text",
		runs.DataKey)...)
	if err != nil {
		return nil, err
	}
	data := map[string][]string{} // by name
	for _, m := range models {
		name := nameOf(m.Run.Config.Sequence)
		if !slices.Contains(data[name], m.Run.DataSHA256) {
			data[name] = append(data[name], m.Run.DataSHA256)
		}
	}
	by := map[string][]runs.Group{}
	for _, g := range groups {
		of := map[string][]runs.Model{}
		for _, m := range g.Models {
			name := nameOf(m.Run.Config.Sequence)
			if m.Run.Config.Sequence.Text != nil && len(data[name]) > 1 {
				name += ", " + runs.Difference(runs.DataKey, m.Run.DataSHA256)
			}
			of[name] = append(of[name], m)
		}
		for name, models := range of {
			by[name] = append(by[name], runs.Group{Label: g.Label, Models: models})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(by)) {
		tasks = append(tasks, task{name, by[name]})
	}
	return tasks, nil
}

// nameOf names a language with its form, or a text's files.
func nameOf(c *config.SequenceConfig) string {
	switch {
	case c.Text != nil:
		var names []string
		for _, path := range c.Text {
			names = append(names, filepath.Base(path))
		}
		return strings.Join(names, ", ")
	case c.Form == config.Decoder:
		return c.Name + ", decoder"
	}
	return c.Name
}

// Write makes the report in dir: the files of figures and tables, and index.html. With panels each
// panel gets files of its own, too.
func (s *Study) Write(dir string, panels bool) (document.Written, error) {
	if len(s.tasks)+len(s.texts) == 0 {
		return document.Written{}, fmt.Errorf("nothing to report: %s", strings.Join(s.Notes, "; "))
	}
	d, err := document.Open(dir, "Longer inputs than in training")
	if err != nil {
		return document.Written{}, err
	}
	d.Panels = panels
	var of []string
	if n := len(s.tasks); n > 0 {
		of = append(of, wording.Count(n, "formal language"))
	}
	if n := len(s.texts); n > 0 {
		of = append(of, wording.Count(n, "text"))
	}
	d.Subtitle = fmt.Sprintf("%s on %s, by torchpe.", wording.Count(s.Runs, "run"), strings.Join(of, " and "))
	for _, item := range s.items() {
		if _, err := d.Add(item); err != nil {
			return document.Written{}, fmt.Errorf("%s: %w", item.ID, err)
		}
	}
	return d.Finish(s.Notes)
}

// items returns the figures and tables of languages, then those of texts.
func (s *Study) items() (items []document.Item) {
	if s.tasks != nil {
		items = append(items, s.scores(), s.bests(), s.curves(), s.models())
	}
	if s.texts != nil {
		items = append(items, s.perplexities(), s.textCurves())
	}
	return items
}

// fittedOf returns the models of a group that have fitted: that answer held-out inputs of the lengths
// of training.
func fittedOf(g runs.Group) runs.Group {
	g.Models = slices.DeleteFunc(slices.Clone(g.Models), func(m runs.Model) bool {
		reached, known := m.Fitted()
		return !known || !reached
	})
	return g
}

// unfittedMark returns a star where not all models of a group have fitted.
func unfittedMark(g runs.Group) string {
	if len(fittedOf(g).Models) < len(g.Models) {
		return "*"
	}
	return ""
}

const criterion = "accuracy .99 on held-out inputs of the lengths of training"

// values returns a measure of each model of a group that has it.
func values(g runs.Group, of func(runs.Model) float64) (out []float64) {
	for _, m := range g.Models {
		if v := of(m); !math.IsNaN(v) {
			out = append(out, v)
		}
	}
	return out
}

func train(m runs.Model) float64          { return m.Result.TrainAccuracy }
func iid(m runs.Model) float64            { return m.Result.IIDAccuracy }
func longerAccuracy(m runs.Model) float64 { return m.Result.ValidationAccuracy }

// measuredLengths returns what lengths of inputs the models of a group were measured at, ascending.
func measuredLengths(g runs.Group) (out []int) {
	all := map[int]bool{}
	for _, m := range g.Models {
		for text := range m.Result.AccuracyByLength {
			if n, err := strconv.Atoi(text); err == nil {
				all[n] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// accuracyAt returns the accuracy of a model at a length; NaN where it was not measured.
func accuracyAt(m runs.Model, length int) float64 {
	if v, ok := m.Result.AccuracyByLength[strconv.Itoa(length)]; ok {
		return v
	}
	return math.NaN()
}

// curves draws accuracy against length.
func (s *Study) curves() document.Item {
	item := document.Item{ID: "lengths", Section: "Accuracy by length",
		Title: "Accuracy against the length of the input"}
	numbers := table.Table{Columns: []table.Column{{Heading: "task", Name: "task"}, {Heading: "PE", Name: "pe"},
		{Heading: "seed", Name: "seed"}, {Heading: "length", Name: "length"},
		{Heading: "accuracy", Name: "accuracy", Decimals: 4}}}
	var cells []figure.Cell
	for _, t := range s.tasks {
		trained := t.groups[0].Models[0].Run.Config.Sequence.TrainLength
		p := figure.Lines{Title: fmt.Sprintf("%s, trained to %d", t.name, trained), XLabel: "Length of the input",
			YLabel: "Accuracy", Band: figure.BandMinMax, Markers: true, YMax: 1}
		for _, g := range t.groups {
			line := figure.LineSeries{Label: g.Label + unfittedMark(g), ColorOf: g.Label}
			ns := measuredLengths(g)
			for _, n := range ns {
				line.X = append(line.X, float64(n))
			}
			for _, m := range g.Models {
				var ys []float64
				for _, n := range ns {
					ys = append(ys, accuracyAt(m, n))
					numbers.Rows = append(numbers.Rows, table.Row{table.Text(t.name), table.Text(g.Label),
						table.Text(strconv.FormatUint(m.Member.Seed, 10)), table.Count(n),
						table.Number(accuracyAt(m, n))})
				}
				line.Values = append(line.Values, ys)
			}
			p.Series = append(p.Series, line)
		}
		cells = append(cells, figure.Cell{Panel: p})
	}
	for row := range slices.Chunk(cells, 2) {
		item.Panels = append(item.Panels, figure.Row{Height: 2.6, Cells: row})
	}
	item.Caption = "Share of right symbols of the outputs to held-out inputs; a line an encoding, bands from the " +
		"least to the greatest of its models. A line that ends early is of an encoding without places for longer " +
		"inputs. " +
		"*: not all models have fitted (" + criterion + "); they say nothing about longer inputs."
	item.Tables = []document.Named{{Name: "lengths", Table: numbers}}
	item.Compose(figure.Page{Width: figure.PageWidth})
	return item
}

// scores lists the mean accuracy on longer inputs, encodings by tasks.
func (s *Study) scores() document.Item {
	t := byTask("Accuracy on inputs longer than in training", s.tasks,
		func(g runs.Group) table.Cell { return table.Mean(values(fittedOf(g), longerAccuracy)) })
	c := s.tasks[0].groups[0].Models[0].Run.Config.Sequence
	return document.Item{ID: "scores", Section: "Scores", Title: t.Title, Caption: scoreCaption(*c),
		Tables: []document.Named{{Name: "scores", Table: t}}}
}

// bests lists the score of the publications.
func (s *Study) bests() document.Item {
	t := byTask("Best accuracy on inputs longer than in training", s.best,
		func(g runs.Group) table.Cell { return bestCell(values(g, longerAccuracy)) })
	return document.Item{ID: "best", Section: "Scores", Title: t.Title,
		Caption: "The best model's mean accuracy over the longer lengths, of all seeds and learning rates, fitted or " +
			"not: the score of Ruoss et al. 2023, who have the best of ten seeds and three learning rates.",
		Tables: []document.Named{{Name: "best", Table: t}}}
}

// byTask returns a table with a cell for each group, encodings by tasks.
func byTask(title string, tasks []task, cell func(runs.Group) table.Cell) table.Table {
	t := table.Table{Title: title, Columns: []table.Column{{Heading: "encoding", Name: "encoding"}}}
	rows := map[string]table.Row{}
	var order []string
	for k, task := range tasks {
		t.Columns = append(t.Columns, table.Column{Heading: task.name, Decimals: 3,
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

// scoreCaption says what a score is the mean of.
func scoreCaption(c config.SequenceConfig) string {
	_, longer := c.Lengths()
	return fmt.Sprintf("Mean ± SD, over the models that have fitted (%s), of the mean accuracy at %s above %d, to "+
		"%d, %s of each; empty where none has, or where the encoding has no places for longer inputs.", criterion,
		wording.Count(len(longer), "length"), c.TrainLength, c.TestLength, wording.Count(c.Tests, "sequence"))
}

// models lists train, IID and longer accuracy of each group, with the best of its models.
func (s *Study) models() document.Item {
	t := table.Table{Title: "Training, lengths of training, and longer", Columns: []table.Column{
		{Heading: "task", Name: "task"}, {Heading: "encoding", Name: "encoding"}, {Heading: "n", Name: "n"},
		{Heading: "fitted", Name: "fitted"}, {Heading: "train", Name: "train", Decimals: 3},
		{Heading: "IID", Name: "iid", Decimals: 3}, {Heading: "longer", Name: "longer", Decimals: 3},
		{Heading: "95 % from", Name: "longer_low", Decimals: 3}, {Heading: "to", Name: "longer_high", Decimals: 3},
		{Heading: "best of n", Name: "best", Decimals: 3}}}
	for _, task := range s.tasks {
		for _, g := range task.groups {
			row := table.Row{table.Text(task.name), table.Text(g.Label), table.Count(len(g.Models)),
				table.Count(len(fittedOf(g).Models)), table.Mean(values(g, train)), table.Mean(values(g, iid)),
				table.Mean(values(g, longerAccuracy)), {}, {}, bestCell(values(g, longerAccuracy))}
			if i, err := stats.MeanInterval(values(g, longerAccuracy), 0.95); err == nil { // of two models or more
				row[7], row[8] = table.Number(i.Low), table.Number(i.High)
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return document.Item{ID: "models", Section: "Models", Title: t.Title,
		Caption: "Train: mean over the steps since the last record but one; IID: held-out inputs of the lengths of " +
			"training; longer: of all models, fitted or not, with Student's interval of the mean.",
		Tables: []document.Named{{Name: "models", Table: t}}}
}

// bestCell returns the greatest of numbers; none for none.
func bestCell(numbers []float64) table.Cell {
	if len(numbers) == 0 {
		return table.Cell{}
	}
	return table.Number(slices.Max(numbers))
}
