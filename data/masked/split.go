package masked

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"torchpe/internal/wording"
)

// DefaultHeldOut is the default share of held-out data: the paper's 70/30 split.
const DefaultHeldOut = 0.3

// Split lists the training and the test frames. The two lists are ascending, disjoint and not empty.
type Split struct {
	Train, Test []int
	TestGroups  []int  // held-out groups, ascending; nil if time points are held out
	How         string // description of the split, stored with a run
}

// streamSplit separates the draws of a split from others with the same seed.
const streamSplit = 0x73706c6974 // "split"

// SplitGroups holds out a share of the groups, rounded to an integer, at least one and at most all but
// one. groups is the group of each frame. The choice depends only on the seed and the set of groups.
func SplitGroups(groups []int, share float64, seed uint64) (Split, error) {
	if err := checkShare(share); err != nil {
		return Split{}, err
	}
	all := slices.Compact(slices.Sorted(slices.Values(groups)))
	if len(all) < 2 {
		return Split{}, fmt.Errorf("masked: %s cannot be split into training and test groups: "+
			"hold out time points, or give more groups", wording.Count(len(all), "group"))
	}
	held := slices.Clone(all)
	rng := rand.New(rand.NewPCG(seed, streamSplit))
	rng.Shuffle(len(held), func(i, j int) { held[i], held[j] = held[j], held[i] })
	split, err := HoldOutGroups(groups, held[:heldOut(len(all), share)])
	split.How = fmt.Sprintf("%d of %d groups held out by seed %d", len(split.TestGroups),
		len(all), seed)
	return split, err
}

// HoldOutGroups holds out the given groups. groups is the group of each frame.
func HoldOutGroups(groups, test []int) (Split, error) {
	held := make(map[int]bool, len(test))
	for _, g := range test {
		if held[g] {
			return Split{}, fmt.Errorf("masked: group %d is listed twice among those to hold out",
				g)
		}
		held[g] = true
		if !slices.Contains(groups, g) {
			return Split{}, fmt.Errorf("masked: group %d, to be held out, has no frame", g)
		}
	}
	s := Split{TestGroups: slices.Sorted(slices.Values(test)),
		How: fmt.Sprintf("groups %v held out as listed", test)}
	for frame, g := range groups {
		if held[g] {
			s.Test = append(s.Test, frame)
		} else {
			s.Train = append(s.Train, frame)
		}
	}
	if len(s.Test) == 0 || len(s.Train) == 0 {
		return Split{}, fmt.Errorf("masked: holding out %s leaves %d training and %d test "+
			"frames: want some of each", wording.Count(len(test), "group"), len(s.Train), len(s.Test))
	}
	return s, nil
}

// TimeSplit selects the time points of one series that are held out.
type TimeSplit struct {
	Share float64 // above 0 and below 1
	// Random draws the test points from the whole series. By default they are its end, because in an
	// autocorrelated series a test point between two training points would be easy to predict.
	Random bool
	Seed   uint64 // used with Random only
}

// SplitTime holds out a share of the time points of a series, rounded to an integer, at least one and at
// most all but one.
func SplitTime(frames int, o TimeSplit) (Split, error) {
	if err := checkShare(o.Share); err != nil {
		return Split{}, err
	}
	if frames < 2 {
		return Split{}, fmt.Errorf(
			"masked: a series of %s cannot be split into training and test frames", wording.Count(frames, "frame"))
	}
	test := heldOut(frames, o.Share)
	order := make([]int, frames)
	for i := range order {
		order[i] = i
	}
	how := fmt.Sprintf("last %d of %d time points held out", test, frames)
	if o.Random {
		rng := rand.New(rand.NewPCG(o.Seed, streamSplit))
		rng.Shuffle(frames, func(i, j int) { order[i], order[j] = order[j], order[i] })
		how = fmt.Sprintf("%d of %d time points held out at random by seed %d", test,
			frames, o.Seed)
	}
	s := Split{Train: order[: frames-test : frames-test], Test: order[frames-test:], How: how}
	slices.Sort(s.Train)
	slices.Sort(s.Test)
	return s, nil
}

func checkShare(share float64) error {
	if !(share > 0 && share < 1) {
		return fmt.Errorf("masked: a held-out share of %v: want above 0 and below 1", share)
	}
	return nil
}

// heldOut returns the number of held-out items of n, 1 to n-1.
func heldOut(n int, share float64) int {
	return min(max(1, int(math.Round(share*float64(n)))), n-1)
}
