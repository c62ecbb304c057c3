package paper

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"torchpe/internal/stats"
	"torchpe/internal/wording"
	"torchpe/report/figure"
	"torchpe/report/table"
)

// meanUnderNoise returns the mean accuracy over the amplitudes of noise.
func meanUnderNoise(m Model) float64 {
	sum := 0.0
	for _, p := range m.Noise {
		sum += p.Accuracy
	}
	return sum / float64(len(m.Noise))
}

// amplitudes lists those that models were tested with.
func amplitudes(models []Model) []float64 {
	var all []float64
	for _, m := range models {
		for _, p := range m.Noise {
			if !slices.Contains(all, p.Amplitude) {
				all = append(all, p.Amplitude)
			}
		}
	}
	slices.Sort(all)
	return all
}

// accuracyUnder returns a measure: the accuracy under noise of an amplitude.
func accuracyUnder(amplitude float64) func(Model) float64 {
	return func(m Model) float64 {
		for _, p := range m.Noise {
			if p.Amplitude == amplitude {
				return p.Accuracy
			}
		}
		return math.NaN()
	}
}

// figA11 shows how accuracy falls with noise on the token embeddings.
func (s *Study) figA11(d *draft) error {
	all := s.mainGroups()
	levels := amplitudes(modelsOf(all))
	if len(levels) == 0 {
		d.missing("torchpe sweep figA11 --out "+wording.Quote(filepath.Join(s.Dir, "figA11")),
			"accuracy under noise, which runs measure at their end (not with --noise none)")
		return nil
	}
	byS, others := learned(all), common(all)
	d.row(0.8, figure.Schematic{Title: "Noise", Boxes: []figure.SchematicBox{
		{Text: "16 cells"}, {Text: "embedding"}, {Text: "+ N(0, amplitude²)",
			Emphasis: true}, {Text: "+ PE"}, {Text: "trained model"}, {Text: "symbol"},
	}})
	heat := figure.Matrix{
		Title: "Learned encodings", Rows: len(levels), Columns: len(byS), Scale: figure.Sequential,
		Min: 0, Max: 1, BarLabel: "Validation accuracy",
		XLabel: "Initial σ", YLabel: "Noise amplitude",
	}
	var counts []int
	for _, g := range byS {
		heat.ColumnLabels = append(heat.ColumnLabels, sigmaLabel(g))
		counts = append(counts, len(finite(g.values(meanUnderNoise))))
	}
	for _, a := range levels {
		heat.RowLabels = append(heat.RowLabels, fmt.Sprintf("%.3g", a))
		for _, g := range byS {
			heat.Values = append(heat.Values, stats.Mean(finite(g.values(accuracyUnder(a)))))
		}
	}
	var panel figure.Panel
	if len(byS) > 0 {
		heat.Note = fmt.Sprintf("Mean of n = %s models.", countRange(counts))
		panel = heat
	}
	d.row(plotHeight, panel, noiseLines(others, levels))
	d.row(plotHeight, withChance(boxes("Mean over noise, by initial σ",
		measure{"Validation accuracy", meanUnderNoise}, byS, true)),
		withChance(boxes("Mean over noise", measure{"Validation accuracy", meanUnderNoise}, others,
			false)))
	d.Caption = "Validation accuracy where Gaussian noise of a standard deviation (amplitude) is " +
		"added to each token embedding of a trained model; the paper names neither amplitudes " +
		"nor distribution nor repeats, see docs/paper.md." + fitNote(modelsOf(all))
	t := table.Table{Title: "Accuracy under noise", Columns: []table.Column{
		{Heading: "PE", Name: "pe"}, {Heading: "seed", Name: "seed"}, {Heading: "amplitude",
			Name: "amplitude", Decimals: 2}, {Heading: "accuracy", Name: "accuracy", Decimals: 3},
	}}
	for _, g := range all {
		for _, m := range g.Models {
			for _, p := range m.Noise {
				t.Rows = append(t.Rows, table.Row{table.Text(g.Label),
					table.Count(int(m.Member.Seed)), table.Number(p.Amplitude),
					table.Number(p.Accuracy)})
			}
		}
	}
	d.table("", t)
	return nil
}

func noiseLines(all []group, levels []float64) figure.Panel {
	l := figure.Lines{Title: "Common encodings", XLabel: "Noise amplitude",
		YLabel: "Validation accuracy", Band: figure.BandSD, YMin: 0, YMax: 1,
		References: chanceLine}
	l.LogX = levels[0] > 0
	for _, g := range all {
		line := figure.LineSeries{Label: g.name(), ColorOf: g.Label, X: levels}
		for _, m := range g.Models {
			if len(m.Noise) == 0 {
				continue
			}
			var values []float64
			for _, a := range levels {
				values = append(values, accuracyUnder(a)(m))
			}
			line.Values = append(line.Values, values)
		}
		if line.Values != nil {
			l.Series = append(l.Series, line)
		}
	}
	if l.Series == nil {
		return nil
	}
	return l
}
