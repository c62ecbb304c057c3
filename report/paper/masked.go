package paper

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"torchpe/data/nmar"
	"torchpe/internal/metrics"
	"torchpe/internal/paper"
	"torchpe/internal/stats"
	"torchpe/report/figure"
	"torchpe/report/runs"
	"torchpe/report/table"
	"torchpe/train/runlog"
)

func modularity(m Model) float64 { return runs.Modularity(m.Result.MaskedMeasures) }
func clustering(m Model) float64 { return runs.Clustering(m.Result.MaskedMeasures) }
func trainMSE(m Model) float64   { return runs.TrainMSE(m.Result.MaskedMeasures) }

// testMSE returns the error with a share of tokens masked.
func testMSE(level string) func(Model) float64 {
	return func(m Model) float64 { return runs.TestMSE(m.Result.MaskedMeasures, level) }
}

// maskedColumns are the measures of masked prediction.
var maskedColumns = []measureColumn{
	{"training MSE", "train_mse", trainMSE}, {"test MSE, 15 % masked", "test_mse_15",
		testMSE("0.15")}, {"50 %", "test_mse_50", testMSE("0.50")},
	{"75 %", "test_mse_75", testMSE("0.75")}, {"90 %", "test_mse_90", testMSE("0.90")}, {
		"modularity Q", "modularity", modularity}, {"clustering C", "clustering", clustering},
}

// trainedAt returns the models trained with a share of tokens masked.
func trainedAt(models []Model, level float64) []Model {
	return slices.DeleteFunc(slices.Clone(models),
		func(m Model) bool { return math.Abs(m.Run.Config.Masked.Level-level) > 1e-9 })
}

// byMean orders groups by the mean of a measure, those without it last.
func byMean(all []group, of func(Model) float64, rising bool) []group {
	value := func(g group) float64 {
		v := stats.Mean(finite(g.values(of)))
		if math.IsNaN(v) {
			return math.Inf(1)
		}
		if !rising {
			return -v
		}
		return v
	}
	out := slices.Clone(all)
	slices.SortStableFunc(out, func(a, b group) int { return cmp.Compare(value(a), value(b)) })
	return out
}

func (s *Study) fig4(d *draft) error {
	models := trainedAt(s.NMAR, 0.5)
	all := groups(models)
	s.missingMasked(d, "fig4", s.NMAR, 0.5)
	if len(all) == 0 {
		return nil
	}
	network, series, err := simulation(models[0].Run)
	if err != nil {
		return err
	}
	d.row(2.1, network, series)
	d.row(0.8, maskingSchematic(fmt.Sprintf("%d nodes at one time point",
		models[0].Run.Config.Masked.NMAR.Nodes), models[0].Run.Config))
	best := byMean(all, modularity, false)
	q, tests, err := modularityBoxes(best)
	if err != nil {
		return err
	}
	d.row(plotHeight, q, boxes("Clustering of the encodings", measure{"Clustering C", clustering},
		best, false))
	mseGroups := byMean(all, testMSE("0.50"), false)
	d.row(plotHeight, mseBars(mseGroups, "0.50"))
	d.row(0.8, scoringSchematic(distanceName(models[0])))
	cosines, err := tokenMatrices(d, best, cosineOf)
	if err != nil {
		return err
	}
	d.grid(mapHeight, 4, cosines)
	d.Caption = fmt.Sprintf("A simulated network of %d nodes in %d modules, trained to predict "+
		"masked nodes from the others at the same time (%s; test MSE with half of the nodes "+
		"masked). Q and C are scored on the %s distance of encodings. Matrices: their cosine "+
		"similarity, which the paper shows, nodes ordered by module, %s.",
		models[0].Run.Config.Masked.NMAR.Nodes, models[0].Run.Config.Masked.NMAR.Modules,
		epochs(models), distanceName(models[0]), nodeOrder(models[0].Run))
	d.Caption += tests
	var mse [][]float64
	for _, g := range all {
		mse = append(mse, finite(g.values(testMSE("0.50"))))
	}
	if test, err := stats.ANOVA(mse...); err == nil {
		d.Caption += fmt.Sprintf(" Test MSE by encoding: F(%g, %g) = %.2f, %s (the paper prints "+
			"F = %s, p = %s).", test.DF, test.DF2, test.Statistic, pText(test.P),
			decimals(paper.NMARF, 2), decimals(paper.NMARP, 2))
	}
	d.table("", perModel("Simulated network", models, maskedColumns...))
	return nil
}

