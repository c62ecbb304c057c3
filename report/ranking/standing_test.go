package ranking

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"torchpe/internal/expect"
	"torchpe/internal/stats"
)

func TestRank(t *testing.T) {
	all := Rank([]Entry{
		{Label: "low", Seeds: []float64{.3, .31, .29}}, {Label: "best", Seeds: []float64{.98, .99, 1}},
		{Label: "alike", Seeds: []float64{.93, .99, .97}}, {Label: "same", Seeds: []float64{.98, .99, 1}},
	}, false)
	var order []string
	for _, s := range all {
		order = append(order, s.Label)
	}
	expect.Equal(t, "order", order, []string{"best", "same", "alike", "low"})
	expect.Equal(t, "ranks", [3]float64{all[0].Rank, all[1].Rank, all[2].Rank}, [3]float64{1.5, 1.5, 3})
	if all[1].Differs || all[2].Differs || !all[3].Differs {
		t.Errorf("differs from the first: %v, %v, %v", all[1].Differs, all[2].Differs, all[3].Differs)
	}
	for i, s := range all {
		better, worse := 1, 0
		if i == 3 {
			better, worse = 0, 3
		}
		expect.Equal(t, s.Label+" better and worse than", [2]int{s.Better, s.Worse}, [2]int{better, worse})
	}
	expect.Equal(t, "ranks of the last", [2]int{all[3].LowRank, all[3].HighRank}, [2]int{4, 4})
	if first := all[0]; first.LowRank != 1 || first.HighRank < 2 {
		t.Errorf("the first has rank %d to %d", first.LowRank, first.HighRank)
	}
	falling := Rank([]Entry{{Label: "a", Seeds: []float64{2, 2.1}}, {Label: "b", Seeds: []float64{1, 1.1}}}, true)
	expect.Equal(t, "first of errors, which the greater one is", falling[0].Label, "b")
}

// Where seeds agree, ranks vary by the items alone. Of two entries that are right on other halves of 36 items, one of
// them a little less, either may be first. One that has less than another on each item is behind it in each draw,
// as items are the same for both.
func TestItems(t *testing.T) {
	entry := func(label string, value func(i int) float64) Entry {
		e := Entry{Label: label}
		for i := range 36 {
			e.Items = append(e.Items, value(i))
		}
		mean := stats.Mean(e.Items)
		e.Seeds = []float64{mean, mean, mean}
		return e
	}
	even := entry("even", func(i int) float64 { return float64(1 - i%2) })
	all := Rank([]Entry{even, entry("odd", func(i int) float64 { return .95 * float64(i%2) })}, false)
	if all[0].LowRank != 1 || all[0].HighRank != 2 || all[1].LowRank != 1 || all[1].HighRank != 2 || all[1].Differs {
		t.Errorf("of other halves: %+v", all)
	}
	all = Rank([]Entry{even, entry("less", func(i int) float64 { return float64(1-i%2) - .1 })}, false)
	if all[0].HighRank != 1 || all[1].LowRank != 2 || !all[1].Differs {
		t.Errorf("of less on each: %+v", all)
	}
}

// The mean square of the deviations is the variance s² of the seeds: without its factor three seeds have 2/3 of it.
func TestDeviations(t *testing.T) {
	sum := 0.0
	for _, d := range deviationsOf([]float64{1, 2, 6}) {
		sum += d * d
	}
	expect.Near(t, "variance", sum/3, 7, 1e-12) // statistics.variance([1, 2, 6]) = 7
}

// Where all encodings are alike, one differs from the first in at most about 5 % of the tables; where a few have a
// far larger spread than the others, in some more. A bootstrap of the seeds of each encoding alone has 90 %.
func TestAlikeDoNotDiffer(t *testing.T) {
	for _, c := range []struct {
		name string
		sd   func(i int) float64
		most int
	}{
		{"one spread", func(int) float64 { return 1 }, 8},
		{"half at a twentieth", func(i int) float64 { return []float64{1, .05}[i%2] }, 11},
		{"three of twenty at fifty times", func(i int) float64 {
			if i < 3 {
				return 1
			}
			return .02
		}, 18},
	} {
		source := rand.New(rand.NewPCG(6, 7))
		const tables = 60
		differ := 0
		for range tables {
			var entries []Entry
			for i := range 20 {
				e := Entry{}
				for range 3 {
					e.Seeds = append(e.Seeds, c.sd(i)*source.NormFloat64())
				}
				entries = append(entries, e)
			}
			if slices.ContainsFunc(Rank(entries, true), func(s Standing) bool { return s.Differs }) {
				differ++
			}
		}
		t.Logf("%s: %d of %d", c.name, differ, tables)
		if differ > c.most {
			t.Errorf("%s: %d of %d tables have an encoding that differs from others like it", c.name, differ, tables)
		}
	}
}

