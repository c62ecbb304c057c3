// learn-2d: a learned absolute PE of row and column, in three forms.
//
//	sum     P(r,c) = R[r] + C[c]        (NaViT, Dehghani et al. 2023, section 2.1)
//	concat  P(r,c) = [C[c] | R[r]]      (DETR, Carion et al. 2020, learned variant)
//	full    P(r,c) = W[r columns + c]   (ViT, Dosovitskiy et al. 2021: one row for each cell)
//
// All start as N(0, sigma^2). ViT's full table has a row more, for a class token, which no task of
// this project has. DETR's has 50 rows and columns whatever the image; here there are those of the
// grid.

package pe

import (
	"fmt"

	"torchpe/torchpe"
)

var gridTable = Option{Name: "grid-table", Default: "sum", Check: oneOf("sum", "concat", "full"),
	Help: "tables of learn-2d: one for rows and one for columns, added or side by side; " +
		"or a row for each cell"}

func init() {
	Register(Scheme{
		Name: "learn-2d", Learned: true,
		Needs:   NeedsGrid,
		Options: []Option{placement, gridTable},
		New:     newLearned2D,
	})
}

type learned2D struct {
	atEmbed
	full, row, column *torchpe.Param // [E,T,rows columns,D], or [E,T,rows,D] and [E,T,columns,D]
	grid              window
	concat            bool // row and column have width D/2 and stand side by side
}

func newLearned2D(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	l := &learned2D{grid: windowOf(c.Positions)}
	width := c.DModel
	var err error
	switch c.Options.Text(gridTable.Name) {
	case "full":
		l.full, err = c.addLearned(ps, "pe.table", l.grid.rows*l.grid.columns, width)
		return l, err
	case "concat":
		if width%2 != 0 {
			return nil, fmt.Errorf("learn-2d: d_model %d is odd; "+
				"--grid-table concat gives row and column half of it each", width)
		}
		l.concat, width = true, width/2
	}
	if l.row, err = c.addLearned(ps, "pe.row", l.grid.rows, width); err != nil {
		return nil, err
	}
	l.column, err = c.addLearned(ps, "pe.column", l.grid.columns, width)
	return l, err
}

func (l *learned2D) Begin(s *torchpe.Scope, p Positions) Hooks {
	l.grid.check("learn-2d", p)
	row, column, cell := make([]int, p.Tokens()), make([]int, p.Tokens()), make([]int, p.Tokens())
	for i, at := range p.Cells {
		row[i], column[i], cell[i] = at[0], at[1], at[0]*l.grid.columns+at[1]
	}
	if l.full != nil {
		return &tableHooks{tables: rowsAt(s, l.full.In(s), 2, cell)}
	}
	ofRow, ofColumn := rowsAt(s, l.row.In(s), 2, row), rowsAt(s, l.column.In(s), 2, column)
	if l.concat {
		return &tableHooks{tables: torchpe.Cat(-1, ofColumn, ofRow)}
	}
	return &tableHooks{tables: ofRow.Add(ofColumn)}
}
