package lst

// permutations of the three lines that do not hold the probe, as offsets from it.
var otherLines = [6][Side]int{{0, 1, 2, 3}, {0, 1, 3, 2}, {0, 2, 1, 3}, {0, 2, 3, 1}, {0, 3, 1, 2}, {0, 3, 2, 1}}

// Canonical returns the representative of all puzzles that are the same puzzle in disguise: those reached by permuting
// rows, permuting columns, transposing (24 x 24 x 2 = 1152 symmetries of the grid) and renaming the symbols. Two grids
// are isomorphic if and only if their canonical grids are equal; the canonical grid is isomorphic to g.
//
// It is the lexicographically smallest grid with the probe in the first cell whose symbols are numbered in order of
// appearance. Fixing the probe leaves 3! x 3! x 2 = 72 symmetries to try, some microseconds. A grid without exactly
// one probe is returned as it is.
func (g Grid) Canonical() Grid {
	probe := g.Probe()
	if probe < 0 {
		return g
	}
	row, col := probe/Side, probe%Side
	var best Grid
	first := true
	for _, rows := range otherLines {
		for _, cols := range otherLines {
			for _, transpose := range [2]bool{false, true} {
				var h Grid
				for i := range h {
					r, c := i/Side, i%Side
					if transpose {
						r, c = c, r
					}
					h[i] = g[(row+rows[r])%Side*Side+(col+cols[c])%Side]
				}
				if h = h.renamed(); first || h.less(best) {
					best, first = h, false
				}
			}
		}
	}
	return best
}

// renamed numbers the symbols in order of appearance.
func (g Grid) renamed() Grid {
	var name [Side + 1]uint8
	next := uint8(1)
	for i, v := range g {
		if v == Blank || v > Side {
			continue
		}
		if name[v] == 0 {
			name[v] = next
			next++
		}
		g[i] = name[v]
	}
	return g
}

// less compares cell by cell.
func (g Grid) less(h Grid) bool {
	for i := range g {
		if g[i] != h[i] {
			return g[i] < h[i]
		}
	}
	return false
}

// Isomorphic reports whether two grids are the same puzzle in disguise: see [Grid.Canonical].
func Isomorphic(a, b Grid) bool { return a.Canonical() == b.Canonical() }
