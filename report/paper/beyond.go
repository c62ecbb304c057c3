package paper

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"torchpe/internal/paper"
	"torchpe/internal/stats"
	"torchpe/internal/wording"
	"torchpe/report/cohort"
	"torchpe/report/figure"
	"torchpe/report/item"
	"torchpe/report/table"
	"torchpe/train/runlog"
)

// reading says where the PE is added, and where the answer is read.
type reading struct{ placement, readOut string }

var readings = []reading{{"block", "last"}, {"block", "probe"}, {"input", "last"}, {"input", "probe"}}

func (r reading) models(s *Study) []cohort.Model {
	return s.puzzles(func(v *Variant) { v.Placement, v.ReadOut = r.placement, r.readOut })
}

func (r reading) groups(s *Study) []cohort.Group { return learned(s.groups(r.models(s))) }

// experiment returns the experiment of the reading.
func (r reading) experiment(s *Study) experiment {
	return s.variant("ablation", ", "+r.String(), r.models(s), "--pe-placement "+r.placement, "--read-out "+r.readOut)
}

// String returns "PE in every block, answer at the last token".
func (r reading) String() string {
	return fmt.Sprintf("PE %s, answer at the %s",
		map[string]string{"block": "in every block", "input": "at the input"}[r.placement],
		map[string]string{"last": "last token", "probe": "probe's token"}[r.readOut])
}

// hasReadings reports whether there is more than one reading to compare.
func (d *draft) hasReadings() bool {
	return len(slices.DeleteFunc(slices.Clone(readings),
		func(r reading) bool { return r.groups(d.study) == nil })) > 1
}

func byReading(s *Study) (all []cohort.Group) {
	for _, r := range readings {
		all = append(all, r.groups(s)...)
	}
	return all
}

func readingsLacking() (all []lack) {
	for _, r := range readings {
		all = append(all, sigmas(r.experiment, .2, 1, 2))
	}
	return all
}

// readingLines draws accuracy against σ, one line per reading.
func readingLines(d *draft) (panels []figure.Panel, err error) {
	for _, c := range []item.Column{accuracyColumns[1], accuracyColumns[2], accuracyColumns[0]} {
		var lines []figure.LineSeries
		for _, r := range readings {
			if groups := largestBySigma(r.groups(d.study)); groups != nil {
				line := d.study.againstSigma(groups, c.Measure)
				line.Label = r.String()
				lines = append(lines, line)
			}
		}
		panels = append(panels, d.accuracyLines(wording.Capital(c.Heading), "Initial σ", "Accuracy", lines))
	}
	return panels, nil
}

// readingTable adds the table of models with their readings.
func readingTable(d *draft) {
	t := d.modelTable("Placement and read-out")
	t.Columns = append(t.Columns, table.Columns("placement", "read-out")...)
	for i, m := range cohort.ModelsOf(d.Groups) {
		v := variantOf(m)
		t.Rows[i] = append(t.Rows[i], table.Text(v.Placement), table.Text(v.ReadOut))
	}
	d.AddTable("", t)
}

// accuracyLines draws lines of accuracy against something other than epochs.
func (d *draft) accuracyLines(title, xLabel, yLabel string, series []figure.LineSeries) figure.Lines {
	return figure.Lines{Title: title, XLabel: xLabel, YLabel: yLabel, Series: series,
		Band: figure.BandSD, Markers: true, YMin: 0, YMax: 1, References: d.chance()}
}

// againstSigma returns a measure against sigma, with one line for the k-th model of each group, up to the size
// of the largest group.
func (s *Study) againstSigma(all []cohort.Group, measure string) figure.LineSeries {
	var line figure.LineSeries
	n := 0
	for _, g := range all {
		n = max(n, len(g.Models))
	}
	line.Values = make([][]float64, n)
	for _, g := range all {
		line.X = append(line.X, sigma(g))
		for k := range line.Values {
			v := math.NaN()
			if k < len(g.Models) {
				v = s.value(g.Models[k], measure)
			}
			line.Values[k] = append(line.Values[k], v)
		}
	}
	return line
}

// publishedIID lists the published IID accuracies beside the printed validation accuracies.
func publishedIID() string {
	small, large := paper.PublishedIID()
	numbers, _ := paper.Table("A2")
	validation := func(pe string) string {
		return item.Text("validation", numbers[[2]string{pe, "validation"}].Mean)
	}
	return fmt.Sprintf("%s for learn-0.2 and %s for learn-2.0, with validation accuracies of "+
		"%s and %s.", item.Text("iid", small), item.Text("iid", large), validation("learn-0.2"),
		validation("learn-2.0"))
}

