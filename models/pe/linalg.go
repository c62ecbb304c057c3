package pe

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// product fills table [rows,width] with A B of the given rank, A drawn before B, both from N(0, 1).
func product(rng *rand.Rand, rank, width int, table []float64) {
	rows := len(table) / width
	a, b := make([]float64, rows*rank), make([]float64, rank*width)
	fillNormal(rng, a)
	fillNormal(rng, b)
	for i := range rows {
		row := table[i*width : (i+1)*width]
		clear(row)
		for k := range rank {
			for j := range row {
				row[j] += a[i*rank+k] * b[k*width+j]
			}
		}
	}
}

// orthonormal fills table [rows,width] with orthonormal rows, or columns if there are more rows. It
// orthogonalises normal vectors one after another (Gram-Schmidt), which gives the uniform
// distribution over such matrices.
func orthonormal(rng *rand.Rand, rows, width int, table []float64) {
	n, d := min(rows, width), max(rows, width)
	vectors := make([]float64, n*d)
	for i := range n {
		v := vectors[i*d : (i+1)*d]
		fillNormal(rng, v)
		for range 2 { // the second pass removes rounding errors
			for j := range i {
				u := vectors[j*d : (j+1)*d]
				along := dot(u, v)
				for k := range v {
					v[k] -= along * u[k]
				}
			}
		}
		toNorm(v, 1)
	}
	for i := range n {
		for j := range d {
			if rows <= width {
				table[i*width+j] = vectors[i*d+j]
			} else {
				table[j*width+i] = vectors[i*d+j]
			}
		}
	}
}

func dot(x, y []float64) (sum float64) {
	for k, v := range x {
		sum += v * y[k]
	}
	return sum
}

// frobenius returns the Frobenius norm.
func frobenius(x []float64) float64 { return math.Sqrt(dot(x, x)) }

func scale(x []float64, by float64) {
	for i := range x {
		x[i] *= by
	}
}

// toNorm scales x to a Frobenius norm; zeros stay.
func toNorm(x []float64, norm float64) {
	if have := frobenius(x); have > 0 {
		scale(x, norm/have)
	}
}

// symmetricEigen returns the eigenvalues of a symmetric matrix, which must be above -shift, in
// ascending order, with their eigenvectors. It overwrites a. Rotations make the rows of A + shift I
// orthogonal (Hestenes 1958; Golub and Van Loan, section 8.6); row i is then (lambda_i + shift)
// times the eigenvector. The cost grows as n^3: about two seconds for 360 nodes, once per model.
func symmetricEigen(a [][]float64, shift float64) (values []float64, vectors [][]float64) {
	n := len(a)
	for i := range a {
		a[i][i] += shift
	}
	squares := make([]float64, n)
	for turned := true; turned; {
		turned = false
		for i, row := range a {
			squares[i] = dot(row, row)
		}
		for p := range n {
			for q := p + 1; q < n; q++ {
				product := dot(a[p], a[q])
				if math.Abs(product) <= 1e-15*math.Sqrt(squares[p]*squares[q]) {
					continue
				}
				tau := (squares[q] - squares[p]) / (2 * product)
				t := math.Copysign(1, tau) / (math.Abs(tau) + math.Sqrt(1+tau*tau))
				c := 1 / math.Sqrt(1+t*t)
				s, rowP, rowQ := t*c, a[p], a[q]
				for k, x := range rowP {
					y := rowQ[k]
					rowP[k], rowQ[k] = c*x-s*y, s*x+c*y
				}
				squares[p], squares[q] = squares[p]-t*product, squares[q]+t*product
				// Rounding leaves products of about 1e-16 of the lengths: below 1e-14 they count as 0.
				turned = turned || math.Abs(product) > 1e-14*math.Sqrt(squares[p]*squares[q])
			}
		}
	}
	lengths, order := make([]float64, n), make([]int, n)
	for i, row := range a {
		order[i], lengths[i] = i, frobenius(row)
		for k := range row {
			row[k] /= lengths[i]
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(lengths[i], lengths[j]) })
	for _, i := range order {
		values, vectors = append(values, lengths[i]-shift), append(vectors, a[i])
	}
	return values, vectors
}
