// Biases from shortest paths, and vectors of degrees at the input.

package pe

import (
	"fmt"
	"math"
	"strconv"

	"torchpe/torchpe"
)

// Layers share b, c and z. The kind of an edge is its weight, an integer; pairs without an edge
// have kind 0. As in the published code, hops beyond a path's end, up to the longest path of the
// graph, use row 0 of w, and paths are those of Floyd and Warshall. A virtual node has no z.
//
// Nothing trained depends on the number of nodes. Kinds of edges that did not occur in training are
// an error.
var _ = Register(Scheme{Name: "graphormer", Needs: NeedsGraph, Extrapolates: Always, New: newGraphormer},
	option("graphormer-centrality", "true", yesNo,
		"whether graphormer adds vectors for the degrees of nodes to its input"),
	option("graphormer-degrees", "510", whole(1, 1<<20), "largest degree that graphormer distinguishes").
		idle("graphormer-centrality", "false"),
	option("graphormer-distances", "509", whole(1, 1<<20), "longest path that graphormer distinguishes"),
	option("graphormer-edges", "none", parsed(graphormerHops),
		"edges that graphormer adds to the logits: none, simple (the edge between two nodes), "+
			"or the first hops of the shortest path, given as a number"),
	option("graphormer-virtual-node", "none", oneOf("none", "first"),
		"virtual node of graphormer, with a separate distance to all others: none, or the first"))

// simpleEdges is the number of hops that represents --graphormer-edges simple.
const simpleEdges = -1

// graphormerHops parses --graphormer-edges.
func graphormerHops(text string) (hops int, err error) {
	switch text {
	case "none":
		return 0, nil
	case "simple":
		return simpleEdges, nil
	}
	if hops, err = strconv.Atoi(text); err != nil || hops < 1 || hops > 1<<16 {
		return 0, fmt.Errorf("%q is neither none, simple, nor a whole number from 1 to %d", text, 1<<16)
	}
	return hops, nil
}

type graphormer struct {
	None
	in, out *torchpe.Param // [E,degrees+1,D]; nil without centrality
	// [E,1,longest+2,H]; the last row is for pairs without a path
	distances *torchpe.Param
	edges     *torchpe.Param // [E,1,kinds+2,H]; nil without edges
	hops      *torchpe.Param // [E,hops,H,H]; nil unless paths count
	virtual   *torchpe.Param // [E,H]; nil without a virtual node
	graph     graphFacts
	kinds     int // largest kind of an edge
}

// graphFacts holds properties of a graph's nodes, by place.
type graphFacts struct {
	in, out  []int
	distance [][]int
	kind     [][]int
	between  [][]int // a node on the path between two, -1 for an edge, -2 for no path; nil without hops
	longest  int     // longest path; 510 if two nodes have none, as in the published code
}

func newGraphormer(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	hops, err := graphormerHops(c.text("graphormer-edges"))
	if err != nil {
		return nil, fmt.Errorf("graphormer: --graphormer-edges: %w", err)
	}
	virtual := c.is("graphormer-virtual-node", "first")
	g := &graphormer{}
	if g.graph, err = factsOf(c.Positions.Neighbours(), virtual, hops); err != nil {
		return nil, fmt.Errorf("graphormer: --graphormer-edges %s: %w", c.text("graphormer-edges"), err)
	}
	draw := torchpe.Normal(0, 0.02) // as in the published code
	if c.yes("graphormer-centrality") {
		rows := c.int("graphormer-degrees") + 1
		g.in, g.out = ps.Add("pe.in", true, draw, rows, c.DModel),
			ps.Add("pe.out", true, draw, rows, c.DModel)
	}
	rows := c.int("graphormer-distances") + 2
	g.distances = ps.Add("pe.distances", true, draw, 1, rows, c.Heads)
	if virtual {
		g.virtual = ps.Add("pe.virtual", true, draw, c.Heads)
	}
	if hops == 0 {
		return g, nil
	}
	for _, row := range g.graph.kind {
		for _, kind := range row {
			g.kinds = max(g.kinds, kind)
		}
	}
	g.edges = ps.Add("pe.edges", true, draw, 1, g.kinds+2, c.Heads)
	if hops != simpleEdges {
		g.hops = ps.Add("pe.hops", true, draw, hops, c.Heads, c.Heads)
	}
	return g, nil
}

// factsOf reads a graph; with a virtual node, it omits the edges of the node at the first place.
func factsOf(g *Graph, virtual bool, hops int) (f graphFacts, err error) {
	n := g.Nodes()
	weights := make([][]float64, n)
	f.kind = make([][]int, n)
	for i := range n {
		weights[i], f.kind[i] = make([]float64, n), make([]int, n)
		for j := range n {
			if virtual && (i == 0 || j == 0) {
				continue
			}
			w := g.Weight(i, j)
			if hops != 0 && (w != math.Trunc(w) || w > 1<<16) {
				return f, fmt.Errorf("the edge from %d to %d has weight %g: the weight is the edge's "+
					"kind, a whole number up to %d", i, j, w, 1<<16)
			}
			weights[i][j], f.kind[i][j] = w, int(w)
		}
	}
	if g, err = GraphOf(weights); err != nil {
		return f, err
	}
	f.in, f.out = g.Degrees()
	f.distance = g.Distances()
	for i, row := range f.distance {
		for j, d := range row {
			if d < 0 && (!virtual || i != 0 && j != 0) {
				d = 510
			}
			f.longest = max(f.longest, d)
		}
	}
	if hops > 0 {
		f.between = betweenOf(g)
	}
	return f, nil
}

