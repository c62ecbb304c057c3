package lst

import "bytes"

// otherLines holds the permutations of the three lines without the probe, as offsets from the probe.
var otherLines = [6][Side]int{
	{0, 1, 2, 3}, {0, 1, 3, 2}, {0, 2, 1, 3}, {0, 2, 3, 1}, {0, 3, 1, 2}, {0, 3, 2, 1},
}

// canonical returns the representative of the puzzles of side 4 that are isomorphic to g. Isomorphic
// puzzles are reached by permuting rows, permuting columns, transposing (24 x 24 x 2 = 1152 symmetries
// of the grid) and renaming the symbols. Two grids are isomorphic if and only if their canonical grids
// are equal.
//
// The representative is the lexicographically smallest isomorphic grid that has the probe in the first
// cell and its symbols numbered in order of appearance. Fixing the probe leaves 3! x 3! x 2 = 72
// symmetries to try. canonical returns g itself if it has another side or no probe.
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

// renumber numbers the symbols in order of appearance.
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
