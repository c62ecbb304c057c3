package ranking

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"torchpe/internal/stats"
)

// entryOf returns an entry of a test of one item.
func entryOf(label string, seeds ...float64) Entry {
	e := Entry{Label: label, Family: label[:1]}
	for _, v := range seeds {
		e.Scores = append(e.Scores, []float64{v})
	}
	return e
}

// The deviations that are drawn have the spread of the seeds, SD s: without the factor three seeds have .82 of that.
func TestSpreadOfSeeds(t *testing.T) {
	seeds := []float64{1, 2, 6}
	sum := 0.0
	for _, d := range seedDeviations(entryOf("a", seeds...).Scores) {
		sum += d * d
	}
	if got, want := math.Sqrt(sum/3), stats.SD(seeds); math.Abs(got-want) > 1e-12 {
		t.Errorf("SD %v, want %v", got, want)
	}
}

// Of independent items that a model solves with probability p, drawn anew, the mean has SD sqrt(p(1-p)/n).
func TestItemsAreDrawn(t *testing.T) {
	const n = 400
	solved := make([]float64, n)
	for i := range n / 4 {
		solved[i] = 1
	}
	e := Entry{Label: "a", Scores: [][]float64{solved, solved}} // seeds that do not differ
	i := Rank([]Entry{e}, false)[0].Interval
	if half, want := (i.High-i.Low)/2, 1.96*math.Sqrt(.25*.75/n); math.Abs(half-want) > .1*want {
		t.Errorf("half the interval is %v, want %v", half, want)
	}
}

func TestRank(t *testing.T) {
	all := Rank([]Entry{
		entryOf("low", .3, .31, .29), entryOf("best", .98, .99, 1), entryOf("alike", .93, .99, .97),
		entryOf("same", .98, .99, 1),
	}, false)
	var order []string
	for _, s := range all {
		order = append(order, s.Label)
	}
	if want := []string{"best", "same", "alike", "low"}; !slices.Equal(order, want) {
		t.Fatalf("order %v", order)
	}
	if all[1].Told || all[2].Told || !all[3].Told {
		t.Errorf("told from the first: %v, %v, %v", all[1].Told, all[2].Told, all[3].Told)
	}
	if last := all[3]; last.LowRank != 4 || last.HighRank != 4 {
		t.Errorf("the last has rank %d to %d", last.LowRank, last.HighRank)
	}
	if first := all[0]; first.LowRank != 1 || first.HighRank < 2 {
		t.Errorf("the first has rank %d to %d", first.LowRank, first.HighRank)
	}
	if falling := Rank([]Entry{entryOf("a", 2, 2.1), entryOf("b", 1, 1.1)}, true); falling[0].Label != "b" {
		t.Error("of errors the greater one is first")
	}
}

// Where all encodings are alike, one is told from the first in 5 % of the tables. The deviations of three seeds each
// tell the spread a little too small.
func TestAlikeAreNotTold(t *testing.T) {
	source := rand.New(rand.NewPCG(6, 7))
	const tables = 60
	told := 0
	for range tables {
		var entries []Entry
		for range 20 {
			entries = append(entries, entryOf("a", source.NormFloat64(), source.NormFloat64(), source.NormFloat64()))
		}
		if slices.ContainsFunc(Rank(entries, true), func(s Standing) bool { return s.Told }) {
			told++
		}
	}
	if told > 8 { // the chance of more is 1 % where it is 6 % a table
		t.Errorf("%d of %d tables tell an encoding from others that are alike", told, tables)
	}
}

// scipy.stats.kruskal([1, 2, 3, 4, 5], [6, 7, 8, 9], [10, 11, 12]) has p = 0.0081, of the chi-square approximation.
func TestFamilies(t *testing.T) {
	var all []Standing
	for i := range 12 {
		name := map[bool]string{true: "a", false: "b"}[i < 5]
		if i >= 9 {
			name = "c"
		}
		all = append(all, Standing{Entry: Entry{Family: name}})
	}
	families, p := Families(all)
	if len(families) != 3 || families[0] != (Family{"a", 5, 3}) || families[2] != (Family{"c", 3, 11}) {
		t.Errorf("%+v", families)
	}
	if !(p < .005) {
		t.Errorf("p %v", p)
	}
	for i := range all { // every other one
		all[i].Family = map[bool]string{true: "a", false: "b"}[i%2 == 0]
	}
	if _, p := Families(all); math.Abs(p-.699) > .04 { // scipy.stats.mannwhitneyu, exact: U = 15
		t.Errorf("p %v of families that do not differ", p)
	}
}
