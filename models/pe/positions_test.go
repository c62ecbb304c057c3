package pe_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"torchpe/models/pe"
)

// TestPermuted: token i of the result is token order[i], wherever it was; the order may name some
// tokens only.
func TestPermuted(t *testing.T) {
	grid := pe.Grid(2, 2)
	if !slices.Equal(grid.Index, []int{0, 1, 2, 3}) ||
		!slices.Equal(grid.Cells, [][2]int{{0, 0}, {0, 1}, {1, 0}, {1, 1}}) {
		t.Errorf("a grid of 2 x 2: %+v", grid)
	}
	once := grid.Permuted([]int{2, 0, 3, 1})
	if !slices.Equal(once.Index, []int{2, 0, 3, 1}) ||
		!slices.Equal(once.Cells, [][2]int{{1, 0}, {0, 0}, {1, 1}, {0, 1}}) {
		t.Errorf("permuted once: %+v", once)
	}
	twice := once.Permuted([]int{1, 3, 0, 2}) // the inverse
	if !slices.Equal(twice.Index, grid.Index) || !slices.Equal(twice.Cells, grid.Cells) {
		t.Errorf("permuted there and back: %+v", twice)
	}
	if some := once.Permuted([]int{3}); !slices.Equal(some.Index, []int{1}) ||
		!slices.Equal(some.Cells, [][2]int{{0, 1}}) {
		t.Errorf("one token: %+v", some)
	}
	if line := pe.Line(2).Permuted([]int{1, 0}); line.Cells != nil {
		t.Errorf("a line has cells %v after permuting", line.Cells)
	}
}

// TestDraw: any draw is sorted and distinct, and lies in 0..max-1; distances start with 0, and nothing else
// does. A seed draws the same again.
func TestDraw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 20).Draw(t, "n")
		limit := rapid.IntRange(n, 60).Draw(t, "max")
		samples := rapid.IntRange(1, 4).Draw(t, "samples")
		seed := rapid.Uint64().Draw(t, "seed")
		for _, distances := range []bool{false, true} {
			draw := func() []float64 {
				out := make([]float64, samples*n)
				pe.Draw{Range: limit, Distances: distances}.Fill(rand.New(rand.NewPCG(seed, 0)), n, out)
				return out
			}
			all := draw()
			for drawn := range slices.Chunk(all, n) {
				for i, v := range drawn {
					if v != math.Trunc(v) || v < 0 || v >= float64(limit) || i > 0 && v <= drawn[i-1] ||
						distances && (i == 0) != (v == 0) {
						t.Fatalf("distances %v: drawn %v of 0..%d", distances, drawn, limit-1)
					}
				}
			}
			if again := draw(); !slices.Equal(all, again) {
				t.Fatalf("one seed draws %v and %v", all, again)
			}
		}
	})
}

// TestDrawIsUniform: all subsets are equally likely, by Pearson's chi-square.
func TestDrawIsUniform(t *testing.T) {
	for _, c := range []struct {
		n, max, subsets int
		distances       bool // the first of them is given
	}{
		{3, 6, 20, false}, {1, 7, 7, false}, {4, 5, 5, false}, {2, 7, 21, false}, {3, 6, 10, true}, {2, 7, 6, true},
	} {
		const draws = 20000
		out := make([]float64, c.n*draws)
		pe.Draw{Range: c.max, Distances: c.distances}.Fill(rand.New(rand.NewPCG(1, 2)), c.n, out)
		count := map[string]float64{}
		for subset := range slices.Chunk(out, c.n) {
			count[fmt.Sprint(subset)]++
		}
		expected, chi2 := draws/float64(c.subsets), float64(c.subsets-len(count))*draws/float64(c.subsets)
		for _, seen := range count {
			chi2 += (seen - expected) * (seen - expected) / expected
		}
		// Mean f and variance 2f for f = subsets-1 degrees of freedom: six standard deviations
		// above.
		if f := float64(c.subsets - 1); chi2 > f+6*math.Sqrt(2*f) {
			t.Errorf("%d of %d positions: chi-square %.1f with %g degrees of freedom", c.n, c.max, chi2, f)
		}
	}
}
