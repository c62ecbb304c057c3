package masked

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// checkSplit fails unless the two lists ascend and make up 0 to n-1 between them.
func checkSplit(t *testing.T, s Split, n int) {
	t.Helper()
	if !slices.IsSorted(s.Train) || !slices.IsSorted(s.Test) || len(s.Train) == 0 ||
		len(s.Test) == 0 || s.How == "" {
		t.Errorf("split %+v", s)
	}
	all := slices.Concat(s.Train, s.Test)
	slices.Sort(all)
	for i, f := range all {
		if i != f {
			t.Fatalf("place %d of both lists is frame %d", i, f)
		}
	}
	expect.Equal(t, "frames in both lists", len(all), n)
}

// subjects returns the group of each frame: groups numbered 100, 110 and so on, in turns and
// of unequal lengths.
func subjects(groups, frames int) []int {
	g := make([]int, frames)
	for i := range g {
		g[i] = 100 + 10*((i+i/groups*(i%3))%groups)
	}
	return g
}

func TestSplitGroups(t *testing.T) {
	groups := subjects(12, 300)
	distinct := len(slices.Compact(slices.Sorted(slices.Values(groups))))
	held := map[int]int{}
	for seed := range uint64(200) {
		s := expect.Must(SplitGroups(groups, DefaultHeldOut, seed))
		checkSplit(t, s, len(groups))
		if want := heldOut(distinct, 0.3); len(s.TestGroups) != want ||
			!slices.IsSorted(s.TestGroups) {
			t.Fatalf("held out %v of %d, want %d", s.TestGroups, distinct, want)
		}
		for _, f := range s.Train {
			if slices.Contains(s.TestGroups, groups[f]) {
				t.Fatalf("frame %d of a test group in training", f)
			}
		}
		for _, g := range s.TestGroups {
			held[g]++
		}
		again, _ := SplitGroups(groups, DefaultHeldOut, seed)
		reversed := slices.Clone(groups)
		slices.Reverse(reversed)
		other, _ := SplitGroups(reversed, DefaultHeldOut, seed)
		if !slices.Equal(again.Test, s.Test) || !slices.Equal(other.TestGroups, s.TestGroups) {
			t.Fatal("the held-out groups depend on more than the seed and the groups")
		}
	}
	// Each group is held out equally often: without replacement, as in
	// TestEveryTokenIsMaskedEquallyOften.
	p := float64(heldOut(distinct, 0.3)) / float64(distinct)
	chi := 0.0
	for _, g := range slices.Compact(slices.Sorted(slices.Values(groups))) {
		d := float64(held[g]) - 200*p
		chi += d * d / (200 * p * (1 - p))
	}
	checkChi(t, "held-out groups", chi*float64(distinct-1)/float64(distinct), distinct-1)
}

// TestSplitSizes: 12 subjects 70/30 are 8 and 4, 100 are 70 and 30, and there is always one of
// each.
func TestSplitSizes(t *testing.T) {
	for _, test := range []struct{ groups, want int }{{12, 4}, {100, 30}, {30, 9}, {2, 1}, {3, 1}} {
		groups := make([]int, test.groups)
		for i := range groups {
			groups[i] = i
		}
		s, err := SplitGroups(groups, 0.3, 1)
		if err != nil || len(s.Test) != test.want {
			t.Errorf("%d groups: %d held out (%v), want %d", test.groups, len(s.Test),
				err, test.want)
		}
	}
	expect.Equal(t, "training groups", len(expect.Must(SplitGroups([]int{5, 6}, 0.999, 1)).Train), 1)
}

func TestHoldOutGroups(t *testing.T) {
	s := expect.Must(HoldOutGroups([]int{3, 1, 1, 2, 3}, []int{3, 2}))
	checkSplit(t, s, 5)
	expect.Equal(t, "held out", fmt.Sprint(s.Test, s.TestGroups), "[0 3 4] [2 3]")
	for _, test := range []struct {
		held []int
		want string
	}{{[]int{3, 9}, "group 9"}, {[]int{3, 3}, "group 3 is listed twice"},
		{[]int{1, 2, 3}, "0 training"}, {nil, "0 test"}} {
		expect.Error(t, expect.ErrorOf(HoldOutGroups([]int{3, 1, 1, 2, 3}, test.held)), test.want)
	}
}

func TestSplitTime(t *testing.T) {
	s := expect.Must(SplitTime(20000, TimeSplit{Share: DefaultHeldOut}))
	checkSplit(t, s, 20000)
	if len(s.Test) != 6000 || s.Test[0] != 14000 || !strings.Contains(s.How, "last 6000") {
		t.Errorf("%d test frames from %d: %s", len(s.Test), s.Test[0], s.How)
	}
	r := expect.Must(SplitTime(20000, TimeSplit{Share: DefaultHeldOut, Random: true, Seed: 5}))
	checkSplit(t, r, 20000)
	counts := make([]int, 20)
	for _, f := range r.Test {
		counts[f/1000]++
	}
	chi := 0.0 // hypergeometric counts: variance 300 x 0.7 x 20/19 x 19/20
	for _, c := range counts {
		chi += float64((c-300)*(c-300)) / (300 * 0.7)
	}
	checkChi(t, "random test points", chi, 19)
	expect.Contains(t, r.How, "random", "seed 5")
	again, _ := SplitTime(20000, TimeSplit{Share: DefaultHeldOut, Random: true, Seed: 5})
	other, _ := SplitTime(20000, TimeSplit{Share: DefaultHeldOut, Random: true, Seed: 6})
	if !slices.Equal(again.Test, r.Test) || slices.Equal(other.Test, r.Test) {
		t.Error("the random split is not a function of its seed")
	}
}

func TestSplitRefuses(t *testing.T) {
	for _, share := range []float64{0, 1, -0.1, 1.5} {
		expect.Refused(t, share, expect.ErrorOf(SplitTime(10, TimeSplit{Share: share})))
		expect.Refused(t, share, expect.ErrorOf(SplitGroups([]int{1, 2, 3}, share, 1)))
	}
	expect.Refused(t, "one frame", expect.ErrorOf(SplitTime(1, TimeSplit{Share: 0.3})))
	for _, groups := range [][]int{nil, {4, 4, 4}} {
		expect.Error(t, expect.ErrorOf(SplitGroups(groups, 0.3, 1)), "group")
	}
}
