package paper

import (
	"math"

	"torchpe/internal/stats"
	"torchpe/report/figure"
	"torchpe/report/runs"
	"torchpe/train/runlog"
)

// motionOf returns a measure of the PE's motion, a mean over blocks where it has several numbers;
// NaN where it was not recorded.
func motionOf(of func(runlog.PEMotion) []float64) func(*runlog.PEMotion) float64 {
	return func(m *runlog.PEMotion) float64 {
		if m == nil {
			return math.NaN()
		}
		return stats.Mean(of(*m))
	}
}

// motionMeasures are the numbers of runlog.PEMotion.
var motionMeasures = []struct {
	name, heading string
	of            func(*runlog.PEMotion) float64
}{
	{"moved", "||E − E₀|| / ||E₀||", motionOf(func(m runlog.PEMotion) []float64 { return m.Moved })},
	{"gradient_share", "PE's share of the gradient", motionOf(func(m runlog.PEMotion) []float64 {
		if m.GradientShare == nil {
			return nil
		}
		return []float64{*m.GradientShare}
	})},
	{"disparity", "Disparity from 2d-fixed", motionOf(func(m runlog.PEMotion) []float64 { return m.Disparity })},
	{"cosine", "Cosine with 2d-fixed", motionOf(func(m runlog.PEMotion) []float64 { return m.Cosine })},
}

// atEnd returns a measure of motion at the end of a model's training.
func atEnd(of func(*runlog.PEMotion) float64) func(Model) float64 {
	return func(m Model) float64 { return of(m.Result.PEMotion) }
}

func tangentAlignment(m Model) float64 { return runs.OrNaN(m.Result.TangentAlignment) }

// lazy shows how far learned encodings have left their start, against sigma and against validation.
func (s *Study) lazy(d *draft) error {
	all := learned(s.mainGroups())
	curves := map[string]func(runlog.Record) float64{}
	for _, m := range motionMeasures {
		curves[m.name] = func(r runlog.Record) float64 { return m.of(r.PEMotion) }
	}
	lines, t, err := courses(exemplars(all), byEpoch, "epoch", curves)
	if err != nil {
		return err
	}
	var over []figure.Panel
	for _, m := range motionMeasures {
		if len(lines[m.name]) > 0 {
			over = append(over, figure.Lines{Title: "Over training", XLabel: "Epoch",
				YLabel: m.heading, Series: lines[m.name], Band: figure.BandSD})
		}
	}
	if over == nil {
		d.missing(s.command(s.onPuzzles("fig2"), "--pe learn --sigma 0.2,1,2 --tangent-puzzles 64"),
			"runs that record how far their encodings move")
		return nil
	}
	d.grid(plotHeight, 2, over)
	moved, share := atEnd(motionMeasures[0].of), atEnd(motionMeasures[1].of)
	d.row(plotHeight, boxes("Motion by initial σ", measure{motionMeasures[0].heading, moved}, all,
		true), boxes("Tangent kernel by initial σ", measure{"Alignment with the start's",
		tangentAlignment}, all, true))
	byMotion, rhoMotion := scatter("Motion and generalisation", measure{motionMeasures[0].heading,
		moved}, "levels of σ", all)
	byKernel, rhoKernel := scatter("Kernel and generalisation",
		measure{"Tangent kernel's alignment", tangentAlignment}, "levels of σ", all)
	d.row(plotHeight, byMotion, byKernel)
	columns := []measureColumn{}
	for _, m := range motionMeasures {
		columns = append(columns, measureColumn{m.heading, m.name, atEnd(m.of)})
	}
	columns = append(columns, measureColumn{"tangent alignment", "tangent_alignment",
		tangentAlignment})
	d.Caption = "A model is lazy where it fits its training data while its weights hardly leave " +
		"their start: its tangent kernel stays as it was. E: the table of the PE, E₀ at its " +
		"start; means over blocks. The share of the gradient is the norm of the PE's gradient " +
		"over that of all weights, at the last step before a record (" + gradientText(all, share) +
		" at the end). Disparity (Procrustes, whatever the norms) and cosine are with the table " +
		"of 2d-fixed. Alignment: cosine of the tangent kernels, traced over outputs, of the " +
		"model at its start and at its end on the same training puzzles; 1 is lazy. Motion and " +
		"validation: " + orNone(rhoMotion) + "; kernel and validation: " + orNone(rhoKernel) + "." +
		fitNote(modelsOf(all)) + stoppedNote(modelsOf(all))
	d.table("", perModel("Motion of learned encodings", modelsOf(all), columns...))
	d.table("_curves", t)
	return nil
}

// gradientText returns the range of the share of the gradient.
func gradientText(all []group, share func(Model) float64) string {
	var x []float64
	for _, g := range all {
		x = append(x, g.values(share)...)
	}
	return rangeText(x)
}
