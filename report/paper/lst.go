package paper

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"torchpe/internal/paper"
	"torchpe/internal/stats"
	"torchpe/internal/wording"
	"torchpe/report/figure"
	"torchpe/report/runs"
	"torchpe/report/table"
	"torchpe/train/runlog"
)

const chance = 0.25

// chanceLine is the accuracy of guessing among four symbols.
var chanceLine = []figure.Reference{{Label: "chance", Y: chance}}

// accuracyColumns are the measures of accuracy for the tables of figures.
var accuracyColumns = []measureColumn{
	{"validation accuracy", "validation", validation}, {"training accuracy", "train",
		training}, {"IID test accuracy", "iid", iid},
}

// mainGroups returns the groups of the paper's own variant.
func (s *Study) mainGroups() []group { return groups(s.puzzles(s.mainVariant())) }

// sigmaLabel returns a tick of an axis of sigma: "0.2", "1", with the options that tell groups of
// one sigma apart.
func sigmaLabel(g group) string {
	text := strconv.FormatFloat(g.Sigma, 'f', -1, 64)
	if _, options, differ := strings.Cut(g.Label, " ("); differ {
		text += " (" + options
	}
	return text + strings.TrimPrefix(g.name(), g.Label)
}

// measure is a measure of a model with the label of its axis.
type measure struct {
	label string
	of    func(Model) float64
}

// boxes draws a measure of groups; where bySigma, the ticks are sigmas. It is nil where no group
// has the measure.
func boxes(title string, m measure, all []group, bySigma bool) figure.Panel {
	b := figure.Boxes{Title: title, YLabel: m.label, HollowNote: hollowNote}
	for _, g := range all {
		values := g.values(m.of)
		if len(finite(values)) == 0 {
			continue
		}
		label := g.name()
		if bySigma {
			label = sigmaLabel(g)
			b.XLabel = "Initial σ"
		}
		b.Groups = append(b.Groups, figure.Group{Label: label, ColorOf: g.Label, Values: values,
			Hollow: g.hollow()})
	}
	if b.Groups == nil {
		return nil
	}
	return b
}

// withChance adds the accuracy of guessing to boxes.
func withChance(boxes figure.Panel) figure.Panel {
	b, ok := boxes.(figure.Boxes)
	if !ok {
		return nil
	}
	b.References = chanceLine
	return b
}

// validationBoxes draws validation accuracy with the means of training and IID accuracy beside it.
func validationBoxes(title string, all []group, bySigma bool) figure.Panel {
	b, ok := withChance(boxes(title, measure{"Validation accuracy", validation}, all,
		bySigma)).(figure.Boxes)
	if !ok {
		return nil
	}
	b.Beside = []string{"training accuracy", "IID test accuracy"}
	of := map[string]group{}
	for _, g := range all {
		of[g.Label] = g
	}
	for i, drawn := range b.Groups {
		g := of[drawn.ColorOf]
		b.Groups[i].Beside = []float64{meanOf(g, training), meanOf(g, iid)}
	}
	return b
}

// accuracyCourses draws training, IID test and validation accuracy over training in a row, after
// what the title says of all.
func accuracyCourses(of string, lines map[string][]figure.LineSeries) []figure.Panel {
	var row []figure.Panel
	for _, c := range []struct{ name, title, yLabel string }{
		{"train", "Training", "Training accuracy"}, {"iid", "Held out, same kind",
			"IID test accuracy"}, {"validation", "Generalisation", "Validation accuracy"},
	} {
		if panel := accuracyLines(of+c.title, c.yLabel, lines[c.name]); panel != nil {
			row = append(row, panel)
		}
	}
	return row
}

// accuracyLines draws curves of accuracy; nil for none.
func accuracyLines(title, yLabel string, series []figure.LineSeries) figure.Panel {
	if len(series) == 0 {
		return nil
	}
	return figure.Lines{Title: title, XLabel: "Epoch", YLabel: yLabel, Series: series,
		Band: figure.BandSD, YMin: 0, YMax: 1, References: chanceLine}
}

