package paper

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"torchpe/data/nmar"
	"torchpe/internal/metrics"
	"torchpe/internal/paper"
	"torchpe/internal/stats"
	"torchpe/report/cohort"
	"torchpe/report/figure"
	"torchpe/report/item"
	"torchpe/report/table"
)

// first returns the run that represents all runs of the item in what they share.
func (d *draft) first() *cohort.Run { return d.Groups[0].Models[0].Run }

// errorsByGroup returns the errors of the groups that have them.
func (d *draft) errorsByGroup(measure string) (all [][]float64) {
	for _, g := range d.Groups {
		all = append(all, d.study.values(g, measure))
	}
	return all
}

// modularityBoxes draws modularity, and modularity by chance for the first model of each encoding.
func modularityBoxes(d *draft) ([]figure.Panel, error) {
	groups := d.ByMean(d.Groups, "modularity", false)
	b := d.Boxes("Modularity of the encodings", "Modularity Q", "modularity", groups)
	chances, err := item.AddChance(&b, groups)
	if err != nil {
		return nil, err
	}
	if b.Groups != nil {
		d.Texts["scores"] = fmt.Sprintf(" Q and C are scored on the %s distance of encodings.%s", distanceText(d),
			item.ChanceNote(b, groups, chances))
	} else if d.first().Config.Task == "fmri" {
		d.Lacks("torchpe train --task fmri --data DIR --modules CAB-NP_LABELKEY.txt",
			"network scores: the runs have no networks")
	}
	return one(b), nil
}

func clusteringBoxes(d *draft) ([]figure.Panel, error) {
	return one(d.Boxes("Clustering of the encodings", "Clustering C", "clustering",
		d.ByMean(d.Groups, "modularity", false))), nil
}

// mseBoxes draws errors in the test with a share of tokens masked, beside those in training and those of the
// baselines.
func mseBoxes(level string) panel {
	test := "test_mse/" + level
	return func(d *draft) ([]figure.Panel, error) {
		b := boxPlot{title: "Errors after training, " + strings.TrimPrefix(level, "0.") + " % masked",
			yLabel: "Test MSE", measure: test,
			beside: []item.Column{{Measure: "train_mse", Heading: "training MSE"}},
			of:     func(all []cohort.Group) []cohort.Group { return d.ByMean(all, test, false) }}.boxes(d)
		b.References = item.References(d.first(), level)
		return one(b), nil
	}
}

// mseCourses draws errors over training.
func mseCourses(d *draft) ([]figure.Panel, error) {
	panels, err := d.courses("_curves", item.Steps, d.Groups, []item.Column{
		{Measure: "train_mse", Title: "Training", Axis: "MSE in training"},
		{Measure: "test_mse/" + paper.TestLevel, Name: "test_mse", Title: "Generalization",
			Axis: "Test MSE, 90 % masked"}})
	if err != nil || len(panels) < 2 {
		return panels, err
	}
	training, test := panels[0].(figure.Lines), panels[1].(figure.Lines)
	figure.ShareY(&training, &test)
	return []figure.Panel{training, test}, nil
}

// simulation draws the network that the models were trained on, and the series of some nodes.
func simulation(d *draft) ([]figure.Panel, error) {
	r := d.first()
	c := r.Config.Masked.NMAR
	if c == nil {
		return nil, fmt.Errorf("%s: config.json: a run of task nmar without its simulation", r.Dir)
	}
	o := nmar.DefaultOptions()
	o.Nodes, o.Modules, o.Frames, o.Scale = c.Nodes, c.Modules, min(c.Frames, 200), c.Scale
	sim, err := nmar.Simulate(o, r.Config.DataSeed)
	if err != nil {
		return nil, err
	}
	sim = sim.ByModule()
	l := figure.Lines{Title: "Series of three nodes", XLabel: "Time point", YLabel: "Activity",
		NoMembers: true}
	for _, node := range []int{0, o.Nodes / 2, o.Nodes - 1} {
		line := figure.LineSeries{Label: fmt.Sprintf("node %d", node), Values: [][]float64{nil}}
		for t := range min(100, o.Frames) {
			line.X = append(line.X, float64(t))
			line.Values[0] = append(line.Values[0], float64(sim.X[t*o.Nodes+node]))
		}
		l.Series = append(l.Series, line)
	}
	return []figure.Panel{figure.Matrix{Title: "True network", Values: sim.Weights, Rows: o.Nodes,
		Columns: o.Nodes, Scale: figure.Sequential,
		BarLabel: "Weight", XLabel: "From node", YLabel: "To node", Groups: sim.Labels}, l}, nil
}

