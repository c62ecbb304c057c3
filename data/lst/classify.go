package lst

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// Errors of [classify]; test with [errors.Is].
var (
	// errNoAnswer: the givens leave several symbols possible at the probe.
	errNoAnswer = errors.New("the givens do not force the probe's symbol")
	// errMultiStep: the probe's symbol is forced, but another cell must be filled in first.
	errMultiStep = errors.New("the probe's symbol follows only in several steps")
	// errNoRule: no rule applies. At side 4 errNoAnswer, errMultiStep or errUnsolvable is returned
	// instead.
	errNoRule = errors.New("no rule forces the probe's symbol in one step")
	// errConflict: two rules force different symbols, or a rule forces two.
	errConflict = errors.New("the rules force different symbols")
	// errUnsolvable: no Latin square contains the givens.
	errUnsolvable = errors.New("no Latin square completes the grid")
)

// Deduction is one rule that forces the probe's symbol in one step.
type Deduction struct {
	Condition Condition
	Answer    uint8  // 1 to side
	Lines     []Line // the lines that the rule reads, the probe's own first
}

// String names the condition, the lines and the symbol that they force.
func (d Deduction) String() string {
	names := make([]string, len(d.Lines))
	for i, line := range d.Lines {
		names[i] = line.String()
	}
	verb := "force"
	if len(names) == 1 {
		verb = "forces"
	}
	return fmt.Sprintf("%v: %s %s %d", d.Condition, strings.Join(names, ", "), verb, d.Answer)
}

// classify returns the condition and the answer (1 to side) of the applicable rule of lowest relational
// complexity. The rules are those of the published verify_LST.py, applied exhaustively. It returns an
// error for a grid that is not a puzzle, and one of the errors above where the answer is open, needs
// several steps or is contradictory.
func classify(g Grid) (Condition, uint8, error) {
	ds, err := Deduce(g)
	if err != nil {
		return 0, 0, err
	}
	return ds[0].Condition, ds[0].Answer, nil
}

// Deduce returns every rule that forces the answer, simplest first. It returns an error where no rule
// applies: see [classify].
//
// The rules are:
//   - 1-vector: the probe's row, or its column, shows side-1 symbols.
//   - 2-vector: the probe's row and column together show side-1 symbols.
//   - 3-vector: a line of the probe has two or more other blanks, and every line that crosses one of
//     these blanks shows a symbol that the line lacks. Only the probe can then hold that symbol. The
//     published classifier has no such rule for a line with one other blank: see [Lines].
//
// At side 4 it also tries all 576 Latin squares and returns errUnsolvable where none completes the
// grid. At other sides errUnsolvable means that a line of the probe already shows the answer.
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
			err = fmt.Errorf("%w (%v, which a line of the probe already shows)", errUnsolvable, ds[0])
		}
	}
	if err != nil {
		return nil, fmt.Errorf("lst: puzzle %s: %w", g, err)
	}
	return ds, nil
}

// checkSquares returns errUnsolvable if no Latin square of side 4 completes the grid. If no rule
// applies, it returns errMultiStep where all squares agree on the probe's symbol, else errNoAnswer.
func checkSquares(g Grid, ds []Deduction) error {
	possible := map[uint8]bool{}
	for _, square := range completions(g) {
		possible[square.at(g.Probe())] = true
	}
	switch n := len(possible); {
	case n == 0:
		return errUnsolvable
	case len(ds) > 0:
		return nil
	case n == 1:
		return errMultiStep
	}
	return errNoAnswer
}

// Lines returns the smallest set of rows and columns that force the answer of a puzzle of side 4, 1 to
// 3 of them, the probe's own first. It returns nil where [classify] fails. At other sides the set of a
// 3-vector puzzle may not be the smallest.
//
// Lines force an answer if the probe has it in every filling of the grid that agrees with the symbols
// shown in these lines and repeats no symbol in one of them. An empty line of the probe is left out,
// because only the three lines that cross it show symbols. The published classifier calls such a
// puzzle 3-vector.
//
// The number of lines is that of the condition, except for a rule that the published classifier
// lacks: two lines decide 594 of the 3,000 published 3-vector training puzzles, and none of the 36
// validation puzzles.
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

// given holds the symbols that a grid shows.
type given struct {
	side  int
	cells uint64              // bit set of the cells that show a symbol
	shows [2 * MaxSide]uint16 // symbols of each line, bit symbol - 1
}

func newGiven(g Grid) given {
	f := g.features()
	return f.given(g.Side())
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
	// add records a rule that leaves the symbols in the bit set left for the probe.
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
		if left, crossed := g.onlyAtProbe(line, probe); len(crossed) >= 2 {
			add(ThreeVector, left, append([]Line{line}, crossed...)...)
		}
	}
	for _, d := range ds {
		if d.Answer != ds[0].Answer {
			return nil, fmt.Errorf("%w (%v; %v)", errConflict, ds[0], d)
		}
	}
	return ds, nil
}

// onlyAtProbe returns the symbols that a line of the probe lacks and that the lines that cross its
// other blanks all show, and these lines.
func (g *given) onlyAtProbe(line Line, probe int) (left uint16, crossed []Line) {
	left = g.all() &^ g.shows[line]
	for k := range g.side {
		if i := lineCell(g.side, line, k); i != probe && g.cells>>i&1 == 0 {
			other := crossing(g.side, line, i)
			left &= g.shows[other]
			crossed = append(crossed, other)
		}
	}
	return left, crossed
}

// twoLines returns the two lines that decide a puzzle of the 3-vector condition, or nil. The first is
// a line of the probe that lacks two symbols and has one other blank. The second crosses it at that
// blank and shows one of the two symbols. Of other conditions it returns nil.
func (g *given) twoLines(c Condition, probe int) []Line {
	if c != ThreeVector {
		return nil
	}
	for _, line := range [2]Line{rowOf(g.side, probe), columnOf(g.side, probe)} {
		if left, crossed := g.onlyAtProbe(line, probe); len(crossed) == 1 && left != 0 {
			return append([]Line{line}, crossed...)
		}
	}
	return nil
}
