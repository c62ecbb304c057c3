package positions

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"torchpe/data/array"
	"torchpe/data/array/arrayfile"
	"torchpe/data/array/text"
)

// edgeHeaders lists the accepted pairs of headings for the two tokens of an edge.
var edgeHeaders = []string{"from to", "source target", "node1 node2", "node_1 node_2"}

// edgeColumns returns the columns of the two tokens of an edge and of its weight, -1 for none. ok reports
// whether header is that of a list of edges.
func (f *File) edgeColumns(header []string) (at [3]int, ok bool) {
	lower := make([]string, len(header))
	for i, cell := range header {
		lower[i] = strings.ToLower(cell)
	}
	for _, h := range edgeHeaders {
		from, to, _ := strings.Cut(h, " ")
		if at = [3]int{slices.Index(lower, from), slices.Index(lower, to), -1}; at[0] >= 0 && at[1] >= 0 {
			ok = true
			break
		}
	}
	for i, cell := range lower {
		switch {
		case !ok || i == at[0] || i == at[1]:
		case cell == "weight":
			at[2] = i
		default:
			f.fail("its column %q is not one of an edge: name it weight if it is one, or leave it out",
				header[i])
		}
	}
	return at, ok
}

// readWords reads a text that lists edges. edges reports whether it does: the header or the user says so,
// or both tokens are words in every line.
func (f *File) readWords(reference string, header text.Choice, names []string) (edges bool) {
	file, name, err := arrayfile.Split(reference)
	array.Fail(err)
	if name != "" || f.stated && f.Form != Edges || !array.Got(arrayfile.IsText(file)) {
		return false
	}
	var lines [][]string
	at, headed, width := [3]int{0, 1, -1}, false, 0
	for cells, err := range text.Words(file) {
		array.Fail(err)
		if width == 0 {
			width = len(cells)
			if width == 3 {
				at[2] = 2
			}
			var columns [3]int
			if header != text.No {
				columns, headed = f.edgeColumns(cells)
			}
			if headed {
				at = columns
			}
			if headed || header == text.Yes {
				if !headed {
					f.heading = cells
				}
				continue
			}
		}
		if n := len(cells); !headed && !f.stated && (n < 2 || n > 3 || text.IsNumber(cells[0]) ||
			text.IsNumber(strings.Replace(cells[1], ",", ".", 1))) { // a decimal comma makes no token
			return false
		}
		lines = append(lines, cells)
	}
	if len(lines) == 0 {
		return false
	}
	for _, cells := range lines {
		if len(cells) != width || width < 2 || width > 3 {
			f.fail("edge %d has %d cells (%q): an edge is two tokens and optionally a weight, the same in "+
				"every line", len(f.ends)+1, len(cells), cells)
		}
		weight := "1"
		if at[2] >= 0 {
			weight = cells[at[2]]
		}
		f.addEdge(cells[at[0]], cells[at[1]], weight)
	}
	if !headed && header == text.Auto && len(names) == 0 && f.mayBeHeaded() {
		f.fail("its first line, %s, may be a heading or an edge: give --header yes or --header no",
			strings.Join(lines[0], ","))
	}
	f.finishEdges(names)
	return true
}

// mayBeHeaded reports whether the first edge joins two words that no other edge joins.
func (f *File) mayBeHeaded() bool {
	for _, name := range f.ends[0] {
		if text.IsNumber(name) || slices.ContainsFunc(f.ends[1:],
			func(e [2]string) bool { return slices.Contains(e[:], name) }) {
			return false
		}
	}
	return len(f.ends) > 1
}

func (f *File) addEdge(from, to, weight string) {
	if from == "" || to == "" {
		f.fail("edge %d joins %q and %q: want two tokens", len(f.ends)+1, from, to)
	}
	w, err := text.Number(weight)
	if err != nil || weight == "" {
		f.fail("edge %d, %s to %s, has weight %q: want a number", len(f.ends)+1, from, to, weight)
	}
	ends := [2]string{arrayfile.PlainNumber(from), arrayfile.PlainNumber(to)}
	f.ends, f.data = append(f.ends, ends), append(f.data, w)
}

// finishEdges sets the names of tokens, or nil if all are numbers. Then these are indexes unless tokens have
// names. It fails if the heading may be an edge.
func (f *File) finishEdges(names []string) {
	if len(f.heading) > 1 && arrayfile.HasAll(names, f.heading[:2]) {
		f.fail("--header yes makes its first line, %s, a heading, and both are tokens: put from,to above "+
			"it, with weight for a third column, or in its place if it is no edge",
			strings.Join(f.heading, ","))
	}
	f.Form, f.rows, f.columns, f.Names = Edges, len(f.ends), 1, nil
	seen, words := map[string]bool{}, false
	for _, e := range f.ends {
		for _, name := range e {
			words = words || !text.IsNumber(name)
			if !seen[name] {
				seen[name] = true
				f.Names = append(f.Names, name)
			}
		}
	}
	if words {
		return
	}
	if f.Names = nil; len(names) == 0 {
		f.numbers()
	}
}

