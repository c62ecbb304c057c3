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

// words maps names in braces in captions to texts about the models of an item.
var words = item.Words[*draft]{
	"epochs":  func(d *draft) string { return cohort.LengthText(cohort.ModelsOf(d.Groups)) },
	"fit":     func(d *draft) string { return d.study.fitNote(cohort.ModelsOf(d.Groups)) },
	"stopped": func(d *draft) string { return item.StoppedNote(cohort.ModelsOf(d.Groups)) },
	"decay":   func(d *draft) string { return strings.TrimPrefix(decayed(d.study).what, " trained ") },
	"heads":   headsText,
	"pooling": func(d *draft) string {
		if !d.isCompared() {
			return ""
		}
		return poolingNote
	},
	"labels": labelsText, "truth test": truthTest, "likeness": likenessText,
	"motion": motionText, "gradient": gradientText, "table": tableText, "kernel": kernelText,
	// of masked prediction
	"nodes":   func(d *draft) string { return fmt.Sprint(d.first().Config.Masked.NMAR.Nodes) },
	"modules": func(d *draft) string { return fmt.Sprint(d.first().Config.Masked.NMAR.Modules) },
	"order":   orderText, "source": sourceText, "z-scored": zScoredText, "anova": anovaText,
}

// truthTest returns the test of the reference against learn-0.2, and the printed one.
func truthTest(d *draft) string {
	of := d.study.compare(comparison{high: reference, low: paper.Learned, measure: "validation", isPuzzle: true},
		mainGroups(d.study))
	if of.test == "" {
		return ""
	}
	printed := paper.TruthTest()
	return fmt.Sprintf(" %s minus %s, paired by seed: %s (the paper prints t(%d) = %s, p = %s; "+
		"15 pairs have 14 degrees of freedom).", paper.Truth, paper.Learned, of.test,
		printed.DF, item.Decimals(printed.T, 2), item.Decimals(printed.P, 2))
}

// headsText describes the numbers of heads.
func headsText(d *draft) string {
	var names []string
	for _, n := range []int{2, 4} {
		if withHeads(n)(d.study) != nil {
			names = append(names, fmt.Sprintf("with %d heads", n))
		}
	}
	return strings.Join(names, " and ")
}

// likenessText lists the correlations of the similarity to the ground-truth model beside the printed ones.
func likenessText(d *draft) string {
	var parts []string
	for _, c := range []struct{ what, measure string }{{"cosine", "cosine"}, {"distance", "procrustes"},
		{"disparity", "disparity"}} {
		if rho := d.rho(c.measure); rho != "" {
			parts = append(parts, c.what+": "+rho)
		}
	}
	if parts == nil {
		return ""
	}
	return "; here, " + strings.Join(parts, "; ")
}

// rho returns the correlation that a panel shows for a measure; "" if none does.
func (d *draft) rho(measure string) string { return strings.Trim(d.Texts["ρ "+measure], " .") }

// motionText, gradientText, tableText and kernelText explain the panels of lazy training.
func motionText(d *draft) string {
	text := " E: the table of the PE, E₀ at its start; means over blocks."
	if rho := d.rho("pe_moved"); rho != "" {
		text += " Motion and validation: " + rho + "."
	}
	return text
}

func gradientText(d *draft) string {
	if !d.has("pe_gradient_share") {
		return ""
	}
	return fmt.Sprintf(" The share of the gradient is the norm of the PE's gradient over that of all weights, at the "+
		"last step before a record (%s at the end).",
		d.study.rangeText(cohort.Group{Models: cohort.ModelsOf(d.Groups)}, "pe_gradient_share"))
}

func tableText(d *draft) string {
	switch {
	case d.has("pe_disparity"):
	case slices.ContainsFunc(cohort.ModelsOf(d.Groups), func(m cohort.Model) bool { return m.Run.Config.DModel%4 > 0 }):
		return " Disparity from 2d-fixed and cosine with it need a width that is a multiple of 4."
	default:
		return ""
	}
	return " Disparity (Procrustes, independent of norms) and cosine are with the table of 2d-fixed."
}

func kernelText(d *draft) string {
	if !d.has("tangent_alignment") {
		return ""
	}
	text := " Alignment: cosine of the tangent kernels, traced over outputs, of the model at its start and at its " +
		"end on the same training puzzles; 1 is lazy."
	if rho := d.rho("tangent_alignment"); rho != "" {
		text += " Kernel and validation: " + rho + "."
	}
	return text
}

// labelsText notes accuracies that are by the labels of puzzles.
func labelsText(d *draft) string {
	if !slices.ContainsFunc(cohort.ModelsOf(d.Groups), item.HasLabelsAlone) {
		return ""
	}
	return " Some runs are from an earlier torchpe and shown by the puzzles' labels: of the 36 " +
		"generated puzzles labelled 3-vector about 8 need only two rows or columns."
}

// orderText describes the order of the nodes of the simulated network in the models.
func orderText(d *draft) string {
	if d.first().Config.Masked.NMAR.Order == "" {
		return "module by module, so that a fixed line (1d-fixed) is modular without having learned it"
	}
	return fmt.Sprintf("in an order drawn by data seed %d", d.first().Config.DataSeed)
}

func sourceText(d *draft) string {
	if strings.Contains(string(d.first().Config.JSON), `"files":{`) && !isSurrogate(d.first()) {
		return "the files named in the runs"
	}
	return "the surrogate (simulated series with known networks)"
}

// isSurrogate reports whether a run's data are the surrogate of human fMRI.
func isSurrogate(r *cohort.Run) bool {
	return r.Config.Masked.Surrogate != nil || r.Result.Data != nil && r.Result.Data.Surrogate
}

func zScoredText(d *draft) string {
	if !d.first().Config.Masked.ZScore {
		return ""
	}
	return " The series are z-scored here, so these errors are shares of a node's variance; the " +
		"printed error is for raw series."
}

// anovaText returns the test of whether errors differ between encodings, and the printed one.
func anovaText(d *draft) string {
	test, err := stats.ANOVA(d.errorsByGroup("test_mse/0.50")...)
	if err != nil || d.study.areUnlike(d.Groups...) { // fails with one model per encoding
		return ""
	}
	return fmt.Sprintf(" Test MSE by encoding: F(%g, %g) = %.2f, %s (the paper prints "+
		"F = %s, p = %s).", test.DF, test.DF2, test.Statistic, number.PText(test.P),
		item.Decimals(paper.NMARF, 2), item.Decimals(paper.NMARP, 2))
}
