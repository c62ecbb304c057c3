package pe

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// product fills table [rows,width] with A B of the given rank, A drawn before B, both from N(0, 1).
func product(rng *rand.Rand, rank, width int, table []float64) {
	rows := len(table) / width
	a, b := make([]float64, rows*rank), make([]float64, rank*width)
	fillNormal(rng, a)
	fillNormal(rng, b)
	mat.NewDense(rows, width, table).Mul(mat.NewDense(rows, rank, a), mat.NewDense(rank, width, b))
}

// orthonormal fills table [rows,width] with orthonormal rows, or columns if there are more rows. It
// orthogonalises normal vectors, each against those before it and in its own direction, which gives
// the uniform distribution over such matrices.
func orthonormal(rng *rand.Rand, rows, width int, table []float64) {
	n, d := min(rows, width), max(rows, width)
	vectors := make([]float64, n*d)
	fillNormal(rng, vectors)
	var qr mat.QR
	var q, r mat.Dense
	qr.Factorize(mat.NewDense(n, d, vectors).T())
	qr.QTo(&q)
	qr.RTo(&r)
	to := mat.NewDense(rows, width, table)
	for i := range n {
		for j := range d {
			v := math.Copysign(1, r.At(i, i)) * q.At(j, i)
			if rows <= width {
				to.Set(i, j, v)
			} else {
				to.Set(j, i, v)
			}
		}
	}
}

// toNorm scales x to a Frobenius norm; zeros stay.
func toNorm(x []float64, norm float64) {
	if have := floats.Norm(x, 2); have > 0 {
		floats.Scale(norm/have, x)
	}
}