// edgesOfNumbers turns rows of two token numbers and an optional weight into edges.
func (f *File) edgesOfNumbers(names []string) {
	if f.Names != nil {
		f.fail("rows of a list of edges have names, such as %q: want two tokens and optionally a weight "+
			"per row", f.Names[0])
	}
	data, weight := f.data, 1.0
	f.data, f.Axes = nil, nil
	for l := range slices.Chunk(data, f.columns) {
		if len(l) == 3 {
			weight = l[2]
		}
		f.ends = append(f.ends, [2]string{plain(l[0]), plain(l[1])})
		f.data = append(f.data, weight)
	}
	f.finishEdges(names)
}

func plain(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// joinsIDs reports whether the first two columns of a matrix look like a list of edges: numbers that name
// two different tokens in every row.
func (f *File) joinsIDs(a arrayfile.Array, names []string) bool {
	if f.Form != Auto || len(a.Shape) != 2 || a.Rows != nil || a.Shape[1] < 2 || a.Shape[1] > 3 ||
		isAxisHeader(a.Columns) {
		return false
	}
	var ends []string
	for l := range slices.Chunk(a.Data, a.Shape[1]) {
		if l[0] == l[1] {
			return false
		}
		ends = append(ends, plain(l[0]), plain(l[1]))
	}
	return len(names) > 0 && arrayfile.HasAll(names, ends)
}

// byID returns the edges of a list whose numbers name tokens, or nil if the numbers are indexes.
func (f *File) byID(names []string) (ends [][2]int) {
	if names == nil {
		return nil
	}
	at := map[string]int{}
	for i, name := range names {
		at[arrayfile.PlainNumber(name)] = i
	}
	for i, e := range f.ends {
		var pair [2]int
		for k, name := range e {
			var ok bool
			if pair[k], ok = at[arrayfile.PlainNumber(name)]; ok {
				continue
			}
			_, inOrder := arrayfile.Numbering(names)
			if inOrder || slices.ContainsFunc(names, func(n string) bool { return !text.IsNumber(n) }) {
				return nil
			}
			f.fail("edge %d joins %s and %s, but no token is called %s: tokens have numbers as names, such "+
				"as %s: give edges by these", i+1, e[0], e[1], name, names[0])
		}
		ends = append(ends, pair)
	}
	return ends
}

// numbers returns the edges of a list as the whole numbers in it, and the smallest and largest of these.
func (f *File) numbers() (ends [][2]int, low, high int) {
	low = math.MaxInt
	for i, e := range f.ends {
		var pair [2]int
		for k, name := range e {
			v, err := strconv.Atoi(arrayfile.PlainNumber(name))
			if err != nil || v < 0 {
				f.fail("edge %d joins %s and %s: want names, or whole numbers from 0", i+1, e[0], e[1])
			}
			pair[k], low, high = v, min(low, v), max(high, v)
		}
		ends = append(ends, pair)
	}
	return ends, low, high
}

// indexes returns the edges of a list as indexes from 0, the number of tokens, and a description of how the
// file counts. tokens is the number of tokens, or 0 if unknown.
func (f *File) indexes(tokens int) (ends [][2]int, n int, how string) {
	ends, low, high := f.numbers()
	first := 0
	switch {
	case tokens == 0:
		if low > 1 {
			f.fail("it joins the tokens %d to %d: give the number of tokens", low, high)
		}
		tokens, first = high+1-low, low
	case low == 0 && high < tokens:
	case low >= 1 && high == tokens:
		first = 1
	case high >= tokens:
		f.fail("it joins token %d, but there are %d tokens (indexes count from 0, or from 1 if none is 0)",
			high, tokens)
	default:
		f.fail("its indexes go from %d to %d, but there are %d tokens: neither 0 nor %[3]d is among them, "+
			"which would show whether they count from 0 or 1; give an adjacency matrix, or names", low, high,
			tokens)
	}
	for i := range ends {
		ends[i][0], ends[i][1] = ends[i][0]-first, ends[i][1]-first
	}
	return ends, tokens, fmt.Sprintf("indexes count from %d", first)
}

// weights returns the adjacency matrix of edges between n tokens.
func (f *File) weights(ends [][2]int, n int) [][]float64 {
	count, err := array.Count([]int{n, n}, 8)
	if err == nil {
		err = array.NewBudget().Fits(8*int64(count), fmt.Sprintf("a graph of %d tokens", n))
	}
	if err != nil {
		f.fail("%w", err)
	}
	w := square(n)
	given := make(map[[2]int]int, len(ends))
	for i, e := range ends {
		v := f.data[i]
		fail := func(format string, args ...any) {
			f.fail("edge %d, %s to %s, %s", i+1, f.ends[i][0], f.ends[i][1], fmt.Sprintf(format, args...))
		}
		if math.IsNaN(v) || math.IsInf(v, 0) || v <= 0 {
			fail("has weight %g: weights are finite and positive; leave out pairs that are not joined", v)
		}
		if e[0] == e[1] {
			fail("joins a token to itself: leave it out")
		}
		key := [2]int{min(e[0], e[1]), max(e[0], e[1])}
		if before, ok := given[key]; ok && f.data[before] != v {
			fail("has weight %g, but in edge %d %g: an edge has one weight in both directions", v, before+1,
				f.data[before])
		}
		given[key] = i
		w[e[0]][e[1]], w[e[1]][e[0]] = v, v
	}
	return w
}

func square(n int) [][]float64 {
	w := make([][]float64, n)
	for i := range w {
		w[i] = make([]float64, n)
	}
	return w
}
