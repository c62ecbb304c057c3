package paper

import (
	"fmt"
	"slices"
	"strings"

	"torchpe/internal/number"
	"torchpe/internal/paper"
	"torchpe/internal/stats"
	"torchpe/report/cohort"
	"torchpe/report/item"
)

// words are the texts for which names in braces stand in captions, of the models of an item.
var words = map[string]func(*draft) string{
	"epochs":  func(d *draft) string { return cohort.LengthText(cohort.ModelsOf(d.groups)) },
	"fit":     func(d *draft) string { return d.study.fitNote(cohort.ModelsOf(d.groups)) },
	"stopped": func(d *draft) string { return item.StoppedNote(cohort.ModelsOf(d.groups)) },
	"decay":   func(d *draft) string { return strings.TrimPrefix(decayed(d.study).what, " trained ") },
	"gradient": func(d *draft) string {
		return rangeText(d.study.values(cohort.Group{Models: cohort.ModelsOf(d.groups)}, "pe_gradient_share"))
	},
	"heads": headsText, "course": courseText,
	"labels": labelsText, "truth test": truthTest,
	// of masked prediction
	"distance": func(d *draft) string { return distanceName(d.first()) },
	"nodes":    func(d *draft) string { return fmt.Sprint(d.first().Config.Masked.NMAR.Nodes) },
	"modules":  func(d *draft) string { return fmt.Sprint(d.first().Config.Masked.NMAR.Modules) },
	"order":    orderText, "source": sourceText, "z-scored": zScoredText, "anova": anovaText,
}

// truthTest returns the test of the reference against learn-0.2, beside the printed one.
func truthTest(d *draft) string {
	of := d.study.compare(comparison{high: reference, low: paper.Learned, measure: "validation", isPuzzle: true},
		mainGroups(d.study))
	if of.test == "" {
		return ""
	}
	printed := paper.TruthTest()
	return fmt.Sprintf(" %s less %s, paired by seed: %s (the paper prints t(%d) = %s, p = %s; "+
		"15 pairs have 14 degrees of freedom).", paper.Truth, paper.Learned, of.test,
		printed.DF, item.Decimals(printed.T, 2), item.Decimals(printed.P, 2))
}

// headsText says how many heads models have.
func headsText(d *draft) string {
	var names []string
	for _, n := range []int{2, 4} {
		if withHeads(n)(d.study) != nil {
			names = append(names, fmt.Sprintf("with %d heads", n))
		}
	}
	return strings.Join(names, " and ")
}

// courseText names what the panels of the course of training show.
func courseText(d *draft) string {
	text := "their Frobenius norm and effective rank (exp of the entropy of the singular values)"
	if d.has("modularity") {
		text = "their modularity against the known modules, " + text
	}
	return text
}

// labelsText says where accuracies are by the labels of puzzles.
func labelsText(d *draft) string {
	if !slices.ContainsFunc(cohort.ModelsOf(d.groups), item.HasLabelsAlone) {
		return ""
	}
	return " Some runs are of an earlier torchpe and shown by the puzzles' labels: of the 36 " +
		"generated puzzles labelled 3-vector some 8 need two lines only."
}

// orderText says in which order models had the nodes of the simulated network.
func orderText(d *draft) string {
	if d.first().Config.Masked.NMAR.Order == "" {
		return "as in the data, so that a fixed line (1d-fixed) is modular without having learned it"
	}
	return fmt.Sprintf("for the models in an order drawn by data seed %d", d.first().Config.DataSeed)
}

func sourceText(d *draft) string {
	if strings.Contains(string(d.first().Config.JSON), `"files":{`) {
		return "the files named in the runs"
	}
	return "the surrogate, made-up series of known networks"
}

func zScoredText(d *draft) string {
	if !d.first().Config.Masked.ZScore {
		return ""
	}
	return " The series are z-scored here, so that these are shares of a node's variance: the " +
		"printed error is that of raw series."
}

// anovaText returns the test of whether errors differ between encodings, beside the printed one.
func anovaText(d *draft) string {
	test, err := stats.ANOVA(d.errorsByGroup("test_mse/0.50")...)
	if err != nil { // one model of each encoding has none
		return ""
	}
	return fmt.Sprintf(" Test MSE by encoding: F(%g, %g) = %.2f, %s (the paper prints "+
		"F = %s, p = %s).", test.DF, test.DF2, test.Statistic, number.PText(test.P),
		item.Decimals(paper.NMARF, 2), item.Decimals(paper.NMARP, 2))
}
