package paper

import (
	"fmt"
	"slices"
	"strings"

	"torchpe/internal/stats"
	"torchpe/internal/wording"
	"torchpe/train/runlog"
)

// A model that has not fitted its training puzzles says nothing about generalisation: what it has
// on other puzzles is that of a model under way. Figures and tables show training and IID accuracy
// beside validation, and mark such models.

func isUnfitted(m Model) bool {
	reached, ok := m.Fitted()
	return ok && !reached
}

// unfitted returns the models that have not fitted.
func unfitted(models []Model) []Model {
	return slices.DeleteFunc(slices.Clone(models), func(m Model) bool { return !isUnfitted(m) })
}

// fittedText returns "5 of 5", or the epoch of one model.
func (g group) fittedText() string {
	return fmt.Sprintf("%d of %d", len(g.Models)-len(unfitted(g.Models)), len(g.Models))
}

// name returns the group's label, with a star where models of it have not fitted.
func (g group) name() string {
	if len(unfitted(g.Models)) > 0 {
		return g.Label + "*"
	}
	return g.Label
}

// hollow flags, for a figure's dots, the models that have not fitted.
func (g group) hollow() []bool {
	out := make([]bool, len(g.Models))
	for i, m := range g.Models {
		out[i] = isUnfitted(m)
	}
	return out
}

// hollowNote says what hollow dots are.
const hollowNote = "hollow: not fitted"

// fitNote returns a caption's sentence on which models have fitted, with training and IID
// accuracies of those that have not. It is empty for masked prediction.
func fitNote(models []Model) string {
	all := groups(models)
	total, reached, known := 0, 0, false
	var rest []string
	for _, g := range all {
		for _, m := range g.Models {
			if _, ok := m.Fitted(); ok {
				known, total = true, total+1
			}
		}
		bad := unfitted(g.Models)
		reached += len(g.Models) - len(bad)
		if len(bad) > 0 {
			b := group{Models: bad}
			rest = append(rest, fmt.Sprintf("%s %d of %d (training accuracy %s, IID %s)", g.Label,
				len(bad), len(g.Models), rangeText(b.values(training)), rangeText(b.values(iid))))
		}
	}
	if !known {
		return ""
	}
	criterion := runlog.DefaultCriterion
	if f := models[0].Result.Fit; f != nil {
		criterion = f.Criterion
	}
	verb := "have"
	if reached == 1 || total == 1 {
		verb = "has"
	}
	text := fmt.Sprintf(" %d of %s %s fitted their training puzzles (%s).", reached,
		wording.Count(total, "model"), verb, criterion)
	if rest != nil {
		text += " Not fitted, marked *, so that their validation accuracy says nothing about " +
			"generalisation: " + strings.Join(rest, "; ") + "."
	}
	return text
}

// rangeText returns ".31", or ".31 to .36".
func rangeText(x []float64) string {
	x = finite(x)
	if len(x) == 0 {
		return "not measured"
	}
	low, high := decimals(slices.Min(x), 2), decimals(slices.Max(x), 2)
	if low == high {
		return low
	}
	return low + " to " + high
}

// meanOf returns the mean of what was measured; NaN for nothing.
func meanOf(g group, of func(Model) float64) float64 { return stats.Mean(finite(g.values(of))) }
