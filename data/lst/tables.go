package lst

import (
	"fmt"
	"strings"

	"torchpe/internal/wording"
)

// Sets are the counts of given symbols by set ("training" and "validation") and label of the condition.
type Sets map[string]map[string]Givens

// CountSets counts the puzzles of both sets, of any side.
func CountSets(train, validation []Puzzle) Sets {
	sets := Sets{"training": {}, "validation": {}}
	for _, c := range Conditions() {
		sets["training"][c.Label()] = CountGivens(train, c)
		sets["validation"][c.Label()] = CountGivens(validation, c)
	}
	return sets
}

// Table returns headings and a row for each set and condition.
func (s Sets) Table() (head []string, rows [][]string) {
	for _, set := range []string{"training", "validation"} {
		for _, c := range Conditions() {
			n := s[set][c.Label()]
			rows = append(rows, []string{c.Label(), set, fmt.Sprint(n.Puzzles), n.String()})
		}
	}
	return []string{"condition", "set", "puzzles", "givens mean (range)"}, rows
}

// String writes the mean and the range of the given symbols.
func (g Givens) String() string {
	return fmt.Sprintf("%.2f (%d-%d)", g.GivensMean, g.GivensMin, g.GivensMax)
}

// Counts returns headings and a row for each count of a report.
func (r Report) Counts() (head []string, rows [][]string) {
	for _, c := range []struct {
		name  string
		value any
	}{
		{"puzzles", r.Puzzles},
		{"obey the rules of a Latin square", r.Valid},
		{"have the condition that the published classifier finds", r.ConditionAgrees},
		{"have the answer that follows from the grid", r.AnswerAgrees},
		{"given twice", r.Duplicates},
		{"least dissimilarity (Jaccard) of training to validation", fmt.Sprintf("%.4f", r.MinDissimilarity)},
		{"training puzzles isomorphic to a validation puzzle", r.IsomorphicToValidation},
		{"validation puzzles that these are isomorphic to", r.ValidationCovered},
		{"validation puzzles, isomorphic ones counted once", r.ValidationClasses},
		{"training puzzles with one solution", r.UniqueCompletion.Training},
		{"validation puzzles with one solution", r.UniqueCompletion.Validation},
		{"3-vector training puzzles that two lines decide by a rule it lacks", r.TwoLines.Training},
		{"3-vector validation puzzles that two lines decide by a rule it lacks", r.TwoLines.Validation},
	} {
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
				fmt.Sprint(s.Puzzles), s.String(), span(s.Answers[:]), span(s.Probes[:])})
		}
	}
	return []string{"condition", "set", "puzzles", "given cells (range)", "per answer", "per probe cell"}, rows
}