// modularityBoxes draws modularity with what chance gives each encoding, and says so in a sentence of
// the caption. Chance is tested on the first model of a group.
func modularityBoxes(all []group) (panel figure.Panel, tests string, err error) {
	b, ok := boxes("Modularity of the encodings", measure{"Modularity Q", modularity}, all,
		false).(figure.Boxes)
	if !ok {
		return nil, "", nil
	}
	of := map[string]group{}
	for _, g := range all {
		of[g.Label] = g
	}
	var texts []string
	for i, drawn := range b.Groups {
		found, err := of[drawn.ColorOf].Models[0].Chance()
		if err != nil {
			return nil, "", err
		}
		if found != nil {
			b.Groups[i].Chance = &figure.Chance{Low: found.Low, High: found.High, P: found.P}
			texts = append(texts, fmt.Sprintf("%s %s", drawn.Label, pText(found.P)))
		}
	}
	if texts == nil {
		return b, "", nil
	}
	return b, fmt.Sprintf(" Chance: modules dealt to the tokens at random (%d permutations, "+
		"first block, first seed): %s. Where neighbours are alike, modules of neighbours pass "+
		"this test too easily.", runs.Surrogates, strings.Join(texts, "; ")), nil
}

// simulation draws the network that a run was trained on, and the series of some nodes.
func simulation(r *runs.Run) (network, series figure.Panel, err error) {
	c := r.Config.Masked.NMAR
	if c == nil {
		return nil, nil, fmt.Errorf("%s: config.json: a run of task nmar without its simulation",
			r.Dir)
	}
	o := nmar.DefaultOptions()
	o.Nodes, o.Modules, o.Frames, o.Scale = c.Nodes, c.Modules, min(c.Frames, 200), c.Scale
	sim, err := nmar.Simulate(o, r.Config.DataSeed)
	if err != nil {
		return nil, nil, err
	}
	sim = sim.ByModule()
	network = figure.Matrix{Title: "True network", Values: sim.Weights, Rows: o.Nodes,
		Columns: o.Nodes, Scale: figure.Sequential,
		BarLabel: "Weight", XLabel: "From node", YLabel: "To node", Groups: sim.Labels}
	l := figure.Lines{Title: "Series of three nodes", XLabel: "Time point", YLabel: "Activity",
		NoMembers: true}
	for _, node := range []int{0, o.Nodes / 2, o.Nodes - 1} {
		line := figure.LineSeries{Label: fmt.Sprintf("node %d", node+1), Values: [][]float64{nil}}
		for t := range min(100, o.Frames) {
			line.X = append(line.X, float64(t))
			line.Values[0] = append(line.Values[0], float64(sim.X[t*o.Nodes+node]))
		}
		l.Series = append(l.Series, line)
	}
	return network, l, nil
}

// maskingSchematic returns a drawing of masked prediction.
func maskingSchematic(tokens string, c runs.Config) figure.Panel {
	return figure.Schematic{Title: "Masked prediction", Boxes: []figure.SchematicBox{
		{Text: tokens}, {Text: "mask a share of them", Emphasis: true}, {Text: "+ PE"}, {
			Text: blocksText(c)}, {Text: "values of the masked"},
	}}
}

// mseBars draws errors in training and test, with those of the baselines.
func mseBars(all []group, level string) figure.Panel {
	b := figure.Bars{Title: "Errors after training", YLabel: "MSE"}
	for _, g := range all {
		b.Groups = append(b.Groups, figure.BarGroup{Label: g.Label, Bars: []figure.Bar{
			{Label: "training", Values: g.values(trainMSE)}, {Label: fmt.Sprintf("test, %s masked",
				percent(level)), Values: g.values(testMSE(level))},
		}})
	}
	for _, name := range []string{"gaussian", "mean"} {
		if v, ok := all[0].Models[0].Run.Result.Baselines[name][level]; ok {
			label := map[string]string{"gaussian": "conditional Gaussian",
				"mean": "mean of the visible"}[name]
			b.References = append(b.References, figure.Reference{Label: label, Y: v})
		}
	}
	return b
}

