package masked

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"torchpe/internal/wording"
)

// DefaultHeldOut is the default share that is held out: the paper's 70/30.
const DefaultHeldOut = 0.3

// Split lists the frames that a model is trained and tested on. The two lists ascend, have no frame
// in common, and none is empty.
type Split struct {
	Train, Test []int
	TestGroups  []int  // whose frames are held out, ascending; nil where time points are held out
	How         string // the choice in words, to be kept with a run
}

// streamSplit keeps the draws of a split apart from others of the same seed.
const streamSplit = 0x73706c6974 // "split"

// SplitGroups holds out a share of the groups, rounded to a whole number of them, at least one and
// at most all but one. groups is the group of each frame. Which groups are held out depends on the
// seed and on the set of groups alone.
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
	// Random draws the test points by Seed from the whole series. The default is its last stretch:
	// neighbours in an autocorrelated series are alike, and a test point between two training
	// points is half known.
	Random bool
	Seed   uint64 // of no effect without Random
}

// SplitTime holds out time points of a series of so many frames: the nearest whole number to the
// share, at least one and at most all but one.
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

// heldOut returns how many of n are held out: some, and not all.
func heldOut(n int, share float64) int {
	return min(max(1, int(math.Round(share*float64(n)))), n-1)
}