// betweenOf returns a node on the shortest path between any two nodes, by the algorithm of Floyd
// and Warshall: of several paths, the first found.
func betweenOf(g *Graph) [][]int {
	const far = 1 << 30
	n := g.Nodes()
	length, between := make([][]int, n), make([][]int, n)
	for i := range n {
		length[i], between[i] = make([]int, n), make([]int, n)
		for j := range n {
			switch between[i][j] = -1; {
			case i == j:
			case g.Weight(i, j) > 0:
				length[i][j] = 1
			default:
				length[i][j], between[i][j] = far, -2
			}
		}
	}
	for k := range n {
		for i := range n {
			for j := range n {
				if sum := length[i][k] + length[k][j]; sum < length[i][j] {
					length[i][j], between[i][j] = sum, k
				}
			}
		}
	}
	return between
}

// path returns the nodes between i and j.
func (f graphFacts) path(i, j int) []int {
	k := f.between[i][j]
	if k < 0 {
		return nil
	}
	return append(append(f.path(i, k), k), f.path(k, j)...)
}

// kindOfHop returns the row of w for hop n of the path from i to j, or 0 beyond its end.
func (f graphFacts) kindOfHop(i, j, n int) int {
	if i == j || f.between[i][j] == -2 {
		return 0
	}
	nodes := append(append([]int{i}, f.path(i, j)...), j)
	if n+1 >= len(nodes) {
		return 0
	}
	return f.kind[nodes[n]][nodes[n+1]] + 1
}

func (g *graphormer) Sites(int) Site {
	if g.in != nil {
		return AtEmbed | AtLogits
	}
	return AtLogits
}

func (g *graphormer) Begin(s *torchpe.Scope, p Positions) Hooks {
	checkPlaces(p.Index, len(g.graph.in))
	table := g.distances.In(s)
	last := table.Size(2) - 1
	bias := biasOf(s, table, pairs(p.Index, func(i, j int) int {
		if d := g.graph.distance[i][j]; d >= 0 {
			return min(d, last-1)
		}
		return last
	}), p.Tokens())
	if g.edges != nil {
		bias = bias.Add(g.edgeBias(s, p.Index))
	}
	if g.virtual != nil {
		others := pairTensor(s, bias, p.Index, func(i, j int) float64 {
			return oneIf(i != 0 && j != 0)
		})
		own := g.virtual.In(s).Reshape(bias.Size(0), 1, bias.Size(2), 1, 1)
		bias = bias.Mul(others).Add(own.Mul(others.Neg().AddScalar(1)))
	}
	h := &graphormerHooks{biasHooks: layerBias(bias)}
	if g.in != nil {
		h.added = g.centrality(s, p.Index)
	}
	return h
}

// centrality returns the vectors of the degrees [E,N,D].
func (g *graphormer) centrality(s *torchpe.Scope, index []int) torchpe.Tensor {
	of := func(table *torchpe.Param, degree []int) torchpe.Tensor {
		t, rows := table.In(s), make([]int, len(index))
		for i, at := range index {
			rows[i] = min(degree[at], t.Size(1)-1)
		}
		return t.IndexSelect(1, indexTensor(s, t.Device(), rows, len(rows)))
	}
	sum := of(g.in, g.graph.in).Add(of(g.out, g.graph.out)) // [E,N,D]
	if g.virtual != nil {
		nodes := make([]float64, len(index))
		for i, at := range index {
			nodes[i] = oneIf(at != 0)
		}
		sum = sum.Mul(numbers(s, sum, nodes, len(nodes), 1))
	}
	return sum
}

// edgeBias returns c [E,1,H,N,N].
func (g *graphormer) edgeBias(s *torchpe.Scope, index []int) torchpe.Tensor {
	n, table := len(index), g.edges.In(s)
	if g.hops == nil {
		return biasOf(s, table, pairs(index, func(i, j int) int {
			return g.graph.kind[i][j] + 1
		}), n)
	}
	hops := g.hops.In(s)
	var sum torchpe.Tensor
	for hop := range min(hops.Size(1), max(g.graph.longest, 1)) {
		mapped := table.Squeeze(1).MatMul(hops.Select(1, hop)).Unsqueeze(1) // [E,1,kinds+2,H]
		c := biasOf(s, mapped, pairs(index, func(i, j int) int {
			return g.graph.kindOfHop(i, j, hop)
		}), n)
		if sum.Defined() {
			c = sum.Add(c)
		}
		sum = c
	}
	return sum.Mul(pairTensor(s, table, index, func(i, j int) float64 {
		d := g.graph.distance[i][j]
		if d < 0 {
			d = hops.Size(1)
		}
		return 1 / float64(max(1, min(d, hops.Size(1))))
	}))
}

type graphormerHooks struct {
	biasHooks
	added torchpe.Tensor // to the input of the first block [E,N,D]; the zero Tensor for nothing
}

func (h *graphormerHooks) Table(layer int) (torchpe.Tensor, bool) {
	return h.added, layer == 0 && h.added.Defined()
}

func (h *graphormerHooks) Embed(layer int, x torchpe.Tensor) torchpe.Tensor {
	if t, ok := h.Table(layer); ok {
		return x.Add(t.Unsqueeze(1))
	}
	return x
}
