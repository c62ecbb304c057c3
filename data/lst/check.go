package lst

import (
	"fmt"
	"slices"
	"strings"
)

// Report holds the result of [Check] on a training and a validation set. Counts cover both sets unless
// stated otherwise.
type Report struct {
	Puzzles         int `json:"puzzles"`
	Valid           int `json:"valid"`            // a rule forces the answer and a Latin square completes the grid
	ConditionAgrees int `json:"condition_agrees"` // the claimed condition is that of classify
	AnswerAgrees    int `json:"answer_agrees"`    // the claimed answer is that of classify
	Duplicates      int `json:"duplicates"`       // puzzles whose grid occurred earlier

	// MinDissimilarity is the smallest Jaccard distance between a training and a validation puzzle,
	// 1 if a set is empty.
	MinDissimilarity float64 `json:"min_dissimilarity"`
	*SideFour
	// TwoLines counts the puzzles of the 3-vector condition that two lines decide.
	TwoLines SetCounts `json:"two_lines"`

	PerCondition map[string]ConditionReport `json:"per_condition"` // by label, for all three

	// Problems describes at most 20 puzzles that are not valid or have a wrong claim. The errors of
	// Err come first. Puzzles are counted from 0 in each set.
	Problems []string `json:"problems,omitempty"`
}

// SideFour holds the counts of a report on puzzles of side 4. It is nil for other sides.
type SideFour struct {
	// IsomorphicToValidation counts the training puzzles that are isomorphic to a validation puzzle
	// (see Grid.canonical). ValidationCovered counts the validation puzzles that are isomorphic to a
	// training puzzle.
	IsomorphicToValidation int `json:"isomorphic_to_validation"`
	ValidationCovered      int `json:"validation_covered"`
	ValidationClasses      int `json:"validation_classes"` // validation puzzles up to isomorphism

	// UniqueCompletion counts the puzzles whose givens determine the whole grid.
	UniqueCompletion SetCounts `json:"unique_completion"`
}

// SetCounts counts puzzles of each set.
type SetCounts struct {
	Training   int `json:"training"`
	Validation int `json:"validation"`
}

// ConditionReport is the part of a report on the puzzles that claim one condition.
type ConditionReport struct {
	Training   SetReport `json:"training"`
	Validation SetReport `json:"validation"`
}

// SetReport describes the puzzles of one set and condition.
type SetReport struct {
	Puzzles    int     `json:"puzzles"`
	GivensMean float64 `json:"givens_mean"` // symbols shown; 0 where there is no puzzle
	GivensMin  int     `json:"givens_min"`
	GivensMax  int     `json:"givens_max"`
	Probes     []int   `json:"probes"`  // puzzles by probe cell, row by row
	Answers    []int   `json:"answers"` // puzzles by claimed answer, from 1
}

// Err returns an error if a puzzle is not valid or has a wrong answer. It accepts duplicates, wrong
// condition labels and puzzles that training and validation share.
func (r Report) Err() error {
	invalid, wrong := r.Puzzles-r.Valid, r.Valid-r.AnswerAgrees
	if invalid == 0 && wrong == 0 {
		return nil
	}
	return fmt.Errorf("lst: of %d puzzles %d are not valid and %d have a wrong answer; the "+
		"first: %s", r.Puzzles, invalid, wrong, r.Problems[0])
}

// Check classifies every puzzle, compares the result with its claims, and compares the training with
// the validation set. It reports a puzzle of another side than the last one as not valid.
func Check(train, validation []Puzzle) Report {
	c := checker{seen: map[Grid]bool{}, side: Side, Report: Report{SideFour: &SideFour{}}}
	if all := slices.Concat(train, validation); len(all) > 0 {
		c.side = all[len(all)-1].Cells.Side()
	}
	c.MinDissimilarity = 1
	c.PerCondition = map[string]ConditionReport{}
	for _, k := range Conditions() {
		c.PerCondition[k.Label()] = ConditionReport{c.describe(train, k), c.describe(validation, k)}
	}
	c.UniqueCompletion.Training, c.TwoLines.Training = c.claims("training", train)
	c.UniqueCompletion.Validation, c.TwoLines.Validation = c.claims("validation", validation)
	c.Problems = append(c.Problems, c.mild...)
	c.Problems = c.Problems[:min(len(c.Problems), maxProblems)]
	c.compare(train, validation)
	if c.side != Side {
		c.SideFour = nil
	}
	return c.Report
}

