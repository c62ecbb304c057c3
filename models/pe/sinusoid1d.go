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
		Name:    "1d-fixed",
		Summary: "sinusoids of the token's place in the row-by-row order",
		Title:   "Attention Is All You Need", Year: 2017,
		Reference: "Vaswani et al. 2017, arXiv 1706.03762",
		Formula:   "P[p,2i] = sin(p / 10000^(2i/D)),  P[p,2i+1] = cos(p / 10000^(2i/D)),  x <- x + P", Parameters: "none",
		Criteria:     Criteria{Inductive: true, ParameterEfficient: true, Parallelizable: true, Printed: true},
		Extrapolates: Always,
		Options:      []Option{placement, positionsFrom, sinusoidBase, fixedDropout},
		New:          newSinusoid1D,
	})
}

var sinusoidBase = Option{Name: "sinusoid-base", Default: "10000", Check: number(1, math.Inf(1)),
	Help: "base of the wavelengths of sinusoids"}

// sinusoid writes the interleaved sines and cosines of position p into out; width is D in the exponents.
func sinusoid(p, base float64, width int, out []float64) {
	for i := 0; i < len(out); i += 2 {
		angle := p / math.Pow(base, float64(i)/float64(width))
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
	base := c.Options.Float(sinusoidBase.Name)
	row := func(i int, out []float64) { sinusoid(from+float64(i), base, c.DModel, out) }
	return newFixed(c, ps, row, func(p Positions) []int { return p.Index }), nil
}