// scatter draws the mean validation accuracy of groups against the mean of a measure x, with their
// rank correlation over the groups. It is nil for fewer than two groups that have both.
func scatter(title string, x measure, of string, all []group) (panel figure.Panel, rho string) {
	f := figure.Scatter{Title: title, XLabel: x.label, YLabel: "Validation accuracy"}
	var xs, ys []float64
	var seeds []int
	for _, g := range all {
		a, b := finite(g.values(x.of)), finite(g.values(validation))
		if len(a) == 0 || len(b) == 0 {
			continue
		}
		p := figure.ScatterPoint{Label: g.name(), ColorOf: g.Label, X: stats.Mean(a),
			Y: stats.Mean(b)}
		if len(a) > 1 && len(b) > 1 {
			p.XErr, p.YErr = stats.SD(a), stats.SD(b)
		}
		seeds = append(seeds, min(len(a), len(b)))
		f.Points = append(f.Points, p)
		xs, ys = append(xs, p.X), append(ys, p.Y)
	}
	if len(xs) < 2 {
		return nil, ""
	}
	f.ErrorNote = "n = " + countRange(seeds) + " a point"
	if slices.Max(seeds) > 1 {
		f.ErrorNote = "±1 SD over seeds, " + f.ErrorNote
	}
	f.Annotation, _ = correlation(xs, ys, of)
	return f, f.Annotation
}

// countRange returns "3", or "1 to 3".
func countRange(counts []int) string {
	low, high := slices.Min(counts), slices.Max(counts)
	if low == high {
		return strconv.Itoa(low)
	}
	return fmt.Sprintf("%d to %d", low, high)
}

// accuracyCurves returns the curves of the figures on training.
func accuracyCurves() map[string]func(runlog.Record) float64 {
	return map[string]func(runlog.Record) float64{
		"train":      func(r runlog.Record) float64 { return r.TrainAccuracy },
		"iid":        func(r runlog.Record) float64 { return r.IIDAccuracy },
		"validation": func(r runlog.Record) float64 { return r.ValidationAccuracy },
	}
}

// modelSchematic draws what the models are made of, as a run's configuration has it.
func modelSchematic(c runs.Config) figure.Panel {
	return figure.Schematic{Title: "Model", Boxes: []figure.SchematicBox{
		{Text: "cells"}, {Text: fmt.Sprintf("embedding, width %d", c.DModel)}, {
			Text: "+ PE, N(0, σ²)", Emphasis: true},
		{Text: blocksText(c)}, {Text: "symbol"},
	}}
}

// blocksText returns "4 blocks: attention, MLP", with the number of heads where there are several.
func blocksText(c runs.Config) string {
	attention := "attention"
	if c.Heads > 1 {
		attention = fmt.Sprintf("attention of %d heads", c.Heads)
	}
	return fmt.Sprintf("%s: %s, MLP", wording.Count(c.Layers, "block"), attention)
}

func (s *Study) fig2(d *draft) error {
	all := learned(s.mainGroups())
	s.missingSigmas(d, s.onPuzzles("fig2"), "", paper.Sigmas())
	if len(all) == 0 {
		return nil
	}
	lines, t, err := courses(exemplars(all), byEpoch, "epoch", accuracyCurves())
	if err != nil {
		return err
	}
	d.row(0.8, modelSchematic(all[0].Models[0].Run.Config))
	d.row(plotHeight, accuracyCourses("", lines)...)
	d.row(plotHeight, validationBoxes("Generalisation by initial σ", all, true))
	models := modelsOf(all)
	d.Caption = fmt.Sprintf("Accuracy in training and on the validation puzzles, which are "+
		"unlike those of training, after %s, by the SD σ of the initial PE.",
		epochs(models)) + fitNote(models) + stoppedNote(models)
	d.table("", perModel("Accuracy by σ", modelsOf(all)))
	d.table("_curves", t)
	return nil
}

