package lst

import (
	"math"
	"testing"

	"torchpe/internal/expect"
)

// The numbers are scipy's: cdist(one_hot(validation), one_hot(training), "jaccard"), where several
// puzzles are nearest the share of them with the right answer; and numpy's counts of the symbols.
func TestBaselinesOfPublishedPuzzles(t *testing.T) {
	train, validation := published(t)
	got := NewBaselines(train, validation)
	if math.Abs(got.LookUp-0.25043266168634726) > 1e-12 || math.Abs(got.Counts-0.3688271604938272) > 1e-12 {
		t.Errorf("%+v", got)
	}
}

// By hand: the test puzzle shares 2 of 3 filled cells with the first two training puzzles, of which one
// has its answer, and 1 of 4 with the third; no training puzzle has its counts but the third.
func TestBaselinesByHand(t *testing.T) {
	puzzle := func(g Grid, answer uint8) Puzzle { return Puzzle{Cells: g, Answer: answer} }
	train := []Puzzle{puzzle("5100000000000000", 2), puzzle("5100000000000000", 3), puzzle("5010000000000020", 4)}
	got := NewBaselines(train, []Puzzle{puzzle("5120000000000000", 2)})
	expect.Equal(t, "baselines", got, Baselines{LookUp: .5, Counts: 0})
	expect.Equal(t, "counts that no training puzzle has",
		NewBaselines(train, []Puzzle{puzzle("5140000000000000", 2)}).Counts, .25)
}
