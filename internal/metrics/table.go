package metrics

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// Table is a table of positions, or any other with a row for each token.
type Table struct {
	Tokens, Dim int
	Values      []float64 // [Tokens,Dim]
}

// TableOf returns the table of rows, which must have the same length.
func TableOf(rows [][]float64) Table {
	return Table{Tokens: len(rows), Dim: len(rows[0]), Values: slices.Concat(rows...)}
}

// Row returns the row of a token.
func (t Table) Row(i int) []float64 { return t.Values[i*t.Dim : (i+1)*t.Dim] }

// check returns an error if the table is empty, or if its size does not match Tokens and Dim.
func (t Table) check() error {
	if t.Tokens < 1 || t.Dim < 1 || len(t.Values) != t.Tokens*t.Dim {
		return fmt.Errorf("metrics: %d numbers are not a table of %d x %d", len(t.Values), t.Tokens, t.Dim)
	}
	return nil
}

// rounding is the largest rounding difference between equal numbers, relative to the largest of them.
const rounding = 1e-14

// isConstant reports whether numbers are finite, and equal up to rounding.
func isConstant(x []float64) bool {
	low, high := slices.Min(x), slices.Max(x)
	return high-low <= rounding*min(max(-low, high), math.MaxFloat64)
}

// Centred returns the table minus its mean row. A column of equal numbers becomes exact zeros, so that
// rounding does not leave a direction.
func (t Table) Centred() Table {
	out := make([]float64, len(t.Values))
	column := make([]float64, t.Tokens)
	for k := range t.Dim {
		for i := range column {
			column[i] = t.Values[i*t.Dim+k]
		}
		if isConstant(column) {
			continue
		}
		mean := 0.0
		for _, v := range column {
			mean += v
		}
		mean /= float64(t.Tokens)
		for i, v := range column {
			out[i*t.Dim+k] = v - mean
		}
	}
	t.Values = out
	return t
}

// Gram returns the inner products E E^T [n,n] of the rows of a table E [n,d]. An encoding is
// translation invariant if this matrix is Toeplitz (Wennberg and Henter 2021, section 3.1).
func (t Table) Gram() []float64 {
	return t.between(func(a, b []float64) float64 {
		dot := 0.0
		for k := range a {
			dot += a[k] * b[k]
		}
		return dot
	}, true)
}

// Distances returns the distances [n,n] between the rows of a table [n,d]. Cosine is NaN for a row of
// zeros, and OneMinusCorr2 for a row of equal numbers.
func (t Table) Distances(kind Distance) []float64 { return t.between(kind.between, false) }

// Cosines returns the cosine similarity [n,n] of the rows.
func (t Table) Cosines() []float64 {
	out := t.Distances(Cosine)
	for i := range out {
		out[i] = 1 - out[i]
	}
	return out
}

// between returns a symmetric function of every two rows [n,n]. The diagonal is 0 unless diagonal is true.
func (t Table) between(of func(a, b []float64) float64, diagonal bool) []float64 {
	n := t.Tokens
	out := make([]float64, n*n)
	for i := range n {
		for j := range i {
			v := of(t.Row(i), t.Row(j))
			out[i*n+j], out[j*n+i] = v, v
		}
		if diagonal {
			out[i*n+i] = of(t.Row(i), t.Row(i))
		}
	}
	return out
}

// dense returns a copy of the table as a matrix.
func (t Table) dense() *mat.Dense { return mat.NewDense(t.Tokens, t.Dim, slices.Clone(t.Values)) }
