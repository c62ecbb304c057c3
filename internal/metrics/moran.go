package metrics

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
)

// Moran holds the eigenvectors of spatial weights between n tokens, from the smoothest map to the
// roughest (Moran's eigenvector maps; Dray, Legendre and Peres-Neto 2006).
type Moran struct {
	values  []float64  // [n-1]
	vectors *mat.Dense // [n,n-1]
	sizes   []int      // of each group of equal eigenvalues
}

// equalEigenvalues is the largest rounding difference between equal eigenvalues, relative to the
// norm of the weights.
const equalEigenvalues = 1e-10

// NewMoran decomposes doubly centred symmetric spatial weights w [n,n]. The constant map, whose
// eigenvalue is 0, is omitted; other eigenvectors of eigenvalue 0 stay.
func NewMoran(w []float64, n int) (*Moran, error) {
	if n < 3 || len(w) != n*n {
		return nil, fmt.Errorf("metrics: %d spatial weights of %d tokens: want n x n, and n at least 3", len(w), n)
	}
	mean, all, size := make([]float64, n), 0.0, 0.0
	for i, v := range w {
		if back := w[i%n*n+i/n]; v-v != 0 || v != back {
			return nil, fmt.Errorf("metrics: the spatial weight of tokens %d and %d is %v, but of %d and %d "+
				"%v: want finite, symmetric numbers", i/n, i%n, v, i%n, i/n, back)
		}
		mean[i/n] += v / float64(n)
		all, size = all+v/float64(n*n), math.Hypot(size, v)
	}
	centred := make([]float64, n*n)
	for i := range n {
		for j := range i + 1 {
			// The last term lifts the eigenvalue of the constant map above all others, so that it
			// comes last and is not mixed with other maps of eigenvalue 0.
			centred[j*n+i] = w[i*n+j] - mean[i] - mean[j] + all + 2*size/float64(n)
		}
	}
	values, vectors, err := leading("spatial weights", centred, n, n)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w: scale them", err)
	}
	m := &Moran{values: values[1:], vectors: mat.NewDense(n, n-1, nil)}
	for c, vector := range vectors[1:] {
		m.vectors.SetCol(c, vector)
		if c > 0 && m.values[c-1]-m.values[c] < equalEigenvalues*size {
			m.sizes[len(m.sizes)-1]++
		} else {
			m.sizes = append(m.sizes, 1)
		}
	}
	return m, nil
}

// turn returns a table [n,d] in which the components of each column along the eigenvectors of an
// eigenvalue are multiplied by that eigenvalue's orthogonal matrix. Columns keep their means and
// covariances, and every linear combination of columns keeps its Moran's I. For an eigenvalue with
// one eigenvector the matrix is a sign (Moran spectral randomisation, "singleton" and joint; Wagner
// and Dray 2015). Eigenvalues of a symmetric arrangement, such as a grid, have several
// eigenvectors, whose computed basis depends on the order of the tokens.
func (m *Moran) turn(t Table, turns []*mat.Dense) Table {
	x := t.dense()
	mean := make([]float64, t.Dim)
	for i, v := range t.Values {
		mean[i%t.Dim] += v / float64(t.Tokens)
	}
	var components mat.Dense
	components.Mul(m.vectors.T(), x)
	at := 0
	for _, by := range turns {
		size, _ := by.Dims()
		of := components.Slice(at, at+size, 0, t.Dim).(*mat.Dense)
		of.Mul(by, mat.DenseCopyOf(of))
		at += size
	}
	var turned mat.Dense
	turned.Mul(m.vectors, &components)
	turned.Apply(func(_, j int, v float64) float64 { return v + mean[j] }, &turned)
	t.Values = turned.RawMatrix().Data
	return t
}

// drawTurn returns a random orthogonal matrix [n,n], uniform over all of them.
func drawTurn(n int, rng *rand.Rand) *mat.Dense {
	if n == 1 {
		return mat.NewDense(1, 1, []float64{float64(2*rng.IntN(2) - 1)})
	}
	gauss := mat.NewDense(n, n, nil)
	gauss.Apply(func(_, _ int, _ float64) float64 { return rng.NormFloat64() }, gauss)
	var qr mat.QR
	var q, r mat.Dense
	qr.Factorize(gauss)
	qr.QTo(&q)
	qr.RTo(&r)
	q.Apply(func(_, j int, v float64) float64 { return math.Copysign(v, v*r.At(j, j)) }, &q)
	return &q
}

// Surrogate returns a Surrogate that keeps the modules and draws tables with the spatial smoothness
// of the given one. Its weights are the Proximity of the tables' Distances. All columns are
// transformed alike, so that a rotation of the table has no effect.
func (m *Moran) Surrogate(t Table, kind Distance, modules []int) Surrogate {
	turns := make([]*mat.Dense, len(m.sizes))
	return func(rng *rand.Rand) ([]float64, []int) {
		for i, size := range m.sizes {
			turns[i] = drawTurn(size, rng)
		}
		return Proximity(m.turn(t, turns).Distances(kind)), modules
	}
}

// InverseDistances returns spatial weights 1/d for distances d [n,n]. The diagonal is 0.
func InverseDistances(d []float64, n int) []float64 {
	w := make([]float64, len(d))
	for i, v := range d {
		if i/n != i%n {
			w[i] = 1 / v
		}
	}
	return w
}
