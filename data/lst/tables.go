package lst

import (
	"fmt"
	"strings"

	"torchpe/internal/wording"
)

// Counts returns headings and a row for each count of a report.
func (r Report) Counts() (head []string, rows [][]string) {
	type count struct {
		name  string
		value any
	}
	counts := []count{
		{"puzzles", r.Puzzles},
		{"obey the rules of a Latin square", r.Valid},
		{"have the condition that the published classifier finds", r.ConditionAgrees},
		{"have the answer that follows from the grid", r.AnswerAgrees},
		{"given twice", r.Duplicates},
		{"least dissimilarity (Jaccard) of training to validation", fmt.Sprintf("%.4f", r.MinDissimilarity)},
		{"3-vector training puzzles that two rows or columns decide", r.TwoLines.Training},
		{"3-vector validation puzzles that two rows or columns decide", r.TwoLines.Validation},
	}
	if r.SideFour != nil {
		counts = append(counts,
			count{"training puzzles isomorphic to a validation puzzle", r.IsomorphicToValidation},
			count{"validation puzzles isomorphic to a training puzzle", r.ValidationCovered},
			count{"validation puzzles, isomorphic ones counted once", r.ValidationClasses},
			count{"training puzzles with one solution", r.UniqueCompletion.Training},
			count{"validation puzzles with one solution", r.UniqueCompletion.Validation})
	}
	for _, c := range counts {
		rows = append(rows, []string{c.name, fmt.Sprint(c.value)})
	}
	return []string{"check", "count or value"}, rows
}

// Table returns headings and a row for each condition and set of a report.
func (r Report) Table() (head []string, rows [][]string) {
	span := func(counts []int) string { return strings.ReplaceAll(wording.Range(counts), " to ", "-") }
	for _, c := range Conditions() {
		sets := r.PerCondition[c.Label()]
		for i, s := range []SetReport{sets.Training, sets.Validation} {
			rows = append(rows, []string{fmt.Sprintf("%s (%s)", c.Label(), c), [2]string{"training", "validation"}[i],
				fmt.Sprint(s.Puzzles), fmt.Sprintf("%.2f (%d-%d)", s.GivensMean, s.GivensMin, s.GivensMax),
				span(s.Answers), span(s.Probes)})
		}
	}
	return []string{"condition", "set", "puzzles", "given cells (range)", "per answer", "per probe cell"}, rows
}
