package masked

import (
	"math"
	"slices"
	"testing"
)

func TestEpochIsAPureFunction(t *testing.T) {
	if !slices.Equal(EpochOrder(7, 3, 100), EpochOrder(7, 3, 100)) {
		t.Error("the same seed and epoch gave two orders")
	}
	for _, other := range [][]int{EpochOrder(8, 3, 100), EpochOrder(7, 4, 100), EpochOrder(7, 2, 100)} {
		if slices.Equal(EpochOrder(7, 3, 100), other) {
			t.Error("another seed or epoch gave the same order")
		}
	}
}

func TestEpochIsAPermutation(t *testing.T) {
	for epoch := range 50 {
		order := EpochOrder(1, epoch, 257)
		slices.Sort(order)
		for i, v := range order {
			if i != v {
				t.Fatalf("epoch %d: %d at place %d of the sorted order", epoch, v, i)
			}
		}
	}
}

// Over many epochs each example comes first equally often, and successive epochs are uncorrelated.
func TestEpochIsUniform(t *testing.T) {
	const n, epochs = 8, 8000
	var first [n]int
	agree := 0
	previous := EpochOrder(5, 0, n)
	for epoch := 1; epoch <= epochs; epoch++ {
		order := EpochOrder(5, epoch, n)
		first[order[0]]++
		for i := range order {
			if order[i] == previous[i] {
				agree++
			}
		}
		previous = order
	}
	chi := 0.0
	for _, c := range first {
		d := float64(c) - epochs/n
		chi += d * d / (epochs / n)
	}
	if chi > 24.3 { // the 0.999 quantile of chi-squared with 7 degrees of freedom
		t.Errorf("first places %v: chi-squared %.1f", first, chi)
	}
	// Two independent permutations agree in one place on average, with variance one.
	if z := (float64(agree) - epochs) / math.Sqrt(epochs); math.Abs(z) > 4 {
		t.Errorf("successive epochs agree in %d places of %d expected", agree, epochs)
	}
}

// A run that is resumed by another version goes on in the same order.
func TestEpochKeepsItsOrder(t *testing.T) {
	for epoch, want := range [][]int{{4, 7, 5, 2, 1, 3, 0, 6}, {1, 2, 4, 7, 0, 6, 5, 3}} {
		if got := EpochOrder(7, epoch, 8); !slices.Equal(got, want) {
			t.Errorf("epoch %d: %v, want %v", epoch, got, want)
		}
	}
}
