package paper

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"torchpe/internal/stats"
	"torchpe/internal/wording"
	"torchpe/report/cohort"
	"torchpe/report/figure"
	"torchpe/report/item"
	"torchpe/report/table"
)

// chance returns the line of the accuracy of guessing.
func (d *draft) chance() []figure.Reference {
	return []figure.Reference{{Label: "chance", Y: d.first().Config.Chance()}}
}

// one returns a single panel of a row.
func one(p figure.Panel) []figure.Panel { return []figure.Panel{p} }

// schematic draws boxes with texts; one that starts with * is emphasised.
func schematic(title string, texts ...string) figure.Panel {
	s := figure.Schematic{Title: title}
	for _, text := range texts {
		text, emphasis := strings.CutPrefix(text, "*")
		s.Boxes = append(s.Boxes, figure.SchematicBox{Text: text, Emphasis: emphasis})
	}
	return s
}

// drawing is a schematic of an item.
func drawing(title string, texts ...string) panel {
	return func(*draft) ([]figure.Panel, error) { return one(schematic(title, texts...)), nil }
}

// modelSchematic draws the parts of the models.
func modelSchematic(d *draft) ([]figure.Panel, error) {
	c := d.Groups[0].Models[0].Run.Config
	texts := []string{"cells", fmt.Sprintf("embedding, width %d", c.DModel)}
	texts = append(texts, blocksTexts(c, "*+ PE, N(0, σ²)")...)
	return one(schematic("Model", append(texts, "symbol")...)), nil
}

// blocksTexts returns the boxes of the PE and the blocks: "+ PE" and "4 blocks: attention, MLP", or, if each
// block adds the PE, "4 blocks: + PE, attention, MLP".
func blocksTexts(c cohort.Config, pe string) []string {
	attention := "attention"
	if c.Heads > 1 {
		attention = fmt.Sprintf("attention of %d heads", c.Heads)
	}
	blocks := wording.Count(c.Layers, "block") + ": "
	if c.Placement() == "block" {
		text, isEmphasised := strings.CutPrefix(pe, "*")
		return []string{map[bool]string{true: "*"}[isEmphasised] + blocks + text + ", " + attention + ", MLP"}
	}
	return []string{pe, blocks + attention + ", MLP"}
}

// sigmaLabel returns the tick of a group on an axis of sigma: "0.2", "1", with the options that distinguish
// groups of one sigma.
func sigmaLabel(g cohort.Group) string {
	text := strconv.FormatFloat(sigma(g), 'f', -1, 64)
	if _, options, differ := strings.Cut(g.Label, " ("); differ {
		text += " (" + options
	}
	return text + strings.TrimPrefix(g.Starred(), g.Label)
}

// boxPlot is a box plot of a measure by group.
type boxPlot struct {
	title, yLabel, measure string

	of      selection     // the groups to draw; nil for all
	bySigma bool          // the ticks are sigmas
	chance  bool          // with the accuracy of guessing
	beside  []item.Column // measures whose means are beside each box
}

// draw draws the boxes, or nothing if there is nothing to compare with by sigma or with guessing.
func (b boxPlot) draw(d *draft) ([]figure.Panel, error) {
	out := b.boxes(d)
	if len(out.Groups) < 2 && (b.bySigma || b.chance) {
		return nil, nil
	}
	return one(out), nil
}

func (b boxPlot) boxes(d *draft) figure.Boxes {
	groups := d.Groups
	if b.of != nil {
		groups = b.of(groups)
	}
	out := d.Boxes(b.title, b.yLabel, b.measure, groups)
	if b.bySigma {
		out.XLabel = "Initial σ"
	}
	if b.chance {
		out.References = d.chance()
	}
	for _, c := range b.beside {
		out.Beside = append(out.Beside, c.Heading)
	}
	for i, drawn := range out.Groups {
		g := groupNamed(groups, drawn.ColorOf)[0]
		if b.bySigma {
			out.Groups[i].Label = sigmaLabel(g)
		}
		for _, c := range b.beside {
			out.Groups[i].Beside = append(out.Groups[i].Beside, d.study.mean(g, c.Measure))
		}
	}
	return out
}