// percent writes "0.90" as "90 %".
func percent(level string) string {
	return strings.TrimPrefix(strings.TrimPrefix(level, "0."), "0") + " %"
}

// scoredBy returns the distance between encodings that a model's network scores are of.
func scoredBy(m Model) (metrics.Distance, error) {
	if m.Run.Config.Masked.Distance == "" {
		return metrics.Euclidean, nil
	}
	return metrics.ParseDistance(m.Run.Config.Masked.Distance)
}

// distanceName is its name in a sentence.
func distanceName(m Model) string {
	switch kind, err := scoredBy(m); {
	case err != nil:
		return m.Run.Config.Masked.Distance
	case kind == metrics.Euclidean:
		return "Euclidean"
	default:
		return kind.String()
	}
}

// scoringSchematic returns a drawing of how networks in encodings are scored.
func scoringSchematic(distance string) figure.Panel {
	return figure.Schematic{Title: "Modularity", Boxes: []figure.SchematicBox{
		{Text: "PEs of two tokens, i and j"}, {Text: distance +
			" distance d, scaled to 0..1"}, {Text: "W = 1 − d"},
		{Text: "Q = 1/l Σ [W(i,j) − k(i) k(j) / l] δ(i,j)", Emphasis: true},
	}}
}

// tokenSimilarity is a measure of two tokens' encodings that matrices show.
type tokenSimilarity struct {
	name, heading string // of files, and of the colour bar
	min           float64
	scale         figure.Scale
	of            func(m Model, x runs.Table) ([]float64, error)
}

// cosineOf is the cosine similarity, which the paper shows of the simulated network.
var cosineOf = tokenSimilarity{"cosine", "Cosine", -1, figure.Diverging,
	func(_ Model, x runs.Table) ([]float64, error) { return x.Cosines() }}

// proximityOf is W, which the network scores are of: 1 less the scaled distance.
var proximityOf = tokenSimilarity{"proximity", "1 − scaled distance", 0, figure.Sequential,
	func(m Model, x runs.Table) ([]float64, error) {
		kind, err := scoredBy(m)
		if err != nil {
			return nil, err
		}
		out, err := metrics.Distances(x.Values, x.Tokens, x.Dim, kind)
		if err != nil {
			return nil, err
		}
		return metrics.Proximity(out), nil
	}}

// tokenMatrices draws how like each other the encodings of all tokens are, of the first model of
// each group that has a table.
func tokenMatrices(d *draft, all []group, how tokenSimilarity) ([]figure.Panel, error) {
	var matrices []figure.Matrix
	for _, g := range all {
		m := g.Models[0]
		p, err := m.Run.Probes()
		if err != nil {
			return nil, err
		}
		if len(p.Blocks()) == 0 {
			continue
		}
		x, err := p.Table(m.Index, 0)
		if err != nil {
			return nil, err
		}
		values, err := how.of(m, x)
		if err != nil {
			return nil, err
		}
		labels, names, err := modulesOf(p)
		if err != nil {
			return nil, err
		}
		order := orderBy(labels, x.Tokens)
		panel := figure.Matrix{Title: g.Label, Rows: x.Tokens, Columns: x.Tokens, Scale: how.scale,
			Min: how.min, Max: 1, BarLabel: how.heading, Note: "n = 1 model"}
		for _, i := range order {
			for _, j := range order {
				panel.Values = append(panel.Values, values[i*x.Tokens+j])
			}
			if labels != nil {
				panel.Groups = append(panel.Groups, labels[i])
			}
		}
		panel.RowLabels = tokenTicks(order)
		panel.GroupColors = networkColors(names)
		matrices = append(matrices, panel)
		d.table("_"+how.name+"_"+strings.NewReplacer(".", "", "-", "_").Replace(g.Label),
			squareTable(panel.Values, x.Tokens, order))
	}
	if how.scale == figure.Sequential {
		scaleOffDiagonal(matrices)
	}
	var panels []figure.Panel
	for _, m := range matrices {
		panels = append(panels, m)
	}
	return panels, nil
}

