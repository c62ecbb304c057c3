// 1d-fixed: the sinusoids of Vaswani et al. 2017, section 3.5 (appendix A.1 of the paper).
//
//	P[p,2i] = sin(p / 10000^(2i/D)),  P[p,2i+1] = cos(p / 10000^(2i/D))
//
// The text counts positions from 1 and adds P once; the published code counts from 0, adds P in
// every block and keeps a dropout of 0.1 on the sum, also at evaluation.
//
// Public code lays the columns out in four ways (--sinusoid-layout), with h = D/2:
//
//	interleaved  sin and cos of one frequency side by side, as above (Vaswani et al. 2017)
//	tutorial     P[p,j] = sin(p 10000^(-j/D)) for even j, cosine for odd j: a frequency a column
//	             (Foumani et al., tutorial on positional encoding of time series, NeurIPS 2025)
//	concat       P[p] = [sin(p f_i) | cos(p f_i)],  f_i = 10000^(-i/h) (Transformer-XL, MAE)
//	t2t          the same with f_i = 10000^(-i/(h-1)), so that the last is 1/10000 (tensor2tensor)
//
// Where D is odd the last column is a sine; t2t has zeros there, as tensor2tensor and fairseq, and
// concat has no such width.

package pe

import (
	"torchpe/torchpe"
)

func init() {
	Register(Scheme{
		Name:         "1d-fixed",
		Extrapolates: Always,
		Options: []Option{placement, positionsFrom, sinusoidBase, sinusoidLayout,
			fixedDropout},
		New: newSinusoid1D,
	})
}

func newSinusoid1D(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	from, layout := c.Options.Float(positionsFrom.Name), c.Options.Text(sinusoidLayout.Name)
	if err := checkSinusoid("1d-fixed", layout, c.DModel, c.DModel); err != nil {
		return nil, err
	}
	write := sinusoidRow(layout, c.Options.Float(sinusoidBase.Name), c.DModel)
	row := func(i int, out []float64) { write(from+float64(i), out) }
	return newFixed(c, ps, row, func(p Positions) []int { return p.Index }), nil
}
