package lst

import "sync"

// squareCount is the number of Latin squares of order 4 (OEIS A002860).
const squareCount = 576

// squares returns all Latin squares of order 4 as one-hot sets (see Grid.symbols), in lexicographic order. The table is
// built once and never changes.
var squares = sync.OnceValue(func() []uint64 {
	all := make([]uint64, 0, squareCount)
	var extend func(m uint64, cell int)
	extend = func(m uint64, cell int) {
		if cell == Cells {
			all = append(all, m)
			return
		}
		used := lineSet(m, Vector(cell/Side)) | lineSet(m, Vector(Side+cell%Side))
		for s := range Side {
			if used>>s&1 == 0 {
				extend(m|1<<(Side*cell+s), cell+1)
			}
		}
	}
	extend(0, 0)
	return all
})

// Completions counts the Latin squares that agree with the givens of g: 1 where the whole grid is determined.
func (g Grid) Completions() int { return completions(g.symbols()) }

func completions(m uint64) int {
	n := 0
	for _, square := range squares() {
		if square&m == m {
			n++
		}
	}
	return n
}
