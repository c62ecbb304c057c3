package paper

import (
	"fmt"
	"strings"

	"torchpe/report/cohort"
	"torchpe/report/item"
	"torchpe/train/runlog"
)

// A model that has not fitted its training puzzles says nothing about generalization: it is still learning the
// task. Figures and tables show training and IID accuracy beside validation, and mark such models.

// fitNote returns a caption sentence on which models have fitted, with training and IID accuracies of those
// that have not. It is empty for masked prediction.
func (s *Study) fitNote(models []cohort.Model) string {
	total := 0
	for _, m := range models {
		if _, known := m.Fitted(); known {
			total++
		}
	}
	if total == 0 {
		return ""
	}
	reached := len(models) - len(cohort.Unfitted(models))
	var rest []string
	if reached < len(models) {
		for _, g := range s.groups(models) {
			bad := cohort.Group{Models: cohort.Unfitted(g.Models)}
			if len(bad.Models) > 0 {
				rest = append(rest, fmt.Sprintf("%s %d of %d (training accuracy %s, IID %s)", g.Label, len(bad.Models),
					len(g.Models), s.rangeText(bad, "train"), s.rangeText(bad, "iid")))
			}
		}
	}
	who := fmt.Sprintf("%d of %d models have fitted their", reached, total)
	switch {
	case total == 1 && reached == 1:
		who = "The model has fitted its"
	case total == 1:
		who = "The model has not fitted its"
	case reached == 1:
		who = fmt.Sprintf("1 of %d models has fitted its", total)
	}
	text := fmt.Sprintf(" %s training puzzles (%s).", who, runlog.DefaultCriterion)
	if rest != nil {
		text += " Not fitted, and marked *, because their validation accuracy says nothing about " +
			"generalization: " + strings.Join(rest, "; ") + "."
	}
	return text
}

// rangeText returns ".31", or ".31 to .36".
func (s *Study) rangeText(g cohort.Group, measure string) string {
	return item.RangeText(measure, s.values(g, measure))
}
