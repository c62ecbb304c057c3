// 1d-fixed: the sinusoids of Vaswani et al. 2017, section 3.5 (appendix A.1 of the paper).
//
//	P[p,2i] = sin(p / 10000^(2i/D)),  P[p,2i+1] = cos(p / 10000^(2i/D))
//
// The text counts positions from 1 and adds P once; the published code counts from 0, adds P in every block and keeps a
// dropout of 0.1 on the sum, also at evaluation.

package pe

import (
	"fmt"
	"math"
	"math/rand/v2"

	"torchpe/torchpe"
)

func init() {
	Register(Scheme{
		Name:      "1d-fixed",
		Summary:   "sinusoids of the token's place in the row-by-row order",
		Reference: "Vaswani et al. 2017, arXiv 1706.03762",
		Options:   []Option{placement, positionsFrom, fixedDropout},
		New:       newSinusoid1D,
	})
}

// sinusoid writes the interleaved sines and cosines of position p into out, whose length is D.
func sinusoid(p float64, out []float64) {
	for i := 0; i < len(out); i += 2 {
		angle := p / math.Pow(10000, float64(i)/float64(len(out)))
		out[i] = math.Sin(angle)
		if i+1 < len(out) {
			out[i+1] = math.Cos(angle)
		}
	}
}

// fixed is a table that is computed, not drawn: one for all layers.
type fixed struct {
	None
	table   *torchpe.Param // [E,1,N,D]
	each    bool
	dropout float64
	rows    func(Positions) []int // the table's row for each token
}

func newFixed(c Config, ps *torchpe.ParamSet, row func(i int, out []float64), rows func(Positions) []int) Encoding {
	n := c.Positions.Tokens()
	fill := func(_ int, _ *rand.Rand, out []float64) {
		for i := range n {
			row(i, out[i*c.DModel:(i+1)*c.DModel])
		}
	}
	return &fixed{
		table: ps.Add("pe.fixed", false, fill, 1, n, c.DModel), each: tablesFor(c) > 1,
		dropout: c.Options.Float(fixedDropout.Name), rows: rows,
	}
}

func (f *fixed) Sites() Site { return AtEmbed }

func (f *fixed) Begin(s *torchpe.Scope, p Positions) Hooks {
	return tableHooks{tables: rowsAt(s, f.table.In(s), 2, f.rows(p)), each: f.each, shared: true, dropout: f.dropout}
}

func newSinusoid1D(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	if c.DModel%2 != 0 {
		return nil, fmt.Errorf("1d-fixed: d_model %d is odd; sines and cosines come in pairs", c.DModel)
	}
	from := c.Options.Float(positionsFrom.Name)
	row := func(i int, out []float64) { sinusoid(from+float64(i), out) }
	return newFixed(c, ps, row, func(p Positions) []int { return p.Index }), nil
}
