package metrics

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// ErrEqualRows is returned if all rows of a table are equal up to rounding.
var ErrEqualRows = errors.New("metrics: all rows are equal")

// PCA returns the coordinates [n,k] of the rows along the first k principal axes of the table, and
// the share of the variance that each axis explains. The sign of an axis is chosen so that the
// coordinate of largest magnitude is positive.
func (t Table) PCA(k int) (coordinates Table, explained []float64, err error) {
	if err := t.check(); err != nil {
		return coordinates, nil, err
	}
	var svd mat.SVD
	if !svd.Factorize(t.Centred().dense(), mat.SVDThin) {
		return coordinates, nil, errors.New("metrics: the singular value decomposition of the table did not converge")
	}
	coordinates = Table{Tokens: t.Tokens, Dim: k}
	coordinates.Values, explained, err = principal(&svd, t.Tokens, k)
	return coordinates, explained, err
}

func principal(svd *mat.SVD, n, k int) (coordinates, explained []float64, err error) {
	values := svd.Values(nil)
	var u mat.Dense
	svd.UTo(&u)
	_, exponent := math.Frexp(values[0]) // a power of two off the values changes no share
	square := func(v float64) float64 {
		v = math.Ldexp(v, -exponent)
		return v * v
	}
	total := 0.0
	for _, v := range values {
		total += square(v)
	}
	if total-total != 0 {
		return nil, nil, errors.New("metrics: the numbers are too large for their mean: scale the table")
	}
	if total == 0 {
		return nil, nil, fmt.Errorf("%w, so there are no principal axes", ErrEqualRows)
	}
	coordinates, explained = make([]float64, n*k), make([]float64, k)
	for axis := range min(k, len(values)) {
		largest := 0.0
		for i := range n {
			v := u.At(i, axis) * values[axis]
			coordinates[i*k+axis] = v
			if math.Abs(v) > math.Abs(largest) {
				largest = v
			}
		}
		if largest < 0 {
			for i := range n {
				coordinates[i*k+axis] = -coordinates[i*k+axis]
			}
		}
		explained[axis] = square(values[axis]) / total
	}
	return coordinates, explained, nil
}

// ClassicalMDS returns coordinates [n,k] whose Euclidean distances approximate distances [n,n]
// (Torgerson 1952). They are the leading eigenvectors of the doubly centred squared distances,
// scaled by the square roots of their eigenvalues. Negative eigenvalues, which occur for distances
// that are not Euclidean, count as 0.
func ClassicalMDS(distances []float64, n, k int) ([]float64, error) {
	if n < 2 || k < 1 || len(distances) != n*n {
		return nil, fmt.Errorf("metrics: %d distances between %d tokens: want n x n", len(distances), n)
	}
	rows, all := make([]float64, n), 0.0
	for i := range n {
		for j := range n {
			v := distances[i*n+j]
			if v-v != 0 || v < 0 || math.Abs(v-distances[j*n+i]) > 1e-9*math.Abs(v) {
				return nil, fmt.Errorf("metrics: the distance between tokens %d and %d is %v in one direction "+
					"and %v in the other: want finite, symmetric distances", i, j, v, distances[j*n+i])
			}
			rows[i] += v * v / float64(n)
		}
		all += rows[i] / float64(n)
	}
	b := make([]float64, n*n)
	for i := range n {
		for j := range i + 1 {
			v := distances[i*n+j]
			b[j*n+i] = -0.5 * (v*v - rows[i] - rows[j] + all)
		}
	}
	values, vectors, err := leading("distances", b, n, min(k, n))
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	out := make([]float64, n*k)
	for axis, vector := range vectors {
		scale, largest := math.Sqrt(max(0, values[axis])), 0.0
		for _, v := range vector {
			if math.Abs(v) > math.Abs(largest)+1e-12 {
				largest = v
			}
		}
		if largest < 0 {
			scale = -scale
		}
		for i, v := range vector {
			out[i*k+axis] = scale * v
		}
	}
	return out, nil
}

// leading returns the k largest eigenvalues of a symmetric matrix a [n,n], in descending order, and their
// eigenvectors. It reads the diagonal and the upper triangle of a. Errors call the matrix what.
func leading(what string, a []float64, n, k int) (values []float64, vectors [][]float64, err error) {
	var e mat.EigenSym
	if !e.Factorize(mat.NewSymDense(n, a), true) {
		return nil, nil, fmt.Errorf("the eigendecomposition of the %s did not converge", what)
	}
	var all mat.Dense
	e.VectorsTo(&all)
	ascending := e.Values(nil)
	for i := range k {
		values = append(values, ascending[n-1-i])
		vectors = append(vectors, mat.Col(nil, n-1-i, &all))
	}
	return values, vectors, nil
}

// EffectiveRank returns the effective rank of a table [n,d], from 1 to min(n, d): the exponential of
// the entropy of its singular values, normalised to sum to 1 (Roy and Vetterli 2007).
func (t Table) EffectiveRank() (float64, error) {
	if err := t.check(); err != nil {
		return 0, err
	}
	var svd mat.SVD
	if !svd.Factorize(t.dense(), mat.SVDNone) {
		return 0, errors.New("metrics: the singular value decomposition of the table did not converge")
	}
	total, entropy := 0.0, 0.0
	values := svd.Values(nil)
	for _, v := range values {
		total += v
	}
	if total == 0 {
		return 0, errors.New("metrics: a table of zeros has no effective rank")
	}
	for _, v := range values {
		if p := v / total; p > 0 {
			entropy -= p * math.Log(p)
		}
	}
	return math.Exp(entropy), nil
}
