package sized

import (
	"errors"
	"fmt"
	"math/bits"
	"strings"

	"torchpe/data/lst"
)

// ErrNoRule says that no rule forces the probe's symbol in one step. Test with [errors.Is].
var ErrNoRule = errors.New("no rule forces the probe's symbol in one step")

// Deduction is one rule that forces the probe's symbol in one step.
type Deduction struct {
	Condition lst.Condition `json:"condition"`
	Answer    uint8         `json:"answer"`  // 1 to side
	Lines     []string      `json:"vectors"` // the rows and columns that are looked at, the probe's own first
}

// String says which lines force which symbol.
func (d Deduction) String() string {
	return fmt.Sprintf("%v: %s force %d", d.Condition, strings.Join(d.Lines, ", "), d.Answer)
}

// Classify returns the condition and the answer (1 to side) that the rules of [Deduce] force: of all rules that apply the one of lowest
// relational complexity. It refuses a grid that is not a puzzle, one that no rule decides (ErrNoRule), and one where two rules disagree
// (lst.ErrConflict) or the answer stands in a line of the probe (lst.ErrUnsolvable). It does not ask further whether a Latin square completes
// the grid, as lst.Classify does.
func Classify(side int, cells []uint8) (lst.Condition, uint8, error) {
	ds, err := Deduce(side, cells)
	if err != nil {
		return 0, 0, err
	}
	return ds[0].Condition, ds[0].Answer, nil
}

// Deduce returns every rule that forces the answer, simplest first and at least one. They are lst's: (1-vector) the probe's row, or its
// column, shows side-1 symbols; (2-vector) the two together show side-1; (3-vector) a line of the probe has two or more other blanks, and
// a symbol that it does not show is in every line that crosses one of these, so that only the probe can hold it.
func Deduce(side int, cells []uint8) ([]Deduction, error) {
	if err := Validate(side, cells); err != nil {
		return nil, fmt.Errorf("lst: %w", err)
	}
	g := newGiven(side, cells)
	probe := probeOf(side, cells)
	row, column := probe/side, side+probe%side
	var ds []Deduction
	add := func(c lst.Condition, left uint16, lines ...int) {
		names := make([]string, len(lines))
		for i, line := range lines {
			names[i] = lineName(side, line)
		}
		for ; left != 0; left &= left - 1 {
			ds = append(ds, Deduction{c, uint8(bits.TrailingZeros16(left)) + 1, names})
		}
	}
	for _, line := range []int{row, column} {
		if set := g.shows[line]; bits.OnesCount16(set) == side-1 {
			add(lst.OneVector, g.all()&^set, line)
		}
	}
	if union := g.shows[row] | g.shows[column]; bits.OnesCount16(union) == side-1 {
		add(lst.TwoVector, g.all()&^union, row, column)
	}
	for _, line := range []int{row, column} {
		if left := g.crossLeft(line, probe); left != 0 {
			lines := []int{line}
			for k := range side {
				if i := lineCell(side, line, k); i != probe && !g.shown(i) {
					lines = append(lines, g.crossing(line, i))
				}
			}
			add(lst.ThreeVector, left, lines...)
		}
	}
	for _, d := range ds {
		if d.Answer != ds[0].Answer {
			return nil, fmt.Errorf("lst: puzzle %s: %w (%v; %v)", digits(cells), lst.ErrConflict, ds[0], d)
		}
	}
	switch {
	case ds == nil:
		return nil, fmt.Errorf("lst: puzzle %s: %w", digits(cells), ErrNoRule)
	case (g.shows[row]|g.shows[column])>>(ds[0].Answer-1)&1 == 1:
		return nil, fmt.Errorf("lst: puzzle %s: %w (%v, which stands in a line of the probe)", digits(cells), lst.ErrUnsolvable, ds[0])
	}
	return ds, nil
}

// given is what a grid shows.
type given struct {
	side  int
	cells uint64              // those that show a symbol
	shows [2 * MaxSide]uint16 // symbols of each line, bit symbol - 1; rows, then columns
}

func newGiven(side int, cells []uint8) given {
	g := given{side: side}
	for i, v := range cells {
		if v >= 1 && int(v) <= side {
			g.show(i, v)
		}
	}
	return g
}

// show puts a symbol into a cell.
func (g *given) show(i int, symbol uint8) {
	g.cells |= 1 << i
	g.shows[i/g.side] |= 1 << (symbol - 1)
	g.shows[g.side+i%g.side] |= 1 << (symbol - 1)
}

func (g *given) shown(i int) bool { return g.cells>>i&1 == 1 }

// all is the set of all symbols.
func (g *given) all() uint16 { return 1<<g.side - 1 }

// crossing returns the line that crosses the given one in cell i.
func (g *given) crossing(line, i int) int {
	if line < g.side {
		return g.side + i%g.side
	}
	return i / g.side
}

// crossLeft applies the 3-vector rule to one line of the probe: the symbols that it does not show and that every other blank of it is
// denied by the line crossing there; none where there are fewer than two such blanks.
func (g *given) crossLeft(line, probe int) uint16 {
	left, blanks := g.all()&^g.shows[line], 0
	for k := range g.side {
		if i := lineCell(g.side, line, k); i != probe && !g.shown(i) {
			left &= g.shows[g.crossing(line, i)]
			blanks++
		}
	}
	if blanks < 2 {
		return 0
	}
	return left
}

// simplest returns the condition of what is shown of a Latin square, 0 where no rule applies.
func (g *given) simplest(probe int) lst.Condition {
	row, column := probe/g.side, g.side+probe%g.side
	most := g.side - 1
	switch {
	case bits.OnesCount16(g.shows[row]) == most, bits.OnesCount16(g.shows[column]) == most:
		return lst.OneVector
	case bits.OnesCount16(g.shows[row]|g.shows[column]) == most:
		return lst.TwoVector
	case g.crossLeft(row, probe)|g.crossLeft(column, probe) != 0:
		return lst.ThreeVector
	}
	return 0
}
