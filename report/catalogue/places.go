package catalogue

import (
	"slices"

	"torchpe/models/pe"
)

// shift moves the keys by one place relative to the queries, in the direction of by.
func shift(by int) func(*trial) error {
	return func(t *trial) error {
		n := t.at.Tokens()
		if t.queries != nil || t.at.Points != nil || t.at.Graph != nil {
			return errNoEffect
		}
		t.at = pe.Line(n + 1)
		first, second := indices(0, n), indices(1, n)
		if t.queries, t.keys = second, first; by < 0 {
			t.queries, t.keys = first, second
		}
		return nil
	}
}

func indices(from, n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = from + i
	}
	return all
}

// fromOne counts positions, or rows and columns, from 1.
func fromOne(t *trial) error {
	n := t.at.Tokens()
	switch {
	case t.queries != nil || t.at.Points != nil || t.at.Graph != nil || !slices.IsSorted(t.at.Index):
		return errNoEffect
	case t.at.Cells == nil:
		t.at, t.queries = pe.Line(n+1), indices(1, n)
	default:
		rows, columns := t.at.Extent()
		if rows*columns != n {
			return errNoEffect
		}
		t.at = pe.Grid(rows+1, columns+1)
		for i, cell := range t.at.Cells {
			if cell[0] > 0 && cell[1] > 0 {
				t.queries = append(t.queries, i)
			}
		}
	}
	t.keys = t.queries
	return nil
}

// swapCells exchanges rows and columns.
func swapCells(t *trial) error {
	return t.moveCells(func(_ int, cell [2]int) [2]int { return [2]int{cell[1], cell[0]} })
}

// moveCells moves each token from its cell to another.
func (t *trial) moveCells(to func(token int, cell [2]int) [2]int) error {
	if t.at.Cells == nil {
		return errNoEffect
	}
	t.at.Cells = slices.Clone(t.at.Cells)
	for i, cell := range t.at.Cells {
		t.at.Cells[i] = to(i, cell)
	}
	return nil
}

// reorder exchanges three coordinates.
func reorder(order []int) func(*trial) error {
	return func(t *trial) error {
		if t.at.Points == nil || len(t.at.Points[0]) != len(order) {
			return errNoEffect
		}
		t.at.Points = slices.Clone(t.at.Points)
		for i, point := range t.at.Points {
			t.at.Points[i] = []float64{point[order[0]], point[order[1]], point[order[2]]}
		}
		return nil
	}
}

// byColumns places the tokens on the grid column by column.
func byColumns(t *trial) error {
	rows, columns := t.at.Extent()
	if rows*columns != t.at.Tokens() {
		return errNoEffect
	}
	return t.moveCells(func(token int, _ [2]int) [2]int { return [2]int{token % rows, token / rows} })
}

// reversal names the effect of reverse on the outputs.
func (c Check) reversal() string {
	if slices.ContainsFunc(c.Given.Outputs, func(o Output) bool { return axes[o.Kind] == "HNN" }) {
		return "offset with the other sign (i and j swapped)"
	}
	return "tokens in the opposite order"
}

// reverse puts the tokens in the opposite order, so that all offsets have the other sign.
func reverse(t *trial) error {
	if t.at.Points != nil || t.at.Graph != nil {
		return errNoEffect
	}
	order := indices(0, t.at.Tokens())
	slices.Reverse(order)
	t.at = t.at.Permuted(order)
	t.reversed = true
	return nil
}
