// abacus: a learned PE of a digit's place within its number (McLeish et al. 2024, "Transformers can
// do arithmetic with the right embeddings", section 3.1).
//
//	x <- x + E[k],  k = 1, 2, ... within a run of digits, 0 for what is no digit
//
// It is made for tokens that spell numbers, as those of task sequence, language addition, do. k comes
// from the positions: points of one dimension are k itself; on a grid k is the place in the row, so
// that the tokens of a column are alike; on a line it is the place. The paper adds a random offset to k in
// training, so that rows beyond the longest run are trained; here there is none. E starts as
// N(0, sigma^2).

package pe

import (
	"fmt"

	"torchpe/torchpe"
)

var abacusRows = Option{Name: "abacus-rows", Default: "101", Check: whole(2, 1<<20),
	Help: "rows of the table of abacus: one more than the digits of the longest number"}

func init() {
	Register(Scheme{
		Name: "abacus", Learned: true,
		Summary: "learned PE of a digit's place in its number, or of a token's place in its row",
		Title:   "Transformers Can Do Arithmetic with the Right Embeddings", Year: 2024,
		Reference: "McLeish et al. 2024, arXiv 2405.17399",
		Formula: "x <- x + E[k],  k = 1, 2, ... within a run of digits, 0 for what is no " +
			"digit;  where tokens spell no numbers a run is a row of the grid, or the line",
		Parameters: "R D for R rows of --abacus-rows, L times with a table each block",
		Criteria: Criteria{Inductive: true, DataDriven: true, ParameterEfficient: true,
			Parallelizable: true},
		Extrapolates: Always,
		Options:      []Option{placement, abacusRows},
		New:          newAbacus,
	})
}

type abacus struct {
	atEmbed
	table *torchpe.Param // [E,T,R,D]
}

func newAbacus(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	rows := c.Options.Int(abacusRows.Name)
	if _, err := runPlaces(c.Positions, rows); err != nil {
		return nil, fmt.Errorf("abacus: %w", err)
	}
	table, err := c.addLearned(ps, "pe.table", rows, c.DModel)
	return &abacus{table: table}, err
}

// runPlaces returns each token's place in its run, which must be a row of the table.
func runPlaces(p Positions, rows int) ([]int, error) {
	if p.Points != nil && len(p.Points[0]) != 1 {
		return nil, fmt.Errorf("%d coordinates a token: it takes one, the place in the run "+
			"of digits", len(p.Points[0]))
	}
	places := make([]int, p.Tokens())
	for i, at := range p.Index {
		k := float64(at + 1)
		switch {
		case p.Points != nil:
			k = p.Points[i][0]
		case p.Cells != nil:
			k = float64(p.Cells[i][1] + 1)
		}
		if places[i] = int(k); float64(places[i]) != k || k < 0 || places[i] >= rows {
			return nil, fmt.Errorf("token %d has place %g in its run: places are whole numbers "+
				"from 0 to %d (--abacus-rows %d)", i, k, rows-1, rows)
		}
	}
	return places, nil
}

func (a *abacus) Begin(s *torchpe.Scope, p Positions) Hooks {
	places, err := runPlaces(p, a.table.Shape[2])
	if err != nil {
		panic(&torchpe.Error{Op: "abacus", Msg: err.Error()})
	}
	return &tableHooks{tables: rowsAt(s, a.table.In(s), 2, places)}
}
