package lst

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// Why [classify] refuses a puzzle. Test with [errors.Is].
var (
	// errNoAnswer: the givens leave several symbols possible at the probe.
	errNoAnswer = errors.New("the givens do not force the probe's symbol")
	// errMultiStep: the probe's symbol is forced, but only after another cell has been filled in.
	errMultiStep = errors.New("the probe's symbol follows only in several steps")
	// errNoRule: no rule applies. At side 4 it is told further: errNoAnswer, errMultiStep or
	// errUnsolvable.
	errNoRule = errors.New("no rule forces the probe's symbol in one step")
	// errConflict: two rules force different symbols, or a rule forces two.
	errConflict = errors.New("the rules force different symbols")
	// errUnsolvable: no Latin square contains the givens.
	errUnsolvable = errors.New("no Latin square completes the grid")
)

// Deduction is one rule that forces the probe's symbol in one step.
type Deduction struct {
	Condition Condition `json:"condition"`
	Answer    uint8     `json:"answer"`  // 1 to side
	Lines     []Line    `json:"vectors"` // those that are looked at, the probe's own first
}

// String says which lines force which symbol.
func (d Deduction) String() string {
	names := make([]string, len(d.Lines))
	for i, line := range d.Lines {
		names[i] = line.String()
	}
	return fmt.Sprintf("%v: %s force %d", d.Condition, strings.Join(names, ", "), d.Answer)
}

// classify returns the condition and the answer (1 to side) that the rules force: of all rules that
// apply, the one of lowest relational complexity (the rules of the published verify_LST.py, applied
// exhaustively). It refuses a grid that is not a puzzle, and one whose answer is open, needs
// several steps or is contradictory, with the Err values of this package.
func classify(g Grid) (Condition, uint8, error) {
	ds, err := Deduce(g)
	if err != nil {
		return 0, 0, err
	}
	return ds[0].Condition, ds[0].Answer, nil
}

// Deduce returns every rule that forces the answer, simplest first and at least one; it fails where
// [classify] fails.
//
// The rules are: (1-vector) the probe's row, or its column, shows side-1 symbols; (2-vector) the
// two together show side-1; (3-vector) a line of the probe has two or more other blanks, and a
// symbol that it does not show is in every line that crosses one of these, so that only the probe
// can hold it. A line with one other blank is not a rule of the published classifier: see [Lines].
//
// At side 4 it also tries all 576 Latin squares: a grid that none completes is errUnsolvable. At
// other sides that error means that the answer stands in a line of the probe.
func Deduce(g Grid) ([]Deduction, error) {
	if err := g.Validate(); err != nil {
		return nil, fmt.Errorf("lst: %w", err)
	}
	v, probe := newGiven(g), g.Probe()
	ds, err := v.applyRules(probe)
	if err == nil {
		if v.side == Side {
			err = checkSquares(g, ds)
		} else if len(ds) == 0 {
			err = errNoRule
		} else if v.nearProbe(probe)>>(ds[0].Answer-1)&1 == 1 {
			err = fmt.Errorf("%w (%v, which stands in a line of the probe)", errUnsolvable, ds[0])
		}
	}
	if err != nil {
		return nil, fmt.Errorf("lst: puzzle %s: %w", g, err)
	}
	return ds, nil
}

// checkSquares returns an error where no Latin square of side 4 completes the grid, or no rule
// applies; in that case it tells whether the squares agree on the probe's symbol.
func checkSquares(g Grid, ds []Deduction) error {
	m, shift := boardOf(g), Side*g.Probe()
	var possible uint64
	for _, square := range squares() {
		if square&m == m {
			possible |= square >> shift & 0xF
		}
	}
	switch n := bits.OnesCount64(possible); {
	case n == 0:
		return errUnsolvable
	case len(ds) > 0:
		return nil
	case n == 1:
		return errMultiStep
	}
	return errNoAnswer
}

// Lines returns the fewest rows and columns that force the answer of a puzzle of side 4, the
// probe's own first: 1 to 3 of them, nil where [classify] fails. At other sides a 3-vector puzzle
// may have fewer than it returns.
//
// Lines force an answer if it is at the probe in every filling of the grid that agrees with the
// symbols shown in these lines and has no symbol twice in one of them. An empty line of the probe
// and the three that cross it are given as these three: there is nothing to read in the first, and
// the published classifier calls such a puzzle 3-vector.
//
// Their number is that of the condition, but for one rule that the published classifier lacks: see
// [TwoLines].
func Lines(g Grid) []Line {
	ds, err := Deduce(g)
	if err != nil {
		return nil
	}
	v := newGiven(g)
	if two := v.twoLines(ds[0].Condition, g.Probe()); two != nil {
		return two
	}
	return slices.DeleteFunc(ds[0].Lines, func(l Line) bool { return v.shows[l] == 0 })
}

