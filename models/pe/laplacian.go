// laplacian: eigenvectors of the graph's Laplacian (Dwivedi and Bresson 2021, "A generalization of transformer networks to graphs",
// section 2.1; Tab-PET, 2025, for tables).
//
//	L = I - Dg^(-1/2) A Dg^(-1/2),  L u_i = lambda_i u_i,  lambda_0 <= lambda_1 <= ...,  Dg the degrees (1 where a node has none)
//	z_p = [u_1 .. u_k](p),  x <- x + C z + c,  C in R^{D x k}
//
// The first eigenvector is left out. Tab-PET takes --laplacian-last of the largest eigenvalues too, scales each column to mean 0 and standard
// deviation 1 (with N-1), multiplies by alpha and concatenates it to the token's features: before a linear map that is the
// same as C z added to x. Where a graph has fewer eigenvectors, the other columns are zeros, as in Dwivedi's code.
//
// Eigenvectors are defined up to sign: here the entry of the largest magnitude is positive, and no sign is drawn anew in training as
// Dwivedi's code does. Of a repeated eigenvalue (a grid has them) any basis would do; a graph gives the same one always.
// The graph is that of the positions; without one, neighbours on the grid or the line are joined.

package pe

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"torchpe/torchpe"
)

var (
	laplacianFirst = Option{Name: "laplacian-first", Default: "8", Check: whole(1, 1<<16),
		Help: "eigenvectors of laplacian from the smallest eigenvalue but one on"}
	laplacianLast = Option{Name: "laplacian-last", Default: "0", Check: whole(0, 1<<16),
		Help: "eigenvectors of laplacian of the largest eigenvalues, as in Tab-PET"}
	laplacianScale = Option{Name: "laplacian-scale", Default: "none", Check: oneOf("none", "z-score"),
		Help: "eigenvectors of laplacian as they are, or each with mean 0 and standard deviation 1 (Tab-PET)"}
	laplacianAlpha = Option{Name: "laplacian-alpha", Default: "1", Check: number(1e-6, 1e6),
		Help: "factor of the eigenvectors of laplacian (Tab-PET's alpha)"}
)

func init() {
	Register(Scheme{
		Name:    "laplacian",
		Summary: "eigenvectors of the graph's Laplacian, through a linear map",
		Title:   "A Generalization of Transformer Networks to Graphs", Year: 2021,
		Reference: "Dwivedi and Bresson 2021, arXiv 2012.09699; Dwivedi et al. 2020, arXiv 2003.00982; Tab-PET (kentridgeai/Tab-PET)",
		Formula: "L = I - Dg^(-1/2) A Dg^(-1/2),  L u_i = lambda_i u_i,  z_p = [u_1 .. u_k](p)\n" +
			"x <- x + C z + c",
		Parameters:   "k D + D for k eigenvectors",
		Criteria:     Criteria{Inductive: true, DataDriven: true, ParameterEfficient: true, Parallelizable: true},
		Needs:        NeedsGraph,
		Extrapolates: Always,
		Options:      []Option{laplacianFirst, laplacianLast, laplacianScale, laplacianAlpha},
		New:          newLaplacian,
	})
}

type laplacian struct {
	None
	vectors *torchpe.Param // [E,N,k]
	w, b    *torchpe.Param // [E,D,k], [E,D]
}

func newLaplacian(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	n, first, last := c.Positions.Tokens(), c.Options.Int(laplacianFirst.Name), c.Options.Int(laplacianLast.Name)
	k, alpha, scale := first+last, c.Options.Float(laplacianAlpha.Name), c.Options.Text(laplacianScale.Name) == "z-score"
	var table []float64 // the same for all members; made when it is asked for, as it takes a while for many tokens
	fill := func(_ int, _ *rand.Rand, out []float64) {
		if table == nil {
			table = make([]float64, n*k)
			for i, u := range chosenVectors(c.Positions.Neighbours(), first, last) {
				if scale {
					u = zScored(u)
				}
				for p, v := range u {
					table[p*k+i] = alpha * v
				}
			}
		}
		copy(out, table)
	}
	return &laplacian{
		vectors: ps.Add("pe.vectors", false, fill, n, k),
		w:       ps.Add("pe.weight", true, torchpe.FanIn(k), c.DModel, k),
		b:       ps.Add("pe.bias", true, torchpe.FanIn(k), c.DModel),
	}, nil
}