// maskingSchematic draws masked prediction on the simulated network.
func maskingSchematic(d *draft) ([]figure.Panel, error) {
	c := d.first().Config
	return one(masking(fmt.Sprintf("%d nodes at one time point", c.Masked.NMAR.Nodes), c)), nil
}

func masking(tokens string, c cohort.Config) figure.Panel {
	texts := append([]string{tokens, "*mask a share of them"}, blocksTexts(c, "+ PE")...)
	return schematic("Masked prediction", append(texts, "values of the masked")...)
}

// scoringSchematic draws how the modularity of encodings is scored.
func scoringSchematic(d *draft) ([]figure.Panel, error) {
	return one(schematic("Modularity", "PEs of two tokens, i and j",
		distanceText(d)+" distance d, scaled to 0..1", "W = 1 − d",
		"*Q = 1/l Σ [W(i,j) − k(i) k(j) / l] δ(i,j)")), nil
}

// networkStrip shows the networks of the regions in the order of the tokens, if the run knows them.
func networkStrip(d *draft) ([]figure.Panel, error) {
	p, err := d.first().Probes()
	if err != nil {
		return nil, err
	}
	t, err := regionsOf(p)
	if err != nil || t.Labels == nil {
		return nil, err
	}
	d.Texts["strip"] = " The paper draws the networks on the cortex; without a surface, a strip " +
		"shows them here."
	return one(figure.Strip{Title: "Networks of the regions, in the order of the tokens",
		Groups: t.Labels, GroupNames: t.Modules}), nil
}

// regionSchematic draws masked prediction of regions, below the strip of their networks.
func regionSchematic(d *draft) ([]figure.Panel, error) {
	if strip, err := networkStrip(d); strip == nil || err != nil {
		return nil, err
	}
	return one(masking("regions at one time point", d.first().Config)), nil
}

// regionsOf returns the networks of a run's regions.
func regionsOf(p *cohort.Probes) (item.Tokens, error) {
	modules, _, err := p.Modules()
	if err != nil {
		return item.Tokens{}, err
	}
	return item.TokensOf(p, len(modules))
}

// distanceText names the distance used by the runs' network scores, for a sentence.
func distanceText(d *draft) string {
	return item.Each(cohort.ModelsOf(d.Groups), func(m cohort.Model) string {
		switch kind, err := m.Run.Distance(); {
		case err != nil:
			return m.Run.Config.Masked.Distance
		case kind == metrics.Euclidean:
			return "Euclidean"
		default:
			return kind.String()
		}
	})
}

// cosineMatrices draws the cosine similarity of tokens, which the paper shows for the simulated network.
func cosineMatrices(d *draft) ([]figure.Panel, error) {
	matrices, err := d.tokenMatrices("cosine", d.ByMean(d.Groups, "modularity", false),
		func(_ *cohort.Run, x metrics.Table) ([]float64, error) { return x.Cosines(), nil })
	var panels []figure.Panel
	for _, m := range matrices {
		d.Texts["matrices"] = " Matrices: cosine similarity of encodings, as in the paper, nodes ordered " +
			"by module."
		m.Scale, m.Min, m.BarLabel = figure.Diverging, -1, "Cosine"
		panels = append(panels, m)
	}
	return panels, err
}

// proximityMatrices draws W, the weights of the network scores: 1 minus the scaled distance.
func proximityMatrices(d *draft) ([]figure.Panel, error) {
	matrices, err := d.tokenMatrices("proximity", d.Groups, func(r *cohort.Run, x metrics.Table) ([]float64, error) {
		kind, err := r.Distance()
		return metrics.Proximity(x.Distances(kind)), err
	})
	apart := item.OffDiagonal(matrices)
	slices.Sort(apart)
	low, high := stats.Quantile(apart, 0.01), stats.Quantile(apart, 0.99)
	var panels []figure.Panel
	for _, m := range matrices {
		by := "network"
		if m.Groups == nil {
			by = "clusters of the first encoding (average linkage)"
		}
		d.Texts["matrices"] = fmt.Sprintf(" Matrices: 1 minus the distance between the encodings of two regions, "+
			"scaled to 0..1 over all pairs; regions ordered by %s. The colours span the values off the "+
			"diagonal, without the outermost hundredth at each end.", by)
		m.Scale, m.BarLabel = figure.Sequential, "1 − scaled distance"
		if low < high {
			m.Min, m.Max = low, high
		}
		panels = append(panels, m)
	}
	return panels, err
}

