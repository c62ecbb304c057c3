// laplacian: eigenvectors of the graph's Laplacian (Dwivedi and Bresson 2021, "A generalization of
// transformer networks to graphs", section 2.1; Tab-PET, 2025, for tables).
//
//	L = I - Dg^(-1/2) A Dg^(-1/2),  Dg the degrees (1 where a node has none)
//	L u_i = lambda_i u_i,  lambda_0 <= lambda_1 <= ...
//	z_p = [u_1 .. u_k](p),  x <- x + C z + c,  C in R^{D x k}
//
// The first eigenvector is left out. Tab-PET takes --laplacian-last of the largest eigenvalues too,
// scales each column to mean 0 and standard deviation 1 (with N-1), multiplies by alpha and
// concatenates it to the token's features: before a linear map that is the same as C z added to x.
// Where a graph has fewer eigenvectors, the other columns are zeros, as in Dwivedi's code.
//
// Eigenvectors are defined up to sign: here the entry of the largest magnitude is positive, and no
// sign is drawn anew in training as Dwivedi's code does. Of a repeated eigenvalue (a grid has them)
// any basis would do; a graph gives the same one always. The graph is that of the positions;
// without one, neighbours on the grid or the line are joined.

package pe

import (
	"math"
	"math/rand/v2"

	"torchpe/torchpe"
)

var (
	laplacianFirst = Option{Name: "laplacian-first", Default: "8", Check: whole(1, 1<<16),
		Help: "eigenvectors of laplacian from the smallest eigenvalue but one on"}
	laplacianLast = Option{Name: "laplacian-last", Default: "0", Check: whole(0, 1<<16),
		Help: "eigenvectors of laplacian of the largest eigenvalues, as in Tab-PET"}
	laplacianScale = Option{Name: "laplacian-scale", Default: "none",
		Check: oneOf("none", "z-score"),
		Help: "eigenvectors of laplacian as they are, or each with mean 0 and standard deviation " +
			"1 (Tab-PET)"}
	laplacianAlpha = Option{Name: "laplacian-alpha", Default: "1", Check: number(1e-6, 1e6),
		Help: "factor of the eigenvectors of laplacian (Tab-PET's alpha)"}
)

func init() {
	Register(Scheme{
		Name:         "laplacian",
		Needs:        NeedsGraph,
		Extrapolates: Always,
		Options:      []Option{laplacianFirst, laplacianLast, laplacianScale, laplacianAlpha},
		New:          newLaplacian,
	})
}

type laplacian struct {
	atEmbed
	vectors *torchpe.Param // [E,N,k]
	w, b    *torchpe.Param // [E,D,k], [E,D]
}

func newLaplacian(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	n, first, last := c.Positions.Tokens(), c.Options.Int(laplacianFirst.Name),
		c.Options.Int(laplacianLast.Name)
	k, alpha, scale := first+last, c.Options.Float(laplacianAlpha.Name),
		c.Options.Text(laplacianScale.Name) == "z-score"
	// the same for all members; made when it is asked for, as it takes a while for many tokens
	var table []float64
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
	l := &laplacian{vectors: ps.Add("pe.vectors", false, fill, n, k)}
	l.w, l.b = addLinear(ps, "pe.", k, c.DModel)
	return l, nil
}

// chosenVectors returns the eigenvectors 1..first and the last ones, zeros where the graph has no
// more.
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

func (l *laplacian) Begin(s *torchpe.Scope, p Positions) Hooks {
	z := rowsAt(s, l.vectors.In(s), 1, p.Index)
	return &tableHooks{tables: torchpe.Linear(z, l.w.In(s), l.b.In(s)).Unsqueeze(1)}
}

// zScored returns u with mean 0 and standard deviation 1, with N-1 in the variance; a constant
// becomes 0.
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

// Laplacian returns the eigenvalues, in ascending order, and the eigenvectors [i][node] of I -
// Dg^(-1/2) A Dg^(-1/2), each of length 1 with its largest entry positive. Edges count in both
// directions, with the larger of the two weights.
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