// chosenVectors returns the eigenvectors 1..first and the last ones, zeros where the graph has no more.
func chosenVectors(g *Graph, first, last int) (chosen [][]float64) {
	_, vectors := g.Laplacian()
	n := len(vectors)
	take := func(at int) {
		u := make([]float64, n)
		if at >= 1 && at < n {
			u = vectors[at]
		}
		chosen = append(chosen, u)
	}
	for i := range first {
		take(1 + i)
	}
	for i := range last {
		take(n - last + i)
	}
	return chosen
}

func (l *laplacian) Sites() Site { return AtEmbed }

func (l *laplacian) Begin(s *torchpe.Scope, p Positions) Hooks {
	z := rowsAt(s, l.vectors.In(s), 1, p.Index)
	return &tableHooks{tables: torchpe.Linear(z, l.w.In(s), l.b.In(s)).Unsqueeze(1)}
}

// zScored returns u with mean 0 and standard deviation 1, with N-1 in the variance; a constant becomes 0.
func zScored(u []float64) []float64 {
	var mean, squares float64
	for _, v := range u {
		mean += v / float64(len(u))
	}
	for _, v := range u {
		squares += (v - mean) * (v - mean)
	}
	out := make([]float64, len(u))
	if deviation := math.Sqrt(squares / float64(len(u)-1)); deviation > 1e-12 {
		for i, v := range u {
			out[i] = (v - mean) / deviation
		}
	}
	return out
}

// Laplacian returns the eigenvalues, in ascending order, and the eigenvectors [i][node] of I - Dg^(-1/2) A Dg^(-1/2), each of
// length 1 with its largest entry positive. Edges count in both directions, with the larger of the two weights.
func (g *Graph) Laplacian() (values []float64, vectors [][]float64) {
	n := g.Nodes()
	a, root := make([][]float64, n), make([]float64, n)
	for i := range a {
		a[i] = make([]float64, n)
		for j := range a[i] {
			a[i][j] = max(g.Weight(i, j), g.Weight(j, i))
			root[i] += a[i][j]
		}
		if root[i] == 0 {
			root[i] = 1
		}
		root[i] = math.Sqrt(root[i])
	}
	for i := range a {
		for j := range a[i] {
			a[i][j] = -a[i][j] / (root[i] * root[j])
		}
		a[i][i]++
	}
	values, vectors = symmetricEigen(a, 1) // they lie in [0, 2]
	for _, u := range vectors {
		top := 0
		for i, v := range u {
			if math.Abs(v) > math.Abs(u[top])+1e-9 { // the first of those that are as large
				top = i
			}
		}
		for i := range u {
			if u[top] < 0 && i != top {
				u[i] = -u[i]
			}
		}
		u[top] = math.Abs(u[top])
	}
	return values, vectors
}

// symmetricEigen returns the eigenvalues of a symmetric matrix, which must be above -shift, in ascending order, with their
// eigenvectors. It overwrites a. Rotations make the rows of A + shift I orthogonal (Hestenes 1958; Golub and Van Loan, section 8.6): then row
// i is lambda_i + shift times the eigenvector. The cost goes with n^3, some two seconds for 360 nodes, once a model.
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
				// Rounding keeps products near 1e-16 of the lengths; what is a few times that is left as it is.
				turned = turned || math.Abs(product) > 1e-14*math.Sqrt(squares[p]*squares[q])
			}
		}
	}
	lengths, order := make([]float64, n), make([]int, n)
	for i, row := range a {
		order[i], lengths[i] = i, math.Sqrt(dot(row, row))
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

func dot(x, y []float64) (sum float64) {
	for k, v := range x {
		sum += v * y[k]
	}
	return sum
}
