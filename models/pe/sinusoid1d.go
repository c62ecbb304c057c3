// 1d-fixed: the sinusoids of Vaswani et al. 2017, section 3.5 (appendix A.1 of the paper).
//
//	P[p,2i] = sin(p / 10000^(2i/D)),  P[p,2i+1] = cos(p / 10000^(2i/D))
//
// The text counts positions from 1 and adds P once; the published code counts from 0, adds P in every block and keeps a
// dropout of 0.1 on the sum, also at evaluation.
//
// Public code lays the columns out in four ways (--sinusoid-layout), with h = D/2:
//
//	interleaved  sin and cos of one frequency side by side, as above (Vaswani et al. 2017)
//	tutorial     P[p,j] = sin(p 10000^(-j/D)) for even j, cos(p 10000^(-j/D)) for odd j: each column has its own frequency
//	             (Foumani et al., tutorial on positional encoding of time series, NeurIPS 2025)
//	concat       P[p] = [sin(p f_i) | cos(p f_i)],  f_i = 10000^(-i/h): columns of interleaved in another order (Transformer-XL, MAE)
//	t2t          the same with f_i = 10000^(-i/(h-1)), so that the last is 1/10000 (tensor2tensor, fairseq, Whisper, simple ViT)

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
		Reference:    "Vaswani et al. 2017, arXiv 1706.03762",
		Formula:      "P[p,2i] = sin(p / 10000^(2i/D)),  P[p,2i+1] = cos(p / 10000^(2i/D)),  x <- x + P;  other layouts by --sinusoid-layout",
		Parameters:   "none",
		Criteria:     Criteria{Inductive: true, ParameterEfficient: true, Parallelizable: true, Printed: true},
		Extrapolates: Always,
		Options:      []Option{placement, positionsFrom, sinusoidBase, sinusoidLayout, fixedDropout},
		New:          newSinusoid1D,
	})
}

var (
	sinusoidBase = Option{Name: "sinusoid-base", Default: "10000", Check: number(1, math.Inf(1)),
		Help: "base of the wavelengths of sinusoids"}
	sinusoidLayout = Option{Name: "sinusoid-layout", Default: "interleaved", Check: oneOf("interleaved", "tutorial", "concat", "t2t"),
		Help: "columns of sinusoids: sine beside cosine of each frequency; a frequency for each column; all sines before all cosines; the same with frequencies down to 1/base"}
)

// wave returns what writes the sinusoid of position p in a layout; out has an even number of columns, and width is D in the
// exponents (half of it is h).
func wave(layout string, base float64, width int) func(p float64, out []float64) {
	if layout == "interleaved" {
		return func(p float64, out []float64) { sinusoid(p, base, width, out) }
	}
	if layout == "tutorial" {
		return func(p float64, out []float64) {
			for j := range out {
				sine, angle := math.Sin, p*math.Pow(base, -float64(j)/float64(width))
				if j%2 == 1 {
					sine = math.Cos
				}
				out[j] = sine(angle)
			}
		}
	}
	last := width / 2
	if layout == "t2t" {
		last--
	}
	return func(p float64, out []float64) {
		h := len(out) / 2
		for i := range h {
			out[i], out[h+i] = math.Sincos(p * math.Pow(base, -float64(i)/float64(last)))
		}
	}
}

// checkWave returns an error where a scheme's sinusoid of that width cannot be laid out so.
func checkWave(scheme, layout string, width int) error {
	if layout == "t2t" && width < 4 {
		return fmt.Errorf("%s: a sinusoid of width %d has one frequency, and --sinusoid-layout t2t spreads at least two: take a larger d_model or another layout", scheme, width)
	}
	return nil
}

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
	return &tableHooks{tables: rowsAt(s, f.table.In(s), 2, f.rows(p)), each: f.each, shared: true, dropout: f.dropout}
}

func newSinusoid1D(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	if c.DModel%2 != 0 {
		return nil, fmt.Errorf("1d-fixed: d_model %d is odd; sines and cosines come in pairs", c.DModel)
	}
	from, layout := c.Options.Float(positionsFrom.Name), c.Options.Text(sinusoidLayout.Name)
	if err := checkWave("1d-fixed", layout, c.DModel); err != nil {
		return nil, err
	}
	write := wave(layout, c.Options.Float(sinusoidBase.Name), c.DModel)
	row := func(i int, out []float64) { write(from+float64(i), out) }
	return newFixed(c, ps, row, func(p Positions) []int { return p.Index }), nil
}
