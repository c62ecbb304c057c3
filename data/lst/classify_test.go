package lst

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"torchpe/internal/expect"
)

// Labels and answers of the study's own classifier, for every puzzle that it published.
func TestClassifyPublished(t *testing.T) {
	train, validation := published(t)
	all := append(train, validation...)
	expect.Equal(t, "published puzzles", len(all), 9108)
	for i, p := range all {
		if err := p.Verify(); err != nil {
			t.Errorf("puzzle %d: %v", i, err)
		}
	}
}

// Puzzles made by hand for one rule each.
func TestClassifyRules(t *testing.T) {
	for _, c := range []struct {
		name, grid string
		condition  Condition
		answer     uint8
		lines      string
	}{
		{"row", "1532 0000 0000 0000", OneVector, 4, "row 1"},
		{"column", "0001 0005 0004 0002", OneVector, 3, "column 4"},
		{"row before row and column", "1532 0000 0100 0000", OneVector, 4, "row 1"},
		{"row and column", "1520 0000 0300 0000", TwoVector, 4, "row 1, column 2"},
		{"row and column overlap", "1520 0000 0300 0200", TwoVector, 4, "row 1, column 2"},
		{"empty row, three columns", "5000 0100 0010 0001", ThreeVector, 1,
			"row 1, column 2, column 3, column 4"},
		{"row with one symbol, two columns", "5200 0010 0001 0000", ThreeVector, 1,
			"row 1, column 3, column 4"},
		{"column with one symbol, two rows", "5000 2000 0010 0001", ThreeVector, 1,
			"column 1, row 3, row 4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ds := expect.Must(Deduce(mustParse(c.grid)))
			d := ds[0]
			verb := " force "
			if !strings.Contains(c.lines, ",") {
				verb = " forces "
			}
			want := Deduction{Condition: c.condition, Answer: c.answer, Lines: d.Lines}.String()
			if d.String() != want || !strings.Contains(d.String(), ": "+c.lines+verb) {
				t.Errorf("%v, want %v by %s", d, want, c.lines)
			}
		})
	}
}

func TestClassifyRefuses(t *testing.T) {
	for _, c := range []struct {
		name, grid string
		want       error
	}{
		{"empty", "5000 0000 0000 0000", errNoAnswer},
		{"two left", "5120 0000 0000 0000", errNoAnswer},
		// Two symbols in the row and one blank, whose column has the third: not a rule of the
		// published classifier.
		{"two symbols and one blank", "5120 0000 0003 0000", errMultiStep},
		{"row and column disagree", "5123 1000 2000 4000", errConflict},
		{"rule and exclusion", "5123 4000 0000 0000", errUnsolvable},
		// Row 1 forces 4, which then has no place in row 2.
		{"no square, one rule", "5123 0012 0400 0000", errUnsolvable},
		{"no square, no rule", "5000 0123 4000 0000", errUnsolvable},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := mustParse(c.grid)
			_, _, err := classify(g)
			expect.ErrorIs(t, err, c.want, string(g))
		})
	}
	for _, g := range []Grid{"", "0000000000000000", "5500000000000000", "5110000000000000",
		"5700000000000000"} {
		if _, _, err := classify(g); err == nil {
			t.Errorf("Classify(%v) accepted a grid that is no puzzle", g)
		}
	}
}

// What the rules force is the probe's symbol in every completion; what they leave open is told
// apart rightly.
func TestClassifyIsSound(t *testing.T) {
	var classified [1 + ThreeVector]int
	for i := range 1000 {
		g := anyGrid().Example(i) // the same ones each time, of every condition
		answers := solve(g)
		slices.Sort(answers)
		answers = slices.Compact(answers)
		c, answer, err := classify(g)
		switch {
		case err == nil && !slices.Equal(answers, []uint8{answer}):
			t.Fatalf("%v: %v answer %d, but the completions have %v", g, c, answer, answers)
		case errors.Is(err, errNoAnswer) != (len(answers) > 1):
			t.Fatalf("%v: %v, but the completions have %v", g, err, answers)
		case errors.Is(err, errConflict), errors.Is(err, errUnsolvable):
			t.Fatalf("%v: %v, but it was cut from a Latin square", g, err)
		}
		classified[c]++
	}
	for c, n := range classified {
		if n == 0 {
			t.Errorf("no puzzle of condition %v was drawn", Condition(c))
		}
	}
}

// symmetry is one of the 1152 symmetries of the grid with a renaming of the symbols.
type symmetry struct {
	rows, cols []int
	transpose  bool
	names      []uint8
}

func anySymmetry(t *rapid.T) symmetry {
	return symmetry{
		rapid.Permutation([]int{0, 1, 2, 3}).Draw(t, "rows"),
		rapid.Permutation([]int{0, 1, 2, 3}).Draw(t, "cols"),
		rapid.Bool().Draw(t, "transpose"),
		rapid.Permutation([]uint8{1, 2, 3, 4}).Draw(t, "names"),
	}
}

func (s symmetry) apply(g Grid) Grid {
	var h [Cells]uint8
	for i, v := range g.Tokens() {
		r, c := s.rows[i/Side], s.cols[i%Side]
		if s.transpose {
			r, c = c, r
		}
		if v >= 1 && v <= 4 {
			v = s.names[v-1]
		}
		h[Side*r+c] = v
	}
	return gridOf(h[:])
}

func TestClassifyIsInvariant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, s := anyGrid().Draw(t, "grid"), anySymmetry(t)
		h := s.apply(g)
		cg, ag, errG := classify(g)
		ch, ah, errH := classify(h)
		if errG == nil {
			ag = s.names[ag-1]
		}
		if cg != ch || ag != ah || (errG == nil) != (errH == nil) ||
			errors.Is(errG, errMultiStep) != errors.Is(errH, errMultiStep) {
			t.Fatalf("%v is %v %d (%v), its image %v is %v %d (%v)", g, cg, ag, errG, h,
				ch, ah, errH)
		}
	})
}

func TestVerify(t *testing.T) {
	g := mustParse("1532 0000 0000 0000")
	if p, err := NewPuzzle(g); err != nil || p != (Puzzle{g, 4, OneVector}) || p.Verify() != nil {
		t.Errorf("NewPuzzle: %v, %v", p, err)
	}
	expect.ErrorIs(t, expect.ErrorOf(NewPuzzle("5000000000000000")), errNoAnswer)
	for _, c := range []struct {
		p    Puzzle
		want string
	}{
		{Puzzle{g, 3, OneVector}, "answer 3 claimed, but the rules force 4"},
		{Puzzle{g, 4, TwoVector}, `condition "Ternary" claimed, but it is "Binary"`},
		{Puzzle{"5000000000000000", 4, TwoVector}, errNoAnswer.Error()},
	} {
		expect.Error(t, c.p.Verify(), c.want)
	}
}

// Verify returns an error if [classify] fails or finds another answer or condition than claimed.
func (p Puzzle) Verify() error {
	c, answer, err := classify(p.Cells)
	switch {
	case err != nil:
		return err
	case answer != p.Answer:
		return p.wrongAnswer(answer)
	case c != p.Condition:
		return p.wrongCondition(c)
	}
	return nil
}
