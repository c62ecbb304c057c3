package metrics

import (
	"errors"
	"fmt"
	"math"

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

// Procrustes returns the distances between tables a and b [n,d] of the same tokens. It returns an
// error where the rows of a table are all equal.
func Procrustes(a, b []float64, n, d int) (ProcrustesDistances, error) {
	var out ProcrustesDistances
	if n < 1 || d < 1 || len(a) != n*d || len(b) != n*d {
		return out, fmt.Errorf("metrics: tables of %d and %d numbers for %d tokens of "+
			"%d dimensions", len(a), len(b), n, d)
	}
	for i := range a {
		if v := a[i] + b[i]; v-v != 0 {
			return out, fmt.Errorf("metrics: token %d has a number that is not finite", i/d)
		}
	}
	if d > 2*n {
		a, b = inSharedSpan(a, b, n, d)
		d = 2 * n
	}
	na, nb := norm2(a), norm2(b)
	if na == 0 || nb == 0 {
		return out, errors.New("metrics: a table of zeros has no shape to compare")
	}
	var err error
	if out.Raw, err = aligned(a, b, n, d); err != nil {
		return out, err
	}
	matched := make([]float64, len(a))
	for i, v := range a {
		matched[i] = v * nb / na
	}
	if out.NormMatched, err = aligned(matched, b, n, d); err != nil {
		return out, err
	}
	ca, cb := unit(a, n, d), unit(b, n, d)
	if ca == nil || cb == nil {
		return out, errors.New("metrics: all tokens of a table are equal: it has no shape to compare")
	}
	s, err := nuclear(ca, cb, n, d)
	out.Disparity = max(0, 1-s*s)
	return out, err
}

// inSharedSpan returns the coordinates [n,2n] of the rows of a and b [n,d], d > 2n, in an orthonormal
// basis of their span. The coordinates have the same Procrustes distances, and the smaller
// decomposition takes a hundredth of the time.
func inSharedSpan(a, b []float64, n, d int) (inA, inB []float64) {
	var columns, r mat.Dense
	columns.Stack(mat.NewDense(n, d, a), mat.NewDense(n, d, b))
	var qr mat.QR
	qr.Factorize(columns.T())
	qr.RTo(&r) // [d,2n], zeros below row 2n: column i holds row i of the stacked tables
	both := make([]float64, 2*n*2*n)
	for row := range 2 * n {
		for k := range 2 * n {
			both[row*2*n+k] = r.At(k, row)
		}
	}
	return both[:n*2*n], both[n*2*n:]
}

// aligned returns the minimum over orthogonal R of the Frobenius norm of a R - b.
func aligned(a, b []float64, n, d int) (float64, error) {
	A, B := mat.NewDense(n, d, a), mat.NewDense(n, d, b)
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
func nuclear(a, b []float64, n, d int) (float64, error) {
	var product mat.Dense
	product.Mul(mat.NewDense(n, d, a).T(), mat.NewDense(n, d, b))
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

// unit subtracts the mean row from a table and scales it to norm 1. It returns nil where all rows are
// equal.
func unit(a []float64, n, d int) []float64 {
	out := CentredRows(a, n, d)
	size := norm2(out)
	if size <= 1e-14*norm2(a) {
		return nil
	}
	for i := range out {
		out[i] /= size
	}
	return out
}

// CentredRows subtracts the mean row from a table [n,d].
func CentredRows(a []float64, n, d int) []float64 {
	out := make([]float64, len(a))
	for k := range d {
		mean := 0.0
		for i := range n {
			mean += a[i*d+k]
		}
		mean /= float64(n)
		for i := range n {
			out[i*d+k] = a[i*d+k] - mean
		}
	}
	return out
}

// norm2 returns the Euclidean norm without overflow.
func norm2(a []float64) float64 {
	largest := 0.0
	for _, v := range a {
		largest = max(largest, math.Abs(v))
	}
	if largest == 0 {
		return 0
	}
	sum := 0.0
	for _, v := range a {
		sum += v / largest * (v / largest)
	}
	return largest * math.Sqrt(sum)
}
