package lst

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"torchpe/internal/expect"
)

// anyGrid draws part of a Latin square with a probe: of any number of givens, decided or not. It
// builds on its own squares, cyclic ones and those of the Klein group with lines and symbols
// permuted, which are all 576.
func anyGrid() *rapid.Generator[Grid] {
	return rapid.Custom(func(t *rapid.T) Grid {
		rows := rapid.Permutation([]int{0, 1, 2, 3}).Draw(t, "rows")
		cols := rapid.Permutation([]int{0, 1, 2, 3}).Draw(t, "cols")
		klein := rapid.Bool().Draw(t, "klein")
		shown := rapid.Uint16().Draw(t, "shown")
		probe := rapid.IntRange(0, Cells-1).Draw(t, "probe")
		names := rapid.Permutation([]uint8{1, 2, 3, 4}).Draw(t, "names")
		var g [Cells]uint8
		for i := range g {
			r, c := rows[i/Side], cols[i%Side]
			symbol := (r + c) % Side
			if klein {
				symbol = r ^ c
			}
			if shown>>i&1 == 1 {
				g[i] = names[symbol]
			}
		}
		g[probe] = Side + 1
		return gridOf(g[:])
	})
}

func mustParse(s string) Grid {
	return expect.Must(ParseGrid(strings.ReplaceAll(s, " ", "")))
}

func TestParseGridErrors(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"empty", "", `puzzle "": no puzzle has 0 tokens: a grid is square and has 9, 16, 25, ` +
			`36, 49, 64`},
		{"short", "500000000000000", `no puzzle has 15 tokens`},
		{"long", strings.Repeat("0", 1000), `0000"...: no puzzle has 1000 tokens`},
		{"not a digit", "50000000000000x0",
			`has 'x' at digit 15, want 0 (blank), 1-4 (symbol) or 5 (probe)`},
		{"digit out of range", "5000000000000006", `has '6' at digit 16`},
		{"no probe", "1000000000000000", `has 0 probes (digit 5), want exactly 1`},
		{"two probes", "5000000000000005", `has 2 probes (digit 5), want exactly 1`},
		{"twice in a row", "5000010100000000",
			`has symbol 1 twice in row 2: at row 2 column 2 and at row 2 column 4`},
		{"twice in a column", "5030000000300000",
			`has symbol 3 twice in column 3: at row 1 column 3 and at row 3 column 3`},
	} {
		t.Run(c.name, func(t *testing.T) {
			expect.Error(t, expect.ErrorOf(ParseGrid(c.in)), c.want)
		})
	}
}

func TestGridRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := anyGrid().Draw(t, "grid")
		back, err := ParseGrid(string(g))
		if err != nil || back != g {
			t.Fatalf("%v came back as %v, %v", g, back, err)
		}
		givens := 0
		for _, v := range g.Tokens() {
			if v >= 1 && v <= 4 {
				givens++
			}
		}
		if g.Givens() != givens {
			t.Fatalf("%v: Givens %d, want %d", g, g.Givens(), givens)
		}
		if f := g.features(); f.grid(Side) != g {
			t.Fatalf("%v came back from its bits as %v", g, f.grid(Side))
		}
	})
}

// What a caller builds by hand can hold anything.
func TestValidateForeignGrid(t *testing.T) {
	g := Grid("5000000900000000")
	expect.Error(t, g.Validate(), "has '9' at digit 8")
	for _, g := range []Grid{"", "0000000000000000", "11111", "\xff",
		Grid(strings.Repeat("\xff", 16)), Grid(strings.Repeat("9", 100))} {
		if g.Validate() == nil || g.Probe() != -1 {
			t.Errorf("%q is valid or has the probe %d", g, g.Probe())
		}
		Check([]Puzzle{{Cells: g}}, []Puzzle{{Cells: g}}) // must not panic
	}
}

func TestTokens(t *testing.T) {
	g := mustParse("1230 0000 4500 0000")
	want := []uint8{1, 2, 3, 0, 0, 0, 0, 0, 4, 5, 0, 0, 0, 0, 0, 0}
	if got := g.Tokens(); !slices.Equal(got, want) || g.Probe() != 9 || g.Side() != 4 {
		t.Errorf("%v, probe %d, side %d", got, g.Probe(), g.Side())
	}
}