// tokenTicks labels the rows of a matrix over tokens: few with their numbers, many by their count at
// each hundred.
func tokenTicks(order []int) []string {
	const few, step = 60, 100
	labels := make([]string, len(order))
	for place, token := range order {
		switch {
		case len(order) <= few:
			labels[place] = fmt.Sprint(token)
		case (place+1)%step == 0:
			labels[place] = fmt.Sprint(place + 1)
		}
	}
	return labels
}

// scaleOffDiagonal gives matrices one range of colours, the 1st to the 99th percentile of the values off
// their diagonals, which are 1 and would leave little of the scale to the others.
func scaleOffDiagonal(all []figure.Matrix) {
	var values []float64
	for _, m := range all {
		for i, v := range m.Values {
			if i/m.Columns != i%m.Columns && !math.IsNaN(v) {
				values = append(values, v)
			}
		}
	}
	slices.Sort(values)
	if low, high := stats.Quantile(values, 0.01), stats.Quantile(values, 0.99); low < high {
		for i := range all {
			all[i].Min, all[i].Max = low, high
		}
	}
}

// squareTable returns a matrix over tokens as a table.
func squareTable(values []float64, n int, order []int) table.Table {
	t := table.Table{Columns: []table.Column{{Heading: "token", Name: "token"}}}
	for _, i := range order {
		t.Columns = append(t.Columns, table.Column{Heading: fmt.Sprint(i),
			Name: fmt.Sprintf("token_%d", i), Decimals: 4})
	}
	for r, i := range order {
		row := table.Row{table.Count(i)}
		for c := range order {
			row = append(row, table.Number(values[r*n+c]))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// modulesOf returns the modules of a run's tokens, if it knows them, and their names, if they have
// some.
func modulesOf(p *runs.Probes) (labels []int, names []string, err error) {
	values, ok, err := p.Shared("modules")
	if !ok || err != nil {
		return nil, nil, err
	}
	for _, v := range values {
		labels = append(labels, int(v))
	}
	return labels, p.Text("module_names"), nil
}

// orderBy returns tokens by module, else as they are.
func orderBy(labels []int, n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	if labels != nil {
		slices.SortStableFunc(order, func(a, b int) int {
			return cmp.Compare(labels[a], labels[b])
		})
	}
	return order
}

// networkColors returns the colours of the brain's networks, where all names are of those; nil
// otherwise.
func networkColors(names []string) []color.Color {
	var out []color.Color
	for _, name := range names {
		c, ok := figure.NetworkColor(name)
		if !ok {
			return nil
		}
		out = append(out, c)
	}
	return out
}

// maskedCurves returns the errors over training.
func maskedCurves(level string) map[string]func(runlog.Record) float64 {
	return map[string]func(runlog.Record) float64{
		"train_mse": func(r runlog.Record) float64 { return runs.TrainMSE(r.MaskedMeasures) },
		"test_mse":  func(r runlog.Record) float64 { return runs.TestMSE(r.MaskedMeasures, level) },
	}
}

func stepLines(title, yLabel string, series []figure.LineSeries) figure.Lines {
	return figure.Lines{Title: title, XLabel: "Step", YLabel: yLabel, Series: series,
		Band: figure.BandSD}
}

// ifAny returns no panel for no lines.
func ifAny(l figure.Lines) figure.Panel {
	if len(l.Series) == 0 {
		return nil
	}
	return l
}

func (s *Study) fig5(d *draft) error { return s.fmri(d, "fig5", 0.5, fmriParts{errors: true}) }
func (s *Study) fig6(d *draft) error { return s.fmri(d, "fig5", 0.5, fmriParts{networks: true}) }

// maskLevel makes the figures of other shares of masked tokens in training.
func (s *Study) maskLevel(d *draft, preset string, level float64) error {
	return s.fmri(d, preset, level, fmriParts{errors: true, networks: true})
}

// fmriParts chooses the parts of a figure on fMRI: errors, and the networks of the encodings.
type fmriParts struct{ errors, networks bool }

// fmri draws the models trained with a share of tokens masked, which the preset trains.
func (s *Study) fmri(d *draft, preset string, level float64, show fmriParts) error {
	models := trainedAt(s.FMRI, level)
	all := groups(models)
	s.missingMasked(d, preset, s.FMRI, level)
	if len(all) == 0 {
		return nil
	}
	source := "the files named in the runs"
	if isSurrogate(models[0].Run) {
		source = "the surrogate, made-up series of known networks"
	}
	d.Caption = fmt.Sprintf("Masked prediction of brain activity from %s; %.0f %% of the regions "+
		"masked in training, %s.", source, 100*level, epochs(models)) + stoppedNote(models)
	if level == 0.5 && show.errors {
		d.Caption += " The paper draws the networks on the cortex, for which there is no surface here: a " +
			"strip shows them."
	}
	if level == 0.5 {
		if err := s.networkStrip(d, models[0].Run, show.errors); err != nil {
			return err
		}
	}
	if show.errors {
		if err := fmriErrors(d, all); err != nil {
			return err
		}
	}
	if show.networks {
		if level == 0.5 {
			d.row(0.8, scoringSchematic(distanceName(models[0])))
			matrices, err := tokenMatrices(d, all, proximityOf)
			if err != nil {
				return err
			}
			d.grid(mapHeight, 4, matrices)
			d.Caption += " Matrices: 1 less the distance of the encodings of two regions, scaled to 0..1 " +
				"over all pairs; regions ordered by network. The colours " +
				"span what is off the diagonal, but for its outermost hundredths."
		}
		scored := byMean(all, modularity, false)
		q, tests, err := modularityBoxes(scored)
		if err != nil {
			return err
		}
		c := boxes("Clustering of the encodings", measure{"Clustering C", clustering}, scored,
			false)
		d.Caption += fmt.Sprintf(" Q and C are scored on the %s distance.",
			distanceName(models[0])) + tests
		if q == nil {
			d.missing("torchpe train --task fmri --data DIR --modules CAB-NP_LABELKEY.txt",
				"network scores: the runs know no networks")
		}
		d.row(plotHeight, q, c)
	}
	d.table("", perModel("fMRI", models, maskedColumns...))
	return nil
}

// fmriErrors draws errors over training and at its end.
func fmriErrors(d *draft, all []group) error {
	lines, t, err := courses(all, byStep, "step", maskedCurves(paper.TestLevel))
	if err != nil {
		return err
	}
	training, test := stepLines("Training", "MSE in training", lines["train_mse"]),
		stepLines("Generalisation", "Test MSE, 90 % masked", lines["test_mse"])
	if training.Series != nil && test.Series != nil {
		figure.ShareY(&training, &test)
	}
	d.row(plotHeight, ifAny(training), ifAny(test))
	d.row(plotHeight, mseBars(byMean(all, testMSE(paper.TestLevel), false), paper.TestLevel))
	d.table("_curves", t)
	return nil
}

// isSurrogate says whether a run's data was made up.
func isSurrogate(r *runs.Run) bool {
	return !strings.Contains(string(r.Config.JSON), `"files":{`)
}

// networkStrip shows the networks of the regions in the order of the tokens, or what is trained.
func (s *Study) networkStrip(d *draft, r *runs.Run, schematic bool) error {
	p, err := r.Probes()
	if err != nil {
		return err
	}
	labels, names, err := modulesOf(p)
	if err != nil || labels == nil {
		return err
	}
	d.row(1.1, figure.Strip{Title: "Networks of the regions, in the order of the tokens",
		Groups: labels, GroupNames: names, GroupColors: networkColors(names)})
	if schematic {
		d.row(0.8, maskingSchematic("regions at one time point", r.Config))
	}
	return nil
}
