package lst

import (
	"fmt"
	"math/bits"
)

// Puzzle is one item of the task. Puzzles are comparable with ==; the ID of a published file is the puzzle's index in it.
//
// Answer and Condition are claims of whoever made the puzzle (a file, [Generate]); [Classify] and [Check] test them.
type Puzzle struct {
	Cells     Grid      `json:"puzzle"`
	Answer    uint8     `json:"answer"` // the probe's symbol, 1-4
	Condition Condition `json:"condition"`
}

// NewPuzzle returns the grid as a puzzle with the condition and answer of [Classify].
func NewPuzzle(g Grid) (Puzzle, error) {
	c, answer, err := Classify(g)
	if err != nil {
		return Puzzle{}, err
	}
	return Puzzle{Cells: g, Answer: answer, Condition: c}, nil
}

// Verify compares the claimed answer and condition with those that [Classify] finds.
func (p Puzzle) Verify() error {
	c, answer, err := Classify(p.Cells)
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
	return fmt.Errorf("lst: puzzle %s: answer %d claimed, but the rules force %d", p.Cells, p.Answer, forced)
}

func (p Puzzle) wrongCondition(found Condition) error {
	return fmt.Errorf("lst: puzzle %s: condition %q claimed, but it is %q", p.Cells, p.Condition.Label(), found.Label())
}

// MarshalText writes the 16 digits.
func (g Grid) MarshalText() ([]byte, error) { return []byte(g.String()), nil }

// UnmarshalText reads 16 digits with [ParseGrid].
func (g *Grid) UnmarshalText(text []byte) error {
	v, err := ParseGrid(string(text))
	if err != nil {
		return fmt.Errorf("lst: %w", err)
	}
	*g = v
	return nil
}

// Encoded is a puzzle as a model takes it.
type Encoded struct {
	Tokens [Cells]int // [16] 0 blank, 1-4 symbol, 5 probe, row by row
	Probe  int        // index of the probe in Tokens, 0-15
	Target int        // answer - 1, 0-3
}

// Encode returns the puzzle's tokens, probe and target. The puzzle must be valid, as those of [Read] and [Generate] are.
func (p Puzzle) Encode() Encoded {
	e := Encoded{Probe: p.Cells.Probe(), Target: int(p.Answer) - 1}
	for i, v := range p.Cells {
		e.Tokens[i] = int(v)
	}
	return e
}

// features is a grid as the 80-bit one-hot vector of the published dissimilarity: 16 cells x (4 symbols + probe); a
// blank has no bit.
type features struct {
	symbols uint64 // bit 4*cell + symbol - 1
	probe   uint64 // bit cell
}

func (g Grid) features() features {
	f := features{symbols: g.symbols()}
	for i, v := range g {
		if v == Probe {
			f.probe |= 1 << i
		}
	}
	return f
}

// shared and joint are the sizes of intersection and union.
func (f features) shared(h features) int {
	return bits.OnesCount64(f.symbols&h.symbols) + bits.OnesCount64(f.probe&h.probe)
}

func (f features) joint(h features) int {
	return bits.OnesCount64(f.symbols|h.symbols) + bits.OnesCount64(f.probe|h.probe)
}

// Dissimilarity returns the Jaccard distance 1 - |A and B| / |A or B| of two puzzles as 80-bit one-hot vectors
// (16 cells x (4 symbols + probe), a blank has no bit), between 0 (equal) and 1 (nothing in common).
func Dissimilarity(a, b Grid) float64 { return a.features().dissimilarity(b.features()) }

func (f features) dissimilarity(h features) float64 {
	joint := f.joint(h)
	if joint == 0 {
		return 0 // two empty grids
	}
	return 1 - float64(f.shared(h))/float64(joint)
}
