package metrics

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// Stress returns sqrt(sum (d - d')^2 / sum d^2) over all pairs, where d are the distances [n,n] and d'
// those between the coordinates [n,k]. (Kruskal's stress-1 of 1964 divides by sum d'^2.)
func Stress(distances, coordinates []float64, n, k int) float64 {
	var off, all float64
	for i := range n {
		for j := range i {
			d := distances[i*n+j]
			r := d - rowDistance(coordinates, k, i, j)
			off, all = off+r*r, all+d*d
		}
	}
	return math.Sqrt(off / all)
}

// rowDistance returns the Euclidean distance between rows i and j of coordinates [n,k].
func rowDistance(coordinates []float64, k, i, j int) float64 {
	return norm(coordinates[i*k:(i+1)*k], coordinates[j*k:(j+1)*k], -1)
}

// RefineMDS returns coordinates [n,k] near a local minimum of the stress of distances [n,n]. It starts
// at the given coordinates and applies at most 1000 Guttman transforms (SMACOF, de Leeuw 1977). It
// stops when a transform lowers the stress by less than a share of 1e-6, or when the stress is below
// 1e-10.
func RefineMDS(distances, coordinates []float64, n, k int) []float64 {
	const maxRounds, minGain, minStress = 1000, 1e-6, 1e-10
	x, next := mat.NewDense(n, k, slices.Clone(coordinates)), mat.NewDense(n, k, nil)
	b := mat.NewSymDense(n, nil)
	stress := Stress(distances, coordinates, n, k)
	for range maxRounds {
		if stress < minStress {
			break
		}
		guttman(b, distances, x.RawMatrix().Data, k)
		next.Mul(b, x)
		lower := Stress(distances, next.RawMatrix().Data, n, k)
		if !(lower < stress) {
			break
		}
		x, next = next, x
		if stress-lower < minGain*stress {
			break
		}
		stress = lower
	}
	return x.RawMatrix().Data
}

// guttman sets b to the matrix whose product with coordinates [n,k] is their Guttman transform.
func guttman(b *mat.SymDense, distances, coordinates []float64, k int) {
	n := b.SymmetricDim()
	sums := make([]float64, n)
	for i := range n {
		for j := range i {
			v := 0.0
			if d := rowDistance(coordinates, k, i, j); d > 0 {
				v = distances[i*n+j] / d / float64(n)
			}
			b.SetSym(i, j, -v)
			sums[i], sums[j] = sums[i]+v, sums[j]+v
		}
	}
	for i, v := range sums {
		b.SetSym(i, i, v)
	}
}
