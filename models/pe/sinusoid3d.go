// 3d-fixed: sinusoids of three coordinates, side by side (the "3D sinusoidal" encoding of video and
// volume transformers).
//
//	P = [ S(a) | S(b) | S(c) ],  x <- x + P
//
// Public code has two readings of it. tatp22/multidim-positional-encoding: {frame, row, column},
// each the interleaved 1-D sinusoid of width 2 ceil(D/6), cut off after D columns. vit-pytorch's
// simple_vit_3d: {column, row, frame}, each [sin | cos] with frequencies 10000^(-i/(D/6-1)), i <
// D/6 rounded down, and zeros in the columns that are left. On a grid the frame is 0.

package pe

import (
	"fmt"
	"slices"

	"torchpe/torchpe"
)

var spaceLayout = Option{Name: "space-layout", Default: "cut", Check: oneOf("cut", "padded"),
	Help: "three sinusoids in D columns: frame first, rounded up and cut off; or column first, " +
		"rounded down and padded with zeros"}

func init() {
	Register(Scheme{
		Name:         "3d-fixed",
		Needs:        NeedsSpace,
		Extrapolates: Always,
		Options:      []Option{placement, positionsFrom, spaceLayout, sinusoidBase},
		New:          newSinusoid3D,
	})
}

func newSinusoid3D(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	layout, width, padded := "interleaved", 2*((c.DModel+5)/6),
		c.Options.Text(spaceLayout.Name) == "padded"
	if padded {
		layout, width = "t2t", 2*(c.DModel/6)
		if width < 4 {
			return nil, fmt.Errorf("3d-fixed: d_model %d has room for fewer than two frequencies "+
				"a coordinate: take at least 12, or --space-layout cut", c.DModel)
		}
	}
	from := c.Options.Float(positionsFrom.Name)
	write := sinusoidRow(layout, c.Options.Float(sinusoidBase.Name), width)
	all := make([]float64, max(c.DModel, 3*width))
	points := c.Positions.coordinates("3d-fixed", 3)
	row := func(i int, out []float64) {
		at := slices.Clone(points[i])
		if padded {
			slices.Reverse(at)
		}
		for axis, x := range at {
			write(from+x, all[axis*width:(axis+1)*width])
		}
		copy(out, all)
	}
	return newFixed(c, ps, row, newCoordinateIndex("3d-fixed", c.Positions, 3).of), nil
}
