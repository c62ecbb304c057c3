package lst

import (
	"fmt"
	"math/bits"
)

// Puzzle is one item of the task. The ID of a published file is the index of the puzzle. Answer and
// Condition are claims of the file or generator; [Check] checks them.
type Puzzle struct {
	Cells     Grid
	Answer    uint8 // the probe's symbol, 1 to side
	Condition Condition
}

// NewPuzzle returns a puzzle with the condition and answer that [classify] finds for a grid.
func NewPuzzle(g Grid) (Puzzle, error) {
	c, answer, err := classify(g)
	if err != nil {
		return Puzzle{}, err
	}
	return Puzzle{Cells: g, Answer: answer, Condition: c}, nil
}

func (p Puzzle) wrongAnswer(forced uint8) error {
	return fmt.Errorf("lst: puzzle %s: answer %d claimed, but the rules force %d",
		p.Cells, p.Answer, forced)
}

func (p Puzzle) wrongCondition(found Condition) error {
	return fmt.Errorf("lst: puzzle %s: condition %q claimed, but it is %q",
		p.Cells, p.Condition.Label(), found.Label())
}

// features encodes a grid as the one-hot vector of the published dissimilarity: cells x (symbols, then
// the probe). A blank has no bit.
type features struct {
	cells [MaxSide + 1]uint64 // bit set of the cells of each symbol
	size  int                 // number of cells that are not blank
}

func (g Grid) features() (f features) {
	for i, v := range g.Tokens() {
		if v > 0 && int(v) <= len(f.cells) {
			f.put(i, v)
		}
	}
	return f
}

// put fills a blank cell with a symbol, or with the probe.
func (f *features) put(i int, symbol uint8) {
	f.cells[symbol-1] |= 1 << i
	f.size++
}

// at returns the symbol of a cell, or 0 for a blank.
func (f *features) at(i int) uint8 {
	for k, cells := range f.cells {
		if cells>>i&1 == 1 {
			return uint8(k) + 1
		}
	}
	return 0
}

// take makes f the given cells of a square, with the others blank.
func (f *features) take(square *features, cells uint64) {
	for k := range f.cells {
		f.cells[k] = square.cells[k] & cells
	}
	f.size = bits.OnesCount64(cells)
}

// contains reports whether a square of side 4 has the givens of h.
func (f *features) contains(h *features) bool {
	for k := range Side {
		if h.cells[k]&^f.cells[k] != 0 {
			return false
		}
	}
	return true
}

// grid returns the grid of a side.
func (f *features) grid(side int) Grid {
	cells := make([]uint8, side*side)
	for i := range cells {
		cells[i] = f.at(i)
	}
	return gridOf(cells)
}

// given returns the symbols that a grid of a side shows.
func (f *features) given(side int) given {
	v := given{side: side}
	for k, cells := range f.cells[:side] {
		for ; cells != 0; cells &= cells - 1 {
			v.show(bits.TrailingZeros64(cells), uint8(k)+1)
		}
	}
	return v
}

// shared counts the cells in which two grids of one side have the same symbol or probe.
func (f *features) shared(h *features) (n int) {
	for k := range f.cells {
		n += bits.OnesCount64(f.cells[k] & h.cells[k])
	}
	return n
}

// isDissimilar reports whether the Jaccard distance of two grids exceeds 4/5. Since
// |A or B| = |A| + |B| - |A and B|, 1 - |A and B|/|A or B| > 4/5 means 6 |A and B| < |A| + |B|.
func (f *features) isDissimilar(h *features) bool { return 6*f.shared(h) < f.size+h.size }

// dissimilarity returns the Jaccard distance of two grids.
func (f *features) dissimilarity(h *features) float64 {
	shared := f.shared(h)
	joint := f.size + h.size - shared
	if joint == 0 {
		return 0 // two empty grids
	}
	return 1 - float64(shared)/float64(joint)
}