// conditionColumns are the accuracies by kind of puzzle.
func conditionColumns() (columns []item.Column) {
	for i, kind := range item.PuzzleKinds {
		columns = append(columns, item.Column{Measure: "validation/" + kind, Heading: kind,
			Name: fmt.Sprintf("vector_%d", i+1)})
	}
	return columns
}

// maps draws learned encodings along their first two principal axes.
func (d *draft) maps() error {
	t := table.Table{Title: "Coordinates", Columns: table.Columns("task", "PE", "token", "group", "x", "y")}
	s := d.study
	for _, part := range []struct {
		task   string
		groups []cohort.Group
	}{
		{"puzzles", append(exemplars(mainGroups(s)), groupNamed(mainGroups(s), reference)...)},
		{"simulated network", exemplars(nmarGroups(s))},
		{"fMRI", exemplars(fmriAt(0.5)(s))},
	} {
		var panels [2][]figure.Panel // by row and by column, or by module
		for _, g := range part.groups {
			drawn, err := mapsOf(part.task, g, &t)
			if err != nil {
				return err
			}
			for k, panel := range drawn {
				panels[k] = append(panels[k], panel)
			}
		}
		switch {
		case panels[0] == nil:
			continue
		case part.task == "puzzles":
			d.Texts["cells"] = " Lines join neighbouring cells of the puzzles; cells are coloured by " +
				"row, then by column (blue, orange, green, pink)."
		case part.task == "fMRI":
			d.Texts["regions"] = " Regions are coloured by network."
		default:
			d.Texts["nodes by module"] = " Nodes are coloured by module."
		}
		for _, line := range panels {
			d.Grid(planeHeight, 4, line)
		}
	}
	d.AddTable("", t)
	return nil
}

// mapsOf draws the encoding of a group's first model along its first two principal axes. Puzzles are coloured
// by row and by column, others by module.
func mapsOf(task string, g cohort.Group, t *table.Table) ([]figure.Panel, error) {
	p, x, err := item.Learned(g.Models[0])
	if errors.Is(err, cohort.ErrNoTable) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	panel, err := item.Plane(fmt.Sprintf("%s, %s", g.Label, task), x, "PC")
	if err != nil {
		return nil, nil // all tokens are equal: there is no map
	}
	tokens, err := item.TokensOf(p, x.Tokens)
	if err != nil {
		return nil, err
	}
	if tokens.Labels == nil {
		tokens.Labels = make([]int, x.Tokens)
	}
	var panels []figure.Panel
	if g.Models[0].Run.Config.Task == "lst" {
		side := g.Models[0].Run.Config.Side()
		panel.Edges, tokens.Modules = figure.GridEdges(side, side), nil
		byColumn := make([]int, x.Tokens)
		for i := range x.Tokens {
			panel.Labels = append(panel.Labels, fmt.Sprint(i)) // cells have numbers: no legend
			tokens.Labels[i], byColumn[i] = i/side, i%side
		}
		for k := range side {
			tokens.Modules = append(tokens.Modules, fmt.Sprintf("row %d", k))
		}
		panel.Title, panel.Groups = g.Label+", by row", tokens.Labels
		panels = append(panels, panel)
		panel.Title, panel.Groups = g.Label+", by column", byColumn
	} else {
		panel.Groups, panel.GroupNames = tokens.Labels, tokens.Modules
	}
	panels = append(panels, panel)
	for i, at := range panel.XY {
		t.Rows = append(t.Rows, table.Row{table.Text(task), table.Text(g.Label),
			table.Count(i), table.Text(tokens.Module(i)), table.Number(at[0]), table.Number(at[1])})
	}
	return panels, nil
}

const motionHeading = "||E − E₀|| / ||E₀||"

// motionCurves holds the measures of how far learned encodings have moved from their start.
var motionCurves = []item.Column{
	motionCurve("moved", "Motion", motionHeading),
	motionCurve("gradient_share", "Gradient", "PE's share of the gradient"),
	motionCurve("disparity", "Disparity", "Disparity from 2d-fixed"),
	motionCurve("cosine", "Cosine", "Cosine with 2d-fixed"),
}

func motionCurve(name, title, heading string) item.Column {
	return item.Column{Measure: "pe_" + name, Name: name, Heading: heading, Axis: heading,
		Title: title + " over training"}
}

func motionColumns() []item.Column {
	return append(slices.Clone(motionCurves), item.Column{Measure: "tangent_alignment", Heading: "tangent alignment"})
}

func motionCourses(d *draft) ([]figure.Panel, error) {
	return d.courses("_curves", item.Epochs, exemplars(d.Groups), motionCurves)
}

