package lst

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"torchpe/internal/wording"
)

// Shown is a puzzle of a list with what decides it.
type Shown struct {
	Index int `json:"index"`
	Side  int `json:"side,omitempty"` // other than 4
	Puzzle
	Explanation
}

// Show explains the puzzles of some indices.
func Show(ps []Puzzle, indices []int) (all []Shown) {
	for _, i := range indices {
		s := Shown{Index: i, Puzzle: ps[i], Explanation: ps[i].Explain()}
		if side := ps[i].Cells.Side(); side != Side {
			s.Side = side
		}
		all = append(all, s)
	}
	return all
}

// String draws the grid, with the lines that decide it below.
func (s Shown) String() string {
	var b strings.Builder
	for _, row := range s.Cells.Rows() {
		fmt.Fprintf(&b, "    %s\n", row)
	}
	b.WriteString("\n")
	for _, by := range s.DecidedBy {
		fmt.Fprintf(&b, "    %s\n", by)
	}
	if s.TwoLines != nil {
		fmt.Fprintf(&b, "    but two lines suffice: %v, %v force %d\n", s.TwoLines[0], s.TwoLines[1],
			s.DecidedBy[0].Answer)
	}
	if s.Problem != "" {
		fmt.Fprintf(&b, "    problem: %s\n", s.Problem)
	}
	return b.String()
}

// OnePerCondition draws the index of one puzzle of each condition that occurs. The same seed draws the
// same ones.
func OnePerCondition(ps []Puzzle, seed uint64) (chosen []int) {
	rng := rand.New(rand.NewPCG(seed, 0))
	for _, c := range Conditions() {
		var candidates []int
		for i, p := range ps {
			if p.Condition == c {
				candidates = append(candidates, i)
			}
		}
		if len(candidates) > 0 {
			chosen = append(chosen, candidates[rng.IntN(len(candidates))])
		}
	}
	return chosen
}

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
