// Package demo reads the models of "torchpe demo", draws their accuracies, and says whether those of a small
// initial σ generalise better.
package demo

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"torchpe/report/cohort"
	"torchpe/report/figure"
	"torchpe/train/runlog"
)

// Epochs is the number of passes over the training set of a demo, unless another is asked for.
const Epochs = 300

// Study holds models that started small, and models that started large.
type Study struct{ small, large cohort.Group }

// Read reads finished runs, which differ in the initial σ of their learned encoding and in the seed.
func Read(dirs []string) (*Study, error) {
	var found []*cohort.Run
	for _, dir := range dirs {
		r, err := cohort.Open(dir)
		if err != nil {
			return nil, err
		}
		found = append(found, r)
	}
	models, diverged := cohort.Models(found)
	groups, err := cohort.Groups(models)
	if err != nil {
		return nil, err
	}
	if diverged > 0 || len(groups) != 2 {
		return nil, errors.New("models diverged or differ in more than σ and seed")
	}
	return &Study{groups[0], groups[1]}, nil
}

// Result returns the final numbers of all models.
func (s *Study) Result() (all runlog.Result) {
	for _, m := range cohort.ModelsOf([]cohort.Group{s.small, s.large}) {
		all.Members = append(all.Members, m.Result)
	}
	return all
}

// Answer says whether each model that started small is right more often on validation puzzles than each
// that started large.
func (s *Study) Answer() string {
	small, large := s.small, s.large
	all := cohort.ModelsOf([]cohort.Group{small, large})
	if unfitted := cohort.Unfitted(all); len(unfitted) > 0 {
		more := fmt.Sprintf("without --epochs, which is %d then,", Epochs)
		if n := unfitted[0].Result.Epochs; n >= Epochs {
			more = fmt.Sprintf("with --epochs %d", 2*n)
		}
		return fmt.Sprintf("Nothing can be said yet: %d of %d models have not fitted their training puzzles. "+
			"A demo %s and with another --out gives them more time.", len(unfitted), len(all), more)
	}
	right := func(g cohort.Group) []float64 {
		return g.Values(func(m cohort.Model) float64 { return m.Number("validation") })
	}
	start := "As expected, a learned encoding generalises when it starts small"
	if slices.Min(right(small)) <= slices.Max(right(large)) {
		start = "Not as expected: a small start was not always better"
	}
	text := func(g cohort.Group) string {
		var shares []string
		for _, v := range right(g) {
			shares = append(shares, runlog.FormatMeasure("validation", v))
		}
		return g.Label + " " + strings.Join(shares, " and ")
	}
	return fmt.Sprintf("%s. Right answers to puzzles unlike those of training: %s, %s.", start, text(small),
		text(large))
}

// Draw draws training, IID test and validation accuracy against epoch, a line a model, to path.pdf and
// path.png.
func (s *Study) Draw(path string) error {
	row := figure.Row{Height: 2.2}
	for _, p := range []struct{ title, key string }{{"Training puzzles", "train"},
		{"Held-out puzzles of their kind", "iid"}, {"Puzzles unlike them", "validation"}} {
		panel := figure.Lines{Title: p.title, XLabel: "Epoch", YLabel: "Accuracy", YMin: 0, YMax: 1, NoMembers: true,
			Band: figure.BandSD, References: []figure.Reference{{Label: "chance", Y: 0.25}}}
		for _, g := range []cohort.Group{s.small, s.large} {
			read, err := cohort.RecordsBy(g.Models, func(r runlog.Record) int { return r.Epoch })
			if err != nil {
				return err
			}
			line := figure.LineSeries{Label: g.Starred(), ColorOf: g.Label}
			line.X, line.Values = cohort.Course(g.Models, read,
				func(r runlog.Record) float64 { return r.Measures.Get(p.key) })
			panel.Series = append(panel.Series, line)
		}
		row.Cells = append(row.Cells, figure.Cell{Panel: panel})
	}
	fig, err := figure.Compose(figure.Page{Width: figure.PageWidth, Rows: []figure.Row{row}})
	if err != nil {
		return err
	}
	for _, ext := range []string{".pdf", ".png"} {
		if err := fig.Save(path+ext, ""); err != nil {
			return err
		}
	}
	return nil
}
