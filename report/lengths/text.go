package lengths

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"torchpe/report/document"
	"torchpe/report/figure"
	"torchpe/report/runs"
	"torchpe/report/table"
)

// sortedNumbers returns a model's numbers by whole numbers, such as perplexities by length, in ascending order.
func sortedNumbers(by map[string]float64) (xs []int, ys []float64) {
	for text := range maps.Keys(by) {
		if n, err := strconv.Atoi(text); err == nil {
			xs = append(xs, n)
		}
	}
	slices.Sort(xs)
	for _, x := range xs {
		ys = append(ys, by[strconv.Itoa(x)])
	}
	return xs, ys
}

func perplexity(m runs.Model) map[string]float64 { return m.Result.PerplexityByLength }
func loss(m runs.Model) map[string]float64       { return m.Result.LossByPosition }

// perplexities lists perplexity by the length of the window, with the accuracies.
func (s *Study) perplexities() document.Item {
	t := table.Table{Title: "Perplexity of held-out text", Columns: []table.Column{
		{Heading: "text", Name: "text"}, {Heading: "encoding", Name: "encoding"}, {Heading: "n", Name: "n"},
		{Heading: "window", Name: "window"}, {Heading: "trained", Name: "trained"},
		{Heading: "perplexity", Name: "perplexity", Decimals: 3},
		{Heading: "accuracy", Name: "accuracy", Decimals: 3}, {Heading: "train", Name: "train", Decimals: 3}}}
	for _, text := range s.texts {
		for _, g := range text.groups {
			first := g.Models[0]
			windows, _ := sortedNumbers(perplexity(first))
			for _, n := range windows {
				var ys []float64
				for _, m := range g.Models {
					if v, ok := perplexity(m)[strconv.Itoa(n)]; ok {
						ys = append(ys, v)
					}
				}
				t.Rows = append(t.Rows, table.Row{table.Text(text.name), table.Text(g.Label),
					table.Count(len(ys)), table.Count(n),
					table.Count(first.Run.Config.Sequence.TrainLength), table.Mean(ys),
					table.Mean(values(g, func(m runs.Model) float64 { return accuracyAt(m, n) })),
					table.Mean(values(g, train))})
			}
		}
	}
	return document.Item{ID: "perplexity", Section: "Text", Title: t.Title,
		Caption: "Next characters of the last tenth of each file, in windows of so many " +
			"characters: perplexity, and the share that is predicted rightly, mean ± SD over " +
			"the models. train: share in training. Windows that an encoding has no places for " +
			"are missing.",
		Tables: []document.Named{{Name: "perplexity", Table: t}}}
}

// textCurves draws perplexity against the length of the window, and loss against the position in the
// longest, beside each other for each text.
func (s *Study) textCurves() document.Item {
	item := document.Item{ID: "text", Section: "Text", Title: "Perplexity by length, and loss by " +
		"position",
		Caption: "Left: perplexity of held-out text in windows of so many characters. Right: " +
			"mean loss at the positions of the longest windows that the encoding has places for. " +
			"A line an encoding, bands from the least to the greatest of its models."}
	numbers := table.Table{Columns: []table.Column{{Heading: "text", Name: "text"}, {Heading: "PE",
		Name: "pe"}, {Heading: "seed", Name: "seed"}, {Heading: "number", Name: "number"},
		{Heading: "at", Name: "at"}, {Heading: "value", Name: "value", Decimals: 4}}}
	for _, text := range s.texts {
		trained := text.groups[0].Models[0].Run.Config.Sequence.TrainLength
		left := figure.Lines{Title: fmt.Sprintf("%s, trained on %d", text.name, trained),
			XLabel: "Characters of a window", YLabel: "Perplexity", Band: figure.BandMinMax,
			Markers: true}
		right := figure.Lines{Title: text.name, XLabel: "Position", YLabel: "Loss (nats)",
			Band: figure.BandMinMax}
		for _, g := range text.groups {
			for _, part := range []struct {
				panel *figure.Lines
				name  string
				of    func(runs.Model) map[string]float64
			}{{&left, "perplexity", perplexity}, {&right, "loss", loss}} {
				line := figure.LineSeries{Label: g.Label, ColorOf: g.Label}
				xs, _ := sortedNumbers(part.of(g.Models[0]))
				for _, x := range xs {
					line.X = append(line.X, float64(x))
				}
				for _, m := range g.Models {
					_, ys := sortedNumbers(part.of(m))
					line.Values = append(line.Values, ys)
					for i, y := range ys {
						numbers.Rows = append(numbers.Rows, table.Row{table.Text(text.name),
							table.Text(g.Label), table.Text(strconv.FormatUint(m.Member.Seed, 10)),
							table.Text(part.name), table.Count(xs[i]), table.Number(y)})
					}
				}
				part.panel.Series = append(part.panel.Series, line)
			}
		}
		item.Panels = append(item.Panels, figure.Row{Height: 2.6,
			Cells: []figure.Cell{{Panel: left}, {Panel: right}}})
	}
	item.Tables = []document.Named{{Name: "text", Table: numbers}}
	item.Compose(figure.Page{Width: figure.PageWidth})
	return item
}
