package lst

import "bytes"

// otherLines are the permutations of the three lines that do not hold the probe, as offsets from
// it.
var otherLines = [6][Side]int{
	{0, 1, 2, 3}, {0, 1, 3, 2}, {0, 2, 1, 3}, {0, 2, 3, 1}, {0, 3, 1, 2}, {0, 3, 2, 1},
}

// canonical returns the representative of all puzzles of side 4 that are isomorphic to g: those
// reached by permuting rows, permuting columns, transposing (24 x 24 x 2 = 1152 symmetries of the
// grid) and renaming the symbols. Two grids are isomorphic if and only if their canonical grids are
// equal; the canonical grid is isomorphic to g.
//
// It is the lexicographically smallest grid with the probe in the first cell whose symbols are
// numbered in order of appearance. Fixing the probe leaves 3! x 3! x 2 = 72 symmetries to try, some
// microseconds. A grid of another side or without a probe is returned as it is.
func (g Grid) canonical() Grid {
	probe := g.Probe()
	if len(g) != Cells || probe < 0 {
		return g
	}
	row, col := probe/Side, probe%Side
	var best [Cells]byte
	first := true
	for _, rows := range otherLines {
		for _, cols := range otherLines {
			for _, transpose := range [2]bool{false, true} {
				var h [Cells]byte
				for i := range h {
					r, c := i/Side, i%Side
					if transpose {
						r, c = c, r
					}
					h[i] = g[(row+rows[r])%Side*Side+(col+cols[c])%Side]
				}
				renumber(&h)
				if first || bytes.Compare(h[:], best[:]) < 0 {
					best, first = h, false
				}
			}
		}
	}
	return Grid(best[:])
}

// renumber renames the symbols in order of appearance.
func renumber(digits *[Cells]byte) {
	var name [Side + 1]byte
	next := byte('1')
	for i, d := range digits {
		if d < '1' || d > '0'+Side {
			continue
		}
		if name[d-'0'] == 0 {
			name[d-'0'] = next
			next++
		}
		digits[i] = name[d-'0']
	}
}
