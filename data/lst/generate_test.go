package lst

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"torchpe/internal/expect"

	"pgregory.net/rapid"
)

// generated returns the sets that Generate makes.
func generated(t testing.TB, o Options, seed uint64) (train, validation []Puzzle) {
	t.Helper()
	train, validation, err := Generate(o, seed)
	expect.NoError(t, err)
	return train, validation
}

// checkPromises checks the promises of Generate about its sets with slow, independent code.
func checkPromises(t *testing.T, o Options, train, validation []Puzzle) {
	t.Helper()
	if len(train) != o.Train || len(validation) != o.Validation {
		t.Fatalf("%d and %d puzzles, want %d and %d", len(train), len(validation), o.Train, o.Validation)
	}
	seen := map[Grid]bool{}
	for _, p := range slices.Concat(train, validation) {
		expect.NoError(t, p.Verify())
		if seen[p.Cells] || p.Cells.Side() != max(o.Side, Side) {
			t.Errorf("%v occurs twice, or has another side", p.Cells)
		}
		seen[p.Cells] = true
	}
	isSideFour := max(o.Side, Side) == Side
	for _, v := range validation {
		if n := len(Lines(v.Cells)); isSideFour && n != int(v.Condition) {
			t.Errorf("validation puzzle %v is %v, but needs %d lines", v.Cells, v.Condition, n)
		}
	}
	for _, p := range train {
		for _, v := range validation {
			if d := dissimilarity(p.Cells, v.Cells); d <= 0.8 {
				t.Fatalf("training puzzle %v has dissimilarity %v to validation puzzle %v, want above 0.8", p.Cells,
					d, v.Cells)
			}
			if isSideFour && p.Cells.canonical() == v.Cells.canonical() {
				t.Fatalf("training puzzle %v is validation puzzle %v in disguise", p.Cells, v.Cells)
			}
		}
	}
	checkBalance(t, validation)
	checkBalance(t, train)
}

// checkBalance tests that conditions, answers within a condition and probe cells
// differ by at most one.
func checkBalance(t *testing.T, ps []Puzzle) {
	t.Helper()
	if len(ps) == 0 {
		return
	}
	within := func(what string, counts []int) {
		if slices.Max(counts)-slices.Min(counts) > 1 {
			t.Errorf("%s are not balanced: %v of %d puzzles", what, counts, len(ps))
		}
	}
	side := ps[0].Cells.Side()
	conditions := perCondition(ps)
	within("conditions", conditions[:])
	for _, c := range Conditions() {
		answers, cells := make([]int, side), make([]int, side*side)
		for _, p := range ps {
			if p.Condition == c {
				answers[p.Answer-1]++
				cells[p.Cells.Probe()]++
			}
		}
		within("answers", answers)
		within("probe cells", cells)
	}
}

func TestGenerateKeepsPromises(t *testing.T) {
	for _, c := range []struct {
		name string
		o    Options
	}{
		{"small", Options{Train: 100, Validation: 40}},
		{"side 5", Options{Side: 5, Train: 150, Validation: 15}},
		{"side 6", Options{Side: 6, Train: 216, Validation: 18}},
		{"side 7", Options{Side: 7, Train: 294, Validation: 21}},
		{"side 8", Options{Side: 8, Train: 384, Validation: 24}},
		{"more validation than training", Options{Train: 5, Validation: 50}},
		{"validation only", Options{Validation: 10}},
		{"training only", Options{Train: 10}},
		{"nothing", Options{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			train, validation := generated(t, c.o, 11)
			checkPromises(t, c.o, train, validation)
		})
	}
}

// The default set, by the report that the published set is measured with.
func TestGenerateDefault(t *testing.T) {
	o := DefaultOptions()
	train, validation := generated(t, o, 0)
	r := Check(train, validation)
	if r.Puzzles != 9108 || r.Valid != 9108 || r.ConditionAgrees != 9108 ||
		r.AnswerAgrees != 9108 || r.Duplicates != 0 ||
		r.MinDissimilarity <= 0.8 || r.IsomorphicToValidation != 0 || r.Err() != nil {
		t.Errorf("report: %+v", r)
	}
	checkBalance(t, validation)
	checkBalance(t, train)
	// Means of the published pool. Over 20 seeds ours differ by -0.8 to 0.
	for label, want := range map[string]float64{"Binary": 8.15, "Ternary": 6.34,
		"Quaternary": 5.98} {
		got := r.PerCondition[label].Training
		if math.Abs(got.GivensMean-want) > 1 || got.GivensMin != 3 || got.GivensMax != 11 {
			t.Errorf("%s: %.2f givens (%d-%d), want about %.2f (3-11)", label, got.GivensMean,
				got.GivensMin, got.GivensMax, want)
		}
	}
	// The difficulty of the validation puzzles is that of the published items: means of
	// puzzle_data_original.csv.
	for label, want := range map[string]float64{"Binary": 303. / 36, "Ternary": 282. / 36,
		"Quaternary": 228. / 36} {
		expect.Near(t, label+" validation: givens", r.PerCondition[label].Validation.GivensMean, want, 1e-12)
	}
}

