package figure

import (
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/plot/vg"

	"torchpe/internal/expect"
)

func squares(want, got []vg.Length) (sum vg.Length) {
	for i := range want {
		sum += (want[i] - got[i]) * (want[i] - got[i])
	}
	return sum
}

// feasible reports whether positions keep the pitch and the bounds.
func feasible(at []vg.Length, pitch, lo, hi vg.Length) bool {
	for i, y := range at {
		if y < lo-1e-9 || y > hi+1e-9 || i > 0 && at[i-1]-y < pitch-1e-9 {
			return false
		}
	}
	return true
}

// Positions are feasible, and no small feasible change of them is nearer to what was wanted. The
// problem is convex, so that makes them the best.
func TestSpreadIsBest(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		want := make([]vg.Length, 1+rnd.IntN(12))
		for i := range want {
			want[i] = vg.Length(rnd.Float64() * 120)
			if rnd.IntN(3) == 0 {
				want[i] = 60 // ties
			}
		}
		slices.Sort(want)
		slices.Reverse(want)
		const pitch, lo, hi = 8, 5, 110
		at := separate(want, pitch, lo, hi)
		if len(at) != len(want) || !feasible(at, pitch, lo, hi) {
			t.Fatalf("want %v: got %v, which break pitch %v or the bounds %v to %v", want, at,
				pitch, lo, hi)
		}
		best := squares(want, at)
		for range 200 {
			try := slices.Clone(at)
			// a run of neighbours, for they push each other
			from, to := rnd.IntN(len(try)), rnd.IntN(len(try))
			shift := vg.Length(rnd.NormFloat64() * 0.5)
			for i := min(from, to); i <= max(from, to); i++ {
				try[i] += shift
			}
			if feasible(try, pitch, lo, hi) && squares(want, try) < best-1e-6 {
				t.Fatalf("want %v: %v has squares %v, yet %v has %v", want, at, best, try,
					squares(want, try))
			}
		}
	}
}

func TestSpreadLeavesRoomyLabelsAlone(t *testing.T) {
	want := []vg.Length{100, 80, 50, 10}
	expect.Equal(t, "apart already", separate(want, 8, 0, 100), want)
}
