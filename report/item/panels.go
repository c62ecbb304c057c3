package item

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"torchpe/internal/number"
	"torchpe/internal/stats"
	"torchpe/report/cohort"
	"torchpe/report/figure"
	"torchpe/report/table"
	"torchpe/train/runlog"
)

// Column is a measure shown in reports.
type Column struct {
	Measure       string
	Heading, Name string // of its column in tables; an empty name means MeasureName
	Title, Axis   string // of its panel
}

// Table returns the column of a table.
func (c Column) Table() table.Column {
	return table.Column{Heading: c.Heading, Name: cmp.Or(c.Name, MeasureName(c.Measure)),
		Decimals: DecimalsOf(c.Measure)}
}

// MeasureName returns the name of the column of a measure: validation, test_mse_50, tokens_25.
func MeasureName(key string) string {
	return strings.Replace(table.NameOf(key), "test_mse_0_", "test_mse_", 1) // 0.50 is 50
}

// Of returns a measure of a model.
func (d *Draft) Of(m cohort.Model, name string) float64 {
	if d.Measure == nil {
		return Value(m, name)
	}
	return d.Measure(m, name)
}

// Values returns a measure of each model of a group.
func (d *Draft) Values(g cohort.Group, name string) []float64 {
	return g.Values(func(m cohort.Model) float64 { return d.Of(m, name) })
}

// Known returns a measure of the models of a group that have it.
func (d *Draft) Known(g cohort.Group, name string) []float64 { return cohort.Finite(d.Values(g, name)) }

// ByMean orders groups by the mean of a measure; those without it come last.
func (d *Draft) ByMean(all []cohort.Group, name string, rising bool) []cohort.Group {
	value := func(g cohort.Group) float64 {
		v := stats.Mean(d.Known(g, name))
		switch {
		case math.IsNaN(v):
			return math.Inf(1)
		case rising:
			return v
		}
		return -v
	}
	return slices.SortedStableFunc(slices.Values(all),
		func(a, b cohort.Group) int { return cmp.Compare(value(a), value(b)) })
}

// AddMeans adds a row to a table for each group, with head and the means of measures, and adds the columns of
// the measures.
func (d *Draft) AddMeans(t *table.Table, groups []cohort.Group, columns []Column, head func(cohort.Group) table.Row) {
	for _, c := range columns {
		t.Columns = append(t.Columns, c.Table())
	}
	for _, g := range groups {
		row := head(g)
		for _, c := range columns {
			row = append(row, d.Mean(g, c))
		}
		t.Rows = append(t.Rows, row)
	}
}

// AddBaselines adds a row for each prediction without a model below those of AddMeans, with its errors in the
// tests of a run.
func AddBaselines(t *table.Table, columns []Column, r *cohort.Run, called string) {
	first := len(t.Columns) - len(columns)
	for _, b := range Baselines {
		row := make(table.Row, len(t.Columns))
		row[0] = table.Text(called + ": " + b.Name)
		for i, c := range columns {
			if level, ok := strings.CutPrefix(c.Measure, "test_mse/"); ok {
				row[first+i] = table.Number(b.MSE(r, level))
			}
		}
		t.Rows = append(t.Rows, row)
	}
}

// Mean returns the mean and SD of a measure over the models of a group. The caption notes if some models lack
// it.
func (d *Draft) Mean(g cohort.Group, c Column) table.Cell {
	values := d.Known(g, c.Measure)
	if n := len(values); 0 < n && n < len(g.Models) {
		d.noteFewer(c, g, n)
	}
	return table.Mean(values)
}

// noteFewer notes that a mean is over n models of a group.
func (d *Draft) noteFewer(c Column, g cohort.Group, n int) {
	note := fmt.Sprintf("%s of %s, %d of %d", c.Heading, g.Label, n, len(g.Models))
	if !slices.Contains(d.partial, note) {
		d.partial = append(d.partial, note)
	}
}

