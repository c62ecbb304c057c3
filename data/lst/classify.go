package lst

import (
	"errors"
	"fmt"
	"math/bits"
	"strings"
)

// Why [Classify] refuses a puzzle. Test with [errors.Is].
var (
	// ErrNoAnswer: the givens leave several symbols possible at the probe.
	ErrNoAnswer = errors.New("the givens do not force the probe's symbol")
	// ErrMultiStep: the probe's symbol is forced, but only after another cell has been filled in.
	ErrMultiStep = errors.New("the probe's symbol follows only in several steps")
	// ErrConflict: two rules force different symbols, or a rule forces two.
	ErrConflict = errors.New("the rules force different symbols")
	// ErrUnsolvable: no Latin square contains the givens.
	ErrUnsolvable = errors.New("no Latin square completes the grid")
)

// Vector is a line of the grid: 0-3 are the rows from the top, 4-7 the columns from the left.
type Vector uint8

// String names the line for people: "row 1" to "row 4", "column 1" to "column 4".
func (v Vector) String() string {
	if v < Side {
		return fmt.Sprintf("row %d", v+1)
	}
	return fmt.Sprintf("column %d", v-Side+1)
}

// MarshalText writes the name.
func (v Vector) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// Deduction is one rule that forces the probe's symbol in one step.
type Deduction struct {
	Condition Condition `json:"condition"`
	Answer    uint8     `json:"answer"`  // 1-4
	Vectors   []Vector  `json:"vectors"` // the lines that are looked at, the probe's own first
}

// String says which lines force which symbol.
func (d Deduction) String() string {
	names := make([]string, len(d.Vectors))
	for i, v := range d.Vectors {
		names[i] = v.String()
	}
	return fmt.Sprintf("%v: %s force %d", d.Condition, strings.Join(names, ", "), d.Answer)
}

// Classify returns the condition and the answer (1-4) that the rules force: of all rules that apply, the one of lowest
// relational complexity (the rules of the published verify_LST.py, applied exhaustively). It refuses a grid that is not
// a puzzle, and one whose answer is open, needs several steps or is contradictory, with the Err values of this package.
func Classify(g Grid) (Condition, uint8, error) {
	ds, err := Deduce(g)
	if err != nil {
		return 0, 0, err
	}
	return ds[0].Condition, ds[0].Answer, nil
}

// Deduce returns every rule that forces the answer, simplest first and at least one; it fails where [Classify] fails.
//
// The rules are: (1-vector) the probe's row, or its column, shows three symbols; (2-vector) the two together show three;
// (3-vector) a line of the probe shows no or one symbol, and one further symbol is in every line that crosses one of the
// line's other blanks, so that only the probe can hold it. A line with two symbols and one other blank is not a rule of
// the published classifier.
func Deduce(g Grid) ([]Deduction, error) {
	if err := g.Validate(); err != nil {
		return nil, fmt.Errorf("lst: %w", err)
	}
	m, probe := g.symbols(), g.Probe()
	ds, err := applyRules(m, probe)
	switch {
	case err != nil:
	case len(ds) == 0:
		err = whyNoRule(m, probe)
	case completions(m) == 0:
		err = ErrUnsolvable
	}
	if err != nil {
		return nil, fmt.Errorf("lst: puzzle %s: %w", g, err)
	}
	return ds, nil
}

// applyRules returns all deductions from the givens m, simplest first, or ErrConflict where they disagree.
func applyRules(m uint64, probe int) ([]Deduction, error) {
	var ds []Deduction
	row, col := Vector(probe/Side), Vector(Side+probe%Side)
	// left is the set of symbols that a rule leaves at the probe.
	add := func(c Condition, left uint8, vectors ...Vector) {
		for ; left != 0; left &= left - 1 {
			ds = append(ds, Deduction{c, uint8(bits.TrailingZeros8(left)) + 1, vectors})
		}
	}
	for _, v := range []Vector{row, col} {
		if set := lineSet(m, v); bits.OnesCount8(set) == Side-1 {
			add(OneVector, ^set&0xF, v)
		}
	}
	if union := lineSet(m, row) | lineSet(m, col); bits.OnesCount8(union) == Side-1 {
		add(TwoVector, ^union&0xF, row, col)
	}
	for _, v := range []Vector{row, col} {
		if left := crossLeft(m, v, probe); left != 0 {
			add(ThreeVector, left, append([]Vector{v}, crossingBlanks(m, v, probe)...)...)
		}
	}
	for _, d := range ds {
		if d.Answer != ds[0].Answer {
			return nil, fmt.Errorf("%w (%v; %v)", ErrConflict, ds[0], d)
		}
	}
	return ds, nil
}

// crossLeft applies the 3-vector rule to one line of the probe: the symbols, as bits 0-3, that every other blank of the
// line is denied by the line crossing there.
func crossLeft(m uint64, line Vector, probe int) uint8 {
	set := lineSet(m, line)
	if set&(set-1) != 0 {
		return 0 // two symbols or more
	}
	left := ^set & 0xF
	for k := range Side {
		if i := lineCell(int(line), k); i != probe && m>>(Side*i)&0xF == 0 {
			left &= lineSet(m, crossing(line, i))
		}
	}
	return left
}

// crossingBlanks lists the lines that cross the other blanks of a line of the probe.
func crossingBlanks(m uint64, line Vector, probe int) []Vector {
	var vs []Vector
	for k := range Side {
		if i := lineCell(int(line), k); i != probe && m>>(Side*i)&0xF == 0 {
			vs = append(vs, crossing(line, i))
		}
	}
	return vs
}

// crossing returns the line that crosses the given line in cell i.
func crossing(line Vector, i int) Vector {
	if line < Side {
		return Vector(Side + i%Side)
	}
	return Vector(i / Side)
}

// simplest returns the condition of a puzzle that is known to have a solution, 0 where no rule applies. It is the
// generator's fast path and agrees with Deduce.
func simplest(m uint64, probe int) Condition {
	row, col := Vector(probe/Side), Vector(Side+probe%Side)
	rowSet, colSet := lineSet(m, row), lineSet(m, col)
	switch {
	case bits.OnesCount8(rowSet) == Side-1, bits.OnesCount8(colSet) == Side-1:
		return OneVector
	case bits.OnesCount8(rowSet|colSet) == Side-1:
		return TwoVector
	case crossLeft(m, row, probe)|crossLeft(m, col, probe) != 0:
		return ThreeVector
	}
	return 0
}

// lineSet returns the symbols of a line as bits 0-3.
func lineSet(m uint64, v Vector) uint8 {
	if v < Side {
		m >>= 16 * v
		m |= m >> 8
		m |= m >> 4
		return uint8(m & 0xF)
	}
	m >>= Side * (v - Side)
	m |= m >> 32
	m |= m >> 16
	return uint8(m & 0xF)
}

// whyNoRule tells the three ways apart in which no rule applies.
func whyNoRule(m uint64, probe int) error {
	var possible uint64
	for _, square := range squares() {
		if square&m == m {
			possible |= square >> (Side * probe) & 0xF
		}
	}
	switch bits.OnesCount64(possible) {
	case 0:
		return ErrUnsolvable
	case 1:
		return ErrMultiStep
	}
	return ErrNoAnswer
}
