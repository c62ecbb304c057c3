package lst

import (
	"fmt"
	"math/bits"
)

// Puzzle is one item of the task. Puzzles are comparable with ==; the ID of a published file is the
// puzzle's index in it.
//
// Answer and Condition are claims of whoever made the puzzle (a file, [Generate]); [Puzzle.Verify]
// and [Check] test them.
type Puzzle struct {
	Cells     Grid      `json:"puzzle"`
	Answer    uint8     `json:"answer"` // the probe's symbol, 1 to side
	Condition Condition `json:"condition"`
}

// NewPuzzle returns the grid as a puzzle with the condition and answer of [classify].
func NewPuzzle(g Grid) (Puzzle, error) {
	c, answer, err := classify(g)
	if err != nil {
		return Puzzle{}, err
	}
	return Puzzle{Cells: g, Answer: answer, Condition: c}, nil
}

// Verify compares the claimed answer and condition with those that [classify] finds.
func (p Puzzle) Verify() error {
	c, answer, err := classify(p.Cells)
	switch {
	case err != nil:
		return err
	case answer != p.Answer:
		return p.wrongAnswer(answer)
	case c != p.Condition:
		return p.wrongCondition(c)
	}
	return nil
}

func (p Puzzle) wrongAnswer(forced uint8) error {
	return fmt.Errorf("lst: puzzle %s: answer %d claimed, but the rules force %d",
		p.Cells, p.Answer, forced)
}

func (p Puzzle) wrongCondition(found Condition) error {
	return fmt.Errorf("lst: puzzle %s: condition %q claimed, but it is %q",
		p.Cells, p.Condition.Label(), found.Label())
}

// Explanation says what decides a puzzle, and what is wrong with its claims.
type Explanation struct {
	DecidedBy []Deduction `json:"decided_by"`          // simplest first
	TwoLines  []Line      `json:"two_lines,omitempty"` // that decide it, if called 3-vector
	Problem   string      `json:"problem,omitempty"`   // the error of Verify
}

// Explain applies the rules to the puzzle.
func (p Puzzle) Explain() Explanation {
	e := Explanation{DecidedBy: []Deduction{}}
	if err := p.Verify(); err != nil {
		e.Problem = err.Error()
	}
	if ds, err := Deduce(p.Cells); err == nil { // else Verify has told why
		e.DecidedBy, e.TwoLines = ds, TwoLines(p.Cells)
	}
	return e
}

// features is a grid as the one-hot vector of the published dissimilarity: cells x (symbols and,
// last, the probe). A blank has no bit.
type features struct {
	cells [MaxSide + 1]uint64 // by symbol: the set of cells that have it
	size  int                 // cells that are not blank
}

func (g Grid) features() (f features) {
	for i, v := range g.Tokens() {
		if v > 0 && int(v) <= len(f.cells) {
			f.cells[v-1] |= 1 << i
			f.size++
		}
	}
	return f
}

// shared returns the number of cells in which two grids of one side have the same symbol or probe.
func (f *features) shared(h *features) (n int) {
	for k := range f.cells {
		n += bits.OnesCount64(f.cells[k] & h.cells[k])
	}
	return n
}

// isDissimilar reports whether two grids have a dissimilarity above 4/5. With
// |A or B| = |A| + |B| - |A and B|, 1 - |A and B|/|A or B| > 4/5 is 6 |A and B| < |A| + |B|.
func (f *features) isDissimilar(h *features) bool { return 6*f.shared(h) < f.size+h.size }

func (f *features) dissimilarity(h *features) float64 {
	shared := f.shared(h)
	joint := f.size + h.size - shared
	if joint == 0 {
		return 0 // two empty grids
	}
	return 1 - float64(shared)/float64(joint)
}
