package lst

import (
	"fmt"
	"strings"
)

// Report holds the findings of [Check] on a training and a validation set. Counts are of both sets
// together unless they say otherwise.
type Report struct {
	Puzzles         int `json:"puzzles"`
	Valid           int `json:"valid"`            // a rule forces the answer; a square completes it
	ConditionAgrees int `json:"condition_agrees"` // the claimed condition is that of Classify
	AnswerAgrees    int `json:"answer_agrees"`    // the claimed answer is that of Classify
	Duplicates      int `json:"duplicates"`       // puzzles whose grid occurred before

	// MinDissimilarity is the smallest Jaccard Dissimilarity of a training to a validation puzzle;
	// 1 where a set is empty.
	MinDissimilarity float64 `json:"min_dissimilarity"`
	// IsomorphicToValidation counts the training puzzles that are isomorphic to a validation puzzle
	// (see Grid.Canonical), ValidationCovered the validation puzzles that have one or more of them.
	IsomorphicToValidation int `json:"isomorphic_to_validation"`
	ValidationCovered      int `json:"validation_covered"`
	ValidationClasses      int `json:"validation_classes"` // validation puzzles up to isomorphism

	// UniqueCompletion counts the puzzles whose givens determine the whole grid, not only the
	// probe.
	UniqueCompletion SetCounts `json:"unique_completion"`
	// TwoLines counts the puzzles of the 3-vector condition that two lines decide.
	TwoLines SetCounts `json:"two_lines"`

	PerCondition map[string]ConditionReport `json:"per_condition"` // by label, for all three

	// Problems describes the puzzles that are not valid or whose claims do not agree, those that
	// Err tells first, at most 20 of them. Puzzles are counted from 0 in each set.
	Problems []string `json:"problems,omitempty"`
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
	Givens
	Probes  [Cells]int `json:"probes"`  // puzzles by probe cell, row by row
	Answers [Side]int  `json:"answers"` // puzzles by claimed answer 1-4
}

// Givens counts the symbols that puzzles of one set and condition show.
type Givens struct {
	Puzzles    int     `json:"puzzles"`
	GivensMean float64 `json:"givens_mean"` // symbols shown; 0 where there is no puzzle
	GivensMin  int     `json:"givens_min"`
	GivensMax  int     `json:"givens_max"`
}

// Err returns an error where training on the sets would be wrong: a puzzle that is not valid or an
// answer that is not the forced one. Duplicates, wrong condition labels and puzzles shared with
// validation are for the reader to judge.
func (r Report) Err() error {
	invalid, wrong := r.Puzzles-r.Valid, r.Valid-r.AnswerAgrees
	if invalid == 0 && wrong == 0 {
		return nil
	}
	return fmt.Errorf("lst: of %d puzzles %d are not valid and %d have a wrong answer; the "+
		"first: %s", r.Puzzles, invalid, wrong, r.Problems[0])
}

// Check classifies every puzzle of side 4, compares that with its claims, and compares the training
// with the validation set. A puzzle of another side is reported as not valid.
func Check(train, validation []Puzzle) Report {
	c := checker{seen: map[Grid]bool{}}
	c.MinDissimilarity = 1
	c.PerCondition = map[string]ConditionReport{}
	for _, k := range Conditions() {
		c.PerCondition[k.Label()] = ConditionReport{describe(train, k), describe(validation, k)}
	}
	c.UniqueCompletion.Training, c.TwoLines.Training = c.claims("training", train)
	c.UniqueCompletion.Validation, c.TwoLines.Validation = c.claims("validation", validation)
	c.Problems = append(c.Problems, c.mild...)
	c.Problems = c.Problems[:min(len(c.Problems), maxProblems)]
	c.compare(train, validation)
	return c.Report
}

// checker collects a report.
type checker struct {
	Report
	seen map[Grid]bool
	mild []string // problems that Report.Err forgives
}

// maxProblems bounds Report.Problems.
const maxProblems = 20

// claims checks each puzzle by itself. It returns how many determine their grid, and how many of
// the 3-vector condition two lines decide.
func (c *checker) claims(set string, ps []Puzzle) (unique, fewer int) {
	for i, p := range ps {
		c.Puzzles++
		if c.seen[p.Cells] {
			c.Duplicates++
		}
		c.seen[p.Cells] = true
		if len(p.Cells) == Cells && completions(boardOf(p.Cells)) == 1 {
			unique++
		}
		name := fmt.Sprintf("%s puzzle %d", set, i)
		condition, answer, err := classify(p.Cells)
		if err == nil && p.Cells.Side() != Side {
			err = fmt.Errorf("puzzle %s has side %d, want %d", p.Cells, p.Cells.Side(), Side)
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
			fewer++
		}
	}
	return unique, fewer
}

// problem describes an error of a puzzle, less the package's prefix.
func problem(name string, err error) string {
	return name + ": " + strings.TrimPrefix(err.Error(), "lst: ")
}

// compare measures how near the training puzzles come to the validation puzzles.
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

// describe counts the puzzles that claim condition c.
func describe(ps []Puzzle, c Condition) SetReport {
	s := SetReport{Givens: CountGivens(ps, c)}
	for _, p := range ps {
		if p.Condition != c {
			continue
		}
		if probe := p.Cells.Probe(); probe >= 0 && probe < Cells {
			s.Probes[probe]++
		}
		if p.Answer >= 1 && p.Answer <= Side {
			s.Answers[p.Answer-1]++
		}
	}
	return s
}

// CountGivens counts the puzzles that claim condition c, of any side.
func CountGivens(ps []Puzzle, c Condition) (g Givens) {
	sum := 0
	for _, p := range ps {
		if p.Condition != c {
			continue
		}
		n := p.Cells.Givens()
		if g.Puzzles == 0 || n < g.GivensMin {
			g.GivensMin = n
		}
		g.GivensMax = max(g.GivensMax, n)
		g.Puzzles++
		sum += n
	}
	g.GivensMean = float64(sum) / float64(max(1, g.Puzzles))
	return g
}