// checker collects a report.
type checker struct {
	Report
	side int
	seen map[Grid]bool
	mild []string // problems that Report.Err accepts
}

// maxProblems bounds Report.Problems.
const maxProblems = 20

// claims checks each puzzle of a set. It counts the puzzles that determine their whole grid, and the
// 3-vector puzzles that two lines decide.
func (c *checker) claims(set string, ps []Puzzle) (unique, byTwoLines int) {
	for i, p := range ps {
		c.Puzzles++
		if c.seen[p.Cells] {
			c.Duplicates++
		}
		c.seen[p.Cells] = true
		if len(p.Cells) == Cells && len(completions(p.Cells)) == 1 {
			unique++
		}
		name := fmt.Sprintf("%s puzzle %d", set, i)
		condition, answer, err := classify(p.Cells)
		if err == nil && p.Cells.Side() != c.side {
			err = fmt.Errorf("puzzle %s has side %d, want %d", p.Cells, p.Cells.Side(), c.side)
		}
		if err != nil {
			c.Problems = append(c.Problems, problem(name, err))
			continue
		}
		c.Valid++
		if answer == p.Answer {
			c.AnswerAgrees++
		} else {
			c.Problems = append(c.Problems, problem(name, p.wrongAnswer(answer)))
		}
		if condition == p.Condition {
			c.ConditionAgrees++
		} else {
			c.mild = append(c.mild, problem(name, p.wrongCondition(condition)))
		}
		if v := newGiven(p.Cells); v.twoLines(condition, p.Cells.Probe()) != nil {
			byTwoLines++
		}
	}
	return unique, byTwoLines
}

// problem describes an error of a puzzle without the package's prefix.
func problem(name string, err error) string {
	return name + ": " + strings.TrimPrefix(err.Error(), "lst: ")
}

// compare measures the similarity of the training puzzles to the validation puzzles.
func (c *checker) compare(train, validation []Puzzle) {
	against := make([]features, len(validation))
	classes := map[Grid]int{} // canonical grid: validation puzzles of that class
	for i, p := range validation {
		against[i] = p.Cells.features()
		classes[p.Cells.canonical()]++
	}
	c.ValidationClasses = len(classes)
	covered := map[Grid]bool{}
	for _, p := range train {
		f := p.Cells.features()
		for i := range against {
			c.MinDissimilarity = min(c.MinDissimilarity, f.dissimilarity(&against[i]))
		}
		if k := p.Cells.canonical(); classes[k] > 0 {
			c.IsomorphicToValidation++
			covered[k] = true
		}
	}
	for k := range covered {
		c.ValidationCovered += classes[k]
	}
}

// describe counts the puzzles that claim a condition.
func (c *checker) describe(ps []Puzzle, claimed Condition) SetReport {
	s := SetReport{Probes: make([]int, c.side*c.side), Answers: make([]int, c.side)}
	sum := 0
	for _, p := range ps {
		if p.Condition != claimed {
			continue
		}
		if probe := p.Cells.Probe(); probe >= 0 && probe < len(s.Probes) {
			s.Probes[probe]++
		}
		if p.Answer >= 1 && int(p.Answer) <= c.side {
			s.Answers[p.Answer-1]++
		}
		n := p.Cells.Givens()
		if s.Puzzles == 0 || n < s.GivensMin {
			s.GivensMin = n
		}
		s.GivensMax = max(s.GivensMax, n)
		s.Puzzles++
		sum += n
	}
	s.GivensMean = float64(sum) / float64(max(1, s.Puzzles))
	return s
}
