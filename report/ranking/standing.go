package ranking

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"torchpe/internal/stats"
)

// Entry is an encoding on a task, as it was trained.
type Entry struct {
	Label  string
	Family string // see package catalogue
	// Scores holds the held-out numbers of its models [seed][item], of two seeds or more. Items are the parts of
	// one test, the same for all entries, such as puzzles; a single item is the mean of a test whose parts are
	// not known.
	Scores [][]float64
}

// Standing is an entry in its place.
type Standing struct {
	Entry
	Mean     float64
	Interval stats.Interval // of the mean
	// LowRank and HighRank are the ends of the 95 % interval of its rank, from 1.
	LowRank, HighRank int
	// Told reports whether it is told from the first: among entries that are alike, one is as far behind the first
	// in 5 % of the draws.
	Told bool
}

const (
	draws = 2000
	level = 0.95
)

// Rank orders entries by the means of their scores, the best first: accuracies, or errors where less is better.
//
// Intervals are from a bootstrap. Items are drawn anew for all entries together. The deviations of seeds from the
// mean of their entry, times sqrt(n / (n-1)), are drawn from those of all entries: three seeds alone do not tell
// their spread.
func Rank(entries []Entry, falls bool) []Standing {
	all := make([]Standing, len(entries))
	for i, e := range entries {
		all[i] = Standing{Entry: e, Mean: mean(e.Scores)}
	}
	slices.SortStableFunc(all, func(a, b Standing) int {
		if falls {
			return cmp.Compare(a.Mean, b.Mean)
		}
		return cmp.Compare(b.Mean, a.Mean)
	})
	if len(all) == 0 {
		return nil
	}
	place(all, deviations(all), falls)
	return all
}

func mean(scores [][]float64) float64 {
	sum := 0.0
	for _, x := range scores {
		sum += stats.Mean(x)
	}
	return sum / float64(len(scores))
}

// deviations returns draws of the deviations of entries from their means: [draw][entry].
func deviations(all []Standing) (out [][]float64) {
	var seeds []float64
	byItem := make([][]float64, len(all))
	for i, e := range all {
		seeds = append(seeds, seedDeviations(e.Scores)...)
		byItem[i] = itemMeans(e.Scores)
	}
	source := rand.New(rand.NewPCG(1, 2))
	for range draws {
		weight := drawn(source, len(byItem[0]))
		own := make([]float64, len(all))
		for i, e := range all {
			own[i] = weighted(byItem[i], weight) - e.Mean
			for range e.Scores {
				own[i] += seeds[source.IntN(len(seeds))] / float64(len(e.Scores))
			}
		}
		out = append(out, own)
	}
	return out
}

// seedDeviations returns the deviations of seeds from their mean, with the spread of independent seeds.
func seedDeviations(scores [][]float64) (deviations []float64) {
	for _, x := range scores {
		deviations = append(deviations, stats.Mean(x))
	}
	centre, n := stats.Mean(deviations), float64(len(scores))
	for s := range deviations {
		deviations[s] = (deviations[s] - centre) * math.Sqrt(n/(n-1))
	}
	return deviations
}

// itemMeans returns the mean of each item over seeds.
func itemMeans(scores [][]float64) (means []float64) {
	means = make([]float64, len(scores[0]))
	for _, x := range scores {
		for i, v := range x {
			means[i] += v / float64(len(scores))
		}
	}
	return means
}

// drawn returns how often each of n items was drawn in n draws.
func drawn(source *rand.Rand, n int) (weight []float64) {
	weight = make([]float64, n)
	for range n {
		weight[source.IntN(n)]++
	}
	return weight
}

func weighted(x, weight []float64) (mean float64) {
	for i, v := range x {
		mean += weight[i] * v / float64(len(x))
	}
	return mean
}

// place fills in the intervals of means and ranks, and which entries are told from the first.
func place(all []Standing, deviations [][]float64, falls bool) {
	sign := 1.0
	if falls {
		sign = -1
	}
	means, ranks := make([][]float64, len(all)), make([][]float64, len(all))
	for _, own := range deviations {
		drawn := make([]float64, len(all))
		for i, d := range own {
			means[i] = append(means[i], all[i].Mean+d)
			drawn[i] = sign * (all[i].Mean + d)
		}
		for i, rank := range ranksOf(drawn) {
			ranks[i] = append(ranks[i], rank)
		}
	}
	critical := critical(all, deviations)
	for i := range all {
		low, high := ends(means[i])
		all[i].Interval = stats.Interval{Low: low, High: high}
		low, high = ends(ranks[i])
		all[i].LowRank, all[i].HighRank = int(math.Floor(low)), int(math.Ceil(high))
		all[i].Told = math.Abs(all[0].Mean-all[i].Mean)/width(all[0], all[i]) > critical
	}
}

// ends returns the ends of the interval that holds 95 % of numbers.
func ends(x []float64) (low, high float64) {
	slices.Sort(x)
	return stats.Quantile(x, (1-level)/2), stats.Quantile(x, (1+level)/2)
}

// ranksOf returns the ranks of numbers, the greatest first; equal ones share the mean of theirs.
func ranksOf(x []float64) (ranks []float64) {
	for _, own := range x {
		before, equal := 0, 0
		for _, v := range x {
			if v > own {
				before++
			} else if v == own {
				equal++
			}
		}
		ranks = append(ranks, float64(before)+float64(equal+1)/2)
	}
	return ranks
}

// width is proportional to the spread of a difference of two means.
func width(a, b Standing) float64 {
	return math.Sqrt(1/float64(len(a.Scores)) + 1/float64(len(b.Scores)))
}

// critical returns how many widths the last of entries that are alike is behind the first, at most, in 95 % of the
// draws.
func critical(all []Standing, deviations [][]float64) float64 {
	var most []float64
	for _, own := range deviations {
		first, furthest := 0, 0.0
		for i, d := range own {
			if d > own[first] {
				first = i
			}
		}
		for i, d := range own {
			if i != first {
				furthest = max(furthest, (own[first]-d)/width(all[first], all[i]))
			}
		}
		most = append(most, furthest)
	}
	slices.Sort(most)
	return stats.Quantile(most, level)
}
