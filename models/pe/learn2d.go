// learn-2d: a learned absolute PE of row and column, in three forms.
//
//	sum     P(r,c) = R[r] + C[c]        (NaViT, Dehghani et al. 2023, section 2.1; factorised, (rows + columns) D parameters)
//	concat  P(r,c) = [C[c] | R[r]]      (DETR, Carion et al. 2020, learned variant: the column's half comes first)
//	full    P(r,c) = W[r columns + c]   (ViT, Dosovitskiy et al. 2021: one row for each cell)
//
// All start as N(0, sigma^2). ViT's full table has a row more, for a class token, which no task of this project has.
// DETR's has 50 rows and columns whatever the image; here there are those of the grid.

package pe

import (
	"fmt"

	"torchpe/torchpe"
)

var gridTable = Option{Name: "grid-table", Default: "sum", Check: oneOf("sum", "concat", "full"),
	Help: "tables of learn-2d: one for rows and one for columns, added or side by side; or a row for each cell"}

func init() {
	Register(Scheme{
		Name: "learn-2d", Learned: true,
		Summary: "learned absolute PE of row and column, factorised or full",
		Title:   "Patch n' Pack: NaViT, a Vision Transformer for any Aspect Ratio and Resolution", Year: 2023,
		Reference: "Dehghani et al. 2023, arXiv 2307.06304; Carion et al. 2020, arXiv 2005.12872; Dosovitskiy et al. 2021, arXiv 2010.11929",
		Formula: "sum: P(r,c) = R[r] + C[c];  concat: P(r,c) = [C[c] | R[r]];  full: P(r,c) = W[r columns + c];  x <- x + P\n" +
			"all start as N(0, sigma^2)",
		Parameters: "(rows + columns) D (sum), (rows + columns) D/2 (concat), rows columns D (full); L times with a table each block",
		Criteria:   Criteria{DataDriven: true, ParameterEfficient: true, Parallelizable: true},
		Needs:      NeedsGrid,
		Options:    []Option{placement, gridTable},
		New:        newLearned2D,
	})
}

type learned2D struct {
	None
	full, row, column *torchpe.Param // [E,T,rows columns,D], or [E,T,rows,D] and [E,T,columns,D]; D/2 side by side
	rows, columns     int
	each, concat      bool
}

func newLearned2D(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	return learned2DFrom(c, ps, func(rows, width int) (torchpe.Init, error) { return c.start("learn-2d", rows, width, false) })
}

// learned2DFrom is newLearned2D with tables of rows x width that start as start says.
func learned2DFrom(c Config, ps *torchpe.ParamSet, start func(rows, width int) (torchpe.Init, error)) (Encoding, error) {
	rows, columns := c.Positions.extent()
	l := &learned2D{rows: rows, columns: columns, each: tablesFor(c) > 1}
	width := c.DModel
	switch c.Options.Text(gridTable.Name) {
	case "full":
		init, err := start(rows*columns, width)
		if err != nil {
			return nil, err
		}
		l.full = ps.Add("pe.table", true, init, tablesFor(c), rows*columns, width)
		return l, nil
	case "concat":
		if width%2 != 0 {
			return nil, fmt.Errorf("learn-2d: d_model %d is odd; --grid-table concat gives row and column half of it each", width)
		}
		l.concat, width = true, width/2
	}
	ofRow, err := start(rows, width)
	if err != nil {
		return nil, err
	}
	ofColumn, err := start(columns, width)
	if err != nil {
		return nil, err
	}
	l.row = ps.Add("pe.row", true, ofRow, tablesFor(c), rows, width)
	l.column = ps.Add("pe.column", true, ofColumn, tablesFor(c), columns, width)
	return l, nil
}

func (l *learned2D) Sites() Site { return AtEmbed }

func (l *learned2D) Begin(s *torchpe.Scope, p Positions) Hooks {
	if len(p.Cells) != p.Tokens() {
		panic(&torchpe.Error{Op: "learn-2d", Msg: fmt.Sprintf("%d grid cells for %d tokens", len(p.Cells), p.Tokens())})
	}
	row, column, cell := make([]int, p.Tokens()), make([]int, p.Tokens()), make([]int, p.Tokens())
	for i, at := range p.Cells {
		if at[0] >= l.rows || at[1] >= l.columns {
			panic(&torchpe.Error{Op: "learn-2d", Msg: fmt.Sprintf("token %d is in cell %v; the encoding was built for %d x %d", i, at, l.rows, l.columns)})
		}
		row[i], column[i], cell[i] = at[0], at[1], at[0]*l.columns+at[1]
	}
	h := &tableHooks{each: l.each}
	if l.full != nil {
		h.tables = rowsAt(s, l.full.In(s), 2, cell)
		return h
	}
	ofRow, ofColumn := rowsAt(s, l.row.In(s), 2, row), rowsAt(s, l.column.In(s), 2, column)
	if l.concat {
		h.tables = torchpe.Cat(-1, ofColumn, ofRow)
	} else {
		h.tables = ofRow.Add(ofColumn)
	}
	return h
}
