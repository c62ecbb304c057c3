package lst

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"torchpe/internal/expect"
)

// seenAlone returns, by trying all fillings, the symbols that the probe can have where only some lines are
// looked at: no other symbol is known, and no other line must be without repetitions.
func seenAlone(g Grid, lines ...Line) (symbols []uint8) {
	side, cells, probe := g.Side(), g.Tokens(), g.Probe()
	repeats := func(i int) bool {
		for _, line := range lines {
			if line != rowOf(side, i) && line != columnOf(side, i) {
				continue
			}
			for k := range side {
				if j := lineCell(side, line, k); j != i && cells[j] == cells[i] {
					return true
				}
			}
		}
		return false
	}
	var open []int // cells of the lines that show nothing
	for _, line := range lines {
		for k := range side {
			if i := lineCell(side, line, k); cells[i] == 0 && !slices.Contains(open, i) {
				open = append(open, i)
			}
		}
	}
	var fillable func(open []int) bool
	fillable = func(open []int) bool {
		if len(open) == 0 {
			return true
		}
		i := open[0]
		defer func() { cells[i] = 0 }()
		for symbol := range uint8(side) {
			if cells[i] = symbol + 1; !repeats(i) && fillable(open[1:]) {
				return true
			}
		}
		return false
	}
	for symbol := range uint8(side) {
		if cells[probe] = symbol + 1; !repeats(probe) && fillable(open) {
			symbols = append(symbols, symbol+1)
		}
	}
	return symbols
}

// fewestLines tries all sets of lines, smaller ones first, for one that forces the answer.
func fewestLines(g Grid) int {
	all := linesOf(Side)
	var forces func(chosen, rest []Line, n int) bool
	forces = func(chosen, rest []Line, n int) bool {
		if n == 0 {
			return len(seenAlone(g, chosen...)) == 1
		}
		for i := range rest {
			if forces(append(slices.Clone(chosen), rest[i]), rest[i+1:], n-1) {
				return true
			}
		}
		return false
	}
	n := 1
	for !forces(nil, all, n) {
		n++
	}
	return n
}

// checkLines compares Lines with trying all sets.
func checkLines(t *testing.T, p Puzzle) (n int) {
	t.Helper()
	lines := Lines(p.Cells)
	all := slices.Clone(lines)
	want, v, probe := fewestLines(p.Cells), newGiven(p.Cells), p.Cells.Probe()
	for _, line := range []Line{rowOf(Side, probe), columnOf(Side, probe)} {
		if v.shows[line] == 0 { // not counted: see Lines
			all = append(all, line)
			want = min(want, 3)
		}
	}
	if got := seenAlone(p.Cells, all...); !slices.Equal(got, []uint8{p.Answer}) {
		t.Fatalf("%v: %v leave the symbols %v, want %d alone", p.Cells, lines, got, p.Answer)
	}
	if len(lines) != want {
		t.Fatalf("%v: %v, but %d lines force the answer", p.Cells, lines, want)
	}
	return len(lines)
}

// lineCounts counts puzzles by condition and number of lines.
func lineCounts(t *testing.T, ps []Puzzle) (counts [1 + ThreeVector][4]int) {
	t.Helper()
	for _, p := range ps {
		counts[p.Condition][checkLines(t, p)]++
	}
	return counts
}

// A fifth of the published training puzzles called 3-vector need two lines, none for validation.
func TestLinesPublished(t *testing.T) {
	train, validation := published(t)
	want := [1 + ThreeVector][4]int{
		OneVector: {1: 3000}, TwoVector: {2: 3000}, ThreeVector: {2: 594, 3: 2406},
	}
	expect.Equal(t, "training puzzles by condition and lines", lineCounts(t, train), want)
	want = [1 + ThreeVector][4]int{OneVector: {1: 36}, TwoVector: {2: 36}, ThreeVector: {3: 36}}
	expect.Equal(t, "validation puzzles by condition and lines", lineCounts(t, validation), want)
}

// Generated validation puzzles need as many lines as they say; of the training puzzles called
// 3-vector a fifth needs two, as of the published.
func TestLinesGenerated(t *testing.T) {
	train, validation := generated(t, Options{Train: 1800, Validation: 108}, 1)
	want := [1 + ThreeVector][4]int{OneVector: {1: 36}, TwoVector: {2: 36}, ThreeVector: {3: 36}}
	expect.Equal(t, "validation puzzles by condition and lines", lineCounts(t, validation), want)
	// 594 of 3,000 published ones: .198.
	if n := lineCounts(t, train)[ThreeVector][2]; n < 90 || n > 150 {
		t.Errorf("%d of 600 3-vector training puzzles need two lines", n)
	}
}

func TestLinesByHand(t *testing.T) {
	for _, c := range []struct{ grid, want string }{
		{"1532 0000 0000 0000", "[row 1]"},
		{"1520 0000 0300 0000", "[row 1 column 2]"},
		{"5200 0010 0001 0000", "[row 1 column 3 column 4]"},
		// Row 1 is empty: that columns 2, 3 and 4 show a 1 is all there is to read.
		{"5000 0100 0010 0001", "[column 2 column 3 column 4]"},
		// Row 1 lacks 3 and 4, and column 4 has the 3. Column 1 and rows 2, 3 and 4 say so, too.
		{"5120 0300 0003 0030", "[row 1 column 4]"},
		{"5120 0000 0003 0000", "[]"}, // the same without the rule that makes it a puzzle
		{"5000 0000 0000 0000", "[]"},
	} {
		expect.Equal(t, c.grid, fmt.Sprint(Lines(mustParse(c.grid))), c.want)
	}
}

// Any puzzle, and its image under a symmetry of the grid, needs the lines that brute force finds.
func TestLinesAreFewest(t *testing.T) {
	images := rapid.Custom(anySymmetry)
	var counts [1 + ThreeVector][4]int
	for i := range 20_000 {
		p, err := NewPuzzle(anyGrid().Example(i)) // the same ones each time
		if err != nil {
			continue
		}
		n := checkLines(t, p)
		if h := images.Example(i).apply(p.Cells); len(Lines(h)) != n {
			t.Fatalf("%v needs %d lines, its image %v %d", p.Cells, n, h, len(Lines(h)))
		}
		counts[p.Condition][n]++
	}
	if c := counts; min(c[OneVector][1], c[TwoVector][2], c[ThreeVector][2],
		c[ThreeVector][3]) < 50 {
		t.Errorf("puzzles by condition and lines: %v, too few to say anything", c)
	}
}
