package pe

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"torchpe/torchpe"
)

// Positions holds the positions of N tokens.
type Positions struct {
	// Index [N] holds each token's place in the one-dimensional order, a permutation of 0..N-1.
	Index []int
	// Cells [N] holds each token's place on a grid, {row, column}; nil without a grid.
	Cells [][2]int
	// Points [N][M] are coordinates in M dimensions, the slowest axis first as in {frame, row,
	// column}; nil if there are none.
	Points [][]float64
	// Runs [N] holds each token's place in its number, from 1, and 0 for other tokens; nil if no tokens are
	// digits. Only abacus uses them.
	Runs []int
	// Graph connects places: the token whose Index is i is its node i. It is nil if there is no
	// graph; see Neighbours.
	Graph *Graph
	// Drawn [E,B,N] holds the sorted positions drawn for this batch (see Encoding.Draw): entry i
	// belongs to the token whose Index is i. Its dtype is the model's; it is the zero Tensor if
	// none are drawn.
	Drawn torchpe.Tensor
	// Training says that this is a training pass, for encodings that move positions at random in
	// training. The model sets it.
	Training bool
}

// Line returns the positions of n tokens in sequence.
func Line(n int) Positions {
	p := Positions{Index: make([]int, n)}
	for i := range p.Index {
		p.Index[i] = i
	}
	return p
}

// Grid returns the positions of rows x columns tokens, row by row.
func Grid(rows, columns int) Positions {
	p := Line(rows * columns)
	p.Cells = make([][2]int, rows*columns)
	for i := range p.Cells {
		p.Cells[i] = [2]int{i / columns, i % columns}
	}
	return p
}

// SquareGrid returns the positions of n tokens on the most square grid that they fill.
func SquareGrid(n int) Positions {
	rows := largestDivisor(n)
	return Grid(rows, n/rows)
}

// largestDivisor returns the largest divisor of n up to its square root.
func largestDivisor(n int) int {
	most := 1
	for i := 1; i*i <= n; i++ {
		if n%i == 0 {
			most = i
		}
	}
	return most
}

// Box returns the positions of frames x rows x columns tokens, frame by frame and row by row.
func Box(frames, rows, columns int) Positions {
	p := Line(frames * rows * columns)
	p.Points = make([][]float64, p.Tokens())
	for i := range p.Points {
		p.Points[i] = []float64{float64(i / columns / rows), float64(i / columns % rows), float64(i % columns)}
	}
	return p
}

// Tokens returns N.
func (p Positions) Tokens() int { return len(p.Index) }

// Permuted returns the positions of tokens in another order: token i of the result is token
// order[i] of p.
func (p Positions) Permuted(order []int) Positions {
	q := Positions{Index: make([]int, len(order)), Drawn: p.Drawn, Graph: p.Graph, Training: p.Training}
	if p.Runs != nil {
		q.Runs = make([]int, len(order))
	}
	if p.Cells != nil {
		q.Cells = make([][2]int, len(order))
	}
	if p.Points != nil {
		q.Points = make([][]float64, len(order))
	}
	for i, from := range order {
		q.Index[i] = p.Index[from]
		if p.Runs != nil {
			q.Runs[i] = p.Runs[from]
		}
		if p.Cells != nil {
			q.Cells[i] = p.Cells[from]
		}
		if p.Points != nil {
			q.Points[i] = p.Points[from]
		}
	}
	return q
}

// String describes the positions, as in "a grid of 4 x 4".
func (p Positions) String() string {
	switch {
	case p.Points != nil:
		if len(p.Points[0]) == 1 {
			return fmt.Sprintf("%d points in one dimension", len(p.Points))
		}
		return fmt.Sprintf("%d points in %d dimensions", len(p.Points), len(p.Points[0]))
	case p.Cells != nil:
		rows, columns := p.Extent()
		return fmt.Sprintf("a grid of %d x %d", rows, columns)
	case p.Graph != nil:
		return fmt.Sprintf("a graph of %d nodes", p.Graph.Nodes())
	}
	return fmt.Sprintf("a line of %d", p.Tokens())
}

// Extent returns the rows and columns of the smallest grid from cell {0, 0} that holds all cells.
func (p Positions) Extent() (rows, columns int) {
	for _, cell := range p.Cells {
		rows, columns = max(rows, cell[0]+1), max(columns, cell[1]+1)
	}
	return rows, columns
}

