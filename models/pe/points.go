package pe

import (
	"fmt"
	"slices"

	"torchpe/torchpe"
)

// coordinateIndex finds the row of a table for a token's coordinates.
type coordinateIndex struct {
	scheme string
	dims   int
	rows   map[[3]float64]int
}

// newCoordinateIndex numbers the tokens' coordinates in dims dimensions, at most 3. A point shared
// by several tokens has the row of the last one.
func newCoordinateIndex(scheme string, p Positions, dims int) coordinateIndex {
	x := coordinateIndex{scheme, dims, map[[3]float64]int{}}
	for i, point := range p.coordinates(scheme, dims) {
		x.rows[pointKey(point)] = i
	}
	return x
}

func pointKey(point []float64) (k [3]float64) {
	copy(k[:], point)
	return k
}

// of returns the row of each token of p. It panics with an *Error if a token is at an unknown point.
func (x coordinateIndex) of(p Positions) []int {
	at := make([]int, p.Tokens())
	for i, point := range p.coordinates(x.scheme, x.dims) {
		row, ok := x.rows[pointKey(point)]
		if !ok {
			panic(&torchpe.Error{Op: x.scheme,
				Msg: fmt.Sprintf("token %d is at %v, for which the encoding was not built", i, point)})
		}
		at[i] = row
	}
	return at
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

// leastGap returns the smallest distance between different coordinates of an axis, or 0 if there is
// only one.
func leastGap(points [][]float64, axis int) float64 {
	var at []float64
	for _, point := range points {
		at = append(at, point[axis])
	}
	slices.Sort(at)
	at = slices.Compact(at)
	gap := 0.
	for i := 1; i < len(at); i++ {
		if d := at[i] - at[i-1]; gap == 0 || d < gap {
			gap = d
		}
	}
	return gap
}
