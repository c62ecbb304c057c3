// Package compare sets runs of any kind side by side: the settings in which they differ, their final numbers, and their curves.
//
// It needs no libtorch: it reads run directories through package runs, and writes through figure, table and page.
package compare

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"torchpe/report/figure"
	"torchpe/report/internal/atomicfile"
	"torchpe/report/internal/outdir"
	"torchpe/report/page"
	"torchpe/report/runs"
	"torchpe/report/table"
	"torchpe/train/runlog"
)

// Comparison is what runs have and have not in common.
type Comparison struct {
	settings table.Table
	tasks    []taskTable
}

// taskTable has the numbers and curves of the runs of one kind of task.
type taskTable struct {
	name   string // puzzles or masked
	final  table.Table
	curves []namedFigure
}

type namedFigure struct {
	name, title string
	figure      *figure.Figure
	numbers     table.Table
}

// measure is a number of a record and of a final result.
type measure struct {
	name, heading string
	record        func(runlog.Record) float64
	result        func(runlog.MemberResult) float64
}

func orNaN(p *float64) float64 {
	if p == nil {
		return math.NaN()
	}
	return *p
}

var puzzleMeasures = []measure{
	{"validation", "validation accuracy", func(r runlog.Record) float64 { return r.ValidationAccuracy }, func(m runlog.MemberResult) float64 { return m.ValidationAccuracy }},
	{"iid", "IID test accuracy", func(r runlog.Record) float64 { return r.IIDAccuracy }, func(m runlog.MemberResult) float64 { return m.IIDAccuracy }},
	{"train", "training accuracy", func(r runlog.Record) float64 { return r.TrainAccuracy }, func(m runlog.MemberResult) float64 { return m.TrainAccuracy }},
}

// maskedMeasures are those of masked prediction, with the test levels that any of the runs has.
func maskedMeasures(all []*runs.Run) []measure {
	of := func(get func(*runlog.MaskedMeasures) float64) (func(runlog.Record) float64, func(runlog.MemberResult) float64) {
		safe := func(m *runlog.MaskedMeasures) float64 {
			if m == nil {
				return math.NaN()
			}
			return get(m)
		}
		return func(r runlog.Record) float64 { return safe(r.MaskedMeasures) }, func(m runlog.MemberResult) float64 { return safe(m.MaskedMeasures) }
	}
	var out []measure
	add := func(name, heading string, get func(*runlog.MaskedMeasures) float64) {
		record, result := of(get)
		out = append(out, measure{name, heading, record, result})
	}
	levels := map[string]bool{}
	for _, r := range all {
		for _, m := range r.Result.Members {
			if m.MaskedMeasures != nil {
				for level := range m.TestMSEByMask {
					levels[level] = true
				}
			}
		}
	}
	for _, level := range slices.Sorted(maps.Keys(levels)) {
		add("test_mse_"+strings.TrimPrefix(level, "0."), "test MSE, "+level+" masked", func(m *runlog.MaskedMeasures) float64 {
			if v, ok := m.TestMSEByMask[level]; ok {
				return v
			}
			return math.NaN()
		})
	}
	add("train_mse", "training MSE", func(m *runlog.MaskedMeasures) float64 { return orNaN(m.TrainMSE) })
	add("modularity", "modularity Q", func(m *runlog.MaskedMeasures) float64 { return orNaN(m.Modularity) })
	return out
}

// Runs compares finished runs, which must have different names.
func Runs(all []*runs.Run) (*Comparison, error) {
	seen := map[string]bool{}
	var puzzles, masked []*runs.Run
	for _, r := range all {
		if seen[r.Name] {
			return nil, fmt.Errorf("two runs are called %s: name each once", r.Name)
		}
		seen[r.Name] = true
		if r.Config.Masked != nil {
			masked = append(masked, r)
		} else {
			puzzles = append(puzzles, r)
		}
	}
	c := &Comparison{}
	var err error
	if c.settings, err = settings(all); err != nil {
		return nil, err
	}
	for _, part := range []struct {
		name     string
		all      []*runs.Run
		measures []measure
	}{{"puzzles", puzzles, puzzleMeasures}, {"masked", masked, maskedMeasures(masked)}} {
		if len(part.all) == 0 {
			continue
		}
		t := taskTable{name: part.name, final: final(part.all, part.measures)}
		if t.curves, err = curves(part.name, part.all, part.measures); err != nil {
			return nil, err
		}
		c.tasks = append(c.tasks, t)
	}
	return c, nil
}

