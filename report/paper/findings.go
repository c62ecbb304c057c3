package paper

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"torchpe/internal/paper"
	"torchpe/internal/wording"
	"torchpe/report/cohort"
	"torchpe/report/item"
	"torchpe/report/table"
	"torchpe/train/config"
)

// opening begins the page of a task with a sentence on the results of the runs, and a table of the encodings,
// the best first.
type opening struct {
	id, title string
	of        source
	what      string        // the error in a sentence; "" for accuracies
	columns   []item.Column // the first one ranks
}

func openings() (all []spec) {
	masked := func(level string) []item.Column {
		return []item.Column{
			{Measure: "test_mse/" + level, Heading: "test MSE, " + strings.TrimPrefix(level, "0.") + " % masked",
				Name: "test_mse"},
			{Measure: "train_mse", Heading: "training MSE"},
			{Measure: "modularity", Heading: "modularity Q"}}
	}
	for _, o := range []opening{
		{"findings", "Puzzles", anyPuzzles, "", accuracyColumns},
		{"findings_network", "Simulated network", nmarGroups, "test error with half of the nodes masked",
			masked("0.50")},
		{"findings_fmri", "Human fMRI", fmriAt(0.5), "test error with 90 % of the regions masked",
			masked(paper.TestLevel)},
	} {
		all = append(all, spec{ID: o.id, Section: findings, Title: o.title, Of: o.of, Make: o.make})
	}
	return all
}

// anyPuzzles returns the groups of the paper's variant, or else of all variants.
func anyPuzzles(s *Study) []cohort.Group {
	if main := mainGroups(s); main != nil {
		return main
	}
	return s.groups(s.LST)
}

// make writes the sentence and the table.
func (o opening) make(d *draft) error {
	s, first := d.study, o.columns[0]
	measured := pick(d.Groups, func(g cohort.Group) bool { return len(s.values(g, first.Measure)) > 0 })
	if measured == nil {
		return nil
	}
	isError := o.what != ""
	ranked := d.ByMean(measured, first.Measure, isError)
	if isError {
		d.Lead = d.ErrorSentences(ranked, first.Measure, o.what)
	} else {
		d.Lead = accuracySentences(d, ranked)
	}
	if o.id == "findings_fmri" && isSurrogate(d.first()) {
		d.Title = "Surrogate of human fMRI"
	}
	t := table.Table{Title: d.Title, Columns: table.Columns("PE", "n")}
	columns := slices.DeleteFunc(slices.Clone(o.columns), func(c item.Column) bool { return !d.has(c.Measure) })
	d.AddMeans(&t, ranked, columns, func(g cohort.Group) table.Row {
		return table.Row{table.Marked(g.Label, g.Mark()), table.Count(len(g.Models))}
	})
	if isError {
		item.AddBaselines(&t, columns, d.first(), "no model")
	} else {
		t.Columns = append(t.Columns, table.Column{Heading: "fitted"},
			table.Column{Heading: "validation in the paper", Name: "paper", Decimals: item.DecimalsOf(first.Measure)})
		for i, g := range ranked {
			cell := table.Cell{}
			if n, ok := printedAccuracy(g.Label); ok {
				cell = table.MeanSD(n.Mean, n.SD)
			}
			t.Rows[i] = append(t.Rows[i], table.Text(g.FittedText()), cell)
		}
	}
	d.Caption = "Mean ± SD over n seeds, after {epochs}."
	if !isError {
		d.Caption += " fitted: models that have fitted their training puzzles; others (*) say nothing about " +
			"generalization."
	}
	d.AddTable("", t)
	return nil
}

// printedAccuracy returns the validation accuracy that the paper prints for an encoding.
func printedAccuracy(label string) (n paper.Number, ok bool) {
	for _, name := range []string{"1", "A2"} {
		numbers, _ := paper.Table(name)
		if n, ok = numbers[[2]string{label, "validation"}]; ok {
			return n, ok
		}
	}
	return n, false
}