// Each returns the distinct texts of models: "20", or "20 or 30".
func Each(models []cohort.Model, of func(cohort.Model) string) string {
	var all []string
	for _, m := range models {
		if text := of(m); !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return strings.Join(all, " or ")
}

// name returns the label of a group in a figure.
func (d *Draft) name(g cohort.Group) string {
	if d.Marks {
		return g.Starred()
	}
	return g.Label
}

// StoppedNote returns the caption sentence on models that have stopped, or "" if none has.
func StoppedNote(models []cohort.Model) string {
	if slices.ContainsFunc(models, cohort.Model.HasStopped) {
		return " " + cohort.StoppedNote
	}
	return ""
}

// Boxes draws a measure of groups. It leaves out groups without it.
func (d *Draft) Boxes(title, yLabel, measure string, groups []cohort.Group) figure.Boxes {
	b := figure.Boxes{Title: title, YLabel: yLabel, Covers: Covers(measure)}
	if d.Marks {
		b.HollowNote = "hollow: not fitted"
	}
	for _, g := range groups {
		values := d.Values(g, measure)
		if len(cohort.Finite(values)) == 0 {
			continue
		}
		one := figure.Group{Label: d.name(g), ColorOf: g.Label, Values: values}
		if d.Marks {
			for _, m := range g.Models {
				one.Hollow = append(one.Hollow, m.IsUnfitted())
			}
		}
		b.Groups = append(b.Groups, one)
	}
	return b
}

// AddChance adds the modularity of the data, and the modularity expected by chance for the first model of each
// group, to boxes of modularity. It returns the latter by label. A group is marked as unlike chance only if
// each test says so.
func AddChance(b *figure.Boxes, groups []cohort.Group) (by map[string]*cohort.Chance, err error) {
	by = map[string]*cohort.Chance{}
	for _, g := range groups {
		at := slices.IndexFunc(b.Groups, func(drawn figure.Group) bool { return drawn.ColorOf == g.Label })
		if at < 0 {
			continue
		}
		if q := g.Models[0].Run.ConnectivityModularity(); q != nil && b.References == nil {
			b.References = []figure.Reference{{Label: "correlations of the data", Y: *q}}
		}
		c, err := g.Models[0].Chance()
		if err != nil {
			return nil, err
		}
		if c != nil {
			by[g.Label] = c
			b.Groups[at].Chance = &figure.Chance{Low: c.Low, High: c.High, P: c.P}
			if c.Smooth > c.P {
				b.Groups[at].Chance.P = c.Smooth
			}
		}
	}
	return by, nil
}

// ChanceNote returns the caption sentences on what AddChance added to boxes of groups, or "" if it added
// nothing.
func ChanceNote(b figure.Boxes, groups []cohort.Group, by map[string]*cohort.Chance) (note string) {
	var tests []string
	warning := " Where neighbours are alike, compact modules pass this test: `torchpe analyze network` with " +
		"--coordinates tests against tables that are equally smooth."
	for _, drawn := range b.Groups {
		c := by[drawn.ColorOf]
		if c == nil {
			continue
		}
		test := drawn.Label + " " + number.PText(c.P)
		if !math.IsNaN(c.Smooth) {
			test += fmt.Sprintf(" (smooth: %s)", number.PText(c.Smooth))
			warning = " Where neighbours are alike, compact modules pass this test. In brackets: tables that are " +
				"equally smooth over the given places of the tokens (Moran spectral randomisation)."
		}
		tests = append(tests, test)
	}
	if tests != nil {
		note = fmt.Sprintf(" Chance: labels of modules shuffled at random (%d permutations, first block with "+
			"a table, first seed): %s.%s", cohort.Surrogates, strings.Join(tests, "; "), warning)
	}
	for _, g := range groups {
		if poor := PoorNote(g.Models[0]); poor != "" && by[g.Label] != nil {
			note += " " + poor + "."
		}
	}
	if b.References != nil {
		note += fmt.Sprintf(" Dashed: Q of the correlations between tokens in the training samples (%s; negative "+
			"ones as 0), which need no model and are another kind of weight than 1 − distance.",
			number.Fixed(b.References[0].Y, DecimalsOf("modularity")))
	}
	return note
}

// Clock chooses the x axis of a course.
type Clock string

// The clocks of records.
const (
	Epochs Clock = "epoch"
	Steps  Clock = "step"
)

func (c Clock) of(r runlog.Record) int {
	if c == Epochs {
		return r.Epoch
	}
	return r.Step
}

// Courses returns measures of groups over training: lines by measure, one per group, and a table of all
// records. A measure without records has no lines.
func (d *Draft) Courses(groups []cohort.Group, x Clock, measures ...Column) (map[string][]figure.LineSeries,
	table.Table, error) {
	lines := map[string][]figure.LineSeries{}
	t := table.Table{Columns: table.Columns("PE", "seed", string(x))}
	for _, c := range measures {
		t.Columns = append(t.Columns, c.Table())
	}
	for _, g := range groups {
		records, err := cohort.RecordsBy(g.Models, x.of)
		if err != nil {
			return nil, t, err
		}
		for _, c := range measures {
			line := figure.LineSeries{Label: d.name(g), ColorOf: g.Label}
			if others := len(cohort.MeasuredOtherwise(g.Models, c.Measure)); others > 0 {
				d.noteFewer(c, g, len(g.Models)-others)
			}
			line.X, line.Values = cohort.Course(g.Models, records, c.Measure,
				func(r runlog.Record) float64 { return RecordValue(r, c.Measure) })
			if line.X != nil {
				lines[c.Measure] = append(lines[c.Measure], line)
			}
		}
		for i, own := range records {
			for _, step := range slices.Sorted(maps.Keys(own)) {
				row := table.Row{table.Text(g.Label), Seed(g.Models[i]), table.Count(step)}
				for _, c := range measures {
					row = append(row, table.Number(RecordValue(own[step], c.Measure)))
				}
				t.Rows = append(t.Rows, row)
			}
		}
	}
	return lines, t, nil
}

// Seed returns the seed of a model as a cell.
func Seed(m cohort.Model) table.Cell { return table.Text(strconv.FormatUint(m.Member.Seed, 10)) }

// ByNumber returns one line per group: its models' measures at the numbers of a kind, such as accuracies by
// length. It calls add with each of them. A group without such a measure has no line.
func (d *Draft) ByNumber(groups []cohort.Group, kind string,
	add func(g cohort.Group, m cohort.Model, n int, v float64)) (lines []figure.LineSeries) {
	for _, g := range groups {
		line := figure.LineSeries{Label: d.name(g), ColorOf: g.Label}
		numbers := Numbers(kind, g.Models...)
		for _, n := range numbers {
			line.X = append(line.X, float64(n))
		}
		for _, m := range g.Models {
			var values []float64
			for _, n := range numbers {
				v := Value(m, kind+"/"+strconv.Itoa(n))
				add(g, m, n, v)
				values = append(values, v)
			}
			line.Values = append(line.Values, values)
		}
		if len(cohort.Finite(slices.Concat(line.Values...))) > 0 {
			lines = append(lines, line)
		}
	}
	return lines
}