// tokenMatrices draws how like each other the encodings of all tokens are, of the first model of
// each group that has a table. Without modules the tokens are in clusters of the first model.
func (d *draft) tokenMatrices(name string, groups []cohort.Group,
	of func(*cohort.Run, metrics.Table) ([]float64, error)) (matrices []figure.Matrix, err error) {
	var order []int
	for _, g := range groups {
		p, x, err := item.Learned(g.Models[0])
		if errors.Is(err, cohort.ErrNoTable) {
			continue
		}
		if err != nil {
			return nil, err
		}
		values, err := of(g.Models[0].Run, x)
		if err != nil {
			return nil, err
		}
		t, err := item.TokensOf(p, x.Tokens)
		if err != nil {
			return nil, err
		}
		if t.Labels == nil {
			if order == nil {
				order = item.ClusterOrder(values, x.Tokens)
			}
			t.Order = order
		}
		m := t.Matrix(values)
		m.Title, m.Max, m.RowLabels = g.Label, 1, tokenTicks(t.Order)
		matrices = append(matrices, m)
		d.AddTable("_"+name+"_"+strings.NewReplacer(".", "", "-", "_").Replace(g.Label),
			item.SquareTable(values, t.Order, table.Count))
	}
	return matrices, nil
}

// tokenTicks labels the rows of a matrix over tokens: few with their numbers, many with their place at each
// hundred.
func tokenTicks(order []int) []string {
	const few, step = 60, 100
	labels := make([]string, len(order))
	for place, token := range order {
		switch {
		case len(order) <= few:
			labels[place] = fmt.Sprint(token)
		case place%step == 0:
			labels[place] = fmt.Sprint(place)
		}
	}
	return labels
}

// nmarErrors adds the errors on the simulated network with half of the nodes masked beside the printed
// one: by encoding, those of predictions that need no training, and whether the encodings differ.
func nmarErrors(d *draft) {
	const level = "0.50"
	isRaw := !d.first().Config.Masked.ZScore // like the printed error
	t := table.Table{Title: d.Title, Columns: []table.Column{
		{Heading: "PE"}, {Heading: "n"}, {Heading: "test MSE, 50 % masked", Name: "test_mse_50", Decimals: 4},
		{Heading: "minus " + item.Text("test_mse/"+level, paper.NMARError), Name: "difference", Decimals: 4},
		{Heading: "F", Decimals: 2}, {Heading: "df"}, {Heading: "p"}}}
	add := func(label string, mean float64, cells ...table.Cell) { // n, error, "", F, df, p
		row := append(table.Row{table.Text(label)}, append(cells, make(table.Row, 6-len(cells))...)...)
		if isRaw {
			row[3] = table.Number(mean - paper.NMARError)
		}
		t.Rows = append(t.Rows, row)
	}
	ours := func(label string, errors []float64, test ...table.Cell) {
		add(label, stats.Mean(errors), append([]table.Cell{table.Count(len(errors)),
			table.MeanSD(stats.Mean(errors), stats.SD(errors)), {}}, test...)...)
	}
	var each [][]float64
	for i, errors := range d.errorsByGroup("test_mse/" + level) {
		if len(errors) > 0 {
			each = append(each, errors)
			ours(d.Groups[i].Label, errors)
		}
	}
	var test []table.Cell
	if d.study.areUnlike(d.Groups...) {
		t.Note = "No F test: the encodings differ in more than the encoding, such as the length of training."
	} else if f, err := stats.ANOVA(each...); err == nil { // fails with one model per encoding
		test = []table.Cell{table.Number(f.Statistic), table.Text(fmt.Sprintf("%g, %g", f.DF, f.DF2)), table.P(f.P)}
	}
	ours("all", slices.Concat(each...), test...)
	t.Rows = append(t.Rows, table.Row{table.Text("all, in the paper"), {},
		table.Number(paper.NMARError), {}, table.Number(paper.NMARF), {}, table.P(paper.NMARP)})
	for _, b := range item.Baselines {
		if v := b.MSE(d.first(), level); !math.IsNaN(v) {
			add(b.Name, v, table.Cell{}, table.Number(v))
		}
	}
	d.AddTable("", t)
}
