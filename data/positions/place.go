package positions

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"torchpe/data/array"
	"torchpe/data/array/arrayfile"
	"torchpe/data/partition"
	"torchpe/internal/wording"
)

// Tokens describes the tokens that need a position.
type Tokens struct {
	Count int
	Names []string // or nil
}

// Placed holds the positions of N tokens. At most one of Cells, Points and Weights is set; none is set for
// an order.
type Placed struct {
	Index   []int       // [N] the order, a permutation of 0..N-1: see How
	Cells   [][2]int    // [N] row and column, from 0
	Points  [][]float64 // [N][axes]
	Weights [][]float64 // [N][N] symmetric adjacency matrix, or distances for the form Distances
	// Ranked is true if Index holds ranks of numbers other than 0..N-1 and 1..N, and no form was
	// stated.
	Ranked bool
	How    []string // sentences on how the file was read
	Match  string   // how its rows were matched to the tokens
}

// Own returns the tokens of the file itself. Count is 0 if it is unknown.
func (f *File) Own() Tokens {
	switch {
	case f.Form == Graph || f.Form == Distances:
		names, _ := array.Try(f.graphNames) // Place returns the error
		return Tokens{f.rows, names}
	case f.Form != Edges:
		return Tokens{f.rows, f.Names}
	case f.Names != nil:
		return Tokens{len(f.Names), f.Names}
	}
	n, _ := array.Try(func() int { // fails only if the count is unknown: finishEdges checked them
		_, n, _ := f.indexes(0)
		return n
	})
	return Tokens{Count: n}
}

// maxCells bounds the cells of a grid, because tables of some encodings have that size.
const maxCells = 1 << 20

// Place returns the position of each token.
func (f *File) Place(t Tokens) (p Placed, err error) {
	defer array.Catch(&err)
	if f.Form == Edges {
		return f.placeEdges(t), nil
	}
	names := f.Names
	if f.Form == Graph || f.Form == Distances {
		names = f.graphNames()
	}
	from, how := f.match(names, t)
	switch f.Form {
	case Order:
		p = f.order(from)
	case Grid:
		p = f.grid(from)
	case Coordinates:
		p = f.points(from)
	case Graph:
		p = f.graph(from)
	case Distances:
		p = f.distances(from)
	}
	p.Match = how
	p.How[0] = fmt.Sprintf("positions: %s; %s", p.How[0], how)
	return p, nil
}

// match returns the row of each token, by name if both have names, else by order.
func (f *File) match(names []string, t Tokens) (from []int, how string) {
	if names != nil && t.Names != nil {
		return f.byName(names, t.Names), "tokens matched by name"
	}
	if f.rows != t.Count {
		hint := ""
		if f.columns == 2 && !f.stated {
			hint = "; a list of edges between indexes is --positions-as edges"
		}
		array.Failf("%s has positions of %d tokens, but there are %d: give one "+
			"row for each token, or names in both files%s", f.Source, f.rows, t.Count, hint)
	}
	if counts, inOrder := arrayfile.Numbering(names); counts && !inOrder {
		array.Failf("%s numbers its rows %s, ..., not in the order 1, 2, 3, and the "+
			"data has no names of tokens: sort the rows, or give names to the tokens of the data",
			f.Source, strings.Join(names[:min(3, len(names))], ", "))
	}
	from, how = identity(t.Count), "tokens matched by order: neither the file nor the data has names"
	switch {
	case names != nil:
		how = "tokens matched by order: the data has no names"
	case t.Names != nil:
		how = "tokens matched by order: the file has no names"
	}
	return from, how
}

