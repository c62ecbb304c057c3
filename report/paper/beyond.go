package paper

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"torchpe/data/lst"
	"torchpe/internal/metrics"
	"torchpe/internal/paper"
	"torchpe/internal/stats"
	"torchpe/report/figure"
	"torchpe/report/runs"
	"torchpe/report/table"
	"torchpe/train/runlog"
)

// placements lists where the PE is added and where the answer is read, in the four readings.
var placements = [][2]string{{"block", "last"}, {"block", "probe"}, {"input", "last"}, {"input",
	"probe"}}

func (s *Study) ablation(d *draft) error {
	lines := map[string][]figure.LineSeries{}
	var shown []Model
	for _, reading := range placements {
		v := s.mainVariant()
		v.Placement, v.ReadOut = reading[0], reading[1]
		all := mergeBySigma(learned(groups(s.puzzles(v))))
		name := fmt.Sprintf("PE at the %s, answer at the %s",
			map[string]string{"block": "input of every block", "input": "input"}[reading[0]],
			map[string]string{"last": "last token", "probe": "probe's token"}[reading[1]])
		s.missingSigmas(d, s.variant("ablation", s.puzzles(v), "--pe-placement "+reading[0],
			"--read-out "+reading[1]), ", "+name, []float64{.2, 1, 2})
		if len(all) == 0 {
			continue
		}
		for _, c := range accuracyColumns {
			line := againstSigma(all, c.of)
			line.Label = reading[0] + ", " + reading[1]
			lines[c.name] = append(lines[c.name], line)
		}
		shown = append(shown, modelsOf(all)...)
	}
	if shown == nil {
		return nil
	}
	var panels []figure.Panel
	for _, c := range []measureColumn{accuracyColumns[1], accuracyColumns[2], accuracyColumns[0]} {
		panels = append(panels, figure.Lines{Title: capitalised(c.heading), XLabel: "Initial σ",
			YLabel: "Accuracy", Series: lines[c.name], Band: figure.BandSD, Markers: true,
			YMin: 0, YMax: 1, References: chanceLine})
	}
	d.row(2.4, panels...)
	d.Caption = fmt.Sprintf("The published code adds a PE of its own at the input of every "+
		"block, and reads the answer at the last token; the text reads as one PE at the input "+
		"and the answer at the probe's token. Neither is said to matter. Validation accuracy by "+
		"σ in all four readings (%s), all else as in the code.", epochs(shown)) + fitNote(shown)
	text := func(of func(Variant) string) func(Model) string { return func(m Model) string { return of(m.Variant) } }
	t := perModel("Placement and read-out", shown)
	for _, c := range []struct {
		name string
		of   func(Model) string
	}{{"placement", text(func(v Variant) string { return v.Placement })}, {"read_out",
		text(func(v Variant) string { return v.ReadOut })}} {
		t.Columns = append(t.Columns, table.Column{Heading: strings.ReplaceAll(c.name, "_", "-"),
			Name: c.name})
		for i, m := range shown {
			t.Rows[i] = append(t.Rows[i], table.Text(c.of(m)))
		}
	}
	d.table("", t)
	return nil
}

// againstSigma returns a measure of the k-th model of each group against its sigma, a line of as
// many members as the largest group has.
func againstSigma(all []group, of func(Model) float64) figure.LineSeries {
	var line figure.LineSeries
	n := 0
	for _, g := range all {
		n = max(n, len(g.Models))
	}
	line.Values = make([][]float64, n)
	for _, g := range all {
		line.X = append(line.X, g.Sigma)
		for k := range line.Values {
			v := math.NaN()
			if k < len(g.Models) {
				v = of(g.Models[k])
			}
			line.Values[k] = append(line.Values[k], v)
		}
	}
	return line
}

