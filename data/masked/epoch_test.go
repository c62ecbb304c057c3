package masked

import (
	"fmt"
	"math"
	"testing"

	"torchpe/internal/expect"
)

// Over many epochs each example comes first equally often, and successive epochs are uncorrelated.
func TestEpochIsUniform(t *testing.T) {
	const n, epochs = 8, 8000
	first := make([]int, n)
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
	checkChi(t, "first places", uniform(first), n-1)
	// Two independent permutations agree in one place on average, with variance one.
	expect.Near(t, fmt.Sprintf("successive epochs agree in %d places of %d expected: standard errors", agree,
		epochs), (float64(agree)-epochs)/math.Sqrt(epochs), 0, 4)
}

// A run that is resumed by another version goes on in the same order.
func TestEpochKeepsItsOrder(t *testing.T) {
	for epoch, want := range [][]int{{4, 7, 5, 2, 1, 3, 0, 6}, {1, 2, 4, 7, 0, 6, 5, 3}} {
		expect.Equal(t, fmt.Sprintf("epoch %d", epoch), EpochOrder(7, epoch, 8), want)
	}
}
