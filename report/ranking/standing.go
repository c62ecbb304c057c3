package ranking

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"torchpe/internal/stats"
	"torchpe/report/item"
)

// Entry is an encoding as it was trained on a task.
type Entry struct {
	Label  string
	Scheme string // of the encoding
	Seeds  []float64
	Items  []float64 // mean over seeds of each test item, in the same order for all entries; or nil
}

// Standing is a ranked entry.
type Standing struct {
	Entry
	Mean float64
	Rank float64 // from 1; entries with equal means share the mean of their ranks
	// LowRank and HighRank are the ends of the 95 % interval of its rank. They include the ranks that it shares
	// with entries of equal mean, also if the draws do not, as is possible for the first of many that are
	// alike.
	LowRank, HighRank int
	// Better and Worse count the entries that it is better and worse than, by the tests of Rank.
	Better, Worse int
	// Differs reports whether it differs from the first.
	Differs bool
}

const (
	draws = 2000
	level = 0.95
)

// Rank orders entries of at least two seeds by their means, the best first. If falls is true, smaller is
// better.
//
// Ranks are drawn by a bootstrap: the deviations of seeds from the mean of their entry, times sqrt(n / (n-1)),
// are drawn from those of all entries, because three seeds alone do not determine their spread. The deviations
// of an entry with a larger spread than the common one are enlarged to it, for ranks only. If entries have
// items, the items are also redrawn, the same for all entries. Two entries differ if two tests
// agree, because a common spread may be too small for some: among entries that are alike, at most 5 % of the
// draws put any as far behind the first; and Welch's test of the two has p below .05.
func Rank(entries []Entry, falls bool) []Standing {
	sign := 1.0
	if falls {
		sign = -1
	}
	if len(entries) == 0 {
		return nil
	}
	var all []Standing
	var deviations, values []float64
	for _, e := range entries {
		s := Standing{Entry: e, Mean: stats.Mean(e.Seeds)}
		all, deviations = append(all, s), append(deviations, deviationsOf(e.Seeds)...)
	}
	// Means of the same numbers in another order differ in their last bits, which float32 does not have.
	valueOf := func(s Standing) float64 { return sign * float64(float32(s.Mean)) }
	slices.SortStableFunc(all, func(a, b Standing) int { return cmp.Compare(valueOf(b), valueOf(a)) })
	for _, s := range all {
		values = append(values, valueOf(s))
	}
	for i, rank := range ranksOf(values) {
		all[i].Rank = rank
	}
	source := rand.New(rand.NewPCG(1, 2))
	ranks, furthest := make([][]float64, len(all)), make([]float64, draws)
	pooled := rootMeanSquare(deviations)
	for k := range draws {
		own, drawn := make([]float64, len(all)), make([]float64, len(all))
		addItems(all, sign, source, own)
		for i, s := range all {
			seeds := 0.0
			for range s.Seeds {
				seeds += deviations[source.IntN(len(deviations))] / float64(len(s.Seeds))
			}
			drawn[i] = values[i] + own[i] + seeds
			if sd := stats.SD(s.Seeds); sd > pooled {
				drawn[i] += seeds * (sd/pooled - 1)
			}
			own[i] += seeds
		}
		for i, rank := range ranksOf(drawn) {
			ranks[i] = append(ranks[i], rank)
		}
		furthest[k] = behind(all, own)
	}
	slices.Sort(furthest)
	critical := stats.Quantile(furthest, level)
	for i := range all {
		slices.Sort(ranks[i])
		first, last := places(values, values[i])
		all[i].LowRank = min(int(stats.Quantile(ranks[i], (1-level)/2)), first)
		all[i].HighRank = max(int(math.Ceil(stats.Quantile(ranks[i], (1+level)/2))), last)
		for j := range i {
			if math.Abs(all[j].Mean-all[i].Mean)/width(all[j], all[i]) > critical &&
				item.WelchTells(item.WelchP(all[j].Seeds, all[i].Seeds)) {
				all[j].Better++
				all[i].Worse++
				all[i].Differs = all[i].Differs || j == 0
			}
		}
	}
	return all
}

// addItems draws as many items as there are, and adds to each entry's deviation the deviation of its mean over
// them.
func addItems(all []Standing, sign float64, source *rand.Rand, deviations []float64) {
	n := len(all[0].Items)
	for range n {
		drawn := source.IntN(n)
		for i, s := range all {
			deviations[i] += sign * (s.Items[drawn] - s.Mean) / float64(n)
		}
	}
}

// deviationsOf returns the deviations of seeds from their mean, with the spread of independent seeds.
func deviationsOf(seeds []float64) (out []float64) {
	mean, n := stats.Mean(seeds), float64(len(seeds))
	for _, v := range seeds {
		out = append(out, (v-mean)*math.Sqrt(n/(n-1)))
	}
	return out
}

func rootMeanSquare(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	return math.Sqrt(sum / float64(len(x)))
}

// ranksOf returns the ranks of numbers, the greatest first; equal ones share the mean of their ranks.
func ranksOf(x []float64) (ranks []float64) {
	for _, own := range x {
		first, last := places(x, own)
		ranks = append(ranks, float64(first+last)/2)
	}
	return ranks
}

// places returns the first and the last rank, from 1, of the numbers that equal own.
func places(x []float64, own float64) (first, last int) {
	first = 1
	for _, v := range x {
		if v > own {
			first++
		}
		if v >= own {
			last++
		}
	}
	return first, last
}

// width is proportional to the spread of a difference of two means.
func width(a, b Standing) float64 {
	return math.Sqrt(1/float64(len(a.Seeds)) + 1/float64(len(b.Seeds)))
}

// behind returns the largest distance, in widths, of one of the means from the greatest.
func behind(all []Standing, means []float64) (most float64) {
	first := slices.Index(means, slices.Max(means))
	for i, v := range means {
		most = max(most, (means[first]-v)/width(all[first], all[i]))
	}
	return most
}