// modelsOf returns all models of groups.
func modelsOf(all []group) []Model {
	var out []Model
	for _, g := range all {
		out = append(out, g.Models...)
	}
	return out
}

// similarityColumns measures the likeness of a model and the reference.
var similarityColumns = []measureColumn{
	{"attention cosine", "cosine", Model.cosine}, {"attention JSD (bits)", "jsd", Model.jsd},
	{"Procrustes distance", "procrustes", Model.distance}, {"Procrustes disparity", "disparity", Model.disparity},
}

// poolingNote says how attention was compared.
const poolingNote = "Cosine of each layer's map of each validation puzzle with that of the 2d-fixed " +
	"model of the same seed (else of the first), then the mean."

func (s *Study) fig3(d *draft) error {
	all := learned(s.mainGroups())
	if !s.canCompare(d, all) {
		return nil
	}
	maps, err := s.attentionMaps(d, append(exemplars(all), groupNamed(s.mainGroups(), reference)...))
	if err != nil {
		return err
	}
	d.grid(mapHeight, 4, maps)
	byCosine, rhoCosine := scatter("Attention and generalisation",
		measure{"Attention cosine with 2d-fixed", Model.cosine}, "levels of σ", onGrid(all))
	d.row(plotHeight, boxes("Attention near the ground truth", measure{"Cosine with 2d-fixed",
		Model.cosine}, all, true), byCosine)
	d.row(0.8, figure.Schematic{Title: "Procrustes distance", Boxes: []figure.SchematicBox{
		{Text: "learned PE, E"}, {Text: "turned, mirrored: E R"}, {
			Text: "less that of 2d-fixed: E R − G"}, {Text: "min ||E R − G|| over R", Emphasis: true},
	}})
	byDistance, rhoDistance := scatter("Encodings and generalisation",
		measure{"Procrustes distance to 2d-fixed", Model.distance}, "levels of σ", onGrid(all))
	d.row(plotHeight, boxes("Encodings near the ground truth", measure{"Procrustes distance",
		Model.distance}, all, true), byDistance)
	byDisparity, rhoDisparity := scatter("Whatever the norms", measure{"Procrustes disparity",
		Model.disparity}, "levels of σ", onGrid(all))
	d.row(plotHeight, boxes("Encodings near it, whatever their norms",
		measure{"Procrustes disparity", Model.disparity}, all, true), byDisparity)
	d.Caption = "Maps: attention of the first model of each encoding, mean over layers, heads " +
		"and validation puzzles. " + poolingNote + " The Procrustes distance min ||E R − G|| over " +
		"orthogonal R grows with σ whatever was learned, as large encodings are far from " +
		"everything; the disparity, of centred and scaled encodings, does not. Means over " +
		"blocks. The paper prints ρ = .96 for the cosine, and −.98 for the distance; here: " +
		orNone(rhoCosine) + "; " + orNone(rhoDistance) + "; disparity: " + orNone(rhoDisparity) +
		"." + fitNote(modelsOf(all))
	d.table("", perModel("Likeness to the ground truth's model", modelsOf(all),
		similarityColumns...))
	return nil
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

// canCompare says whether groups can be compared with the reference, and notes what is missing.
func (s *Study) canCompare(d *draft, all []group) bool {
	s.missingSigmas(d, s.onPuzzles("fig2"), "", paper.Sigmas())
	s.missingReference(d)
	for _, m := range modelsOf(all) {
		if m.Attention != nil {
			return true
		}
	}
	return false
}

// groupNamed returns the group of that label, if it is there.
func groupNamed(all []group, label string) []group {
	for _, g := range all {
		if g.Label == label {
			return []group{g}
		}
	}
	return nil
}

// attentionMaps draws the mean attention of the first model of each group.
func (s *Study) attentionMaps(d *draft, shown []group) ([]figure.Panel, error) {
	var maps []figure.Matrix
	t := table.Table{Title: "Mean attention", Columns: []table.Column{
		{Heading: "PE", Name: "pe"}, {Heading: "query", Name: "query"}, {Heading: "key",
			Name: "key"}, {Heading: "weight", Name: "weight", Decimals: 4},
	}}
	var all []float64
	for _, g := range shown {
		p, err := g.Models[0].Run.Probes()
		if err != nil {
			return nil, err
		}
		a, err := p.Attention(g.Models[0].Index)
		if err != nil {
			return nil, err
		}
		n := a.Tokens
		mean := make([]float64, n*n)
		for _, layer := range a.Layers {
			for i, v := range layer {
				mean[i%(n*n)] += v / float64(len(a.Layers)*a.Examples*a.Heads)
			}
		}
		maps = append(maps, figure.Matrix{
			Title: g.name(), Values: mean, Rows: n, Columns: n, Scale: figure.Sequential,
			BarLabel: "Attention", XLabel: "Key", YLabel: "Query", Note: "n = 1 model",
		})
		all = append(all, mean...)
		for i, v := range mean {
			t.Rows = append(t.Rows, table.Row{table.Text(g.Label), table.Count(i / n),
				table.Count(i % n), table.Number(v)})
		}
	}
	d.table("_attention", t)
	slices.Sort(all)
	var panels []figure.Panel
	for _, m := range maps {
		m.Max = all[len(all)*98/100] // one range of colours, so that maps can be compared, whatever a few cells have
		if slices.Max(m.Values) > m.Max {
			m.Note += fmt.Sprintf("; yellow: ≥ %.2g", m.Max)
		}
		panels = append(panels, m)
	}
	return panels, nil
}

func (s *Study) figA9(d *draft) error {
	all := learned(s.mainGroups())
	if !s.canCompare(d, all) {
		return nil
	}
	byJSD, rho := scatter("Attention and generalisation",
		measure{"Attention JSD from 2d-fixed (bits)", Model.jsd}, "levels of σ", onGrid(all))
	d.row(plotHeight, boxes("Attention away from the ground truth",
		measure{"JSD from 2d-fixed (bits)", Model.jsd}, all, true), byJSD)
	d.Caption = "Jensen-Shannon divergence, base 2, of each row of each map from that of the " +
		"2d-fixed model of the same seed, then the mean. " + orNone(rho) + "." +
		fitNote(modelsOf(all))
	d.table("", perModel("Likeness to the ground truth's model", modelsOf(all),
		similarityColumns...))
	return nil
}

func (s *Study) figA10(d *draft) error {
	all := common(s.mainGroups())
	s.missingEncodings(d, s.onPuzzles("table1"), "", paper.Encodings())
	if groupNamed(s.mainGroups(), reference) != nil { // else it is among those
		s.missingReference(d)
	}
	if len(all) == 0 || len(all) == 1 && all[0].Sigma >= 0 {
		return nil
	}
	d.row(plotHeight, validationBoxes("Generalisation", all, false), boxes("Attention near the "+
		"ground truth", measure{"Cosine with 2d-fixed", Model.cosine}, withoutReference(all),
		false))
	maps, err := s.attentionMaps(d, all)
	if err != nil {
		return err
	}
	d.grid(mapHeight, 4, maps)
	byCosine, rho := scatter("Attention and generalisation",
		measure{"Attention cosine with 2d-fixed", Model.cosine}, "encodings", withoutReference(all))
	d.row(plotHeight, byCosine)
	d.Caption = poolingNote + " " + orNone(rho) + ". Maps: attention of the first model of each " +
		"encoding, mean over layers, heads and validation puzzles." + fitNote(modelsOf(all))
	d.table("", perModel("Common encodings", modelsOf(all), similarityColumns...))
	return nil
}

// withoutReference leaves out the encoding that the others are compared with.
func withoutReference(all []group) []group {
	var out []group
	for _, g := range all {
		if g.Label != reference {
			out = append(out, g)
		}
	}
	return out
}
