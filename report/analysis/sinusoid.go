package analysis

import (
	"fmt"
	"math"
)

// The closed-form references.
const (
	fixed1D = "1d-fixed"
	Fixed2D = "2d-fixed"
)

// sinusoid1D returns the table [n,d] of Vaswani et al. 2017, section 3.5, positions from 0:
//
//	P[p,2i] = sin(p / 10000^(2i/d)),  P[p,2i+1] = cos(p / 10000^(2i/d))
//
// Counting from another position turns each pair of columns, which a Procrustes transform undoes.
func sinusoid1D(n, d int) ([]float64, error) {
	if n < 1 || d < 2 || d%2 != 0 {
		return nil, fmt.Errorf("1d-fixed: a table of %d tokens and %d dimensions: sines and "+
			"cosines come in pairs", n, d)
	}
	out := make([]float64, n*d)
	for p := range n {
		sinusoid(float64(p), out[p*d:(p+1)*d])
	}
	return out, nil
}

// sinusoid2D returns the table [rows*columns,d] of the paper's appendix A.1: half of the dimensions
// encode the row and half the column, each from 0. The order of the halves (text and code differ)
// is one of columns, which a Procrustes transform undoes.
func sinusoid2D(rows, columns, d int) ([]float64, error) {
	if rows < 1 || columns < 1 || d < 4 || d%4 != 0 {
		return nil, fmt.Errorf("2d-fixed: a grid of %d x %d and %d dimensions: they must be "+
			"divisible by 4, two coordinates in pairs of sine and cosine", rows, columns, d)
	}
	out := make([]float64, rows*columns*d)
	for i := range rows * columns {
		row := out[i*d : (i+1)*d]
		sinusoid(float64(i/columns), row[:d/2])
		sinusoid(float64(i%columns), row[d/2:])
	}
	return out, nil
}

func sinusoid(p float64, out []float64) {
	for i := 0; i+1 < len(out); i += 2 {
		out[i], out[i+1] = math.Sincos(p / math.Pow(10000, float64(i)/float64(len(out))))
	}
}
