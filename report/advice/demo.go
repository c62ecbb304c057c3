package advice

import (
	"fmt"
	"slices"
	"strings"

	"torchpe/report/cohort"
	"torchpe/report/figure"
	"torchpe/report/item"
	"torchpe/train/runlog"
)

// Demo holds the models of "torchpe demo": those that started small, then those that started large.
type Demo []cohort.Group

// ReadDemo reads the finished runs in a folder, which differ in the initial σ of their learned encoding and in
// the seed.
func ReadDemo(dir string) (Demo, error) {
	found, _, err := cohort.Find(dir)
	if err != nil {
		return nil, err
	}
	models, diverged := cohort.Models(found)
	groups, err := cohort.Groups(models)
	if err != nil {
		return nil, err
	}
	if diverged > 0 || len(groups) != 2 {
		return nil, fmt.Errorf("%s: models diverged or differ in more than σ and seed", dir)
	}
	return groups, nil
}

// Result returns the final numbers of all models.
func (d Demo) Result() (all runlog.Result) {
	for _, m := range cohort.ModelsOf(d) {
		all.Members = append(all.Members, m.Result)
	}
	return all
}

// Answer says whether every model that started small has a higher validation accuracy than every one that
// started large. usual is the default number of epochs of a demo.
func (d Demo) Answer(usual int) string {
	small, large, all := d[0], d[1], cohort.ModelsOf(d)
	if unfitted := slices.DeleteFunc(slices.Clone(all), hasFitted); len(unfitted) > 0 {
		more := fmt.Sprintf("without --epochs (default %d)", usual)
		if n := unfitted[0].Result.Epochs; n >= usual {
			more = fmt.Sprintf("with --epochs %d", 2*n)
		}
		return fmt.Sprintf("No answer yet: %d of %d models have not fitted their training puzzles. "+
			"A demo %s and with another --out gives them more time.", len(unfitted), len(all), more)
	}
	right := func(g cohort.Group) []float64 {
		return g.Values(func(m cohort.Model) float64 { return m.Number("validation") })
	}
	start := "As expected, a learned encoding generalizes when it starts small"
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
	return fmt.Sprintf("%s. Accuracy on puzzles unlike those of training: %s, %s.", start, text(small),
		text(large))
}

// hasFitted reports whether a model has reached the criterion of a demo, which is laxer than that of reports.
func hasFitted(m cohort.Model) bool { return m.Result.Fit.Reached }

// Draw draws training, IID test and validation accuracy against epoch, one line per model, to path.pdf and
// path.png.
func (d Demo) Draw(path string) error {
	lines, _, err := (&item.Draft{}).Courses(d, item.Epochs, item.Column{Measure: "train"},
		item.Column{Measure: "iid"}, item.Column{Measure: "validation"})
	if err != nil {
		return err
	}
	row := figure.Row{Height: 2.2}
	for _, p := range []struct{ title, key string }{{"Training puzzles", "train"},
		{"Held-out puzzles of their kind", "iid"}, {"Puzzles unlike them", "validation"}} {
		row.Cells = append(row.Cells, figure.Cell{Panel: figure.Lines{Title: p.title, XLabel: "Epoch",
			YLabel: "Accuracy", YMin: 0, YMax: 1, Band: figure.BandSD, Series: lines[p.key],
			References: []figure.Reference{{Label: "chance", Y: d[0].Models[0].Run.Config.Chance()}}}})
	}
	fig, err := figure.Compose(figure.Page{Width: figure.PageWidth, Rows: []figure.Row{row}})
	if err != nil {
		return err
	}
	for _, ext := range []string{".pdf", ".png"} {
		if err := fig.Save(path + ext); err != nil {
			return err
		}
	}
	return nil
}
