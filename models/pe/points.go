package pe

import (
	"fmt"

	"torchpe/torchpe"
)

// atlas knows, for each point that an encoding was built for, the row of its table.
type atlas struct {
	scheme string
	dims   int
	rows   map[[3]float64]int
}

// newAtlas numbers the tokens' coordinates, of which there are dims, at most 3; points that several tokens share have the row of the last.
func newAtlas(scheme string, p Positions, dims int) atlas {
	a := atlas{scheme, dims, map[[3]float64]int{}}
	for i, point := range p.coordinates(scheme, dims) {
		a.rows[key(point)] = i
	}
	return a
}

func key(point []float64) (k [3]float64) {
	copy(k[:], point)
	return k
}

// of returns the row of each token of p; it panics with an *Error where one is at a point that is not in the atlas.
func (a atlas) of(p Positions) []int {
	at := make([]int, p.Tokens())
	for i, point := range p.coordinates(a.scheme, a.dims) {
		row, ok := a.rows[key(point)]
		if !ok {
			panic(&torchpe.Error{Op: a.scheme, Msg: fmt.Sprintf("token %d is at %v, which the encoding was not built for", i, point)})
		}
		at[i] = row
	}
	return at
}

// newFixedAt is newFixed for a table whose rows are functions of the tokens' coordinates, of which there are dims.
func newFixedAt(scheme string, c Config, ps *torchpe.ParamSet, dims int, row func(point, out []float64)) Encoding {
	points := c.Positions.coordinates(scheme, dims)
	return newFixed(c, ps, func(i int, out []float64) { row(points[i], out) }, newAtlas(scheme, c.Positions, dims).of)
}
