// 2d-fixed: sinusoids of row and column, half the dimensions each (appendix A.1 of the paper; the
// generalisation of Vaswani et al. 2017 to grids).
//
//	P = [ S(first) | S(second) ],  S the 1-D sinusoid of width D/2
//
// The text has rows first and counts from 1; the published code has columns first and counts from
// 0, and keeps a dropout of 0.1 on the sum, also at evaluation.
//
// Three public variants are options: DETR (Carion et al. 2020) is rows-first from 1, and with
// --grid-normalize each coordinate is divided by its largest (plus 1e-6) and multiplied by 2 pi; it
// adds P to what queries and keys are made of in every block, which is the scheme detr, here to x.
// MAE (He et al. 2022) is columns-first from 0 with --sinusoid-layout concat, simple ViT (Beyer et
// al. 2022) the same with t2t.

package pe

import (
	"fmt"
	"math"

	"torchpe/torchpe"
)

var gridOrder = Option{Name: "grid-order", Text: "rows-first", Code: "columns-first",
	Check: oneOf("rows-first", "columns-first"),
	Help:  "which coordinate the first half of the dimensions of 2d-fixed encodes"}

var gridExponent = Option{Name: "grid-exponent", Default: "half", Check: oneOf("half", "full"),
	Help: "width in the exponent of 2d-fixed: that of one coordinate's half, or d_model by the " +
		"letter of the text"}

var gridNormalize = Option{Name: "grid-normalize", Default: "false", Check: yesNo,
	Help: "coordinates of 2d-fixed from 0 to 2 pi, as DETR has them"}

func init() {
	Register(Scheme{
		Name:         "2d-fixed",
		Needs:        NeedsGrid,
		Extrapolates: Always,
		Options: []Option{placement, positionsFrom, gridOrder, gridExponent, gridNormalize,
			sinusoidBase, sinusoidLayout, fixedDropout},
		New: newSinusoid2D,
	})
}

func newSinusoid2D(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	if c.DModel%2 != 0 {
		return nil, fmt.Errorf("2d-fixed: d_model %d is odd: each of two coordinates has half of it",
			c.DModel)
	}
	from, half := c.Options.Float(positionsFrom.Name), c.DModel/2
	base, width := c.Options.Float(sinusoidBase.Name), half
	if c.Options.Text(gridExponent.Name) == "full" {
		width = c.DModel
	}
	layout := c.Options.Text(sinusoidLayout.Name)
	if err := checkSinusoid("2d-fixed", layout, half, width); err != nil {
		return nil, err
	}
	write, scale := sinusoidRow(layout, base, width), [2]float64{1, 1}
	if c.Options.Bool(gridNormalize.Name) {
		rows, columns := c.Positions.Extent()
		for axis, places := range []int{rows, columns} {
			scale[axis] = 2 * math.Pi / (from + float64(places-1) + 1e-6)
		}
	}
	rowOf := make(map[[2]int]int, len(c.Positions.Cells))
	for i, cell := range c.Positions.Cells {
		rowOf[cell] = i
	}
	row := func(i int, out []float64) {
		first, second := scale[0]*(from+float64(c.Positions.Cells[i][0])),
			scale[1]*(from+float64(c.Positions.Cells[i][1]))
		if c.Options.Text(gridOrder.Name) == "columns-first" {
			first, second = second, first
		}
		write(first, out[:half])
		write(second, out[half:])
	}
	rows := func(p Positions) []int {
		if len(p.Cells) != p.Tokens() {
			panic(&torchpe.Error{Op: "2d-fixed", Msg: fmt.Sprintf("%d grid cells for %d tokens",
				len(p.Cells), p.Tokens())})
		}
		at := make([]int, len(p.Cells))
		for i, cell := range p.Cells {
			row, ok := rowOf[cell]
			if !ok {
				panic(&torchpe.Error{Op: "2d-fixed", Msg: fmt.Sprintf("token %d is in cell %v, "+
					"which the encoding was not built for", i, cell)})
			}
			at[i] = row
		}
		return at
	}
	return newFixed(c, ps, row, rows), nil
}
