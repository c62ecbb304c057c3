package metrics

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// GradientOptions holds the options of Gradients.
type GradientOptions struct {
	Sparsity float64 // share of the smallest entries of each row that are set to 0
	Alpha    float64 // 0 to 1: exponent of the density of tokens, which is divided out
	Time     float64 // diffusion time: eigenvalues l become l^Time; 0 sums all times, l / (1 - l)
	Dims     int     // number of gradients
}

// DefaultGradients returns the options of BrainSpace's GradientMaps("dm", "normalized_angle").
func DefaultGradients() GradientOptions {
	return GradientOptions{Sparsity: 0.9, Alpha: 0.5, Dims: 10}
}

// Gradients returns the coordinates [n,Dims] of tokens along the gradients of their connectivity
// [n,n], and the eigenvalue of each: the DiffusionMap of their Affinity (Margulies et al. 2016; the
// conventions of BrainSpace, Vos de Wael et al. 2020, with the exact eigenvectors).
func Gradients(connectivity []float64, n int, o GradientOptions) (
	coordinates, eigenvalues []float64, err error,
) {
	a, err := Affinity(connectivity, n, o.Sparsity)
	if err != nil {
		return nil, nil, err
	}
	return DiffusionMap(a, n, o)
}

// DiffusionMap returns the coordinates [n,Dims] of tokens from their affinity A [n,n], and the
// eigenvalue of each (Coifman and Lafon 2006). It overwrites A.
//
//	W = D_A^-alpha A D_A^-alpha,  P = D_W^-1 W,  P v = l v
//
// The first eigenvector, which is constant, is omitted. The others have root mean square l^Time or
// l / (1 - l). Their signs are chosen so that the entry of largest magnitude is positive; the first
// such entry decides.
func DiffusionMap(a []float64, n int, o GradientOptions) (coordinates, eigenvalues []float64, err error) {
	if o.Dims < 1 || o.Dims > n-1 {
		return nil, nil, fmt.Errorf("%d gradients of %d tokens: want 1 to %d", o.Dims, n, n-1)
	}
	scaleBoth(a, n, o.Alpha)
	degree := scaleBoth(a, n, 0.5) // the symmetric matrix with the eigenvalues of P
	values, vectors, err := leading("affinity", a, n, o.Dims+1)
	if err != nil {
		return nil, nil, err
	}
	if values[1] > values[0]*(1-1e-10) {
		return nil, nil, fmt.Errorf("the %d tokens form parts that are not connected with each other", n)
	}
	coordinates = make([]float64, n*o.Dims)
	for axis := range o.Dims {
		l, squares := values[axis+1]/values[0], 0.0
		eigenvalues = append(eigenvalues, math.Pow(l, o.Time))
		if o.Time == 0 {
			eigenvalues[axis] = l / (1 - l)
		}
		v := vectors[axis+1]
		for i := range v {
			v[i] /= math.Sqrt(degree[i])
			squares += v[i] * v[i]
		}
		fixSign(v)
		for i := range v {
			coordinates[i*o.Dims+axis] = v[i] * math.Sqrt(float64(n)/squares) * eigenvalues[axis]
		}
	}
	return coordinates, eigenvalues, nil
}

// Affinity returns the affinity [n,n] between the rows of connectivity [n,n]: 1 - acos(c) / pi of the cosine
// c of two rows after all except their int(n (1 - sparsity)) largest entries are set to 0.
func Affinity(connectivity []float64, n int, sparsity float64) ([]float64, error) {
	keep := int(float64(n) * (1 - sparsity))
	switch {
	case n < 2 || len(connectivity) != n*n:
		return nil, fmt.Errorf("%d numbers are not a connectivity between %d tokens: want n x n",
			len(connectivity), n)
	case keep < 2:
		return nil, fmt.Errorf("a sparsity of %g leaves %d of the %d entries of a token, one of them its "+
			"own: at least 2 are needed", sparsity, max(keep, 0), n)
	}
	rows := make([][]float64, n)
	for i := range rows {
		row := connectivity[i*n : (i+1)*n]
		for j, v := range row {
			if v-v != 0 {
				return nil, fmt.Errorf("the connectivity of tokens %d and %d is %v", i, j, v)
			}
		}
		rows[i] = sparsified(row, keep)
		length := math.Sqrt(floats.Dot(rows[i], rows[i]))
		if length == 0 {
			return nil, fmt.Errorf("token %d is not connected with any other", i)
		}
		for j := range rows[i] {
			rows[i][j] /= length
		}
	}
	a := make([]float64, n*n)
	for i := range n {
		for j := range i + 1 {
			v := max(-1, min(1, floats.Dot(rows[i], rows[j])))
			v = max(0, 1-math.Acos(v)/math.Pi)
			a[i*n+j], a[j*n+i] = v, v
		}
	}
	return a, nil
}

// Strongest returns the graph [n,n] that joins each of n tokens with the k others of its largest connectivity
// [n,n], if that is above 0. Two tokens are joined if either joins the other.
func Strongest(connectivity []float64, n, k int) (joined [][]bool) {
	joined = make([][]bool, n)
	for i := range joined {
		joined[i] = make([]bool, n)
	}
	for i := range n {
		row := slices.Clone(connectivity[i*n : (i+1)*n])
		row[i] = 0
		for j, v := range sparsified(row, k) {
			if v > 0 {
				joined[i][j], joined[j][i] = true, true
			}
		}
	}
	return joined
}

// sparsified returns a copy of row in which all except the keep largest entries are 0. Among equal
// entries the first are kept.
func sparsified(row []float64, keep int) []float64 {
	order := make([]int, len(row))
	for j := range order {
		order[j] = j
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(row[j], row[i]) })
	kept := make([]float64, len(row))
	for _, j := range order[:keep] {
		kept[j] = row[j]
	}
	return kept
}

// scaleBoth divides each entry of the symmetric matrix a [n,n] by the sums of its row and its column,
// both raised to power. It returns the sums.
func scaleBoth(a []float64, n int, power float64) []float64 {
	sums, factors := make([]float64, n), make([]float64, n)
	for i := range n {
		for _, v := range a[i*n : (i+1)*n] {
			sums[i] += v
		}
		factors[i] = math.Pow(sums[i], -power)
	}
	for i := range n {
		for j := range n {
			a[i*n+j] *= factors[i] * factors[j]
		}
	}
	return sums
}

// fixSign makes the entry of v of largest magnitude positive. Among entries that are equal up to
// rounding, the first decides.
func fixSign(v []float64) {
	largest := 0.0
	for _, x := range v {
		if math.Abs(x) > math.Abs(largest)*(1+1e-9) {
			largest = x
		}
	}
	for i := range v {
		v[i] = math.Copysign(1, largest) * v[i]
	}
}