// byName returns the index in names of each token. Names match if they are equal or if their
// [partition.Key] is.
func (f *File) byName(names, tokens []string) []int {
	if i, j, twice := arrayfile.Twice(names); twice {
		f.fail("rows %d and %d are both named %q", i+1, j+1, names[i])
	}
	from, missing, surplus := partition.MatchNames(names, tokens)
	hint := ""
	if f.Form == Edges && !f.stated {
		hint = fmt.Sprintf("; it was read as edges, such as %s to %s: a file of tokens and their modules "+
			"is for --modules", f.ends[0][0], f.ends[0][1])
	}
	switch {
	case missing != nil:
		array.Failf("%s has no position of %s of the data%s%s", f.Source, listed("token", missing),
			describeSurplus(surplus), hint)
	case surplus != nil:
		array.Failf("%s has positions of %s, which the data does not have: leave them out%s", f.Source,
			listed("token", surplus), hint)
	}
	return from
}

// listed quotes the first few names and counts them.
func listed(what string, names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = strconv.Quote(name)
	}
	if len(names) == 1 {
		return what + " " + quoted[0]
	}
	return fmt.Sprintf("%d %ss, %s", len(names), what, wording.List(5, quoted))
}

func describeSurplus(surplus []string) string {
	if surplus == nil {
		return ""
	}
	return "; it has " + listed("other", surplus)
}

// ranks returns the rank of each of n tokens. If two tokens are equal, it returns them in same instead.
func ranks(n int, compare func(a, b int) int) (index []int, same [2]int, equal bool) {
	order := identity(n)
	slices.SortStableFunc(order, compare)
	index = make([]int, n)
	for rank, token := range order {
		index[token] = rank
		if rank > 0 && compare(order[rank-1], token) == 0 {
			return nil, [2]int{order[rank-1], token}, true
		}
	}
	return index, same, false
}

// failSamePlace fails for two tokens in one place.
func (f *File) failSamePlace(from []int, pair [2]int, at any) {
	a, b := from[pair[0]], from[pair[1]]
	f.fail("%s and %s are both at %v: every token needs its own place", f.row(min(a, b)), f.row(max(a, b)),
		at)
}

// order reads places on a line.
func (f *File) order(from []int) (p Placed) {
	value := func(i int) float64 { return f.data[from[i]] }
	index, same, equal := ranks(len(from),
		func(a, b int) int { return cmp.Compare(value(a), value(b)) })
	if equal {
		f.failSamePlace(from, same, value(same[0]))
	}
	p.Index = index
	how := fmt.Sprintf("%s has the order of %d tokens", f.Source, len(from))
	if !f.isConsecutive() {
		how += ", by the ranks of its numbers, whose distances are not used"
	}
	p.How = []string{how}
	return p
}

// grid reads rows and columns. Headings such as x, y decide which column holds rows.
func (f *File) grid(from []int) (p Placed) {
	columns, axes := f.slowestFirst(), "row and column"
	row, column := columns[0], columns[1]
	if f.Axes != nil {
		axes = fmt.Sprintf("row (%s) and column (%s)", f.Axes[row], f.Axes[column])
	}
	low := [2]float64{math.Inf(1), math.Inf(1)}
	for i, v := range f.data {
		if v != math.Trunc(v) || math.Abs(v) > 1<<40 {
			f.fail("%s, column %d is %v: rows and columns of a grid are whole numbers; --positions-as "+
				"coordinates takes others", f.row(i/2), i%2+1, v)
		}
		low[i%2] = min(low[i%2], v)
	}
	extent := [2]float64{}
	for i := range from {
		at := f.data[2*from[i] : 2*from[i]+2]
		r, c := at[row]-low[row], at[column]-low[column]
		extent[0], extent[1] = max(extent[0], r+1), max(extent[1], c+1)
		p.Cells = append(p.Cells, [2]int{int(r), int(c)})
	}
	if extent[0]*extent[1] > maxCells {
		f.fail("its rows and columns span a grid of %g x %g cells for %d tokens, and more than %d cells "+
			"are refused: number them without gaps, or give --positions-as coordinates", extent[0], extent[1],
			len(from), maxCells)
	}
	index, same, equal := ranks(len(from),
		func(a, b int) int { return slices.Compare(p.Cells[a][:], p.Cells[b][:]) })
	if equal {
		at := f.data[2*from[same[0]] : 2*from[same[0]]+2]
		f.failSamePlace(from, same, at)
	}
	p.Index = index
	how := fmt.Sprintf("%s has %s of %d tokens on a grid of %g x %g", f.Source, axes, len(from),
		extent[0], extent[1])
	if low != [2]float64{} {
		how += fmt.Sprintf(", counted from row %g and column %g", low[row], low[column])
	}
	p.How = []string{how, "positions: the order of tokens is that of the grid, row after row"}
	return p
}

