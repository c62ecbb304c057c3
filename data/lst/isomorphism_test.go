package lst

import (
	"testing"

	"pgregory.net/rapid"

	"torchpe/internal/expect"
)

func TestCanonicalIsInvariant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, s := anyGrid().Draw(t, "grid"), anySymmetry(t)
		h := s.apply(g)
		if a, b := g.canonical(), h.canonical(); a != b {
			t.Fatalf("%v and its image %v have the canonical grids %v and %v", g, h, a, b)
		}
	})
}

func permutations[T any](list []T) (all [][]T) {
	if len(list) == 0 {
		return [][]T{nil}
	}
	for i := range list {
		rest := append(append([]T{}, list[:i]...), list[i+1:]...)
		for _, p := range permutations(rest) {
			all = append(all, append([]T{list[i]}, p...))
		}
	}
	return all
}

// isomorphicBrute tries all 1152 x 24 symmetries.
func isomorphicBrute(a, b Grid) bool {
	lines, names := permutations([]int{0, 1, 2, 3}), permutations([]uint8{1, 2, 3, 4})
	for _, rows := range lines {
		for _, cols := range lines {
			for _, transpose := range []bool{false, true} {
				for _, n := range names {
					if (symmetry{rows, cols, transpose, n}).apply(a) == b {
						return true
					}
				}
			}
		}
	}
	return false
}

// The canonical grid is a disguise of the grid, and grids with the same are disguises of each
// other: with the test above, canonical grids are equal if and only if grids are isomorphic.
func TestCanonicalIsIsomorphic(t *testing.T) {
	// Few givens, so that unrelated pairs are often isomorphic and often not.
	small := rapid.Custom(func(t *rapid.T) Grid {
		g := anyGrid().Draw(t, "grid").Tokens()
		left := 3
		for i, v := range g {
			if v >= 1 && v <= 4 {
				if left == 0 {
					g[i] = 0
					continue
				}
				left--
			}
		}
		return gridOf(g)
	})
	for seed := range 40 {
		a, b := small.Example(2*seed), small.Example(2*seed+1)
		if !isomorphicBrute(a, a.canonical()) {
			t.Errorf("%v is not isomorphic to its canonical grid %v", a, a.canonical())
		}
		if got, want := a.canonical() == b.canonical(), isomorphicBrute(a, b); got != want {
			t.Errorf("%v and %v are isomorphic: %v, want %v", a, b, got, want)
		}
	}
}

// Latin squares of order 4 fall into 2 isotopy classes (OEIS A040082), those of the two groups of
// order 4; a group's autotopisms reach every cell from every cell, so that a full square with one
// cell asked for has 2 classes, too.
func TestCanonicalClassesOfFullSquares(t *testing.T) {
	classes := map[Grid]int{}
	for _, square := range squares() {
		for probe := range Cells {
			g := []byte(square.grid(Side))
			g[probe] = '1' + Side
			classes[Grid(g).canonical()]++
		}
	}
	sizes := map[int]bool{}
	for _, n := range classes {
		sizes[n/Cells] = true
	}
	if len(classes) != 2 || !sizes[432] || !sizes[144] { // 3/4 of the squares are cyclic
		t.Errorf("classes %v, want one of 16*432 and one of 16*144", classes)
	}
}

func TestCanonicalWithoutProbe(t *testing.T) {
	g := Grid("4300000000000000")
	expect.Equal(t, "canonical grid", g.canonical(), g)
}
