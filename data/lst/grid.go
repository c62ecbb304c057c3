package lst

import (
	"fmt"
	"math/bits"
	"strings"
)

// Values of a cell. A symbol is 1 to Side.
const (
	Side  = 4           // rows, columns and symbols
	Cells = Side * Side // cells of a grid, row by row
	Blank = 0           // an empty cell
	Probe = 5           // the cell that is asked for
)

// Grid is a puzzle's 16 cells, row by row: [Blank], a symbol 1-4, or [Probe]. The zero value is an empty grid.
type Grid [Cells]uint8

// ParseGrid reads 16 digits, row by row, and returns an error that names the digit or the cells at fault.
func ParseGrid(s string) (Grid, error) {
	var g Grid
	if len(s) != Cells {
		return g, fmt.Errorf("puzzle %s has %d characters, want %d digits 0-5", quote(s), len(s), Cells)
	}
	for i := range g {
		if s[i] < '0' || s[i] > '5' {
			return Grid{}, fmt.Errorf("puzzle %s has %q at digit %d, want 0 (blank), 1-4 (symbol) or 5 (probe)",
				quote(s), s[i], i+1)
		}
		g[i] = s[i] - '0'
	}
	if err := g.Validate(); err != nil {
		return Grid{}, err
	}
	return g, nil
}

// String returns the 16 digits that [ParseGrid] reads.
func (g Grid) String() string {
	var b [Cells]byte
	for i, v := range g {
		b[i] = '?'
		if v <= Probe {
			b[i] = '0' + v
		}
	}
	return string(b[:])
}

// Validate reports the first of: a cell above 5, no probe or several, a symbol twice in a row, twice in a column.
func (g Grid) Validate() error {
	probes := 0
	for i, v := range g {
		if v > Probe {
			return fmt.Errorf("puzzle has %d at %s, want 0 (blank), 1-4 (symbol) or 5 (probe)", v, cellName(i))
		}
		if v == Probe {
			probes++
		}
	}
	if probes != 1 {
		return fmt.Errorf("puzzle %s has %d probes (digit 5), want exactly 1", g, probes)
	}
	for line := range 2 * Side {
		var seen [Side + 1]int // 1 + the cell that has the symbol
		for k := range Side {
			i := lineCell(line, k)
			v := g[i]
			if v == Blank || v == Probe {
				continue
			}
			if first := seen[v]; first > 0 {
				return fmt.Errorf("puzzle %s has symbol %d twice in %s: at %s and at %s",
					g, v, Vector(line), cellName(first-1), cellName(i))
			}
			seen[v] = i + 1
		}
	}
	return nil
}

// Probe returns the index 0-15 of the probe, or -1 where there is none.
func (g Grid) Probe() int {
	for i, v := range g {
		if v == Probe {
			return i
		}
	}
	return -1
}

// Givens counts the cells that show a symbol.
func (g Grid) Givens() int { return bits.OnesCount64(g.symbols()) }

// Rows draws the grid as four lines of text with "." for a blank and "?" for the probe.
func (g Grid) Rows() [Side]string {
	var rows [Side]string
	for r := range rows {
		var cells [Side]string
		for c := range cells {
			cells[c] = string(".1234?"[min(g[Side*r+c], Probe)])
		}
		rows[r] = strings.Join(cells[:], " ")
	}
	return rows
}

// symbols returns the given symbols as a one-hot set: bit 4*cell + symbol - 1. Rows are 16-bit lanes, cells are nibbles.
func (g Grid) symbols() uint64 {
	var m uint64
	for i, v := range g {
		if v >= 1 && v <= Side {
			m |= 1 << (Side*i + int(v) - 1)
		}
	}
	return m
}

// gridOf is the inverse of symbols, with the probe added.
func gridOf(symbols uint64, probe int) Grid {
	var g Grid
	for i := range g {
		if nibble := symbols >> (Side * i) & 0xF; nibble != 0 {
			g[i] = uint8(bits.TrailingZeros64(nibble)) + 1
		}
	}
	g[probe] = Probe
	return g
}

// lineCell returns the k-th cell of a line: lines 0-3 are rows, 4-7 columns.
func lineCell(line, k int) int {
	if line < Side {
		return Side*line + k
	}
	return Side*k + line - Side
}

// cellName names a cell for people, who count from 1.
func cellName(i int) string { return fmt.Sprintf("row %d column %d", i/Side+1, i%Side+1) }

// quote quotes a value from a file for an error, cut to what a line can hold.
func quote(s string) string {
	const most = 40
	if len(s) > most {
		return fmt.Sprintf("%q...", s[:most])
	}
	return fmt.Sprintf("%q", s)
}
