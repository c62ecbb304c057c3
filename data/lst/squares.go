package lst

import (
	"math/bits"
	"math/rand/v2"
	"sync"
)

// squareCount is the number of Latin squares of order 4 (OEIS A002860).
const squareCount = 576

// squares returns all Latin squares of order 4 in lexicographic order. It builds the table once;
// callers must not change it.
var squares = sync.OnceValue(func() []features {
	all := make([]features, 0, squareCount)
	var rows, columns [Side]uint8 // symbols used
	var extend func(m features, cell int)
	extend = func(m features, cell int) {
		if cell == Cells {
			all = append(all, m)
			return
		}
		row, column := &rows[cell/Side], &columns[cell%Side]
		for s := range Side {
			if bit := uint8(1) << s; (*row|*column)&bit == 0 {
				*row, *column = *row|bit, *column|bit
				next := m
				next.put(cell, uint8(s)+1)
				extend(next, cell+1)
				*row, *column = *row&^bit, *column&^bit
			}
		}
	}
	extend(features{}, 0)
	return all
})

// completions returns the Latin squares of order 4 that contain the givens of a grid.
func completions(g Grid) (all []features) {
	f := g.features()
	for _, square := range squares() {
		if square.contains(&f) {
			all = append(all, square)
		}
	}
	return all
}

// rejectionSource draws puzzles of side 4 by rejection sampling. It draws a Latin square uniformly among those
// with the answer at the probe, and a set of cells to show uniformly among those of the given size.
type rejectionSource struct {
	rng *rand.Rand
	// squares[probe][answer-1] lists the 144 Latin squares with that answer at the probe.
	squares [Cells][Side][]features
	masks   [Cells][]uint16 // masks[givens] lists the subsets of this size of 15 cells
}

func newRejectionSource() *rejectionSource {
	t := &rejectionSource{}
	for _, square := range squares() {
		for cell := range Cells {
			answer := square.at(cell) - 1
			t.squares[cell][answer] = append(t.squares[cell][answer], square)
		}
	}
	for mask := range 1 << (Cells - 1) {
		n := bits.OnesCount(uint(mask))
		t.masks[n] = append(t.masks[n], uint16(mask))
	}
	return t
}

func (t *rejectionSource) begin(seed, stream uint64) *rand.Rand {
	t.rng = rand.New(rand.NewPCG(seed, stream))
	return t.rng
}

// allows reports whether a puzzle with these given cells can have the condition of the slot. The test
// is exact for 1-vector. For the other conditions it is necessary only, and rejects half of the draws
// early.
func (s slot) allows(mask uint16) bool {
	row := bits.OnesCount16(mask >> (s.probe / Side * Side) & 0x000F)
	col := bits.OnesCount16(mask >> (s.probe % Side) & 0x1111)
	full := max(row, col) == Side-1
	switch s.condition {
	case OneVector:
		return full
	case TwoVector:
		return !full && row+col >= Side-1
	default:
		return !full && min(row, col) <= 1
	}
}

// After exactDraws failures draw tries other numbers of givens, because with few givens hardly any
// puzzle is dissimilar to all validation puzzles. The published pool has 3 to 11 givens. maxDraws
// limits the search for one puzzle to about half a second. The default sets need about 1,500 draws a
// puzzle.
const (
	exactDraws   = 20_000
	fewestGivens = 3
	mostGivens   = 11
	maxDraws     = 10_000_000
)

func (*rejectionSource) most() int { return maxDraws }

func (t *rejectionSource) draw(s *slot, try int, shown *features) bool {
	givens := s.givens
	if try >= exactDraws {
		givens = fewestGivens + t.rng.IntN(mostGivens-fewestGivens+1)
	}
	masks := t.masks[givens]
	mask := insertZero(masks[t.rng.IntN(len(masks))], s.probe)
	if !s.allows(mask) {
		return false
	}
	squares := t.squares[s.probe][s.answer-1]
	shown.take(&squares[t.rng.IntN(len(squares))], uint64(mask))
	return true
}

// insertZero turns a set of the 15 cells other than the probe into a set of all 16 cells.
func insertZero(mask uint16, probe int) uint16 {
	low := mask & (1<<probe - 1)
	return low | (mask^low)<<1
}
