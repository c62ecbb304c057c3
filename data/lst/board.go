package lst

import (
	"math/bits"
	"math/rand/v2"
	"sync"
)

// A board encodes the givens of a grid of side 4 as a bit set: bit 4*cell + symbol - 1. Each row takes
// 16 bits and each cell 4.

// boardOf returns the givens of a grid of side 4.
func boardOf(g Grid) uint64 {
	var m uint64
	for i, v := range g.Tokens() {
		if v >= 1 && v <= Side {
			m |= 1 << (Side*i + int(v) - 1)
		}
	}
	return m
}

// gridOfBoard returns the grid of a board with the probe added.
func gridOfBoard(m uint64, probe int) Grid {
	var cells [Cells]uint8
	for i := range cells {
		cells[i] = symbolAt(m, i)
	}
	cells[probe] = Side + 1
	return gridOf(cells[:])
}

// symbolAt returns the symbol of cell i, 1 to 4, or 0 for a blank.
func symbolAt(m uint64, i int) uint8 {
	nibble := uint8(m >> (Side * i) & 0xF)
	if nibble == 0 {
		return 0
	}
	return uint8(bits.TrailingZeros8(nibble)) + 1
}

// givenOfBoard returns the symbols that each line of a board shows.
func givenOfBoard(m uint64) given {
	v := given{side: Side}
	for i := range Cells {
		if symbol := symbolAt(m, i); symbol != 0 {
			v.show(i, symbol)
		}
	}
	return v
}

// squareCount is the number of Latin squares of order 4 (OEIS A002860).
const squareCount = 576

// squares returns the boards of all Latin squares of order 4 in lexicographic order. It builds the
// table once; callers must not change it.
var squares = sync.OnceValue(func() []uint64 {
	all := make([]uint64, 0, squareCount)
	var rows, columns [Side]uint8 // symbols used
	var extend func(m uint64, cell int)
	extend = func(m uint64, cell int) {
		if cell == Cells {
			all = append(all, m)
			return
		}
		row, column := &rows[cell/Side], &columns[cell%Side]
		for s := range Side {
			if bit := uint8(1) << s; (*row|*column)&bit == 0 {
				*row, *column = *row|bit, *column|bit
				extend(m|1<<(Side*cell+s), cell+1)
				*row, *column = *row&^bit, *column&^bit
			}
		}
	}
	extend(0, 0)
	return all
})

// completions counts the Latin squares that contain a board.
func completions(m uint64) int {
	n := 0
	for _, square := range squares() {
		if square&m == m {
			n++
		}
	}
	return n
}

// boardGenerator draws puzzles of side 4 by rejection sampling. It draws a Latin square uniformly
// among those with the answer at the probe, and a set of cells to show uniformly among those of the
// given size, until the puzzle meets the slot. It holds the tables to draw from and the grids that
// new puzzles must differ from.
type boardGenerator struct {
	rng *rand.Rand
	// squares[probe][answer-1] lists the 144 Latin squares with that answer at the probe.
	squares    [Cells][Side][]uint64
	masks      [Cells][]uint16   // masks[givens] lists the subsets of this size of 15 cells
	seen       map[Grid]bool     // puzzles drawn so far
	validation []validationBoard // new puzzles must be dissimilar to these
	classes    map[Grid]bool     // canonical grids that new puzzles must not be isomorphic to
}

func newBoardGenerator() *boardGenerator {
	g := &boardGenerator{seen: map[Grid]bool{}}
	for _, square := range squares() {
		for cell := range Cells {
			answer := symbolAt(square, cell) - 1
			g.squares[cell][answer] = append(g.squares[cell][answer], square)
		}
	}
	for mask := range 1 << (Cells - 1) {
		n := bits.OnesCount(uint(mask))
		g.masks[n] = append(g.masks[n], uint16(mask))
	}
	return g
}

// setValidation requires later puzzles to be dissimilar to ps, and not isomorphic to one of them unless
// allowIsomorphic is true.
func (g *boardGenerator) setValidation(ps []Puzzle, allowIsomorphic bool) {
	g.classes = map[Grid]bool{}
	for _, p := range ps {
		v := validationBoard{board: boardOf(p.Cells), probe: p.Cells.Probe()}
		v.size = bits.OnesCount64(v.board) + 1
		g.validation = append(g.validation, v)
		if !allowIsomorphic {
			g.classes[p.Cells.canonical()] = true
		}
	}
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

// draw returns a new puzzle for the slot, or an error after maxDraws failures.
func (g *boardGenerator) draw(s slot) (Puzzle, error) {
	squares := g.squares[s.probe][s.answer-1]
	g.setProbe(s.probe)
	for i := range maxDraws {
		givens := s.givens
		if i >= exactDraws {
			givens = fewestGivens + g.rng.IntN(mostGivens-fewestGivens+1)
		}
		masks := g.masks[givens]
		mask := insertZero(masks[g.rng.IntN(len(masks))], s.probe)
		if !s.allows(mask) {
			continue
		}
		board := squares[g.rng.IntN(len(squares))] & spread(mask)
		if !g.isDissimilar(board, givens) {
			continue
		}
		v := givenOfBoard(board)
		if v.simplest(s.probe) != s.condition || s.strict &&
			v.twoLines(s.condition, s.probe) != nil {
			continue
		}
		grid := gridOfBoard(board, s.probe)
		if g.seen[grid] || len(g.classes) > 0 && g.classes[grid.canonical()] {
			continue
		}
		g.seen[grid] = true
		return Puzzle{Cells: grid, Answer: s.answer, Condition: s.condition}, nil
	}
	return Puzzle{}, s.notFound(Side, maxDraws, len(g.validation))
}

// validationBoard is a puzzle that training puzzles must be dissimilar to.
type validationBoard struct {
	board uint64
	probe int
	size  int // number of givens plus the probe: |B| of features.isDissimilar
	slack int // size - 6 if its probe is that of setProbe, else size
}

// setProbe sets the probe that isDissimilar assumes for new puzzles.
func (g *boardGenerator) setProbe(probe int) {
	for i := range g.validation {
		v := &g.validation[i]
		v.slack = v.size
		if v.probe == probe {
			v.slack -= 6
		}
	}
}

// isDissimilar reports whether a puzzle with these givens and the probe of setProbe is dissimilar to
// all validation puzzles. It computes features.isDissimilar with one population count a pair. A
// validation puzzle that is too similar moves forward by one place, so that those that reject most
// are tried first. Their order does not affect the result.
func (g *boardGenerator) isDissimilar(board uint64, givens int) bool {
	for i := range g.validation {
		v := &g.validation[i]
		if 6*bits.OnesCount64(board&v.board) < givens+1+v.slack {
			continue
		}
		if i > 0 {
			g.validation[i], g.validation[i-1] = g.validation[i-1], g.validation[i]
		}
		return false
	}
	return true
}

// insertZero turns a set of the 15 cells other than the probe into a set of all 16 cells.
func insertZero(mask uint16, probe int) uint16 {
	low := mask & (1<<probe - 1)
	return low | (mask^low)<<1
}

// spread turns each bit of mask into a nibble of ones.
func spread(mask uint16) uint64 {
	m := uint64(mask)
	m = (m | m<<24) & 0x000000FF000000FF
	m = (m | m<<12) & 0x000F000F000F000F
	m = (m | m<<6) & 0x0303030303030303
	m = (m | m<<3) & 0x1111111111111111
	return m * 0xF
}