// boxesBySigma draws a measure of all groups by sigma.
func boxesBySigma(title, yLabel, measure string) panel {
	return boxPlot{title: title, yLabel: yLabel, measure: measure, bySigma: true}.draw
}

// validationBySigma and validationOf draw validation accuracy, by sigma and by encoding.
func validationBySigma(title string) panel {
	return boxPlot{title, "Validation accuracy", "validation", learned, true, true, accuracyColumns[1:]}.draw
}

func validationOf(title string, of selection) panel {
	return boxPlot{title, "Validation accuracy", "validation", of, false, true, accuracyColumns[1:]}.draw
}

// accuracyCurves are training, IID test and validation accuracy over training.
var accuracyCurves = []item.Column{
	{Measure: "train", Title: "Training", Axis: "Training accuracy"},
	{Measure: "iid", Title: "Held out, same kind", Axis: "IID test accuracy"},
	{Measure: "validation", Title: "Generalization", Axis: "Validation accuracy"},
}

// courses draws measures of groups over training, and adds their table under a name.
func (d *draft) courses(name string, x item.Clock, groups []cohort.Group, curves []item.Column) ([]figure.Panel,
	error) {
	columns := slices.SortedFunc(slices.Values(curves), func(a, b item.Column) int {
		return strings.Compare(a.Table().Name, b.Table().Name)
	})
	lines, t, err := d.Courses(groups, x, columns...)
	if err != nil {
		return nil, err
	}
	var panels []figure.Panel
	for _, c := range curves {
		if len(lines[c.Measure]) > 0 {
			panels = append(panels, figure.Lines{Title: c.Title, XLabel: wording.Capital(string(x)), YLabel: c.Axis,
				Series: lines[c.Measure], Band: figure.BandSD, Covers: item.Covers(c.Measure)})
		}
	}
	d.AddTable(name, t)
	return panels, nil
}

// accuracyOver draws accuracies of some groups over training. title precedes the title of each panel.
func accuracyOver(name, title string, of selection) panel {
	return func(d *draft) ([]figure.Panel, error) {
		groups := of(d.Groups)
		if groups == nil {
			return nil, nil
		}
		panels, err := d.courses(name, item.Epochs, groups, accuracyCurves)
		for i, p := range panels {
			lines := p.(figure.Lines)
			lines.Title, lines.YMax, lines.References = title+lines.Title, 1, d.chance()
			panels[i] = lines
		}
		return panels, err
	}
}

// from draws a panel of groups other than the item's, or nothing if there are none.
func from(of source, draw panel) panel {
	return func(d *draft) ([]figure.Panel, error) {
		other := *d
		if other.Groups = of(d.study); len(other.Groups) == 0 {
			return nil, nil
		}
		panels, err := draw(&other)
		d.Tables = other.Tables
		return panels, err
	}
}

// scatter draws the mean validation accuracy of groups against the mean of a measure, with their rank
// correlation over the groups, which is the sentence "ρ measure" of the caption. levels describes the groups,
// in the plural. It draws nothing for fewer than two groups that have both measures.
func scatter(title, xLabel, measure, levels string, of selection) panel {
	return func(d *draft) ([]figure.Panel, error) {
		f := figure.Scatter{Title: title, XLabel: xLabel, YLabel: "Validation accuracy"}
		var xs, ys []float64
		var seeds []int
		all := of(d.Groups)
		shown := onePerLevel(all, levels)
		for _, g := range shown {
			a, b := d.study.values(g, measure), d.study.values(g, "validation")
			if len(a) == 0 || len(b) == 0 {
				continue
			}
			p := figure.ScatterPoint{Label: g.Starred(), ColorOf: g.Label, X: stats.Mean(a), Y: stats.Mean(b)}
			if min(len(a), len(b)) >= item.FewestForInterval {
				p.XErr, p.YErr = stats.SD(a), stats.SD(b)
			}
			seeds = append(seeds, min(len(a), len(b)))
			f.Points = append(f.Points, p)
			xs, ys = append(xs, p.X), append(ys, p.Y)
		}
		if len(xs) < 2 {
			return nil, nil
		}
		switch n := slices.Max(seeds); {
		case n == 1:
			f.Note = "Each point is one model"
		case n < item.FewestForInterval:
			f.Note = fmt.Sprintf("Each point is the mean of n = %s models", wording.Range(seeds))
		default:
			f.Note = fmt.Sprintf("Each point is the mean of n = %s models; error bars: ±1 SD", wording.Range(seeds))
			if slices.Min(seeds) < item.FewestForInterval {
				f.Note += fmt.Sprintf(" if n > %d", item.FewestForInterval-1)
			}
		}
		if len(shown) < len(all) {
			f.Note += "; the largest group for each σ"
		}
		if f.Annotation, _ = correlation(xs, ys, levels); f.Annotation != "" {
			d.Texts["ρ "+measure] = " " + f.Annotation + "."
		}
		return one(f), nil
	}
}