// TwoLines returns the two lines that decide a puzzle of the 3-vector condition: one of the probe
// that shows all symbols but two and has one other blank, and the line crossing there, which shows
// one of the two. It returns nil where there are none, for other conditions, and where [classify]
// fails. Of the 3,000 published training puzzles called 3-vector 594 have such lines, and none of
// the 36 for validation.
func TwoLines(g Grid) []Line {
	c, _, err := classify(g)
	if err != nil {
		return nil
	}
	v := newGiven(g)
	return v.twoLines(c, g.Probe())
}

// given holds the symbols that a grid shows.
type given struct {
	side  int
	cells uint64              // set of the cells that show a symbol
	shows [2 * MaxSide]uint16 // by line: the set of its symbols, bit symbol - 1
}

func newGiven(g Grid) given {
	v := given{side: g.Side()}
	for i, symbol := range g.Tokens() {
		if symbol >= 1 && int(symbol) <= v.side {
			v.show(i, symbol)
		}
	}
	return v
}

// show puts a symbol into a cell.
func (g *given) show(i int, symbol uint8) {
	g.cells |= 1 << i
	g.shows[rowOf(g.side, i)] |= 1 << (symbol - 1)
	g.shows[columnOf(g.side, i)] |= 1 << (symbol - 1)
}

// all returns the set of all symbols.
func (g *given) all() uint16 { return 1<<g.side - 1 }

// nearProbe returns the symbols in the two lines of the probe.
func (g *given) nearProbe(probe int) uint16 {
	return g.shows[rowOf(g.side, probe)] | g.shows[columnOf(g.side, probe)]
}

// applyRules returns all deductions, simplest first, or errConflict where they disagree.
func (g *given) applyRules(probe int) ([]Deduction, error) {
	var ds []Deduction
	// left is the set of symbols that a rule leaves at the probe.
	add := func(c Condition, left uint16, lines ...Line) {
		for ; left != 0; left &= left - 1 {
			ds = append(ds, Deduction{c, uint8(bits.TrailingZeros16(left)) + 1, lines})
		}
	}
	own := [2]Line{rowOf(g.side, probe), columnOf(g.side, probe)}
	for _, line := range own {
		if set := g.shows[line]; bits.OnesCount16(set) == g.side-1 {
			add(OneVector, g.all()&^set, line)
		}
	}
	if union := g.nearProbe(probe); bits.OnesCount16(union) == g.side-1 {
		add(TwoVector, g.all()&^union, own[:]...)
	}
	for _, line := range own {
		if left := g.crossLeft(line, probe); left != 0 {
			add(ThreeVector, left, append([]Line{line}, g.crossingBlanks(line, probe)...)...)
		}
	}
	for _, d := range ds {
		if d.Answer != ds[0].Answer {
			return nil, fmt.Errorf("%w (%v; %v)", errConflict, ds[0], d)
		}
	}
	return ds, nil
}

// crossLeft applies the 3-vector rule to one line of the probe: see denied. It returns no symbol
// where the line has fewer than two other blanks.
func (g *given) crossLeft(line Line, probe int) uint16 {
	left, blanks := g.denied(line, probe)
	if blanks < 2 {
		return 0
	}
	return left
}

// denied returns the symbols that a line of the probe does not show and that every other blank of
// it is denied by the line crossing there, and the number of these blanks.
func (g *given) denied(line Line, probe int) (left uint16, blanks int) {
	left = g.all() &^ g.shows[line]
	for k := range g.side {
		if i := lineCell(g.side, line, k); i != probe && g.cells>>i&1 == 0 {
			left &= g.shows[crossing(g.side, line, i)]
			blanks++
		}
	}
	return left, blanks
}

// crossingBlanks lists the lines that cross the other blanks of a line of the probe.
func (g *given) crossingBlanks(line Line, probe int) (lines []Line) {
	for k := range g.side {
		if i := lineCell(g.side, line, k); i != probe && g.cells>>i&1 == 0 {
			lines = append(lines, crossing(g.side, line, i))
		}
	}
	return lines
}

// twoLines returns the lines of [TwoLines] of a puzzle that has the condition.
func (g *given) twoLines(c Condition, probe int) []Line {
	if c != ThreeVector {
		return nil
	}
	for _, line := range [2]Line{rowOf(g.side, probe), columnOf(g.side, probe)} {
		if left, blanks := g.denied(line, probe); blanks == 1 && left != 0 {
			return append([]Line{line}, g.crossingBlanks(line, probe)...)
		}
	}
	return nil
}

// simplest returns the condition of a puzzle that is known to have a solution, 0 where no rule
// applies. It is the generators' fast path and agrees with Deduce.
func (g *given) simplest(probe int) Condition {
	row, column := rowOf(g.side, probe), columnOf(g.side, probe)
	most := g.side - 1
	switch {
	case bits.OnesCount16(g.shows[row]) == most, bits.OnesCount16(g.shows[column]) == most:
		return OneVector
	case bits.OnesCount16(g.shows[row]|g.shows[column]) == most:
		return TwoVector
	case g.crossLeft(row, probe)|g.crossLeft(column, probe) != 0:
		return ThreeVector
	}
	return 0
}
