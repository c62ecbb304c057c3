package metrics

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// Stress returns sqrt(sum (d - d')^2 / sum d^2) over all pairs (stress-1 of Kruskal 1964), d the
// distances [n,n] and d' those of the coordinates [n,k]: 0 where the coordinates have the distances.
func Stress(distances, coordinates []float64, n, k int) float64 {
	var off, all float64
	for i := range n {
		for j := range i {
			d := distances[i*n+j]
			r := d - apart(coordinates, k, i, j)
			off, all = off+r*r, all+d*d
		}
	}
	return math.Sqrt(off / all)
}

// apart returns the Euclidean distance of two rows of coordinates [n,k].
func apart(coordinates []float64, k, i, j int) float64 {
	sum := 0.0
	for axis := range k {
		v := coordinates[i*k+axis] - coordinates[j*k+axis]
		sum += v * v
	}
	return math.Sqrt(sum)
}

// RefineMDS returns coordinates [n,k] near a local minimum of the stress of distances [n,n], found from
// the given ones by majorisation (SMACOF, de Leeuw 1977): each of at most 1000 Guttman transforms
// lowers the stress, until one takes off less than 1e-6 of it, or it is below 1e-10.
func RefineMDS(distances, coordinates []float64, n, k int) []float64 {
	const rounds, least, enough = 1000, 1e-6, 1e-10
	x, next := mat.NewDense(n, k, append([]float64(nil), coordinates...)), mat.NewDense(n, k, nil)
	b := mat.NewSymDense(n, nil)
	stress := Stress(distances, coordinates, n, k)
	for range rounds {
		if stress < enough {
			break
		}
		guttman(b, distances, x.RawMatrix().Data, k)
		next.Mul(b, x)
		lower := Stress(distances, next.RawMatrix().Data, n, k)
		if !(lower < stress) {
			break
		}
		x, next = next, x
		if stress-lower < least*stress {
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
			if d := apart(coordinates, k, i, j); d > 0 {
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