// byKind draws validation accuracy of some groups by kind of puzzle, a panel each.
func byKind(of selection) panel {
	return func(d *draft) (panels []figure.Panel, err error) {
		for _, c := range conditionColumns() {
			b := boxPlot{title: c.Heading, yLabel: "Validation accuracy", measure: c.Measure, of: of, chance: true}
			panels = append(panels, b.boxes(d))
		}
		return panels, nil
	}
}

// perModel adds the table of a figure's numbers: one row per model, one column per measure. For puzzles,
// validation accuracy always comes with training and IID accuracy.
func perModel(title string, columns ...item.Column) func(*draft) {
	return func(d *draft) { d.AddTable("", d.modelTable(title, columns...)) }
}

func (d *draft) modelTable(title string, columns ...item.Column) table.Table {
	models := cohort.ModelsOf(d.Groups)
	if len(models) > 0 && models[0].Run.Config.Masked == nil {
		for _, c := range accuracyColumns {
			if !slices.Contains(columns, c) {
				columns = append(columns, c)
			}
		}
	}
	t := table.Table{Title: title, Columns: []table.Column{{Heading: "PE"},
		{Heading: "σ", Name: "sigma", Decimals: 2}, {Heading: "seed"}, {Heading: "run"}}}
	for _, c := range columns {
		t.Columns = append(t.Columns, c.Table())
	}
	fits := slices.ContainsFunc(models, func(m cohort.Model) bool { return m.FitText() != "" })
	if fits {
		t.Columns = append(t.Columns, table.Column{Heading: "fitted"})
	}
	for _, m := range models {
		row := table.Row{table.Text(m.Run.Config.PE), {}, item.Seed(m), table.Text(m.Run.Name)}
		if m.Member.Sigma != nil {
			row[1] = table.Number(*m.Member.Sigma)
		}
		for _, c := range columns {
			row = append(row, table.Number(d.Of(m, c.Measure)))
		}
		if fits {
			row = append(row, table.Text(m.FitText()))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// The measures of tables.
var (
	accuracyColumns = []item.Column{{Measure: "validation", Heading: "validation accuracy"},
		{Measure: "train", Heading: "training accuracy"},
		{Measure: "iid", Heading: "IID test accuracy"}}

	// likenessColumns holds the measures of similarity between a model and the reference.
	likenessColumns = []item.Column{{Measure: "cosine", Heading: "attention cosine"},
		{Measure: "jsd", Heading: "attention JSD (bits)"},
		{Measure: "procrustes", Heading: "Procrustes distance"},
		{Measure: "disparity", Heading: "Procrustes disparity"}}

	maskedColumns = []item.Column{{Measure: "train_mse", Heading: "training MSE"},
		{Measure: "test_mse/0.15", Heading: "test MSE, 15 % masked"},
		{Measure: "test_mse/0.50", Heading: "50 %"},
		{Measure: "test_mse/0.75", Heading: "75 %"},
		{Measure: "test_mse/0.90", Heading: "90 %"},
		{Measure: "modularity", Heading: "modularity Q"},
		{Measure: "clustering", Heading: "clustering C"}}
)