// trainingLevels holds the training accuracies at which models are compared.
var trainingLevels = []float64{.3, .35, .4, .45, .5, .55, .6, .65, .7, .75, .8, .85, .9, .95, .99}

// atTraining returns a measure of a model when its training accuracy first reached each level, interpolated
// linearly between the last record below the level and the first one at or above it. It is NaN if the level was
// never reached, or already at the first record.
func atTraining(records []runlog.Record, measure string, levels []float64) (out []float64) {
	train := func(k int) float64 { return item.RecordValue(records[k], "train") }
	for _, level := range levels {
		value := math.NaN()
		k := slices.IndexFunc(records, func(r runlog.Record) bool { return item.RecordValue(r, "train") >= level })
		if k > 0 {
			share := (level - train(k-1)) / (train(k) - train(k-1))
			before := item.RecordValue(records[k-1], measure)
			value = before + share*(item.RecordValue(records[k], measure)-before)
		}
		out = append(out, value)
	}
	return out
}

// noTraining notes that no models can be compared at equal training accuracy.
func noTraining(d *draft) {
	what := "models with records from while they learned their training puzzles"
	if len(d.Groups) == 0 {
		what = "models on puzzles"
	}
	puzzlesLacking(what)(d)
}

// equalTraining shows validation accuracy against training accuracy during training, which separates a model
// that learns fast from one that generalizes.
func (d *draft) equalTraining() error {
	t := table.Table{Title: "Accuracy when training accuracy was first at a level", Columns: []table.Column{
		{Heading: "PE"}, {Heading: "training", Name: "train"}, {Heading: "validation"},
		{Heading: "IID test", Name: "iid"}, {Heading: "n"}, {Heading: "of"}}}
	done := map[string]bool{} // groups already in the table: learn-0.2 is in both parts
	for _, part := range []struct {
		title string
		of    selection
	}{{"Learned, by initial σ", learned}, {"Common encodings", common}} {
		var validation, iid []figure.LineSeries
		for _, g := range part.of(d.Groups) {
			v, i, err := atTrainingOf(g)
			if err != nil {
				return err
			}
			if len(v.X) == 0 {
				continue
			}
			validation, iid = append(validation, v), append(iid, i)
			if !done[g.Label] {
				done[g.Label] = true
				t.Rows = append(t.Rows, trainingRows(g, v, i)...)
			}
		}
		d.Row(2.4, d.accuracyLines(part.title, "Training accuracy", "Validation accuracy", validation),
			d.accuracyLines(part.title+": held out, same kind", "Training accuracy", "IID test accuracy", iid))
	}
	d.AddTable("", t)
	return nil
}

// atTrainingOf returns the lines of a group's validation and IID accuracy over the levels that at least one of
// its models passed.
func atTrainingOf(g cohort.Group) (validation, iid figure.LineSeries, err error) {
	records, err := cohort.RecordsBy(g.Models, func(r runlog.Record) int { return r.Step })
	if err != nil {
		return validation, iid, err
	}
	var all [2][][]float64
	for _, by := range records {
		var own []runlog.Record
		for _, step := range slices.Sorted(maps.Keys(by)) {
			own = append(own, by[step])
		}
		all[0] = append(all[0], atTraining(own, "validation", trainingLevels))
		all[1] = append(all[1], atTraining(own, "iid", trainingLevels))
	}
	lines := [2]figure.LineSeries{}
	for n := range lines {
		lines[n] = figure.LineSeries{Label: g.Starred(), ColorOf: g.Label, Values: make([][]float64, len(g.Models))}
		for k, level := range trainingLevels {
			if len(cohort.Finite(column(all[0], k))) == 0 {
				continue
			}
			lines[n].X = append(lines[n].X, level)
			for m := range g.Models {
				lines[n].Values[m] = append(lines[n].Values[m], all[n][m][k])
			}
		}
	}
	return lines[0], lines[1], nil
}

// trainingRows returns the rows of a group in the table of equal training.
func trainingRows(g cohort.Group, validation, iid figure.LineSeries) (rows []table.Row) {
	for k, level := range validation.X {
		v, i := cohort.Finite(column(validation.Values, k)), cohort.Finite(column(iid.Values, k))
		rows = append(rows, table.Row{table.Text(g.Label), table.Number(level),
			table.MeanSD(stats.Mean(v), stats.SD(v)), table.MeanSD(stats.Mean(i), stats.SD(i)),
			table.Count(len(v)), table.Count(len(g.Models))})
	}
	return rows
}

// column returns the k-th value of each row.
func column(rows [][]float64, k int) (out []float64) {
	for _, r := range rows {
		out = append(out, r[k])
	}
	return out
}
