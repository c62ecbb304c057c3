// abacus: a learned PE of a digit's place within its number (McLeish et al. 2024, "Transformers can
// do arithmetic with the right embeddings", section 3.1).
//
//	x <- x + E[k],  k = 1, 2, ... within a run of digits, 0 for what is no digit
//
// It is made for tokens that spell numbers, as those of task sequence, language addition, do. k comes
// from the positions: points of one dimension are k itself; on a grid k is the place in the row, so
// that the tokens of a column are alike; on a line it is the place. In training an offset, the same for
// all runs of a batch, is added to k from 1 on, so that rows beyond the longest run are trained:
// uniform on 0..--abacus-offset, drawn for each member and step. The authors' code draws it from 0..99;
// the default is none. E starts as N(0, sigma^2).

package pe

import (
	"fmt"

	"torchpe/torchpe"
)

var abacusRows = Option{Name: "abacus-rows", Default: "101", Check: whole(2, 1<<20),
	Help: "rows of the table of abacus: one more than the digits of the longest number and --abacus-offset"}

var abacusOffset = Option{Name: "abacus-offset", Default: "0", Check: whole(0, 1<<20),
	Help: "largest offset of the places of abacus in training, drawn for each step, so that numbers " +
		"longer than those of training have trained rows; 99 are the published"}

func init() {
	Register(Scheme{
		Name: "abacus", Learned: true,
		Extrapolates: Always,
		Options:      []Option{placement, abacusRows, abacusOffset},
		New:          newAbacus,
	})
}

type abacus struct {
	atEmbed
	table  *torchpe.Param // [E,T,R,D]
	offset int            // the largest in training
}

func newAbacus(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	a, rows := &abacus{offset: c.Options.Int(abacusOffset.Name)}, c.Options.Int(abacusRows.Name)
	if _, err := a.runPlaces(c.Positions, rows); err != nil {
		return nil, fmt.Errorf("abacus: %w", err)
	}
	var err error
	a.table, err = c.addLearned(ps, "pe.table", rows, c.DModel)
	return a, err
}

// runPlaces returns each token's place in its run, which must be a row of the table with any offset.
func (a *abacus) runPlaces(p Positions, rows int) ([]int, error) {
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
		if places[i] = int(k); float64(places[i]) != k || k < 0 || places[i] >= rows-a.offset {
			return nil, fmt.Errorf("token %d has place %g in its run: places are whole numbers "+
				"from 0 to %d (--abacus-rows %d, --abacus-offset %d)", i, k, rows-a.offset-1, rows, a.offset)
		}
	}
	return places, nil
}

func (a *abacus) Begin(s *torchpe.Scope, p Positions) Hooks {
	places, err := a.runPlaces(p, a.table.Shape[2])
	if err != nil {
		panic(&torchpe.Error{Op: "abacus", Msg: err.Error()})
	}
	table := a.table.In(s)
	if !p.Training || a.offset == 0 {
		return &tableHooks{tables: rowsAt(s, table, 2, places)}
	}
	return &tableHooks{tables: a.moved(s, table, places)}
}

// moved returns the rows [E,T,N,D] of places, each member's with an offset of its own for those above 0.
func (a *abacus) moved(s *torchpe.Scope, table torchpe.Tensor, places []int) torchpe.Tensor {
	e, t, n, d := table.Size(0), table.Size(1), len(places), table.Size(3)
	draw := uniform(s, torchpe.Zeros(s, table.DType(), table.Device(), e))          // [E]
	offset := draw.MulScalar(float64(a.offset+1)).To(torchpe.Int64, table.Device()) // draw <= 1 - 2^-24
	isDigit := make([]int, n)
	for i, place := range places {
		isDigit[i] = min(place, 1)
	}
	moves := offset.Reshape(e, 1).Mul(indexTensor(s, table.Device(), isDigit, 1, n))
	rows := indexTensor(s, table.Device(), places, 1, n).Add(moves)
	return table.Gather(2, rows.Reshape(e, 1, n, 1).Expand(e, t, n, d))
}