// Need names the kind of positions that a scheme needs.
type Need int8

// The needs, ascending. Schemes that state none need an order. All tokens have an order, and with
// it a graph (see Neighbours).
const (
	NeedsNothing Need = iota - 2
	NeedsSame         // a row for each token, regardless of its place
	NeedsOrder
	NeedsGraph  // edges between tokens: those of a graph, or between neighbours on the grid or line
	NeedsGrid   // cells {row, column}
	NeedsPlane  // two coordinates: those of cells, or of points
	NeedsSpace  // three coordinates: those of points, or of cells as one frame
	NeedsPoints // coordinates in any number of dimensions: points, cells, or the line
)

func (n Need) String() string {
	return [...]string{
		"nothing", "the same tokens each time", "tokens in an order",
		"tokens in a graph, on a grid or on a line", "tokens on a grid",
		"two coordinates per token", "three coordinates per token", "coordinates",
	}[n-NeedsNothing]
}

// Misplaced says that tokens lack the positions that a scheme needs.
type Misplaced struct {
	Need Need
	At   Positions
}

func (e *Misplaced) Error() string {
	return fmt.Sprintf("it needs %v, but the tokens lie on %v: give such positions with --positions FILE, "+
		"choose a task with them (lst has a grid), or another encoding", e.Need, e.At)
}

// provide returns [*Misplaced] if the positions are not of the needed kind.
func (p Positions) provide(n Need) error {
	ok := true
	switch n {
	case NeedsGraph:
		ok = p.Graph != nil || p.Cells != nil || p.Points == nil || len(p.Points[0]) == 1
	case NeedsGrid:
		ok = p.Cells != nil
	case NeedsPlane:
		_, ok = p.Coordinates(2)
	case NeedsSpace:
		_, ok = p.Coordinates(3)
	}
	if !ok {
		return &Misplaced{n, p}
	}
	return nil
}

// Coordinates returns the tokens' coordinates [N][dims], the slowest axis first. They are the
// Points, or else the cells {row, column}, which in three dimensions are {0, row, column}, or else,
// in one dimension, the places on the line. dims 0 means as many as there are. ok is false if there
// are none with dims dimensions.
func (p Positions) Coordinates(dims int) (points [][]float64, ok bool) {
	if p.Points != nil {
		return p.Points, dims == 0 || dims == len(p.Points[0])
	}
	points = make([][]float64, p.Tokens())
	for i, at := range p.Index {
		switch {
		case p.Cells != nil && (dims == 0 || dims == 2):
			points[i] = []float64{float64(p.Cells[i][0]), float64(p.Cells[i][1])}
		case p.Cells != nil && dims == 3:
			points[i] = []float64{0, float64(p.Cells[i][0]), float64(p.Cells[i][1])}
		case dims == 1 || dims == 0:
			points[i] = []float64{float64(at)}
		default:
			return nil, false
		}
	}
	return points, true
}

// Distances returns the distances [N,N] between tokens: those of their Points; else, with a graph,
// the number of edges on the shortest path, in either direction if edges have one; else those of
// their cells, or of their places in the order. It fails if no path connects two tokens.
func (p Positions) Distances() ([]float64, error) {
	n := p.Tokens()
	all := make([]float64, n*n)
	var paths [][]int
	if p.Graph != nil && p.Points == nil {
		paths = p.Graph.Distances()
	}
	points, _ := p.Coordinates(0)
	for a := range n {
		for b := range a {
			d := 0.0
			if paths != nil {
				i, j := p.Index[a], p.Index[b]
				if d = float64(min(paths[i][j], paths[j][i])); d < 0 {
					d = float64(max(paths[i][j], paths[j][i]))
				}
				if d < 0 {
					return nil, fmt.Errorf("no path connects tokens %d and %d", b, a)
				}
			} else {
				for axis, x := range points[a] {
					d = math.Hypot(d, x-points[b][axis])
				}
			}
			all[a*n+b], all[b*n+a] = d, d
		}
	}
	return all, nil
}

// indexOf returns the tokens' places.
func indexOf(p Positions) []int { return p.Index }

// byPlace returns the coordinates of the token at each place of the line.
func (p Positions) byPlace(dims int) [][]float64 {
	points, _ := p.Coordinates(dims)
	sorted := make([][]float64, len(points))
	for i, at := range p.Index {
		sorted[at] = points[i]
	}
	return sorted
}