func TestConditionNames(t *testing.T) {
	var got []string
	for _, c := range Conditions() {
		got = append(got, c.String()+" "+c.Label())
		expect.Equal(t, c.Label(), expect.Must(parseCondition(c.Label())), c)
	}
	expect.Equal(t, "conditions", got, []string{"1-vector Binary", "2-vector Ternary", "3-vector Quaternary"})
	expect.Error(t, expect.ErrorOf(parseCondition("binary")), `condition "binary": want Binary`)
	expect.Equal(t, "name", Condition(9).String(), "Condition(9)")
}

// scipy.spatial.distance.jaccard on boolean vectors, by its definition: unequal among those where
// either is true.
func TestDissimilarityMatchesDefinition(t *testing.T) {
	oneHot := func(g Grid) (v [Cells * 5]bool) {
		for i, c := range g.Tokens() {
			if c != 0 {
				v[5*i+int(c)-1] = true
			}
		}
		return v
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyGrid().Draw(t, "a"), anyGrid().Draw(t, "b")
		va, vb := oneHot(a), oneHot(b)
		unequal, either := 0, 0
		for k := range va {
			if va[k] || vb[k] {
				either++
				if va[k] != vb[k] {
					unequal++
				}
			}
		}
		want := float64(unequal) / float64(either)
		if got := dissimilarity(a, b); math.Abs(got-want) > 1e-15 {
			t.Fatalf("dissimilarity(%v, %v) = %v, want %v", a, b, got, want)
		}
		// The generator's integer form of "strictly above 0.8".
		f, h := a.features(), b.features()
		if got := f.isDissimilar(&h); got != (5*unequal > 4*either) {
			t.Fatalf("isDissimilar(%v, %v) = %v at dissimilarity %d/%d", a, b, got, unequal, either)
		}
	})
}

func TestSquares(t *testing.T) {
	all := squares()
	if len(all) != 576 || cap(all) != squareCount { // OEIS A002860(4)
		t.Fatalf("%d Latin squares, want 576", len(all))
	}
	reduced := 0
	for k, m := range all {
		if k > 0 && m == all[k-1] {
			t.Fatalf("square %d repeats", k)
		}
		v := m.given(Side)
		for _, line := range linesOf(Side) {
			if set := v.shows[line]; set != 0xF || m.size != Cells {
				t.Fatalf("square %d: %v has the set %04b", k, line, set)
			}
		}
		first := [2][Side]uint8{}
		for i := range Side {
			first[0][i], first[1][i] = m.at(i), m.at(Side*i)
		}
		if first == [2][Side]uint8{{1, 2, 3, 4}, {1, 2, 3, 4}} {
			reduced++
		}
	}
	expect.Equal(t, "reduced Latin squares", reduced, 4) // OEIS A000315(4)
	distinct := map[features]bool{}
	for _, m := range all {
		distinct[m] = true
	}
	expect.Equal(t, "distinct Latin squares", len(distinct), 576)
}

// solve returns the probe's symbol in every completion, by backtracking.
func solve(g Grid) (answers []uint8) {
	probe, cells := g.Probe(), [Cells]uint8(g.Tokens())
	var fill func(h [Cells]uint8, i int)
	fill = func(h [Cells]uint8, i int) {
		if i == Cells {
			answers = append(answers, h[probe])
			return
		}
		if cells[i] >= 1 && cells[i] <= 4 {
			fill(h, i+1)
			return
		}
	symbols:
		for s := uint8(1); s <= 4; s++ {
			for k := range Side {
				if h[i/Side*Side+k] == s || h[k*Side+i%Side] == s {
					continue symbols
				}
			}
			h[i] = s
			fill(h, i+1)
			h[i] = 0
		}
	}
	h := cells
	h[probe] = 0
	fill(h, 0)
	return answers
}

func TestCompletions(t *testing.T) {
	expect.Equal(t, "an empty grid", len(completions("")), 576)
	rapid.Check(t, func(t *rapid.T) {
		g := anyGrid().Draw(t, "grid")
		if got, want := len(completions(g)), len(solve(g)); got != want {
			t.Fatalf("%v: %d completions, want %d", g, got, want)
		}
	})
}