// points reads coordinates, the slowest axis first if headings name axes. One-dimensional coordinates define
// the order; otherwise it is that of the tokens.
func (f *File) points(from []int) (p Placed) {
	columns := f.slowestFirst()
	for _, row := range from {
		point := make([]float64, f.columns)
		for i, column := range columns {
			point[i] = f.data[row*f.columns+column]
		}
		p.Points = append(p.Points, point)
	}
	index, same, equal := ranks(len(from),
		func(a, b int) int { return slices.Compare(p.Points[a], p.Points[b]) })
	if equal {
		row := from[same[0]]
		f.failSamePlace(from, same, f.data[row*f.columns:(row+1)*f.columns])
	}
	axes := ""
	if f.Axes != nil {
		headings := make([]string, f.columns)
		for i, column := range columns {
			headings[i] = f.Axes[column]
		}
		axes = " (" + strings.Join(headings, ", ") + ")"
		if !slices.IsSorted(columns) {
			axes = " (" + strings.Join(headings, ", ") + ": the slowest axis first)"
		}
	}
	how := fmt.Sprintf("%s has coordinates of %d tokens in %d dimension", f.Source,
		len(from), f.columns)
	if f.columns > 1 {
		how += "s"
	}
	p.How = []string{how + axes}
	if f.columns == 1 {
		p.Index, p.Ranked = index, !f.stated && !f.isConsecutive()
	} else {
		p.Index = identity(len(from))
	}
	return p
}

func identity(n int) []int {
	index := make([]int, n)
	for i := range index {
		index[i] = i
	}
	return index
}

// graphNames returns the names of the rows and columns of an adjacency matrix, which must agree.
func (f *File) graphNames() []string {
	if _, counted := arrayfile.Numbering(f.Axes); counted || f.Axes == nil {
		return f.Names
	}
	if f.Names == nil {
		return f.Axes
	}
	for i, name := range f.Names {
		if name != f.Axes[i] {
			f.fail("row %d is named %q but column %d %q: the rows and columns of an adjacency matrix are "+
				"the same tokens in the same order", i+1, name, i+1, f.Axes[i])
		}
	}
	return f.Names
}

// graph reads an adjacency matrix.
func (f *File) graph(from []int) (p Placed) {
	n := f.rows
	for i := range n {
		for j := range n {
			v, back := f.data[i*n+j], f.data[j*n+i]
			switch {
			case v < 0:
				f.fail("%s, column %d is %v: weights of edges are not negative; 0 stands for no edge",
					f.row(i), j+1, v)
			case i == j && v != 0:
				f.fail("%s, column %d, on the diagonal, is %v: no token is joined to itself; set the "+
					"diagonal to 0", f.row(i), j+1, v)
			case v != back:
				f.fail("%s, column %d is %v, but %s, column %d is %v: edges have one weight in both "+
					"directions; make the matrix symmetric", f.row(i), j+1, v, f.row(j), i+1, back)
			}
		}
	}
	p.Weights = square(len(from))
	for a, i := range from {
		for b, j := range from {
			p.Weights[a][b] = f.data[i*n+j]
		}
	}
	return p.asGraph(f.Source, "an adjacency matrix")
}

// asymmetry is the largest accepted relative difference between the two distances of a pair of tokens.
const asymmetry = 1e-4