// capitalised returns a heading with a capital letter first.
func capitalised(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// mergeBySigma makes one group of those of the same sigma.
func mergeBySigma(all []group) []group {
	var out []group
	for _, g := range all {
		if n := len(out); n > 0 && out[n-1].Sigma == g.Sigma {
			out[n-1].Models = append(slices.Clone(out[n-1].Models), g.Models...)
			continue
		}
		out = append(out, g)
	}
	return out
}

func (s *Study) iidOOD(d *draft) error {
	all := s.mainGroups()
	if len(all) == 0 {
		d.missing(s.command(s.onPuzzles("fig2")), "models on puzzles")
		return nil
	}
	byS, others := learned(all), common(all)
	pair := func(title, xLabel string, from []group, label func(group) string) figure.Panel {
		if len(from) == 0 {
			return nil
		}
		b := figure.Bars{Title: title, XLabel: xLabel, YLabel: "Accuracy", References: chanceLine}
		for _, g := range from {
			b.Groups = append(b.Groups, figure.BarGroup{Label: label(g), ColorOf: g.Label, Bars: []figure.Bar{
				{Label: "training", Values: g.values(training)}, {
					Label: "held out, same kind (IID)", Values: g.values(iid)},
				{Label: "validation, unlike training (OOD)", Values: g.values(validation)},
			}})
		}
		return b
	}
	d.row(plotHeight, pair("By initial σ", "Initial σ", byS, sigmaLabel))
	d.row(plotHeight, pair("Common encodings", "", others, group.name))
	d.Caption = "The paper reports training and validation accuracy. A third set in its files, " +
		"held out from the training puzzles, tells memorising from not generalising to other " +
		"puzzles: published values are " + publishedIID() + fitNote(modelsOf(all))
	d.table("", perModel("IID and OOD accuracy", modelsOf(all)))
	return nil
}

// publishedIID writes the published IID accuracies beside the printed validation accuracies.
func publishedIID() string {
	small, large := paper.PublishedIID()
	numbers, _ := paper.Table("A2")
	validation := func(pe string) string {
		return decimals(numbers[[2]string{pe, "validation"}].Mean, 3)
	}
	return fmt.Sprintf("%s for learn-0.2 and %s for learn-2.0, whose validation accuracies are "+
		"%s and %s.", decimals(small, 3), decimals(large, 3), validation("learn-0.2"),
		validation("learn-2.0"))
}

// conditionColumns are the accuracies by kind of puzzle, in the order of its vectors.
var conditionColumns = []measureColumn{
	{"1-vector", "vector_1", ofLines(lst.OneVector)},
	{"2-vector", "vector_2", ofLines(lst.TwoVector)},
	{"3-vector", "vector_3", ofLines(lst.ThreeVector)},
}

// ofLines measures a model on the puzzles that need as many lines as the condition says; where its
// run did not record that, on those labelled so.
func ofLines(c lst.Condition) func(Model) float64 {
	return func(m Model) float64 {
		by, key := m.Result.ValidationByLines, strconv.Itoa(int(c))
		if by == nil {
			by, key = m.Result.ValidationByCondition, c.Label()
		}
		if v, ok := by[key]; ok {
			return v
		}
		return math.NaN()
	}
}

// hasLabelsAlone says whether a model was measured by label on generated puzzles: before
// validation_by_lines, some 8 of their 36 puzzles labelled 3-vector needed two lines.
func hasLabelsAlone(m Model) bool {
	return m.Result.ValidationByLines == nil && len(m.Run.Config.LSTTrain) == 0
}

func (s *Study) conditions(d *draft) error {
	all := s.mainGroups()
	if len(all) == 0 {
		d.missing(s.command(s.onPuzzles("fig2")), "models on puzzles")
		return nil
	}
	for _, part := range []struct {
		title  string
		groups []group
	}{{"Learned encodings", exemplars(learned(all))}, {"Common encodings", common(all)}} {
		b := figure.Bars{Title: part.title, YLabel: "Validation accuracy", References: chanceLine}
		for _, g := range part.groups {
			bars := figure.BarGroup{Label: g.name(), ColorOf: g.Label}
			for _, c := range conditionColumns {
				bars.Bars = append(bars.Bars, figure.Bar{Label: c.heading, Values: g.values(c.of)})
			}
			if len(finite(g.values(conditionColumns[0].of))) > 0 {
				b.Groups = append(b.Groups, bars)
			}
		}
		if b.Groups != nil {
			d.row(plotHeight, b)
		}
	}
	d.Caption = "Validation accuracy by how many rows and columns must be brought together. " +
		"People (n = 40) reach .967, .870 and .663; the published models learn-0.2 .983, .935 " +
		"and .948." + fitNote(modelsOf(all))
	if slices.ContainsFunc(modelsOf(all), hasLabelsAlone) {
		d.Caption += " Some runs are of an earlier torchpe and shown by the puzzles' labels: of the 36 generated " +
			"puzzles labelled 3-vector some 8 need two lines only."
	}
	d.table("", perModel("Accuracy by kind of puzzle", modelsOf(all), conditionColumns...))
	return nil
}

func (s *Study) maps(d *draft) error {
	t := table.Table{Title: "Coordinates", Columns: []table.Column{
		{Heading: "task", Name: "task"}, {Heading: "PE", Name: "pe"}, {Heading: "token",
			Name: "token"}, {Heading: "group", Name: "group"},
		{Heading: "x", Name: "x", Decimals: 4}, {Heading: "y", Name: "y", Decimals: 4},
	}}
	for _, part := range []struct {
		task string
		all  []group
	}{
		{"puzzles", append(exemplars(learned(s.mainGroups())), groupNamed(s.mainGroups(), reference)...)},
		{"simulated network", exemplars(learned(groups(trainedAt(s.NMAR, 0.5))))},
		{"fMRI", exemplars(learned(groups(trainedAt(s.FMRI, 0.5))))},
	} {
		var panels [2][]figure.Panel // by row and by column, or by module
		for _, g := range part.all {
			drawn, err := mapsOf(part.task, g, &t)
			if err != nil {
				return err
			}
			for k, panel := range drawn {
				panels[k] = append(panels[k], panel)
			}
		}
		for _, line := range panels {
			d.grid(planeHeight, 4, line)
		}
	}
	if len(d.page.Rows) == 0 {
		d.missing(s.command(s.onPuzzles("fig2")), "models with learned encodings")
		return nil
	}
	d.Caption = "The first two principal axes of a learned encoding (first block, first seed), " +
		"with the share of variance that each explains. Cells of the puzzles are joined to their " +
		"neighbours on the grid and coloured by row, then by column (first blue, then orange, " +
		"green, pink); nodes and regions by their module."
	d.table("", t)
	return nil
}

// mapsOf draws the encoding of a group's first model along its first two principal axes: coloured
// by row and by column where it is of puzzles, else by module.
func mapsOf(task string, g group, t *table.Table) ([]figure.Panel, error) {
	m := g.Models[0]
	p, err := m.Run.Probes()
	if err != nil {
		return nil, err
	}
	x, err := p.Table(m.Index, 0)
	if errors.Is(err, runs.ErrNoTable) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	at, explained, err := metrics.PCA(x.Values, x.Tokens, x.Dim, 2)
	if err != nil {
		return nil, nil // all tokens are the same: there is no map
	}
	labels, names, err := modulesOf(p)
	if err != nil {
		return nil, err
	}
	groupings := []mapGrouping{{"", labels, names}}
	if m.Run.Config.Task == "lst" {
		groupings = []mapGrouping{byLine("row", x.Tokens, func(i int) int { return i / lst.Side }),
			byLine("column", x.Tokens, func(i int) int { return i % lst.Side })}
	}
	var panels []figure.Panel
	for k, by := range groupings {
		if by.labels == nil {
			by.labels = make([]int, x.Tokens)
		}
		panel := figure.Map{Title: fmt.Sprintf("%s, %s", g.Label, task), XLabel: axisLabel(1,
			explained), YLabel: axisLabel(2, explained), Note: "n = 1 model", Groups: by.labels}
		if by.name == "" {
			panel.GroupNames, panel.GroupColors = by.names, networkColors(by.names)
		} else { // its cells have numbers: no legend
			panel.Title = fmt.Sprintf("%s, by %s", g.Label, by.name)
			panel.Edges = figure.GridEdges(lst.Side, lst.Side)
		}
		for i := range x.Tokens {
			panel.XY = append(panel.XY, [2]float64{at[2*i], at[2*i+1]})
			if by.name != "" {
				panel.Labels = append(panel.Labels, fmt.Sprint(i+1))
			}
			if k == 0 {
				group := fmt.Sprint(by.labels[i])
				if by.labels[i] < len(by.names) {
					group = by.names[by.labels[i]]
				}
				t.Rows = append(t.Rows, table.Row{table.Text(task), table.Text(g.Label),
					table.Count(i), table.Text(group), table.Number(at[2*i]),
					table.Number(at[2*i+1])})
			}
		}
		panels = append(panels, panel)
	}
	return panels, nil
}

// mapGrouping colours the tokens of a map.
type mapGrouping struct {
	name   string // row or column; empty for modules
	labels []int
	names  []string
}

// byLine groups the cells of a puzzle by row or column.
func byLine(name string, tokens int, of func(int) int) mapGrouping {
	g := mapGrouping{name: name}
	for i := range tokens {
		g.labels = append(g.labels, of(i))
	}
	for k := range lst.Side {
		g.names = append(g.names, fmt.Sprintf("%s %d", name, k+1))
	}
	return g
}

// axisLabel names a principal axis with the share of variance that it explains.
func axisLabel(k int, explained []float64) string {
	return fmt.Sprintf("PC %d (%.0f %%)", k, 100*explained[k-1])
}

func (s *Study) course(d *draft) error {
	measures := map[string]func(runlog.Record) float64{
		"modularity":        func(r runlog.Record) float64 { return runs.Modularity(r.MaskedMeasures) },
		"pe_norm":           func(r runlog.Record) float64 { return runs.OrNaN(r.PENorm) },
		"pe_effective_rank": func(r runlog.Record) float64 { return runs.OrNaN(r.PEEffectiveRank) },
	}
	headings := map[string]string{"modularity": "Modularity Q", "pe_norm": "Norm of the PE",
		"pe_effective_rank": "Effective rank of the PE"}
	var shown []Model
	for _, part := range []struct {
		name, xName string
		all         []group
		x           func(runlog.Record) int
	}{
		{"puzzles", "epoch", exemplars(learned(s.mainGroups())), byEpoch},
		{"network", "step", learned(groups(trainedAt(s.NMAR, 0.5))), byStep},
		{"fmri", "step", learned(groups(trainedAt(s.FMRI, 0.5))), byStep},
	} {
		if len(part.all) == 0 {
			continue
		}
		shown = append(shown, modelsOf(part.all)...)
		lines, t, err := courses(part.all, part.x, part.xName, measures)
		if err != nil {
			return err
		}
		var panels []figure.Panel
		for _, name := range []string{"modularity", "pe_norm", "pe_effective_rank"} {
			if len(lines[name]) == 0 {
				continue
			}
			title := map[string]string{"puzzles": "Puzzles", "network": "Simulated network",
				"fmri": "fMRI"}[part.name]
			panels = append(panels, figure.Lines{
				Title: title, XLabel: strings.ToUpper(part.xName[:1]) + part.xName[1:],
				YLabel: headings[name], Series: lines[name], Band: figure.BandSD,
			})
		}
		d.row(plotHeight, panels...)
		d.table("_"+part.name, t)
	}
	if len(d.page.Rows) == 0 {
		d.missing(s.command(s.onPuzzles("fig2")),
			"runs that record their encodings' norm, effective rank or modularity over training")
		return nil
	}
	d.Caption = "How the learned encodings change in training: their modularity against the " +
		"known modules, their Frobenius norm and effective rank (exp of the entropy of the " +
		"singular values), means over blocks." + stoppedNote(shown)
	return nil
}

func (s *Study) toeplitz(d *draft) error {
	r2 := func(m Model) float64 { return stats.Mean(m.Toeplitz) }
	rank := func(m Model) float64 { return stats.Mean(m.EffectiveRank) }
	var shown []Model
	for _, part := range []struct {
		name   string
		models []Model
	}{{"puzzles", s.puzzles(s.mainVariant())}, {"simulated network", trainedAt(s.NMAR, 0.5)}, {"fMRI",
		trainedAt(s.FMRI, 0.5)}} {
		all := groups(part.models)
		d.row(plotHeight, boxes("Toeplitzness, "+part.name, measure{"R² of E Eᵀ", r2}, all, false),
			boxes("Effective rank, "+part.name, measure{"Dimensions", rank}, all, false))
		for _, m := range part.models {
			if len(m.Toeplitz) > 0 {
				shown = append(shown, m)
			}
		}
	}
	if shown == nil {
		d.missing(s.command(s.onPuzzles("fig2")), "models whose encodings have a table")
		return nil
	}
	d.Caption = "Share of the variance of E Eᵀ that a Toeplitz matrix, a function of the " +
		"distance between two tokens in their order, explains (TISA, section 3.1): 1 for a line " +
		"of tokens, low where the order in which a model sees them is not theirs. The diagonal " +
		"alone gives a random table of n tokens and d dimensions about d / (d + n). And the " +
		"effective rank of the encodings. Means over blocks. Encodings without a table, such as " +
		"rope, have neither."
	d.table("", perModel("Toeplitzness", shown, measureColumn{"Toeplitz R²", "toeplitz_r2", r2},
		measureColumn{"effective rank", "effective_rank", rank}))
	return nil
}
