// rope-3d: rotary encoding of tokens in space or video: a block of a head for each of the axes
// (frame, row, column), as in lucidrains' rotary-embedding-torch and the video transformers that
// use it; on a grid, which is one frame, the first block is not turned.
//
//	block a of width w = 2 floor(Dh/6) is rope of coordinate a; the other Dh - 3w are not turned
//
// With --rope-axes M there are M coordinates and w = 2 floor(Dh/2M), as that library has it for any
// number: 2 for the rows and columns of a grid, all for as many as the tokens have.
//
// --rope-max-frequency m has theta_k from pi to m/2 pi in equal steps, and coordinates from -1 to 1
// over each axis (that library's "pixel"). The two ends of an axis are then the same to it.

package pe

import (
	"fmt"
	"math"

	"torchpe/torchpe"
)

var ropeAxes = Option{Name: "rope-axes", Default: "3", Check: orWord(whole(1, 64), "all"),
	Help: "coordinates of rope-3d, each of which turns a block of a head: their number, or all there are"}

var ropePixel = Option{Name: "rope-max-frequency", Default: "0", Check: number(0, 1e6),
	Help: "rope-3d with frequencies in equal steps from pi to this times pi/2, over coordinates " +
		"from -1 to 1; 0: those of rope"}

func init() {
	Register(Scheme{
		Name:         "rope-3d",
		Needs:        NeedsPoints, // three of them unless --rope-axes says otherwise
		MinHeadWidth: 6, Extrapolates: Always,
		Options: []Option{later(ropeAxes), ropeBase, ropeLayout, ropePixel, attentionBias, attentionInit},
		New:     newRoPE3D,
	})
}

func newRoPE3D(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	axes, err := c.ropeAxes()
	if err != nil {
		return nil, err
	}
	pairs, built := c.HeadWidth()/(2*axes), c.Positions.byPlace(axes)
	if pairs == 0 {
		return nil, fmt.Errorf("rope-3d: the head width %d = %d/%d is less than %d, a pair for each "+
			"coordinate: take fewer heads or a larger d_model", c.HeadWidth(), c.DModel, c.Heads, 2*axes)
	}
	width := 2 * pairs
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
	r := c.rotaryTables(ps, len(built), axes*pairs, func(row, pair int) (angle, q, k float64) {
		return turn(at(row, pair/pairs), pair%pairs)
	})
	r.width, r.rows = width, func(p Positions) []int { return p.placesIn("rope-3d", built) }
	return r, nil
}

// ropeAxes returns the number of coordinates that --rope-axes names, which the tokens must have.
func (c Config) ropeAxes() (int, error) {
	text := c.Options.Text(ropeAxes.Name)
	axes := c.Options.Int(ropeAxes.Name)
	if text == "all" {
		points, _ := c.Positions.Coordinates(0)
		return len(points[0]), nil
	}
	if axes == 3 {
		return axes, Scheme{Name: c.scheme, Needs: NeedsSpace}.Fits(c.Positions)
	}
	if _, ok := c.Positions.Coordinates(axes); !ok {
		return 0, fmt.Errorf("%s: --rope-axes %d needs as many coordinates a token, and the tokens lie "+
			"on %v", c.scheme, axes, c.Positions)
	}
	return axes, nil
}