// distances reads a matrix of distances.
func (f *File) distances(from []int) (p Placed) {
	p.Index, p.Weights = identity(len(from)), square(len(from))
	p.How = []string{fmt.Sprintf("%s has distances between %d tokens", f.Source, len(from))}
	for a, i := range from {
		if v := f.data[i*f.rows+i]; v != 0 {
			f.fail("%s, column %d, on the diagonal, is %v: no token has a distance from itself; set the "+
				"diagonal to 0 if the others are distances", f.row(i), i+1, v)
		}
		for b, j := range from[:a] {
			v, back := f.data[i*f.rows+j], f.data[j*f.rows+i]
			if v <= 0 || math.Abs(v-back) > asymmetry*v {
				f.fail("%s, column %d is %v, but %s, column %d is %v: distances of two tokens are above 0 "+
					"and symmetric", f.row(i), j+1, v, f.row(j), i+1, back)
			}
			p.Weights[a][b] = (v + back) / 2
			p.Weights[b][a] = p.Weights[a][b]
		}
	}
	return p
}

func (f *File) placeEdges(t Tokens) (p Placed) {
	if f.Names == nil {
		ends, n, counting := f.byID(t.Names), t.Count, "their numbers are names of tokens"
		if ends == nil {
			ends, n, counting = f.indexes(t.Count)
		}
		p.Weights = f.weights(ends, n)
		p = p.asGraph(f.Source, "a list of edges between numbered tokens ("+counting+")")
		p.How[0] = "positions: " + p.How[0]
		return p
	}
	if t.Names == nil {
		array.Failf("%s joins tokens by name, such as %q, but the data has no names: "+
			"give indexes, or an adjacency matrix in the order of the tokens", f.Source, f.Names[0])
	}
	from, err := array.Try(func() []int { return f.byName(f.Names, t.Names) })
	if err != nil {
		array.Failf("%w (tokens without an edge can be given in an adjacency matrix)", err)
	}
	token := map[string]int{}
	for i, row := range from {
		token[f.Names[row]] = i
	}
	ends := make([][2]int, len(f.ends))
	for i, e := range f.ends {
		ends[i] = [2]int{token[e[0]], token[e[1]]}
	}
	p.Weights = f.weights(ends, t.Count)
	p = p.asGraph(f.Source, "a list of edges")
	p.How[0] = "positions: " + p.How[0] + "; tokens matched by name"
	return p
}

// asGraph sets Index and How for an adjacency matrix. How states the numbers of edges, connected
// components and tokens without an edge.
func (p Placed) asGraph(source, what string) Placed {
	n, edges := len(p.Weights), 0
	part, alone := make([]int, n), 0
	for i, row := range p.Weights {
		part[i] = -1
		joined := false
		for j, w := range row {
			if w > 0 {
				joined = true
				if j > i {
					edges++
				}
			}
		}
		if !joined {
			alone++
		}
	}
	if edges == 0 {
		array.Failf("%s: no two of its %d tokens are joined", source, n)
	}
	parts := 0
	for start := range n {
		if part[start] >= 0 {
			continue
		}
		part[start] = parts
		for queue := []int{start}; len(queue) > 0; queue = queue[1:] {
			for j, w := range p.Weights[queue[0]] {
				if w > 0 && part[j] < 0 {
					part[j] = parts
					queue = append(queue, j)
				}
			}
		}
		parts++
	}
	p.Index = identity(n)
	p.How = []string{fmt.Sprintf("%s has %s: %d tokens, %d edges", source, what, n, edges)}
	if parts > 1 {
		p.How = append(p.How,
			fmt.Sprintf("positions: the graph falls into %d parts, %s without an edge: "+
				"graphormer gives pairs without a path a number of their own, "+
				"and the first eigenvectors of laplacian distinguish the parts",
				parts, wording.Count(alone, "token")))
	}
	return p
}
