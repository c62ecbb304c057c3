package ranking

import (
	"cmp"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"torchpe/internal/stats"
)

// Family holds the schemes of a family.
type Family struct {
	Name   string
	N      int     // schemes
	Median float64 // of their ranks
}

// Families returns the families of the ranked schemes by the median of their ranks, the best first, and the
// p-value of Kruskal and Wallis' statistic: how often ranks permuted among schemes differ as much between
// families. A scheme with several entries has the mean of their ranks. p is NaN for fewer than two families.
func Families(all []Standing, familyOf func(scheme string) string) (families []Family, p float64) {
	entries, of := map[string][]float64{}, map[string][]int{}
	for _, s := range all {
		entries[s.Scheme] = append(entries[s.Scheme], s.Rank)
	}
	var ranks []float64
	for _, scheme := range slices.Sorted(maps.Keys(entries)) {
		family := familyOf(scheme)
		of[family] = append(of[family], len(ranks))
		ranks = append(ranks, stats.Mean(entries[scheme]))
	}
	names := slices.Sorted(maps.Keys(of))
	for _, name := range names {
		var own []float64
		for _, i := range of[name] {
			own = append(own, ranks[i])
		}
		slices.Sort(own)
		families = append(families, Family{Name: name, N: len(own), Median: stats.Quantile(own, .5)})
	}
	slices.SortStableFunc(families, func(a, b Family) int { return cmp.Compare(a.Median, b.Median) })
	if len(families) < 2 {
		return families, math.NaN()
	}
	between := func() (sum float64) { // the part of the statistic that depends on the order
		for _, name := range names {
			total := 0.0
			for _, i := range of[name] {
				total += ranks[i]
			}
			sum += total * total / float64(len(of[name]))
		}
		return sum
	}
	observed, extreme := between(), 0
	source := rand.New(rand.NewPCG(1, 3))
	for range draws {
		source.Shuffle(len(ranks), func(i, j int) { ranks[i], ranks[j] = ranks[j], ranks[i] })
		if between() >= observed*(1-1e-12) {
			extreme++
		}
	}
	return families, float64(extreme+1) / float64(draws+1)
}