// accuracySentences says which encoding is best and which is worst, how certain that is, and what the paper
// prints. It does not compare unfitted models.
func accuracySentences(d *draft, ranked []cohort.Group) string {
	const measure = "validation"
	s := d.study
	fitted := pick(ranked, func(g cohort.Group) bool { return len(cohort.Unfitted(g.Models)) == 0 })
	switch len(fitted) {
	case 0:
		return fmt.Sprintf("No encoding has fitted its training puzzles with every seed (training accuracy %s), so "+
			"validation accuracy says nothing about generalization yet: train longer, for example with "+
			"--until train=0.99.",
			s.rangeText(cohort.Group{Models: cohort.ModelsOf(ranked)}, "train"))
	case 1:
		return fmt.Sprintf("%s has a validation accuracy of %s%s.", fitted[0].Label, s.meanText(fitted[0], measure),
			printedBeside(fitted[0])) + otherSetUp(fitted...)
	}
	best, worst := fitted[0], fitted[len(fitted)-1]
	of := wording.Count(len(fitted), "encoding")
	if len(fitted) < len(ranked) {
		of += " that have fitted their training puzzles"
	}
	return fmt.Sprintf("Of %s, %s has the highest validation accuracy, %s, and %s the lowest, %s%s. ", of, best.Label,
		s.meanText(best, measure), worst.Label, s.meanText(worst, measure), printedBeside(best, worst)) +
		d.Certainty(fitted, measure) + otherSetUp(best, worst)
}

// otherSetUp returns a sentence on the differences between the set-up of models on puzzles and the paper's, and
// on the number of seeds; "" if nothing differs.
func otherSetUp(groups ...cohort.Group) string {
	differs := unlikePaper(cohort.ModelsOf(groups))
	for _, g := range groups {
		if n := len(g.Models); n != len(paper.Seeds()) {
			differs = append(differs, fmt.Sprintf("n = %d (the paper: %d)", n, len(paper.Seeds())))
			break
		}
	}
	if differs == nil {
		return ""
	}
	return " This is not the paper's set-up: " + strings.Join(differs, ", ") + "."
}

// published is the SHA-256 of the published puzzles, as in checkpoints.
const published = "c27a8971f32a0ccc940bf4dc940b2084b098b7d66da0f3bdd0a548c76ac62e45"

// unlikePaper lists how models on puzzles differ from the paper's, with the paper's value in brackets. It
// leaves out the length of training and the settings by which items choose models.
func unlikePaper(models []cohort.Model) (differs []string) {
	for _, m := range models {
		c := m.Run.Config
		preset, presetErr := config.Preset("lst", cmp.Or(c.Fidelity, "code"))
		settings, err := config.Differences(c.Config, preset)
		has, jsonErr := c.Settings() // earlier versions lack the newer settings, which had the paper's values
		if err := errors.Join(presetErr, err, jsonErr); err != nil {
			panic(err) // Read has read all settings
		}
		own := []string{}
		switch {
		case len(c.LSTTrain) == 0:
			own = append(own, "generated puzzles (the paper: published ones)")
		case m.Run.DataSHA256 != published:
			own = append(own, "puzzles that may not be the published ones")
		}
		for _, s := range settings {
			first, _, _ := strings.Cut(s.Key, ".")
			_, known := has[s.Key]
			if known && first != "from" && !slices.Contains(chosenBy, s.Key) && !slices.Contains(chosenBy, first) {
				own = append(own, fmt.Sprintf("%s %s (the paper: %s)", s.Key, s.Was, s.Now))
			}
		}
		rate := preset.Members[0].LR
		if c.Optimizer == "sgd" {
			rate = 1e-3
		}
		if m.Member.LR != rate {
			own = append(own, fmt.Sprintf("lr %g (the paper: %g)", m.Member.LR, rate))
		}
		if m.Member.PELR != nil || m.Member.PEWeightDecay != nil {
			own = append(own, "a separate learning rate or weight decay for the encoding")
		}
		if c.From != nil || m.Run.Origin != "" {
			own = append(own, "weights that were not trained only in this run")
		}
		for _, text := range own {
			if !slices.Contains(differs, text) {
				differs = append(differs, text)
			}
		}
	}
	return differs
}

// chosenBy lists the keys of the settings by which items choose models, of those that change no model, and of the
// puzzles, which their hash identifies.
var chosenBy = slices.Concat(config.Keys(func(s config.Setting) bool { return s.Factor }),
	config.KeysWith(config.Measures), config.DataKeys())

// printedBeside returns the printed accuracies of one encoding, or of the best and the worst, as the end of a
// sentence; "" if the paper does not print all of them.
func printedBeside(groups ...cohort.Group) string {
	var means []float64
	var texts []string
	for _, g := range groups {
		n, ok := printedAccuracy(g.Label)
		if !ok {
			return ""
		}
		means, texts = append(means, n.Mean), append(texts, item.Text("validation", n.Mean))
	}
	switch {
	case len(means) == 1:
		return "; the paper prints " + texts[0]
	case means[0] > means[1]:
		return fmt.Sprintf(", as in the paper (%s and %s)", texts[0], texts[1])
	}
	return fmt.Sprintf("; in the paper it is the other way around (%s and %s)", texts[0], texts[1])
}