// placesIn returns the tokens' places. It panics with an *Error if a token has other coordinates
// than those for which the encoding was built at its place.
func (p Positions) placesIn(scheme string, built [][]float64) []int {
	checkPlaces(p.Index, len(built))
	for i, point := range p.coordinates(scheme, len(built[0])) {
		if !slices.Equal(point, built[p.Index[i]]) {
			panic(&torchpe.Error{Op: scheme, Msg: fmt.Sprintf("token %d at place %d has coordinates %v; "+
				"the encoding was built for %v there", i, p.Index[i], point, built[p.Index[i]])})
		}
	}
	return p.Index
}

// coordinates returns Coordinates for the named scheme. It panics with an *Error if there are none.
func (p Positions) coordinates(scheme string, dims int) [][]float64 {
	points, ok := p.Coordinates(dims)
	if !ok {
		panic(&torchpe.Error{Op: scheme, Msg: fmt.Sprintf("%d coordinates per token are needed, "+
			"but the tokens lie on %v", dims, p)})
	}
	return points
}

func (p Positions) validate() error {
	if len(p.Index) == 0 {
		return fmt.Errorf("no tokens: an encoding is built for at least one position")
	}
	seen := make([]bool, len(p.Index))
	for i, at := range p.Index {
		if at < 0 || at >= len(seen) || seen[at] {
			return fmt.Errorf("position %d of token %d: positions must be a permutation of 0..%d",
				at, i, len(seen)-1)
		}
		seen[at] = true
	}
	if p.Cells != nil && len(p.Cells) != len(p.Index) {
		return fmt.Errorf("%d grid cells for %d tokens", len(p.Cells), len(p.Index))
	}
	for i, cell := range p.Cells {
		if cell[0] < 0 || cell[1] < 0 {
			return fmt.Errorf("cell %v of token %d: rows and columns count from 0", cell, i)
		}
	}
	if p.Graph != nil && p.Graph.Nodes() != len(p.Index) {
		return fmt.Errorf("a graph of %d nodes for %d tokens", p.Graph.Nodes(), len(p.Index))
	}
	return p.validatePoints()
}

func (p Positions) validatePoints() error {
	if p.Points == nil {
		return nil
	}
	if len(p.Points) != len(p.Index) {
		return fmt.Errorf("%d points for %d tokens", len(p.Points), len(p.Index))
	}
	for i, point := range p.Points {
		if len(point) == 0 || len(point) != len(p.Points[0]) {
			return fmt.Errorf("%d coordinates of token %d, but %d of token 0: "+
				"all tokens need the same number, at least one", len(point), i, len(p.Points[0]))
		}
		for _, x := range point {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return fmt.Errorf("coordinates %v of token %d are not finite", point, i)
			}
		}
	}
	return nil
}

// Draw describes positions that are drawn for each sample: sorted, distinct numbers in 0..Range-1 (Ruoss et
// al. 2023). If Distances is set they begin with 0: entry d stands for the distance d of two tokens.
type Draw struct {
	Range     int
	Distances bool
}

func (d Draw) String() string {
	what := "positions"
	if d.Distances {
		what = "distances"
	}
	return fmt.Sprintf("%s of 0..%d", what, d.Range-1)
}

// Fill draws n positions for each of len(out)/n samples, uniformly among all sets.
func (d Draw) Fill(rng *rand.Rand, n int, out []float64) {
	for at := 0; at+n <= len(out); at += n {
		sample := out[at : at+n]
		if d.Distances {
			sample[0] = 0
			drawSubset(rng, d.Range-1, sample[1:])
			for i := range sample[1:] {
				sample[1+i]++
			}
			continue
		}
		drawSubset(rng, d.Range, sample)
	}
}

// drawSubset fills sample with distinct numbers in 0..max-1 in ascending order.
func drawSubset(rng *rand.Rand, max int, sample []float64) {
	n := len(sample)
	chosen := make(map[int]bool, n)
	// Floyd's algorithm: a uniform subset with n draws.
	for i, j := 0, max-n; j < max; i, j = i+1, j+1 {
		v := rng.IntN(j + 1)
		if chosen[v] {
			v = j
		}
		chosen[v] = true
		sample[i] = float64(v)
	}
	slices.Sort(sample)
}
