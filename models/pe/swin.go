// swin: a trained number for each offset between two cells of a grid, added to the logits, own to
// each head and layer (Liu et al. 2021, section 3.2, equation 4).
//
//	logits = q k^T / sqrt(Dh) + B,  B_{(y,x),(y',x')} = T[y-y', x-x']
//
// with (2R-1)(2C-1) numbers for a grid of R x C: the window of the paper is the whole grid. It
// starts as N(0, 0.02^2), as in the published code (which cuts the normal off at 2, a hundred
// deviations away).

package pe

import "torchpe/torchpe"

func init() {
	Register(Scheme{
		Name:  "swin",
		Needs: NeedsGrid,
		New:   newSwin,
	})
}

type swin struct {
	atLogits
	table  *torchpe.Param // [E,L,(2R-1)(2C-1),H]
	window window
}

func newSwin(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	w := windowOf(c.Positions)
	return &swin{table: ps.Add("pe.table", true, torchpe.Normal(0, 0.02), c.Layers, w.offsets(),
		c.Heads), window: w}, nil
}

func (w *swin) Begin(s *torchpe.Scope, p Positions) Hooks {
	w.window.check("swin", p)
	return biasHooks{bias: biasOf(s, w.table.In(s), pairs(p.Cells, w.window.row), p.Tokens())}
}
