package paper

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"torchpe/internal/wording"
	"torchpe/report/cohort"
	"torchpe/report/figure"
	"torchpe/report/item"
	"torchpe/report/table"
)

// isCompared reports whether a model of the item was compared with the reference.
func (d *draft) isCompared() bool { return d.has("cosine") }

// has reports whether a model of the item has a measure.
func (d *draft) has(measure string) bool {
	return slices.ContainsFunc(d.Groups, func(g cohort.Group) bool { return len(d.study.values(g, measure)) > 0 })
}

// hasTables reports whether a model of the item adds tables of positions.
func (d *draft) hasTables() bool {
	return slices.ContainsFunc(cohort.ModelsOf(d.Groups),
		func(m cohort.Model) bool { return d.study.probed[m.Key()].hasTables })
}

// attentionMaps draws the mean attention of the first model of some groups.
func attentionMaps(d *draft, shown []cohort.Group) ([]figure.Panel, error) {
	t := table.Table{Title: "Mean attention", Columns: table.Columns("PE", "query", "key", "weight")}
	var means [][]float64
	n := 0
	for _, g := range shown {
		p, err := g.Models[0].Run.Probes()
		if err != nil {
			return nil, err
		}
		a, err := p.Attention(g.Models[0].Index)
		if err != nil {
			return nil, err
		}
		n = a.Tokens
		mean := item.MeanMap(n, a.Layers...)
		means = append(means, mean)
		for i, v := range mean {
			t.Rows = append(t.Rows, table.Row{table.Text(g.Label), table.Count(i / n),
				table.Count(i % n), table.Number(v)})
		}
	}
	d.AddTable("_attention", t)
	all := slices.Concat(means...)
	slices.Sort(all)
	var panels []figure.Panel
	for i, mean := range means {
		m := figure.Matrix{Title: shown[i].Starred(), Values: mean, Rows: n, Columns: n, Scale: figure.Sequential,
			BarLabel: "Attention", XLabel: "Key", YLabel: "Query", Note: "n = 1 model",
			Max: all[len(all)*98/100]} // one colour range for all maps, without outliers
		if slices.Max(mean) > m.Max {
			m.Note += fmt.Sprintf("; yellow: ≥ %.2g", m.Max)
		}
		panels = append(panels, m)
	}
	return panels, nil
}

// allAttention draws the attention of all groups of an item.
func allAttention(d *draft) ([]figure.Panel, error) { return attentionMaps(d, d.Groups) }

// attentionBySigma draws the attention of some learned encodings and of the reference.
func attentionBySigma(d *draft) ([]figure.Panel, error) {
	return attentionMaps(d, append(exemplars(d.Groups), groupNamed(mainGroups(d.study), reference)...))
}

func (d *draft) hasNoise() bool { return d.has("noise") }

// noNoise notes that no run has measured accuracy under noise.
func noNoise(d *draft) {
	d.Lacks("torchpe sweep figA11 --out "+wording.Quote(filepath.Join(d.study.Dir, "figA11")),
		"accuracy under noise, which runs measure at the end (unless --noise none)")
}

// amplitudes lists the amplitudes with which models were tested, in order.
func (d *draft) amplitudes(models ...cohort.Model) (all []float64) {
	for _, m := range models {
		for _, a := range d.study.probed[m.Key()].amplitudes {
			if !slices.Contains(all, a) {
				all = append(all, a)
			}
		}
	}
	slices.Sort(all)
	return all
}

// noiseBySigma draws accuracy by noise and sigma.
func noiseBySigma(d *draft) ([]figure.Panel, error) {
	groups := learned(d.Groups)
	if len(groups) < 2 {
		return nil, nil
	}
	levels := d.amplitudes(cohort.ModelsOf(d.Groups)...)
	heat := figure.Matrix{
		Title: "Learned encodings", Rows: len(levels), Columns: len(groups), Scale: figure.Sequential,
		Min: 0, Max: 1, BarLabel: "Validation accuracy",
		XLabel: "Initial σ", YLabel: "Noise amplitude",
	}
	var counts []int
	for _, g := range groups {
		heat.ColumnLabels = append(heat.ColumnLabels, sigmaLabel(g))
		counts = append(counts, len(d.study.values(g, "noise")))
	}
	for _, a := range levels {
		heat.RowLabels = append(heat.RowLabels, fmt.Sprintf("%.3g", a))
		for _, g := range groups {
			heat.Values = append(heat.Values, d.study.mean(g, underNoise(a)))
		}
	}
	heat.Note = fmt.Sprintf("Mean of n = %s models.", wording.Range(counts))
	if slices.Max(counts) == 1 {
		heat.Note = "n = 1 model"
	}
	return one(heat), nil
}

// noiseLines draws accuracy against noise for common encodings, or for the only group.
func noiseLines(d *draft) ([]figure.Panel, error) {
	shown, title := common(d.Groups), "Common encodings"
	if len(d.Groups) == 1 {
		shown, title = d.Groups, "Accuracy under noise"
	}
	levels := d.amplitudes(cohort.ModelsOf(d.Groups)...)
	l := figure.Lines{Title: title, XLabel: "Noise amplitude",
		YLabel: "Validation accuracy", Band: figure.BandSD, YMin: 0, YMax: 1,
		References: d.chance(), LogX: levels[0] > 0}
	for _, g := range shown {
		line := figure.LineSeries{Label: g.Starred(), ColorOf: g.Label, X: levels}
		for _, m := range g.Models {
			if math.IsNaN(d.study.value(m, "noise")) {
				continue
			}
			var values []float64
			for _, a := range levels {
				values = append(values, d.study.value(m, underNoise(a)))
			}
			line.Values = append(line.Values, values)
		}
		if line.Values != nil {
			l.Series = append(l.Series, line)
		}
	}
	return one(l), nil
}

func noiseTable(d *draft) {
	t := table.Table{Title: "Accuracy under noise", Columns: []table.Column{{Heading: "PE"}, {Heading: "seed"},
		{Heading: "amplitude"}, {Heading: "accuracy"}}}
	for _, g := range d.Groups {
		for _, m := range g.Models {
			for _, a := range d.amplitudes(m) {
				t.Rows = append(t.Rows, table.Row{table.Text(g.Label), item.Seed(m), table.Number(a),
					table.Number(d.study.value(m, underNoise(a)))})
			}
		}
	}
	d.AddTable("", t)
}
