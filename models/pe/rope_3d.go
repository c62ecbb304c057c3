// rope-3d: rotary encoding of tokens in space or video: a block of a head for each of the axes (frame, row, column), as in lucidrains'
// rotary-embedding-torch and the video transformers that use it; on a grid, which is one frame, the first block is not turned.
//
//	block a of width w = 2 floor(Dh/6) is rope of coordinate a; the Dh - 3w dimensions that are left are not turned
//
// --rope-max-frequency m has theta_k from pi to m/2 pi in equal steps, and coordinates from -1 to 1 over each axis (that library's
// "pixel"). The two ends of an axis are then the same to it.

package pe

import (
	"math"

	"torchpe/torchpe"
)

var ropePixel = Option{Name: "rope-max-frequency", Default: "0", Check: number(0, 1e6),
	Help: "rope-3d with frequencies in equal steps from pi to this times pi/2, over coordinates from -1 to 1; 0: those of rope"}

func init() {
	Register(Scheme{
		Name:    "rope-3d",
		Summary: "rotation of queries and keys by frame, row and column",
		Title:   "RoFormer: Enhanced Transformer with Rotary Position Embedding (axial in three dimensions)", Year: 2021,
		Reference: "Su et al. 2021, arXiv 2104.09864; rotary-embedding-torch",
		Formula:   "block a of width 2 floor(Dh/6) is rope of coordinate a; the rest of a head is not turned", Parameters: "none",
		Criteria:     Criteria{Inductive: true, ParameterEfficient: true, TranslationInvariant: true, Parallelizable: true},
		Needs:        NeedsSpace,
		MinHeadWidth: 6, Extrapolates: Always,
		Options: []Option{ropeBase, ropeLayout, ropePixel, attentionBias, attentionInit},
		New:     newRoPE3D,
	})
}

func newRoPE3D(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	width := c.HeadWidth() / 6 * 2
	pairs, built := width/2, c.Positions.byPlace(3)
	turn := plainTurn(c.Options.Float(ropeBase.Name), width)
	at := func(place, axis int) float64 { return built[place][axis] }
	if highest := c.Options.Float(ropePixel.Name); highest > 0 {
		low, high := bounds(built)
		steps := highest/2 - 1
		turn = func(p float64, pair int) (angle, q, k float64) {
			return p * math.Pi * (1 + steps*float64(pair)/float64(max(1, pairs-1))), 1, 1
		}
		at = func(place, axis int) float64 {
			if high[axis] == low[axis] {
				return -1
			}
			return -1 + 2*(built[place][axis]-low[axis])/(high[axis]-low[axis])
		}
	}
	e := rotatedBy(c, ps, len(built), 3*pairs, func(row, pair int) (angle, q, k float64) {
		return turn(at(row, pair/pairs), pair%pairs)
	})
	e.width, e.rows = width, func(p Positions) []int { return p.placesIn("rope-3d", built) }
	return e, nil
}

// bounds returns the smallest and largest coordinate on each axis.
func bounds(points [][]float64) (low, high []float64) {
	low, high = append(low, points[0]...), append(high, points[0]...)
	for _, point := range points {
		for a, x := range point {
			low[a], high[a] = min(low[a], x), max(high[a], x)
		}
	}
	return low, high
}
