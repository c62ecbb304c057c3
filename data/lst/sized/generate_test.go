package sized

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"torchpe/data/lst"
)

// sameAsLST checks that both packages say the same of puzzles of side 4.
func sameAsLST(t *testing.T, name string, all []lst.Puzzle) {
	t.Helper()
	for _, p := range all {
		side, cells, err := Parse(p.Cells.String())
		if err != nil || side != 4 {
			t.Fatalf("%s: %v: side %d, %v", name, p.Cells, side, err)
		}
		c, answer, err := Classify(side, cells)
		wantC, wantAnswer, wantErr := lst.Classify(p.Cells)
		if err != nil || wantErr != nil || c != wantC || answer != wantAnswer {
			t.Fatalf("%s: %v: %v, %d, %v; lst: %v, %d, %v", name, p.Cells, c, answer, err, wantC, wantAnswer, wantErr)
		}
		ds, _ := Deduce(side, cells)
		want, _ := lst.Deduce(p.Cells)
		for i := range max(len(ds), len(want)) {
			if i >= len(ds) || i >= len(want) || ds[i].String() != want[i].String() {
				t.Fatalf("%s: %v: %v; lst: %v", name, p.Cells, ds, want)
			}
		}
	}
}

// At side 4 the rules are lst's, on generated puzzles and on the published ones.
func TestRulesAreThoseOfSide4(t *testing.T) {
	for seed := range uint64(3) {
		train, validation, err := lst.Generate(lst.DefaultOptions(), seed)
		if err != nil {
			t.Fatal(err)
		}
		sameAsLST(t, "generated", append(train, validation...))
	}
	dir := os.Getenv("TORCHPE_LST")
	if dir == "" {
		dir = "../../../../shared/lst"
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*puzzle_data_*.csv"))
	if len(files) == 0 {
		t.Skip("the published puzzles are not here (set TORCHPE_LST to their directory); the generated ones agree")
	}
	for _, path := range files {
		ps, err := lst.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		sameAsLST(t, path, ps)
	}
}

// On any grid of side 4, puzzle or not, both packages find the same condition and answer, or both none.
func TestRulesOnRandomGrids(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	squares, found := newChain(4, rng), map[lst.Condition]int{}
	for range 20_000 {
		cells := squares.square()
		for i := range cells {
			if rng.IntN(2) == 0 {
				cells[i] = 0
			}
		}
		cells[rng.IntN(16)] = 5
		g, err := lst.ParseGrid(digits(cells))
		if err != nil {
			t.Fatal(err)
		}
		want, answer, wantErr := lst.Classify(g)
		got, gotAnswer, err := Classify(4, cells)
		if got != want || answer != gotAnswer || (err == nil) != (wantErr == nil) {
			t.Fatalf("%v: %v, %d, %v; lst: %v, %d, %v", g, got, gotAnswer, err, want, answer, wantErr)
		}
		found[got]++
	}
	for _, c := range append([]lst.Condition{0}, lst.OneVector, lst.TwoVector, lst.ThreeVector) {
		if found[c] < 100 {
			t.Errorf("%d grids of %v: too few to say anything", found[c], c)
		}
	}
}

// One puzzle of each rule at side 5, decided by hand.
func TestRulesByHand(t *testing.T) {
	for _, c := range []struct {
		grid      string
		condition lst.Condition
		answer    uint8
		err       error
	}{
		{"61234" + "00000" + "00000" + "00000" + "00000", lst.OneVector, 5, nil},
		{"61200" + "30000" + "40000" + "00000" + "00000", lst.TwoVector, 5, nil},
		{"61200" + "00050" + "00005" + "00000" + "00000", lst.ThreeVector, 5, nil}, // the row's other blanks, in columns 4 and 5, cannot be 5
		{"61230" + "00005" + "00000" + "00000" + "00000", 0, 0, ErrNoRule},         // one other blank: no rule of lst's
		{"61200" + "00050" + "00000" + "00000" + "00000", 0, 0, ErrNoRule},
		{"60000" + "02345" + "03254" + "04523" + "05432", 0, 0, lst.ErrConflict},
		{"61234" + "50000" + "00000" + "00000" + "00000", 0, 0, lst.ErrUnsolvable},
		{"61234" + "15000" + "00000" + "00000" + "00000", lst.OneVector, 5, nil},
	} {
		side, cells, err := Parse(c.grid)
		if err != nil {
			t.Fatal(err)
		}
		condition, answer, err := Classify(side, cells)
		if !errors.Is(err, c.err) || condition != c.condition || answer != c.answer {
			t.Errorf("%s: %v, %d, %v; want %v, %d, %v", c.grid, condition, answer, err, c.condition, c.answer, c.err)
		}
	}
}

// Sets are balanced, valid, distinct and a function of their seed.
func TestGenerate(t *testing.T) {
	for side := 4; side <= MaxSide; side++ {
		o := Options{Side: side, Train: 6 * side * side, Validation: 3 * side}
		train, validation, err := Generate(o, 11)
		if err != nil {
			t.Fatal(err)
		}
		if len(train) != o.Train || len(validation) != o.Validation {
			t.Errorf("side %d: %d and %d puzzles", side, len(train), len(validation))
		}
		seen := map[string]bool{}
		for _, p := range append(train, validation...) {
			if err := p.Verify(); err != nil || p.Side != side || p.Probe() < 0 || seen[p.String()] {
				t.Errorf("side %d: %v: %v, seen before: %v", side, p, err, seen[p.String()])
			}
			seen[p.String()] = true
		}
		for _, set := range [][]Puzzle{train, validation} {
			for _, c := range lst.Conditions() {
				answers, probes, all := make([]int, side), make([]int, side*side), 0
				for _, p := range set {
					if p.Condition == c {
						all++
						answers[p.Answer-1]++
						probes[p.Probe()]++
					}
				}
				if all != len(set)/3 || spread(answers) > 1 || spread(probes) > 1 {
					t.Errorf("side %d: %d of %d puzzles are %v, answers %v, probes %v", side, all, len(set), c, answers, probes)
				}
			}
		}
		for _, a := range train {
			for _, b := range validation {
				if d := dissimilarity(a, b); d <= 0.8 {
					t.Errorf("side %d: %v and %v have dissimilarity %g", side, a, b, d)
				}
			}
		}
		again, _, err := Generate(o, 11)
		other, _, _ := Generate(o, 12)
		if err != nil || !reflect.DeepEqual(again, train) || reflect.DeepEqual(other, train) {
			t.Errorf("side %d: not a function of the seed (%v)", side, err)
		}
	}
}

func spread(counts []int) int {
	low, high := counts[0], counts[0]
	for _, n := range counts {
		low, high = min(low, n), max(high, n)
	}
	return high - low
}

// dissimilarity is that of lst, written out.
func dissimilarity(a, b Puzzle) float64 {
	both, either := 0, 0
	for i, v := range a.Cells {
		w := b.Cells[i]
		switch {
		case v == w && v > 0:
			both++
			either++
		default:
			if v > 0 {
				either++
			}
			if w > 0 {
				either++
			}
		}
	}
	return 1 - float64(both)/float64(either)
}

// The default set has lst's sizes, and its givens are as dense as there.
func TestDefault(t *testing.T) {
	density := func(n int, cells func(i int) (givens, all int)) (mean float64) {
		for i := range n {
			g, all := cells(i)
			mean += float64(g) / float64(all) / float64(n)
		}
		return mean
	}
	small, err := lst.Default(0)
	if err != nil {
		t.Fatal(err)
	}
	want := density(len(small.Train), func(i int) (int, int) { return small.Train[i].Cells.Givens(), 16 })
	for _, side := range []int{5, 6, 8} {
		set, err := Default(side, 0)
		if err != nil {
			t.Fatal(err)
		}
		if len(set.Train) != 8100 || len(set.IID) != 900 || len(set.Validation) != 108 {
			t.Errorf("side %d: %d, %d and %d puzzles", side, len(set.Train), len(set.IID), len(set.Validation))
		}
		if got := density(len(set.Train), func(i int) (int, int) { return set.Train[i].Givens(), side * side }); math.Abs(got-want) > 0.05 {
			t.Errorf("side %d: %.3f of the cells are given, at side 4 %.3f", side, got, want)
		}
	}
}

// Of all sets of cells that make one square a 3-vector puzzle each is as likely: chi-square against a count of all of them.
func TestCellsAreUniform(t *testing.T) {
	g := &generator{side: 4, rng: rand.New(rand.NewPCG(9, 10))}
	square := []uint8{1, 2, 3, 4, 2, 1, 4, 3, 3, 4, 1, 2, 4, 3, 2, 1}
	for _, c := range lst.Conditions() {
		s := slot{condition: c, probe: 5, answer: square[5], givens: 5}
		all := map[uint64]int{}
		for shown := range uint64(1 << 16) {
			v := given{side: 4}
			n := 0
			for i, symbol := range square {
				if shown>>i&1 == 1 {
					v.show(i, symbol)
					n++
				}
			}
			if n == s.givens && shown>>s.probe&1 == 0 && v.simplest(s.probe) == c {
				all[shown] = 0
			}
		}
		n := 0
		for n < 50*len(all) {
			if shown, ok := g.cells(s, square); ok {
				if _, is := all[shown]; !is {
					t.Fatalf("%v: %b is no such set", c, shown)
				}
				all[shown]++
				n++
			}
		}
		sum := 0.0
		for _, count := range all {
			sum += float64((count-50)*(count-50)) / 50
		}
		if df := float64(len(all) - 1); sum > df+5*math.Sqrt(2*df) {
			t.Errorf("%v: chi-square %.1f over %d sets", c, sum, len(all))
		}
	}
}

func TestGenerateErrors(t *testing.T) {
	for want, o := range map[string]Options{
		"not 2": {Side: 2}, "not 9": {Side: 9}, "-1 puzzles": {Side: 5, Train: -1}, "200001 puzzles": {Side: 5, Validation: lst.MaxPuzzles + 1},
		"ask for fewer puzzles or a larger side": {Side: 3, Train: 9000, Validation: 108},
		"9000 training puzzles of side 3":        {Side: 3, Train: 9000, Validation: 108},
	} {
		if _, _, err := Generate(o, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", o, err, want)
		}
	}
	if ps, err := Puzzles(3, 108, 0); err != nil || len(ps) != 108 {
		t.Errorf("108 puzzles of side 3: %d, %v", len(ps), err)
	}
}

func TestFiles(t *testing.T) {
	ps, err := Puzzles(6, 30, 1)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "six.csv")
	if err := WriteFile(path, ps); err != nil {
		t.Fatal(err)
	}
	if again, err := ReadFile(path); err != nil || !reflect.DeepEqual(again, ps) {
		t.Errorf("%v: %v", err, again)
	}
	// At side 4 the file is lst's.
	four, err := Puzzles(4, 12, 1)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Write(&b, four); err != nil {
		t.Fatal(err)
	}
	if as, err := lst.Read(&b, "four"); err != nil || len(as) != 12 || as[3].Cells.String() != four[3].String() {
		t.Errorf("lst reads %v, %v", as, err)
	}
	const head = "condition,puzzles,solutions\n"
	for text, want := range map[string]string{
		"": "header", "condition,puzzles\n": "solutions", head: "no puzzle",
		head + "Binary,612340000000000000000000,5\n":                                                 "24 tokens",
		head + "Binary,6123400000000000000000000,6\n":                                                "answer",
		head + "Seventh,6123400000000000000000000,5\n":                                               "condition",
		head + "Binary,7123400000000000000000000,5\n":                                                "digit 1",
		head + "Binary,6123410000000000000000000\n":                                                  "fields",
		head + "Binary,6113400000000000000000000,5\n":                                                "twice in row 1",
		head + "Binary,6123400000000000000000006,5\n":                                                "2 probes",
		head + "Binary,6123400000000000000000000,5\nBinary,712345000000000000000000000000000000,6\n": "side 6 after",
	} {
		if _, err := Read(strings.NewReader(text), "x.csv"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, err := ReadFile(filepath.Join(t.TempDir(), "none.csv")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if err := WriteFile(filepath.Join(t.TempDir(), "none", "x.csv"), ps); err == nil {
		t.Error("a file in no directory is no error")
	}
	p := Puzzle{Side: 3, Cells: []uint8{4, 1, 2, 0, 0, 0, 0, 0, 0}, Answer: 3, Condition: lst.OneVector}
	if got := strings.Join(p.Rows(), "/"); got != "? 1 2/. . ./. . ." || p.Givens() != 2 {
		t.Errorf("%s, %d givens", got, p.Givens())
	}
	p.Answer = 1
	if err := p.Verify(); err == nil || !strings.Contains(err.Error(), "answer 1 claimed") {
		t.Error(err)
	}
	p.Answer, p.Condition = 3, lst.TwoVector
	if err := p.Verify(); err == nil || !strings.Contains(err.Error(), "condition") {
		t.Error(err)
	}
}
