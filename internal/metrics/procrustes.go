package metrics

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// ProcrustesDistances holds distances between tables A and B after A is rotated and reflected to fit
// B.
type ProcrustesDistances struct {
	// Raw is the minimum over orthogonal R of the Frobenius norm of A R - B
	// (scipy.linalg.orthogonal_procrustes; the paper's Figure 3D). It grows with the norm of A: at
	// initialisation with a large sigma it is about sigma * sqrt(n d).
	Raw float64 `json:"raw"`
	// NormMatched is Raw after A is scaled to the norm of B, so that only the shape counts.
	NormMatched float64 `json:"norm_matched"`
	// Disparity is that of scipy.spatial.procrustes, 0 to 1. Both tables are centred and scaled to
	// norm 1, A is rotated, reflected and scaled to fit, and the squared differences are summed.
	Disparity float64 `json:"disparity"`
}

// Procrustes returns the distances between a table a and a reference b of the same tokens and
// dimensions. An undefined distance is NaN, and an error says why.
func Procrustes(a, b Table) (ProcrustesDistances, error) {
	out := ProcrustesDistances{math.NaN(), math.NaN(), math.NaN()}
	if a.Tokens != b.Tokens || a.Dim != b.Dim || a.check() != nil || b.check() != nil {
		return out, fmt.Errorf("metrics: tables of %d and %d numbers for %d tokens of "+
			"%d dimensions", len(a.Values), len(b.Values), a.Tokens, a.Dim)
	}
	for i := range a.Values {
		if v := a.Values[i] + b.Values[i]; v-v != 0 {
			return out, fmt.Errorf("metrics: token %d has a number that is not finite", i/a.Dim)
		}
	}
	if a.Dim > 2*a.Tokens {
		a, b = inSharedSpan(a, b)
	}
	var err error
	if out.Raw, err = aligned(a, b); err != nil {
		return out, err
	}
	na, nb := floats.Norm(a.Values, 2), floats.Norm(b.Values, 2)
	if na > 0 && nb > 0 {
		matched := a
		matched.Values = make([]float64, len(a.Values))
		for i, v := range a.Values {
			matched.Values[i] = v * nb / na
		}
		if out.NormMatched, err = aligned(matched, b); err != nil {
			return out, err
		}
	}
	ca, cb := a.unit(), b.unit()
	switch {
	case ca == nil:
		return out, errors.New("metrics: all rows of the table are equal: it has no shape to compare")
	case cb == nil:
		return out, errors.New("metrics: all rows of the reference are equal: it has no shape to compare")
	}
	s, err := nuclear(ca, cb)
	out.Disparity = max(0, 1-s*s)
	return out, err
}

// inSharedSpan returns the coordinates [n,2n] of the rows of a and b [n,d], d > 2n, in an
// orthonormal basis of their span. The coordinates have the same Procrustes distances, and their
// decomposition takes a hundredth of the time.
func inSharedSpan(a, b Table) (inA, inB Table) {
	n := a.Tokens
	var columns, r mat.Dense
	columns.Stack(a.dense(), b.dense())
	var qr mat.QR
	qr.Factorize(columns.T())
	qr.RTo(&r) // [d,2n], zeros below row 2n: column i holds row i of the stacked tables
	both := make([]float64, 2*n*2*n)
	for row := range 2 * n {
		for k := range 2 * n {
			both[row*2*n+k] = r.At(k, row)
		}
	}
	return Table{n, 2 * n, both[:n*2*n]}, Table{n, 2 * n, both[n*2*n:]}
}

// aligned returns the minimum over orthogonal R of the Frobenius norm of a R - b.
func aligned(a, b Table) (float64, error) {
	A, B := a.dense(), b.dense()
	var product, rotation, rotated mat.Dense
	product.Mul(A.T(), B)
	var svd mat.SVD
	if !svd.Factorize(&product, mat.SVDFull) {
		return 0, errors.New("metrics: the singular value decomposition of A^T B did not converge")
	}
	var u, v mat.Dense
	svd.UTo(&u)
	svd.VTo(&v)
	rotation.Mul(&u, v.T())
	rotated.Mul(A, &rotation)
	rotated.Sub(&rotated, B)
	return mat.Norm(&rotated, 2), nil
}

// nuclear returns the sum of the singular values of a^T b.
func nuclear(a, b *mat.Dense) (float64, error) {
	var product mat.Dense
	product.Mul(a.T(), b)
	var svd mat.SVD
	if !svd.Factorize(&product, mat.SVDNone) {
		return 0, errors.New("metrics: the singular value decomposition of A^T B did not converge")
	}
	sum := 0.0
	for _, v := range svd.Values(nil) {
		sum += v
	}
	return sum, nil
}

// unit returns the table minus its mean row, scaled to norm 1; nil if all rows are equal.
func (t Table) unit() *mat.Dense {
	out := t.Centred()
	size := floats.Norm(out.Values, 2)
	if size <= rounding*floats.Norm(t.Values, 2) {
		return nil
	}
	for i := range out.Values {
		out.Values[i] /= size
	}
	return out.dense()
}
