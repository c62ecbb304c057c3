package lst

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"torchpe/internal/expect"
)

// One puzzle of each rule at side 5, decided by hand.
func TestRulesOfSide5(t *testing.T) {
	for _, c := range []struct {
		grid      string
		condition Condition
		answer    uint8
		err       error
	}{
		{"61234" + "00000" + "00000" + "00000" + "00000", OneVector, 5, nil},
		{"61200" + "30000" + "40000" + "00000" + "00000", TwoVector, 5, nil},
		// the row's other blanks, in columns 4 and 5, cannot be 5
		{"61200" + "00050" + "00005" + "00000" + "00000", ThreeVector, 5, nil},
		// one other blank: no rule of lst's
		{"61230" + "00005" + "00000" + "00000" + "00000", 0, 0, errNoRule},
		{"61200" + "00050" + "00000" + "00000" + "00000", 0, 0, errNoRule},
		{"60000" + "02345" + "03254" + "04523" + "05432", 0, 0, errConflict},
		{"61234" + "50000" + "00000" + "00000" + "00000", 0, 0, errUnsolvable},
		{"61234" + "15000" + "00000" + "00000" + "00000", OneVector, 5, nil},
	} {
		condition, answer, err := classify(mustParse(c.grid))
		if !errors.Is(err, c.err) || condition != c.condition || answer != c.answer {
			t.Errorf("%s: %v, %d, %v; want %v, %d, %v", c.grid, condition, answer, err, c.condition,
				c.answer, c.err)
		}
	}
}

// dissimilarity returns the Jaccard distance of two grids as one-hot vectors (see features).
func dissimilarity(a, b Grid) float64 {
	both, either := 0, 0
	for i := range max(len(a), len(b)) { // cells that one grid lacks are blank
		v, w := i < len(a) && a[i] > '0', i < len(b) && b[i] > '0'
		switch {
		case v && w && a[i] == b[i]:
			both++
			either++
		case v && w:
			either += 2
		case v || w:
			either++
		}
	}
	if either == 0 {
		return 0
	}
	return 1 - float64(both)/float64(either)
}

// The default sets of all sides have the same sizes, and givens as dense as those of side 4, whose pool
// and validation set are those of Generate.
func TestDefaultSides(t *testing.T) {
	want := 0.0
	for _, side := range []int{4, 5, 6, 8} {
		set := expect.Must(Default(side, 0))
		checkPaperSizes(t, set)
		density := 0.0
		for _, p := range set.Train {
			density += float64(p.Cells.Givens()) / float64(side*side) / float64(len(set.Train))
		}
		if side == Side {
			want = density
			pool, validation := generated(t, DefaultOptions(), 0)
			if checkPartition(t, pool, set.Train, set.IID); !slices.Equal(validation, set.Validation) {
				t.Error("the validation set is not that of Generate")
			}
		} else if math.Abs(density-want) > 0.05 {
			t.Errorf("side %d: %.3f of the cells are given, at side 4 %.3f", side, density, want)
		}
	}
}

// Two lines decide a puzzle of a training set where twoLines says so, and none of a validation set.
func TestTwoLines(t *testing.T) {
	for _, side := range []int{4, 5, 6} {
		train, validation := generated(t, Options{Side: side, Train: 20 * side,
			Validation: 10 * side}, 3)
		found := 0
		for i, p := range append(train, validation...) {
			two := false
			for k, a := range linesOf(side) {
				for _, b := range linesOf(side)[:k] {
					two = two || p.Condition == ThreeVector && len(seenAlone(p.Cells, a, b)) == 1
				}
			}
			if two {
				found++
			}
			v := newGiven(p.Cells)
			if named := v.twoLines(p.Condition, p.Cells.Probe()); (named != nil) != two {
				t.Errorf("side %d: %v: lines %v, but two lines decide it: %v", side, p, named, two)
			}
			if two && i >= len(train) {
				t.Errorf("side %d: validation puzzle %v needs two lines only", side, p)
			}
		}
		if found == 0 {
			t.Errorf("side %d: no training puzzle of two lines: nothing was tested", side)
		}
		t.Logf("side %d: %d of %d 3-vector training puzzles need two lines", side, found,
			len(train)/3)
	}
}

// Of all sets of cells that make one square a 3-vector puzzle each is as likely: chi-square against
// a count of all of them.
func TestCellsAreUniform(t *testing.T) {
	g := &chainSource{side: 4, rng: rand.New(rand.NewPCG(9, 10))}
	square := []uint8{1, 2, 3, 4, 2, 1, 4, 3, 3, 4, 1, 2, 4, 3, 2, 1}
	full := gridOf(square).features()
	accepts := func(s slot, shown uint64) bool {
		var f features
		f.take(&full, shown)
		return s.accepts(f.given(4))
	}
	for k := range 4 {
		c := Condition(min(k+1, 3))
		s := slot{condition: c, probe: 5, answer: square[5], givens: 5, strict: k == 3}
		all := map[uint64]int{}
		for shown := range uint64(1 << 16) {
			if bits.OnesCount64(shown) == s.givens && shown>>s.probe&1 == 0 && accepts(s, shown) {
				all[shown] = 0
			}
		}
		n := 0
		for n < 50*len(all) {
			if shown, ok := g.drawCells(s, square); ok && accepts(s, shown) {
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

// There are few puzzles of side 3, but enough to test on.
func TestPuzzles(t *testing.T) {
	expect.Equal(t, "108 puzzles of side 3", len(expect.Must(Puzzles(3, 108, 0))), 108)
	for _, side := range []int{0, 2, 9} {
		expect.Refused(t, side, expect.ErrorOf(Puzzles(side, 1, 0)))
	}
}

// Files hold puzzles of any side, but of one.
func TestFilesOfSides(t *testing.T) {
	for _, side := range []int{4, 6} {
		ps := expect.Must(Puzzles(side, 30, 1))
		var b bytes.Buffer
		expect.NoError(t, writeSet(&b, ps))
		expect.Equal(t, fmt.Sprintf("side %d", side), expect.Must(readText(t, b.String())), ps)
	}
	p := Puzzle{Cells: "412000000", Answer: 3, Condition: OneVector}
	expect.Equal(t, "givens", p.Cells.Givens(), 2)
	p.Answer = 1
	expect.Error(t, p.Verify(), "answer 1 claimed")
	p.Answer, p.Condition = 3, TwoVector
	expect.Error(t, p.Verify(), "condition")
}
