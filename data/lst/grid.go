package lst

import (
	"fmt"
	"math/bits"
	"strings"

	"torchpe/data/array"
)

// Sizes of a grid.
const (
	Side  = 4           // rows, columns and symbols of the published puzzles
	Cells = Side * Side // cells of a published puzzle

	MinSide = 3 // smaller grids have no rule that needs two lines
	MaxSide = 8 // larger grids need more than one digit a cell and more than 64 cells
)

// CheckSide returns an error unless side is MinSide to MaxSide.
func CheckSide(side int) error {
	if side < MinSide || side > MaxSide {
		return fmt.Errorf("puzzles have %d to %d cells per side, not %d", MinSide, MaxSide, side)
	}
	return nil
}

// SideOf returns the side of a grid with the given number of tokens, or an error if no grid has it.
func SideOf(tokens int) (int, error) {
	var sizes []string
	for side := MinSide; side <= MaxSide; side++ {
		if side*side == tokens {
			return side, nil
		}
		sizes = append(sizes, fmt.Sprint(side*side))
	}
	return 0, fmt.Errorf("no puzzle has %d tokens: a grid is square and has %s",
		tokens, strings.Join(sizes, ", "))
}

// Grid holds the cells of a puzzle row by row, one digit each: 0 is a blank, 1 to side a symbol and
// side+1 the probe. The side is the square root of the number of digits.
type Grid string

// ParseGrid returns s as a grid, or the error of [Grid.Validate].
func ParseGrid(s string) (Grid, error) {
	if err := Grid(s).Validate(); err != nil {
		return "", err
	}
	return Grid(s), nil
}

// gridOf returns the grid of cell values, which are at most 9.
func gridOf(cells []uint8) Grid {
	b := make([]byte, len(cells))
	for i, v := range cells {
		b[i] = '0' + v
	}
	return Grid(b)
}

// Side returns the number of rows, or 0 if no grid has this number of digits.
func (g Grid) Side() int {
	for side := MinSide; side <= MaxSide; side++ {
		if side*side == len(g) {
			return side
		}
	}
	return 0
}

// Tokens returns the values of the cells: 0 for a blank, 1 to side for a symbol, side+1 for the probe.
func (g Grid) Tokens() []uint8 {
	cells := []uint8(g)
	for i := range cells {
		cells[i] -= '0'
	}
	return cells
}

// Validate returns an error for a number of cells that no grid has, a digit above side+1, no probe or
// several, and a symbol that a row or a column repeats.
func (g Grid) Validate() error {
	side, err := SideOf(len(g))
	if err != nil {
		return fmt.Errorf("puzzle %s: %w", array.Quote(string(g)), err)
	}
	for i := range len(g) {
		if g[i] < '0' || g[i] > '1'+byte(side) {
			return fmt.Errorf("puzzle %s has %q at digit %d, want 0 (blank), 1-%d (symbol) or %d "+
				"(probe)", array.Quote(string(g)), g[i], i+1, side, side+1)
		}
	}
	probe := fmt.Sprint(side + 1)
	if n := strings.Count(string(g), probe); n != 1 {
		return fmt.Errorf("puzzle %s has %d probes (digit %s), want exactly 1", g, n, probe)
	}
	for _, line := range linesOf(side) {
		var seen [MaxSide + 1]int // 1 + the cell of each symbol
		for k := range side {
			i := lineCell(side, line, k)
			v := int(g[i] - '0')
			if v == 0 || v > side {
				continue
			}
			if first := seen[v]; first > 0 {
				return fmt.Errorf("puzzle %s has symbol %d twice in %s: at %s and at %s",
					g, v, line, cellName(side, first-1), cellName(side, i))
			}
			seen[v] = i + 1
		}
	}
	return nil
}

// Probe returns the index of the probe's cell, or -1 if there is none.
func (g Grid) Probe() int {
	side := g.Side()
	if side == 0 {
		return -1
	}
	return strings.IndexByte(string(g), '1'+byte(side))
}

// Givens counts the cells that show a symbol.
func (g Grid) Givens() int { return bits.OnesCount64(newGiven(g).cells) }

// Line is a row or a column of a grid. 0 to 7 are the rows from the top, 8 to 15 the columns from the
// left.
type Line uint8

// String names the line, counted from 1: "row 1", "column 1".
func (l Line) String() string {
	if l < MaxSide {
		return fmt.Sprintf("row %d", l+1)
	}
	return fmt.Sprintf("column %d", l-MaxSide+1)
}

// rowOf and columnOf return the lines of cell i.
func rowOf(side, i int) Line    { return Line(i / side) }
func columnOf(side, i int) Line { return Line(MaxSide + i%side) }

// linesOf lists the rows, then the columns.
func linesOf(side int) []Line {
	lines := make([]Line, 0, 2*side)
	for i := range side {
		lines = append(lines, Line(i))
	}
	for i := range side {
		lines = append(lines, Line(MaxSide+i))
	}
	return lines
}

// lineCell returns the k-th cell of a line.
func lineCell(side int, line Line, k int) int {
	if line < MaxSide {
		return side*int(line) + k
	}
	return side*k + int(line) - MaxSide
}

// crossing returns the line that crosses the given line in cell i.
func crossing(side int, line Line, i int) Line {
	if line < MaxSide {
		return columnOf(side, i)
	}
	return rowOf(side, i)
}

// cellName names a cell by its row and column, counted from 1.
func cellName(side, i int) string { return fmt.Sprintf("row %d column %d", i/side+1, i%side+1) }