// settings is the table of settings in which the runs differ, a row a setting.
func settings(all []*runs.Run) (table.Table, error) {
	t := table.Table{Title: "Settings that differ", Columns: []table.Column{{Heading: "setting", Name: "setting"}}}
	var configs []runs.Config
	for i, r := range all {
		configs = append(configs, r.Config)
		t.Columns = append(t.Columns, table.Column{Heading: r.Name, Name: fmt.Sprintf("run_%d", i+1)})
	}
	keys, values, err := runs.Differences(configs)
	if err != nil {
		return t, err
	}
	for _, key := range keys {
		row := table.Row{table.Text(key)}
		for _, v := range values[key] {
			row = append(row, table.Text(v))
		}
		t.Rows = append(t.Rows, row)
	}
	if len(keys) == 0 {
		t.Note = "None: the runs differ in their members and where they were computed, at most."
	}
	return t, nil
}

// final is the table of final numbers, a row a member.
func final(all []*runs.Run, measures []measure) table.Table {
	t := table.Table{Title: "After training", Columns: []table.Column{
		{Heading: "run", Name: "run"}, {Heading: "PE", Name: "pe"}, {Heading: "seed", Name: "seed"}, {Heading: "learning rate", Name: "lr", Decimals: 5},
		{Heading: "weight decay", Name: "weight_decay", Decimals: 3}, {Heading: "steps", Name: "steps"}, {Heading: "status", Name: "status"},
	}}
	for _, m := range measures {
		t.Columns = append(t.Columns, table.Column{Heading: m.heading, Name: m.name, Decimals: 3})
	}
	for _, r := range all {
		for i, member := range r.Result.Members {
			set := r.Config.Members[i]
			row := table.Row{table.Text(r.Name), table.Text(runs.Label(r.Config.PE, set.Sigma)), table.Count(int(set.Seed)), table.Number(set.LR),
				table.Number(set.WeightDecay), table.Count(member.Steps), table.Text(member.Status)}
			for _, m := range measures {
				row = append(row, table.Number(m.result(member)))
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// maxLines is how many curves one figure holds.
const maxLines = 12

// curves draws each measure over the steps, a line a run and encoding, mean over its members.
func curves(task string, all []*runs.Run, measures []measure) ([]namedFigure, error) {
	records := make([][]runlog.Record, len(all))
	for i, r := range all {
		var err error
		if records[i], err = r.Records(); err != nil {
			return nil, err
		}
	}
	var out []namedFigure
	for _, m := range measures {
		var series []figure.LineSeries
		for i, r := range all {
			series = append(series, lines(r, records[i], m)...)
		}
		for from := 0; from < len(series); from += maxLines {
			part := series[from:min(from+maxLines, len(series))]
			name, title := task+"_"+m.name, m.heading
			if len(series) > maxLines {
				name, title = fmt.Sprintf("%s_%d", name, from/maxLines+1), fmt.Sprintf("%s (%d of %d)", title, from/maxLines+1, (len(series)+maxLines-1)/maxLines)
			}
			f, err := figure.Compose(figure.Page{Width: figure.PageWidth, Rows: []figure.Row{{Height: 3, Cells: []figure.Cell{{Panel: figure.Lines{
				XLabel: "Step", YLabel: strings.ToUpper(m.heading[:1]) + m.heading[1:], Series: part, Band: figure.BandMinMax,
			}}}}}})
			if err != nil {
				return nil, fmt.Errorf("%s: %w", m.heading, err)
			}
			out = append(out, namedFigure{name, title, f, numbers(m, part)})
		}
	}
	return out, nil
}

// numbers are those of a figure's lines, a row a member and step.
func numbers(m measure, series []figure.LineSeries) table.Table {
	t := table.Table{Columns: []table.Column{
		{Heading: "line", Name: "line"}, {Heading: "member", Name: "member"}, {Heading: "step", Name: "step"}, {Heading: m.heading, Name: m.name, Decimals: 4},
	}}
	for _, line := range series {
		for member, values := range line.Values {
			for i, v := range values {
				t.Rows = append(t.Rows, table.Row{table.Text(line.Label), table.Count(member + 1), table.Count(int(line.X[i])), table.Number(v)})
			}
		}
	}
	return t
}

// lines returns a run's curves of a measure, one for each of its encodings; none where nothing was measured.
func lines(r *runs.Run, records []runlog.Record, m measure) []figure.LineSeries {
	steps := map[int]bool{}
	values := map[int]map[int]float64{} // by member and step
	for _, rec := range records {
		if v := m.record(rec); !math.IsNaN(v) && rec.Member < len(r.Config.Members) {
			if values[rec.Member] == nil {
				values[rec.Member] = map[int]float64{}
			}
			steps[rec.Step], values[rec.Member][rec.Step] = true, v
		}
	}
	at := slices.Sorted(maps.Keys(steps))
	byLabel := map[string]*figure.LineSeries{}
	for _, member := range slices.Sorted(maps.Keys(values)) {
		label := runs.Label(r.Config.PE, r.Config.Members[member].Sigma)
		if byLabel[label] == nil {
			byLabel[label] = &figure.LineSeries{Label: shorten(r.Name, label)}
			for _, step := range at {
				byLabel[label].X = append(byLabel[label].X, float64(step))
			}
		}
		row := make([]float64, len(at))
		for i, step := range at {
			row[i] = math.NaN()
			if v, ok := values[member][step]; ok {
				row[i] = v
			}
		}
		byLabel[label].Values = append(byLabel[label].Values, row)
	}
	var out []figure.LineSeries
	for _, label := range slices.SortedFunc(maps.Keys(byLabel), cmp.Compare[string]) {
		out = append(out, *byLabel[label])
	}
	return out
}

// shorten names a line by its run, and its encoding where the run's name does not tell. A long name keeps its end.
func shorten(run, label string) string {
	name := []rune(run)
	if len(name) > 24 {
		name = append([]rune("…"), name[len(name)-23:]...)
	}
	if strings.HasSuffix(string(name), label) {
		return string(name)
	}
	return string(name) + ": " + label
}

// Tables are the settings that differ, and the final numbers by kind of task.
func (c *Comparison) Tables() []table.Table {
	out := []table.Table{c.settings}
	for _, t := range c.tasks {
		out = append(out, t.final)
	}
	return out
}

// Write makes index.html, the figures and the tables in dir.
func (c *Comparison) Write(dir string) error {
	out, err := outdir.Open(dir)
	if err != nil {
		return err
	}
	p := page.Page{Title: "Comparison of runs"}
	first, err := tableItem(out, "settings", c.settings)
	if err != nil {
		return err
	}
	p.Sections = append(p.Sections, page.Section{ID: "settings", Title: "Settings", Items: []page.Item{first}})
	for _, t := range c.tasks {
		item, err := tableItem(out, t.name, t.final)
		if err != nil {
			return err
		}
		section := page.Section{ID: t.name, Title: map[string]string{"puzzles": "Puzzles", "masked": "Masked prediction"}[t.name], Items: []page.Item{item}}
		for _, f := range t.curves {
			item, err := figureItem(out, f)
			if err != nil {
				return err
			}
			section.Items = append(section.Items, item)
		}
		p.Sections = append(p.Sections, section)
	}
	if err := p.Save(out.File("index.html")); err != nil {
		return err
	}
	return out.Close()
}

func tableItem(out *outdir.Dir, name string, t table.Table) (page.Item, error) {
	if err := t.Save(out.Root, name); err != nil {
		return nil, err
	}
	for _, format := range table.Formats() {
		out.File(name + "." + format)
	}
	var html strings.Builder
	if err := t.HTML(&html); err != nil {
		return nil, err
	}
	return page.TableItem{Title: t.Title, HTML: html.String(), Links: []page.Link{{Label: "CSV", Href: name + ".csv"}, {Label: "LaTeX", Href: name + ".tex"}}}, nil
}

func figureItem(out *outdir.Dir, f namedFigure) (page.Item, error) {
	item := page.Figure{Title: f.title, Caption: "Mean over the members of a run that have the same encoding."}
	for _, format := range []string{"pdf", "svg", "png"} {
		if err := f.figure.Save(out.File(f.name+"."+format), format); err != nil {
			return nil, err
		}
		item.Links = append(item.Links, page.Link{Label: strings.ToUpper(format), Href: f.name + "." + format})
	}
	if err := atomicfile.Write(out.File(f.name+".csv"), f.numbers.CSV); err != nil {
		return nil, err
	}
	item.Links = append(item.Links, page.Link{Label: "CSV", Href: f.name + ".csv"})
	var svg strings.Builder
	if err := f.figure.Encode(&svg, "svg"); err != nil {
		return nil, err
	}
	item.SVG = []byte(svg.String())
	return item, nil
}
