package pe

import (
	"fmt"
	"math"
)

// Graph joins the places of tokens, its nodes 0..V-1, by weighted edges.
type Graph struct {
	weights [][]float64 // [V][V], 0 where there is no edge
}

// GraphOf returns the graph of an adjacency matrix [V][V]: the weight of the edge from row to
// column, 0 where there is none.
func GraphOf(weights [][]float64) (*Graph, error) {
	for i, row := range weights {
		if i < len(row) && row[i] != 0 {
			return nil, fmt.Errorf("node %d is joined to itself", i)
		}
	}
	return LoopedGraphOf(weights)
}

// LoopedGraphOf does the same as GraphOf for graphs in which nodes may be joined to themselves.
func LoopedGraphOf(weights [][]float64) (*Graph, error) {
	for i, row := range weights {
		if len(row) != len(weights) {
			return nil, fmt.Errorf("row %d of the adjacency matrix has %d numbers, want %d: "+
				"one for each node", i, len(row), len(weights))
		}
		for j, w := range row {
			if !(w >= 0) || math.IsInf(w, 1) {
				return nil, fmt.Errorf("the edge from %d to %d weighs %g: weights are finite and "+
					"not negative", i, j, w)
			}
		}
	}
	return &Graph{weights: weights}, nil
}

// Nodes returns V.
func (g *Graph) Nodes() int { return len(g.weights) }

// Weight returns the weight of the edge from i to j; 0 where there is none.
func (g *Graph) Weight(i, j int) float64 { return g.weights[i][j] }

// Degrees returns the number of edges that lead to and from each node.
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

// Distances returns the number of edges on the shortest path between any two nodes [V][V]; -1 where
// there is none.
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

// Neighbours returns Graph; where there is none, the graph that joins each cell of the grid to
// those beside, above and below it, or each place of the line to the next.
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
