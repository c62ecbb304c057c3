package pe_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

// joined returns the undirected graph of the given edges, each of weight 1.
func joined(nodes int, edges ...[2]int) *pe.Graph {
	weights := zeros(nodes, nodes)
	for _, e := range edges {
		weights.Row(e[0])[e[1]], weights.Row(e[1])[e[0]] = 1, 1
	}
	return weighted(rowsOf(weights))
}

// TestGraph: distances by hand on a path of four nodes with a fifth alone; edges go both ways.
func TestGraph(t *testing.T) {
	g := joined(5, [2]int{0, 1}, [2]int{2, 1}, [2]int{2, 3})
	want := [][]int{{0, 1, 2, 3, -1}, {1, 0, 1, 2, -1}, {2, 1, 0, 1, -1}, {3, 2, 1, 0, -1}, {-1, -1, -1, -1, 0}}
	for i, row := range g.Distances() {
		expect.Equal(t, fmt.Sprintf("distances from %d", i), row, want[i])
	}
	in, out := g.Degrees()
	expect.Equal(t, "degrees", [2][]int{in, out}, [2][]int{{1, 2, 2, 1, 0}, {1, 2, 2, 1, 0}})
	expect.Equal(t, "nodes and weights", fmt.Sprint(g.Nodes(), g.Weight(1, 0), g.Weight(0, 3)), "5 1 0")
}

// Eigenvectors that laplacian takes both as one of the first and as one of the last are taken once.
func TestLaplacianOnce(t *testing.T) {
	path := joined(5, [2]int{0, 1}, [2]int{1, 2}, [2]int{2, 3}, [2]int{3, 4})
	columns := func(first, last int) petest.Array {
		k := first + last
		return tableOf(t, petest.Spec{Scheme: "laplacian", DModel: k, Positions: graphPositions(path),
			Set:   map[string][]float64{"pe.weight": identity(k), "pe.bias": make([]float64, k)},
			Given: given("laplacian-first=%d laplacian-last=%d", first, last)})
	}
	all, both := columns(4, 0), columns(3, 3)
	for node := range 5 {
		want := []float64{all.Row(node)[0], all.Row(node)[1], all.Row(node)[2], 0, 0, all.Row(node)[3]}
		expect.Equal(t, fmt.Sprint("node ", node), fmt.Sprint(both.Row(node)), fmt.Sprint(want))
	}
}

func TestBadGraph(t *testing.T) {
	for _, c := range []struct {
		weights [][]float64
		says    string
	}{
		{[][]float64{{0, 1}, {1}}, "row 1"},
		{[][]float64{{0, -1}, {1, 0}}, "has weight -1"},
		{[][]float64{{0, math.NaN()}, {1, 0}}, "has weight NaN"},
		{[][]float64{{2, 1}, {1, 0}}, "connected to itself"},
	} {
		expect.Error(t, expect.ErrorOf(pe.GraphOf(c.weights)), c.says)
	}
}

// TestNeighbours: a line is a path; on a grid the distance is that of a walk along rows and
// columns, in whatever order the tokens are; a given graph is kept.
func TestNeighbours(t *testing.T) {
	for i, row := range pe.Line(5).Neighbours().Distances() {
		for j, d := range row {
			expect.Equal(t, fmt.Sprintf("line: from %d to %d", i, j), d, max(i-j, j-i))
		}
	}
	grid := pe.Grid(3, 4)
	for _, p := range []pe.Positions{grid, grid.Permuted([]int{5, 0, 3, 7, 1, 6, 2, 4, 11, 8, 10, 9})} {
		for i, row := range p.Neighbours().Distances() {
			for j, d := range row {
				a, b := grid.Cells[i], grid.Cells[j]
				expect.Equal(t, fmt.Sprintf("grid: from %v to %v", a, b), d,
					max(a[0]-b[0], b[0]-a[0])+max(a[1]-b[1], b[1]-a[1]))
			}
		}
	}
	g := joined(3)
	if p := (pe.Positions{Index: []int{0, 1, 2}, Graph: g}); p.Neighbours() != g ||
		p.Permuted([]int{2, 0}).Graph != g {
		t.Error("a given graph is not kept")
	}
}

// TestCoordinates: points are as given, cells are {row, column} or one frame of them, a line is its
// places.
func TestCoordinates(t *testing.T) {
	for _, c := range []struct {
		p    pe.Positions
		dims int
		last []float64 // of the last token; nil for none
	}{
		{pe.Line(4), 1, []float64{3}}, {pe.Line(4), 0, []float64{3}}, {pe.Line(4), 2, nil}, {pe.Line(4), 3, nil},
		{pe.Grid(2, 3), 2, []float64{1, 2}}, {pe.Grid(2, 3), 3, []float64{0, 1, 2}},
		{pe.Grid(2, 3), 0, []float64{1, 2}}, {pe.Grid(2, 3), 1, []float64{5}}, {pe.Grid(2, 3), 4, nil},
		{pe.Box(2, 3, 4), 3, []float64{1, 2, 3}}, {pe.Box(2, 3, 4), 0, []float64{1, 2, 3}}, {pe.Box(2, 3, 4), 2, nil},
	} {
		points, ok := c.p.Coordinates(c.dims)
		if ok != (c.last != nil) {
			t.Errorf("%v in %d dimensions: %v", c.p, c.dims, ok)
		} else if ok && !slices.Equal(points[len(points)-1], c.last) {
			t.Errorf("%v in %d dimensions: the last token is at %v, want %v", c.p, c.dims,
				points[len(points)-1], c.last)
		}
	}
}

// TestBadPositions: Build says what is wrong with positions, and names the scheme that needs what
// they lack.
func TestBadPositions(t *testing.T) {
	g := joined(3)
	two := []int{0, 1}
	for _, c := range []struct {
		scheme string
		p      pe.Positions
		says   []string
	}{
		{"nope", pe.Positions{Index: two, Graph: g}, []string{"graph of 3 nodes", "2 tokens"}},
		{"nope", pe.Positions{Index: two, Points: [][]float64{{1}}}, []string{"1 points", "2 tokens"}},
		{"nope", pe.Positions{Index: two, Points: [][]float64{{1}, {1, 2}}},
			[]string{"2 coordinates of token 1"}},
		{"nope", pe.Positions{Index: two, Points: [][]float64{{}, {}}}, []string{"0 coordinates of token 0"}},
		{"nope", pe.Positions{Index: two, Points: [][]float64{{1}, {math.Inf(1)}}},
			[]string{"token 1", "not finite"}},
		{"nope", pe.Positions{Index: two, Cells: [][2]int{{0, 0}, {0, -1}}},
			[]string{"cell [0 -1] of token 1"}},
		{"2d-fixed", pe.Box(1, 2, 2), []string{"2d-fixed", "tokens on a grid", "4 points in 3 dimensions"}},
	} {
		s := expect.Must(pe.Find(c.scheme))
		_, err := s.Describe(pe.Size{Tokens: 4, DModel: 8, Heads: 1, Layers: 1}, nil)
		if len(s.Options) > 0 && (err == nil || !strings.Contains(err.Error(), "--")) {
			t.Errorf("%s without options: %v", c.scheme, err)
		}
		expect.Error(t, build(s, c.p), c.says...)
	}
}