// The interval of a rank holds the rank, also of the first of many that are alike, which few draws put first again.
func TestRankIsInItsInterval(t *testing.T) {
	source := rand.New(rand.NewPCG(6, 7))
	var entries []Entry
	for i := range 60 {
		mean, sd := 0.0, 0.01
		if i < 8 { // the worst vary most
			mean, sd = 100, 10
		}
		seed := func() float64 { return mean + sd*source.NormFloat64() }
		entries = append(entries, Entry{Seeds: []float64{seed(), seed()}})
	}
	for _, s := range Rank(entries, true) {
		if float64(s.LowRank) > s.Rank || s.Rank > float64(s.HighRank) {
			t.Errorf("rank %v is not within %d to %d", s.Rank, s.LowRank, s.HighRank)
		}
	}
}

// Of encodings of large spread among others, too, the intervals hold the true rank in about 95 of 100 tables. A
// bootstrap by one spread for all has 76.
func TestCoverageOfWideEncodings(t *testing.T) {
	source := rand.New(rand.NewPCG(8, 9))
	const tables, all, wide = 60, 20, 3
	held := 0
	for range tables {
		var entries []Entry
		for i := range all {
			sd := .01
			if i%7 == 3 {
				sd = .1
			}
			e := Entry{Scheme: fmt.Sprint(i + 1)}
			for range 3 {
				e.Seeds = append(e.Seeds, .02*float64(i)+sd*source.NormFloat64())
			}
			entries = append(entries, e)
		}
		for _, s := range Rank(entries, true) {
			var rank int
			fmt.Sscan(s.Scheme, &rank)
			if rank%7 == 4 && s.LowRank <= rank && rank <= s.HighRank {
				held++
			}
		}
	}
	t.Logf("%d of %d", held, tables*wide)
	if float64(held) < .9*tables*wide {
		t.Errorf("%d of %d intervals hold the true rank", held, tables*wide)
	}
}

// familyOf names the family of a scheme a1, a2, b1, ... by its letter.
func familyOf(scheme string) string { return scheme[:1] }

func placesOf(schemes ...string) (all []Standing) {
	for i, s := range schemes {
		all = append(all, Standing{Entry: Entry{Scheme: s}, Rank: float64(i + 1)})
	}
	return all
}

// scipy.stats.kruskal of ranks 1 to 5, 6 to 9 and 10 to 12 has p = .0081, of the chi-square approximation.
func TestFamilies(t *testing.T) {
	families, p := Families(placesOf("a1", "a2", "a3", "a4", "a5", "b1", "b2", "b3", "b4", "c1", "c2", "c3"), familyOf)
	if len(families) != 3 || families[0] != (Family{"a", 5, 3}) || families[2] != (Family{"c", 3, 11}) {
		t.Errorf("%+v", families)
	}
	if !(p < .005) {
		t.Errorf("p %v", p)
	}
	// Every other one; scipy.stats.mannwhitneyu, exact, of U = 15: p = .699.
	alternating := placesOf("a1", "b1", "a2", "b2", "a3", "b3", "a4", "b4", "a5", "b5", "a6", "b6")
	_, p = Families(alternating, familyOf)
	expect.Near(t, "p of families that do not differ", p, .699, .04)
	// Entries of one scheme are no more schemes.
	families, _ = Families(placesOf("a1", "a1", "b1"), familyOf)
	expect.Equal(t, "family", families[0], Family{"a", 1, 1.5})
}

// Entries that solve as many puzzles share a rank, though the sums of their accuracies round differently.
func TestEqualMeansShareARank(t *testing.T) {
	of := func(label string, solved ...float64) Entry {
		e := Entry{Label: label}
		for _, n := range solved {
			e.Seeds = append(e.Seeds, n/108)
		}
		return e
	}
	a, b := of("a", 67, 42, 96), of("b", 73, 60, 72)
	if stats.Mean(a.Seeds) == stats.Mean(b.Seeds) {
		t.Fatal("these means do not differ in their last bits")
	}
	for _, s := range Rank([]Entry{of("first", 100, 101, 102), a, b}, false)[1:] {
		expect.Equal(t, "rank of "+s.Label, s.Rank, 2.5)
	}
}

// Entries of equal means without spread have every place that they share.
func TestTies(t *testing.T) {
	entry := func(v float64) Entry { return Entry{Label: "a", Seeds: []float64{v, v, v}} }
	all := Rank([]Entry{entry(.5), entry(1), entry(1), entry(1)}, false)
	for i, s := range all[:3] {
		if s.Rank != 2 || s.LowRank != 1 || s.HighRank != 3 {
			t.Errorf("%d: %+v", i, s)
		}
	}
	want := "a, a, a share the first place of 4 that are ranked. All others differ from it."
	var ranked []standing
	for _, s := range all {
		ranked = append(ranked, standing{Standing: s})
	}
	expect.Equal(t, "lead", (task{ranked: ranked}).lead(), want)
}