func TestGenerateIsDeterministic(t *testing.T) {
	text := func(side int, seed uint64) string {
		train, validation := generated(t, Options{Side: side, Train: 300, Validation: 60}, seed)
		var b bytes.Buffer
		expect.NoError(t, errors.Join(writeSet(&b, validation), writeSet(&b, train)))
		return b.String()
	}
	for _, side := range []int{4, 5} {
		first := text(side, 7)
		expect.Equal(t, fmt.Sprintf("side %d, the same seed again", side), text(side, 7), first)
		if text(side, 8) == first {
			t.Errorf("side %d: another seed gave the same puzzles", side)
		}
	}
	// The digest was taken when the generator was written. If it changes, so do the results of
	// everyone who gave a seed: say so in the CHANGELOG.
	sum := sha256.Sum256([]byte(text(4, 7)))
	expect.Equal(t, "puzzles of seed 7 have the digest", hex.EncodeToString(sum[:8]), "490a31789d7b4bb1")
}

func TestGenerateValidationIgnoresTraining(t *testing.T) {
	_, with := generated(t, Options{Train: 300, Validation: 60}, 7)
	_, without := generated(t, Options{Validation: 60}, 7)
	expect.Equal(t, "the validation set depends on the size of the training set", !slices.Equal(with, without),
		false)
}

func TestGenerateErrors(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Train: -1}, "-1 training puzzles: want 0 to 200000"},
		{Options{Validation: MaxPuzzles + 1}, "200001 validation puzzles: want 0 to 200000"},
		// So many validation puzzles leave no grid that is dissimilar to all.
		{Options{Train: 3, Validation: 900},
			"dissimilar to all 900 validation puzzles: ask for fewer"},
		{Options{Side: 2}, "not 2"},
		{Options{Side: 9}, "not 9"},
		{Options{Side: 5, Train: -1}, "-1 training puzzles"},
		{Options{Side: 5, Validation: MaxPuzzles + 1}, "200001 validation puzzles"},
		{Options{Side: 3, Train: 9000, Validation: 108}, "ask for fewer puzzles or a larger side"},
		{Options{Side: 3, Train: 9000, Validation: 108},
			"training puzzle 1 of 9000: no new Binary puzzle of side 3"},
	} {
		if _, _, err := Generate(c.o, 0); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.o, err, c.want)
		}
	}
}

// The squares to draw from are, for each probe and answer, the quarter of the 576 with that answer
// there.
func TestGeneratorTables(t *testing.T) {
	g := newRejectionSource()
	for probe := range Cells {
		for answer := range Side {
			list, distinct := g.squares[probe][answer], map[features]bool{}
			for _, m := range list {
				if distinct[m] = true; int(m.at(probe)) != answer+1 {
					t.Fatalf("probe %d answer %d: a square has another answer", probe, answer+1)
				}
			}
			expect.Equal(t, fmt.Sprintf("probe %d answer %d: squares, different and all", probe, answer+1),
				[2]int{len(distinct), len(list)}, [2]int{144, 144})
		}
	}
	// Pascal's triangle, row 15.
	for n, want := range []int{1, 15, 105, 455, 1365, 3003, 5005, 6435, 6435, 5005, 3003, 1365, 455,
		105, 15, 1} {
		expect.Equal(t, fmt.Sprintf("sets of %d of 15 cells", n), len(g.masks[n]), want)
	}
}

func TestMasks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mask := uint16(rapid.IntRange(0, 1<<15-1).Draw(t, "mask"))
		probe := rapid.IntRange(0, Cells-1).Draw(t, "probe")
		wide := insertZero(mask, probe)
		if wide>>probe&1 != 0 || bits.OnesCount16(wide) != bits.OnesCount16(mask) {
			t.Fatalf("insertZero(%015b, %d) = %016b", mask, probe, wide)
		}
		square := squares()[int(mask)%squareCount]
		var shown features
		shown.take(&square, uint64(wide))
		for i := range Cells {
			want := square.at(i) * uint8(wide>>i&1)
			if got := shown.at(i); got != want || shown.size != bits.OnesCount16(wide) {
				t.Fatalf("within %016b there is %d at cell %d, want %d", wide, got, i, want)
			}
		}
	})
	// One to one: different sets stay different.
	for probe := range Cells {
		seen := map[uint16]bool{}
		for mask := range 1 << 15 {
			seen[insertZero(uint16(mask), probe)] = true
		}
		expect.Equal(t, fmt.Sprintf("probe %d", probe), len(seen), 1<<15)
	}
}

// The early test by the set of cells never drops a puzzle of the condition.
func TestAllowsIsNecessary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := anyGrid().Draw(t, "grid")
		c, _, err := classify(g)
		if err != nil {
			return
		}
		var mask uint16
		for i, v := range g.Tokens() {
			if v >= 1 && v <= 4 {
				mask |= 1 << i
			}
		}
		if !(slot{condition: c, probe: g.Probe()}).allows(mask) {
			t.Fatalf("%v is %v, but its cells are ruled out", g, c)
		}
	})
}

func TestQuota(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.IntRange(0, 400), 1, 20).Draw(t, "weights")
		weights[0]++
		n := rapid.IntRange(0, 5000).Draw(t, "n")
		list := quota(n, weights, rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)))
		if len(list) != n || !slices.IsSorted(list) {
			t.Fatalf("%d entries, want %d in order", len(list), n)
		}
		total := 0
		for _, w := range weights {
			total += w
		}
		counts := make([]int, len(weights))
		for _, i := range list {
			counts[i]++
		}
		for i, count := range counts {
			if exact := float64(n) * float64(weights[i]) / float64(total); math.Abs(
				float64(count)-exact) >= 1 {
				t.Fatalf("index %d occurs %d times, its share is %v", i, count, exact)
			}
		}
	})
}
