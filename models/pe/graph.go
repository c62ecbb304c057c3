package pe

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// Graph connects the places of tokens, its nodes 0..V-1, by weighted edges.
type Graph struct {
	weights [][]float64 // [V][V], 0 for no edge
}

// GraphOf returns the graph of an adjacency matrix [V][V]: the weight of the edge from row to
// column, or 0 for no edge.
func GraphOf(weights [][]float64) (*Graph, error) {
	for i, row := range weights {
		if i < len(row) && row[i] != 0 {
			return nil, fmt.Errorf("node %d is connected to itself", i)
		}
	}
	return LoopedGraphOf(weights)
}

// LoopedGraphOf is GraphOf for graphs in which nodes may be connected to themselves.
func LoopedGraphOf(weights [][]float64) (*Graph, error) {
	for i, row := range weights {
		if len(row) != len(weights) {
			return nil, fmt.Errorf("row %d of the adjacency matrix has %d numbers, want %d: "+
				"one for each node", i, len(row), len(weights))
		}
		for j, w := range row {
			if !(w >= 0) || math.IsInf(w, 1) {
				return nil, fmt.Errorf("the edge from %d to %d has weight %g: weights are finite and "+
					"not negative", i, j, w)
			}
		}
	}
	return &Graph{weights: weights}, nil
}

// Nodes returns V.
func (g *Graph) Nodes() int { return len(g.weights) }

// Weight returns the weight of the edge from i to j, or 0 if there is none.
func (g *Graph) Weight(i, j int) float64 { return g.weights[i][j] }

// Degrees returns the numbers of incoming and outgoing edges of each node.
func (g *Graph) Degrees() (in, out []int) {
	in, out = make([]int, g.Nodes()), make([]int, g.Nodes())
	for i, row := range g.weights {
		for j, w := range row {
			if w > 0 {
				out[i]++
				in[j]++
			}
		}
	}
	return in, out
}

// Distances returns the number of edges on the shortest path between any two nodes [V][V], or -1 if
// there is no path.
func (g *Graph) Distances() [][]int {
	all := make([][]int, g.Nodes())
	for from := range all {
		d := make([]int, g.Nodes())
		for i := range d {
			d[i] = -1
		}
		d[from] = 0
		for queue := []int{from}; len(queue) > 0; queue = queue[1:] {
			for next, w := range g.weights[queue[0]] {
				if w > 0 && d[next] < 0 {
					d[next] = d[queue[0]] + 1
					queue = append(queue, next)
				}
			}
		}
		all[from] = d
	}
	return all
}

// Neighbours returns Graph, or if it is nil the graph that connects each cell of the grid to its
// neighbours in the row and the column, or each place of the line to the next.
func (p Positions) Neighbours() *Graph {
	if p.Graph != nil {
		return p.Graph
	}
	n := p.Tokens()
	weights := make([][]float64, n)
	for i := range weights {
		weights[i] = make([]float64, n)
	}
	for a, i := range p.Index {
		for b, j := range p.Index {
			near := i-j == 1 || j-i == 1
			if p.Cells != nil {
				rows, columns := p.Cells[a][0]-p.Cells[b][0], p.Cells[a][1]-p.Cells[b][1]
				near = rows*rows+columns*columns == 1
			}
			if near {
				weights[i][j] = 1
			}
		}
	}
	return &Graph{weights: weights}
}

// isRegular reports whether all nodes have the same degree: the sum of the weights of their edges,
// counted as in Laplacian.
func (g *Graph) isRegular() bool {
	degrees := make([]float64, g.Nodes())
	for i := range degrees {
		for j := range degrees {
			degrees[i] += max(g.Weight(i, j), g.Weight(j, i))
		}
	}
	return slices.Max(degrees)-slices.Min(degrees) <= 1e-9*slices.Max(degrees)
}

// Laplacian returns the eigenvalues, in ascending order, and the eigenvectors [i][node] of I -
// Dg^(-1/2) A Dg^(-1/2), each of length 1 with its largest entry positive. Those of a repeated
// eigenvalue are one orthonormal basis of many. Edges count in both directions, with the larger of
// the two weights.
func (g *Graph) Laplacian() (values []float64, vectors [][]float64) {
	n := g.Nodes()
	a, root := mat.NewSymDense(n, nil), make([]float64, n)
	for i := range n {
		for j := range n {
			root[i] += max(g.Weight(i, j), g.Weight(j, i))
		}
		if root[i] == 0 {
			root[i] = 1
		}
		root[i] = math.Sqrt(root[i])
	}
	for i := range n {
		for j := i; j < n; j++ {
			a.SetSym(i, j, -max(g.Weight(i, j), g.Weight(j, i))/(root[i]*root[j]))
		}
		a.SetSym(i, i, a.At(i, i)+1)
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(a, true) {
		panic("pe: the eigenvectors of a Laplacian did not converge, whose entries lie in [-1, 1]")
	}
	var columns mat.Dense
	eigen.VectorsTo(&columns)
	for at := range n {
		u := mat.Col(nil, at, &columns)
		vectors = append(vectors, u)
		top := 0
		for i, v := range u {
			if math.Abs(v) > math.Abs(u[top])+1e-9 { // the first of equally large ones
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
	return eigen.Values(nil), vectors
}

// walk computes the powers of a graph's random walk one after another.
type walk struct {
	steps [][]hop     // one step from each node
	power [][]float64 // [from][to] the probabilities after that many steps
}

// hop is a step to a node.
type hop struct {
	to          int
	probability float64
}

// walkOf returns the walk before its first step. It leaves a node by each of its edges with the
// same probability, or in proportion to their weights, and ends at a node without outgoing edges.
func walkOf(g *Graph, weighted bool) *walk {
	n := g.Nodes()
	w := &walk{steps: make([][]hop, n), power: make([][]float64, n)}
	for i := range n {
		w.power[i] = make([]float64, n)
		w.power[i][i] = 1
		sum := 0.0
		for j := range n {
			weight := g.Weight(i, j)
			if weight > 0 && !weighted {
				weight = 1
			}
			if weight > 0 {
				w.steps[i] = append(w.steps[i], hop{j, weight})
				sum += weight
			}
		}
		for k := range w.steps[i] {
			w.steps[i][k].probability /= sum
		}
	}
	return w
}

// step advances the walk by one step.
func (w *walk) step() {
	next := make([][]float64, len(w.power))
	for i, hops := range w.steps {
		next[i] = make([]float64, len(w.power))
		for _, h := range hops {
			for j, p := range w.power[h.to] {
				next[i][j] += h.probability * p
			}
		}
	}
	w.power = next
}
