package lst

import (
	"fmt"
	"strings"
)

// Report is what [Check] finds in a training and a validation set. Counts are of both sets together unless they say
// otherwise.
type Report struct {
	Puzzles         int `json:"puzzles"`
	Valid           int `json:"valid"`            // a rule forces the answer and the grid can be completed
	ConditionAgrees int `json:"condition_agrees"` // the claimed condition is that of Classify
	AnswerAgrees    int `json:"answer_agrees"`    // the claimed answer is that of Classify
	Duplicates      int `json:"duplicates"`       // puzzles whose grid occurred before

	// MinDissimilarity is the smallest Jaccard Dissimilarity of a training to a validation puzzle; 1 where a set is empty.
	MinDissimilarity float64 `json:"min_dissimilarity"`
	// IsomorphicToValidation counts the training puzzles that are a validation puzzle in disguise (see Grid.Canonical),
	// ValidationCovered the validation puzzles that have one or more of them.
	IsomorphicToValidation int `json:"isomorphic_to_validation"`
	ValidationCovered      int `json:"validation_covered"`
	ValidationClasses      int `json:"validation_classes"` // validation puzzles up to isomorphism

	// UniqueCompletion counts the puzzles whose givens determine the whole grid, not only the probe.
	UniqueCompletion struct {
		Training   int `json:"training"`
		Validation int `json:"validation"`
	} `json:"unique_completion"`

	PerCondition map[string]ConditionReport `json:"per_condition"` // by label, for all three

	// Problems describes the puzzles that are not valid or whose claims do not agree, those that Err tells first, at most
	// 20 of them. Puzzles are counted from 0 in each set.
	Problems []string `json:"problems,omitempty"`
}

// ConditionReport is the part of a report on the puzzles that claim one condition.
type ConditionReport struct {
	Training   SetReport `json:"training"`
	Validation SetReport `json:"validation"`
}

// SetReport describes the puzzles of one set and condition.
type SetReport struct {
	Puzzles    int        `json:"puzzles"`
	GivensMean float64    `json:"givens_mean"` // symbols shown; 0 where there is no puzzle
	GivensMin  int        `json:"givens_min"`
	GivensMax  int        `json:"givens_max"`
	Probes     [Cells]int `json:"probes"`  // puzzles by probe cell, row by row
	Answers    [Side]int  `json:"answers"` // puzzles by claimed answer 1-4
}

// Err returns an error where training on the sets would be wrong: a puzzle that is not valid or an answer that is not
// the forced one. Duplicates, wrong condition labels and puzzles shared with validation are for the reader to judge.
func (r Report) Err() error {
	invalid, wrong := r.Puzzles-r.Valid, r.Valid-r.AnswerAgrees
	if invalid == 0 && wrong == 0 {
		return nil
	}
	return fmt.Errorf("lst: of %d puzzles %d are not valid and %d have a wrong answer; the first: %s",
		r.Puzzles, invalid, wrong, r.Problems[0])
}

// Check classifies every puzzle, compares that with what it claims, and compares the training with the validation set.
func Check(train, validation []Puzzle) Report {
	c := checker{seen: map[Grid]bool{}}
	c.MinDissimilarity = 1
	c.PerCondition = map[string]ConditionReport{}
	for _, k := range Conditions() {
		c.PerCondition[k.Label()] = ConditionReport{Training: describe(train, k), Validation: describe(validation, k)}
	}
	c.UniqueCompletion.Training = c.claims("training", train)
	c.UniqueCompletion.Validation = c.claims("validation", validation)
	c.Problems = append(c.Problems, c.mild...)
	c.Problems = c.Problems[:min(len(c.Problems), maxProblems)]
	c.compare(train, validation)
	return c.Report
}

// checker is a report in the making.
type checker struct {
	Report
	seen map[Grid]bool
	mild []string // problems that Report.Err forgives
}

// maxProblems bounds Report.Problems.
const maxProblems = 20

// claims checks each puzzle by itself and returns how many determine their grid.
func (c *checker) claims(set string, ps []Puzzle) (unique int) {
	for i, p := range ps {
		c.Puzzles++
		if c.seen[p.Cells] {
			c.Duplicates++
		}
		c.seen[p.Cells] = true
		if p.Cells.Completions() == 1 {
			unique++
		}
		name := fmt.Sprintf("%s puzzle %d", set, i)
		condition, answer, err := Classify(p.Cells)
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
	}
	return unique
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
		classes[p.Cells.Canonical()]++
	}
	c.ValidationClasses = len(classes)
	covered := map[Grid]bool{}
	for _, p := range train {
		f := p.Cells.features()
		for _, v := range against {
			c.MinDissimilarity = min(c.MinDissimilarity, f.dissimilarity(v))
		}
		if k := p.Cells.Canonical(); classes[k] > 0 {
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
	var s SetReport
	sum := 0
	for _, p := range ps {
		if p.Condition != c {
			continue
		}
		n := p.Cells.Givens()
		if s.Puzzles == 0 || n < s.GivensMin {
			s.GivensMin = n
		}
		s.GivensMax = max(s.GivensMax, n)
		s.Puzzles++
		sum += n
		if probe := p.Cells.Probe(); probe >= 0 {
			s.Probes[probe]++
		}
		if p.Answer >= 1 && p.Answer <= Side {
			s.Answers[p.Answer-1]++
		}
	}
	if s.Puzzles > 0 {
		s.GivensMean = float64(sum) / float64(s.Puzzles)
	}
	return s
}
