package lst

import (
	"math/bits"
	"math/rand/v2"
	"sync"
)

// A board is a grid of side 4 as a one-hot set of its givens: bit 4*cell + symbol - 1. Rows are
// 16-bit lanes, cells are nibbles.

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

// gridOfBoard is the inverse of boardOf, with the probe added.
func gridOfBoard(m uint64, probe int) Grid {
	var cells [Cells]uint8
	for i := range cells {
		cells[i] = symbolAt(m, i)
	}
	cells[probe] = Side + 1
	return gridOf(cells[:])
}

// symbolAt returns the symbol 1-4 of cell i, 0 for a blank.
func symbolAt(m uint64, i int) uint8 {
	nibble := uint8(m >> (Side * i) & 0xF)
	if nibble == 0 {
		return 0
	}
	return uint8(bits.TrailingZeros8(nibble)) + 1
}

// givenOfBoard returns the symbols of a board by line.
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

// squares returns the boards of all Latin squares of order 4 in lexicographic order. The table is
// built once and never changes.
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

// completions counts the Latin squares that agree with a board.
func completions(m uint64) int {
	n := 0
	for _, square := range squares() {
		if square&m == m {
			n++
		}
	}
	return n
}

// boardGenerator draws puzzles of side 4: a Latin square, uniformly among those with the wanted
// answer at the probe, and a set of cells to show, uniformly among those of the wanted size, until
// the puzzle fills the slot. It holds the tables to draw from and the grids that new puzzles must
// differ from.
type boardGenerator struct {
	rng *rand.Rand
	// squares [probe][answer-1] are the 144 Latin squares with that answer there
	squares    [Cells][Side][]uint64
	masks      [Cells][]uint16   // [givens]: the sets of that many out of 15 cells
	seen       map[Grid]bool     // puzzles made so far
	validation []validationBoard // be dissimilar to these
	classes    map[Grid]bool     // and not isomorphic to these canonical grids
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

// setValidation makes later puzzles differ from these.
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

// allows reports whether a puzzle with this set of given cells can be of the condition: for
// 1-vector exactly, else as a necessary condition that spares half of the draws.
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

// A slot whose number of givens is not found within exactDraws takes another: with few givens,
// hardly a puzzle is dissimilar to all validation puzzles. The published pool has 3 to 11. maxDraws
// bounds the search for one puzzle, to half a second or so. The default sets need about 1,500 a
// puzzle.
const (
	exactDraws   = 20_000
	fewestGivens = 3
	mostGivens   = 11
	maxDraws     = 10_000_000
)

// draw returns a new puzzle for the slot.
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
	size  int // givens and the probe: |B| of features.isDissimilar
	slack int // size - 6 where it has the probe of setProbe, size elsewhere
}

// setProbe prepares isDissimilar for new puzzles with this probe.
func (g *boardGenerator) setProbe(probe int) {
	for i := range g.validation {
		v := &g.validation[i]
		v.slack = v.size
		if v.probe == probe {
			v.slack -= 6
		}
	}
}

// isDissimilar reports whether a puzzle with these givens and the probe of setProbe is dissimilar
// to all validation puzzles: features.isDissimilar at one population count a pair. A validation
// puzzle that is too similar moves a place forward, so that those that reject most are tried first;
// their order never changes the answer.
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

// insertZero turns a set of 15 cells into a set of 16 that lacks the probe.
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
