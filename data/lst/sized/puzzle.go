package sized

import (
	"fmt"
	"strings"

	"torchpe/data/lst"
)

// The sides that there are puzzles of. Below 3 no rule needs two lines; above 8 a cell is no digit and a set of cells no 64 bits.
const (
	MinSide = 3
	MaxSide = 8
)

// Puzzle is a grid of Side x Side cells, row by row: 0 is a blank, 1 to Side a symbol, Side+1 the probe. Answer and Condition are claims
// of whoever made it; [Puzzle.Verify] tests them.
type Puzzle struct {
	Side      int
	Cells     []uint8 // [Side*Side]
	Answer    uint8   // the probe's symbol, 1 to Side
	Condition lst.Condition
}

// CheckSide returns an error for a side that there are no puzzles of.
func CheckSide(side int) error {
	if side < MinSide || side > MaxSide {
		return fmt.Errorf("puzzles have %d to %d cells a side, not %d", MinSide, MaxSide, side)
	}
	return nil
}

// SideOf returns the side of a grid of so many tokens, and an error where there is no puzzle of that size.
func SideOf(tokens int) (int, error) {
	var sizes []string
	for side := MinSide; side <= MaxSide; side++ {
		if side*side == tokens {
			return side, nil
		}
		sizes = append(sizes, fmt.Sprint(side*side))
	}
	return 0, fmt.Errorf("no puzzle has %d tokens: a grid is square and has %s", tokens, strings.Join(sizes, ", "))
}

// Parse reads the digits of a grid, row by row; their number gives the side.
func Parse(s string) (side int, cells []uint8, err error) {
	if side, err = SideOf(len(s)); err != nil {
		return 0, nil, fmt.Errorf("puzzle %q: %w", cut(s), err)
	}
	cells = make([]uint8, len(s))
	for i := range cells {
		if s[i] < '0' || s[i] > '1'+byte(side) {
			return 0, nil, fmt.Errorf("puzzle %q has %q at digit %d, want 0 (blank), 1-%d (symbol) or %d (probe)", cut(s), s[i], i+1, side, side+1)
		}
		cells[i] = s[i] - '0'
	}
	return side, cells, Validate(side, cells)
}

// String returns the digits that [Parse] reads.
func (p Puzzle) String() string { return digits(p.Cells) }

func digits(cells []uint8) string {
	b := make([]byte, len(cells))
	for i, v := range cells {
		b[i] = '0' + v
	}
	return string(b)
}

// Probe returns the index of the probe's cell, or -1 where there is none.
func (p Puzzle) Probe() int { return probeOf(p.Side, p.Cells) }

func probeOf(side int, cells []uint8) int {
	for i, v := range cells {
		if int(v) == side+1 {
			return i
		}
	}
	return -1
}

// Givens counts the cells that show a symbol.
func (p Puzzle) Givens() int {
	n := 0
	for _, v := range p.Cells {
		if v >= 1 && int(v) <= p.Side {
			n++
		}
	}
	return n
}

// Rows draws the grid as lines of text with "." for a blank and "?" for the probe.
func (p Puzzle) Rows() []string {
	rows := make([]string, p.Side)
	for r := range rows {
		cells := make([]string, p.Side)
		for c := range cells {
			switch v := p.Cells[r*p.Side+c]; {
			case v == 0:
				cells[c] = "."
			case int(v) > p.Side:
				cells[c] = "?"
			default:
				cells[c] = fmt.Sprint(v)
			}
		}
		rows[r] = strings.Join(cells, " ")
	}
	return rows
}

// Validate reports the first of: a wrong number of cells, a cell above side+1, no probe or several, a symbol twice in a row or column.
func Validate(side int, cells []uint8) error {
	if err := CheckSide(side); err != nil {
		return err
	}
	if len(cells) != side*side {
		return fmt.Errorf("a grid of side %d has %d cells, not %d", side, side*side, len(cells))
	}
	probes := 0
	for i, v := range cells {
		switch {
		case int(v) > side+1:
			return fmt.Errorf("puzzle has %d at %s, want 0 (blank), 1-%d (symbol) or %d (probe)", v, cellName(side, i), side, side+1)
		case int(v) == side+1:
			probes++
		}
	}
	if probes != 1 {
		return fmt.Errorf("puzzle %s has %d probes (digit %d), want exactly 1", digits(cells), probes, side+1)
	}
	for line := range 2 * side {
		seen := 0
		for k := range side {
			v := cells[lineCell(side, line, k)]
			if v == 0 || int(v) > side {
				continue
			}
			if seen>>v&1 == 1 {
				return fmt.Errorf("puzzle %s has symbol %d twice in %s", digits(cells), v, lineName(side, line))
			}
			seen |= 1 << v
		}
	}
	return nil
}

// Verify compares the claimed answer and condition with those that [Classify] finds.
func (p Puzzle) Verify() error {
	c, answer, err := Classify(p.Side, p.Cells)
	switch {
	case err != nil:
		return err
	case answer != p.Answer:
		return fmt.Errorf("lst: puzzle %s: answer %d claimed, but the rules force %d", p, p.Answer, answer)
	case c != p.Condition:
		return fmt.Errorf("lst: puzzle %s: condition %q claimed, but it is %q", p, p.Condition.Label(), c.Label())
	}
	return nil
}

// lineCell returns the k-th cell of a line: the rows come first, then the columns.
func lineCell(side, line, k int) int {
	if line < side {
		return side*line + k
	}
	return side*k + line - side
}

// lineName names a line for people, who count from 1.
func lineName(side, line int) string {
	if line < side {
		return fmt.Sprintf("row %d", line+1)
	}
	return fmt.Sprintf("column %d", line-side+1)
}

func cellName(side, i int) string { return fmt.Sprintf("row %d column %d", i/side+1, i%side+1) }

// cut shortens a value from a file to what an error can hold.
func cut(s string) string {
	if len(s) > MaxSide*MaxSide {
		return s[:MaxSide*MaxSide] + "..."
	}
	return s
}
