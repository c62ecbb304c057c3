package positions

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"torchpe/data/array"
)

// readEdges takes the lines of a list of edges, whose weights are 1 where it has none.
func (f *File) readEdges(lines [][]string) error {
	f.Form = Edges
	width := len(lines[0])
	for i, l := range lines {
		if len(l) != width || width < 2 || width > 3 {
			return fmt.Errorf("%s: edge %d has %d cells (%q): an edge is two tokens and perhaps "+
				"a weight, in every line alike", f.Source, i+1, len(l), l)
		}
		weight := 1.0
		if width == 3 {
			var err error
			if weight, err = strconv.ParseFloat(l[2], 64); err != nil {
				return fmt.Errorf("%s: edge %d, %s to %s, weighs %q: want a number", f.Source, i+1,
					l[0], l[1], l[2])
			}
		}
		f.ends, f.data = append(f.ends, [2]string{l[0], l[1]}), append(f.data, weight)
	}
	f.rows, f.columns = len(f.ends), 1
	if !slices.ContainsFunc(f.ends, func(e [2]string) bool {
		return !isNumber(e[0]) || !isNumber(e[1])
	}) {
		return nil // indexes
	}
	seen := map[string]bool{}
	for _, e := range f.ends {
		for _, name := range e {
			if !seen[name] {
				seen[name] = true
				f.Names = append(f.Names, name)
			}
		}
	}
	return nil
}

// edgesOfNumbers takes rows of two indexes and perhaps a weight.
func (f *File) edgesOfNumbers() error {
	var lines [][]string
	for i := range f.rows {
		var l []string
		for _, v := range f.data[i*f.columns : (i+1)*f.columns] {
			l = append(l, strconv.FormatFloat(v, 'g', -1, 64))
		}
		lines = append(lines, l)
	}
	if f.Names != nil {
		return fmt.Errorf("%s: rows of a list of edges have names, such as %q: want two tokens "+
			"and perhaps a weight a row", f.Source, f.Names[0])
	}
	f.data, f.Axes = nil, nil
	return f.readEdges(lines)
}

// indexes returns the edges of a list by index, as places from 0, and how they are counted. Tokens
// is their number, 0 where that is not known.
func (f *File) indexes(tokens int) (ends [][2]int, n int, how string, err error) {
	low, high := math.MaxInt, 0
	for i, e := range f.ends {
		var pair [2]int
		for k, text := range e {
			v, err := strconv.Atoi(text)
			if err != nil || v < 0 {
				return nil, 0, "", fmt.Errorf("%s: edge %d joins %s and %s: want names, or whole "+
					"numbers from 0", f.Source, i+1, e[0], e[1])
			}
			pair[k], low, high = v, min(low, v), max(high, v)
		}
		ends = append(ends, pair)
	}
	first := 0
	switch {
	case tokens == 0:
		if low > 1 {
			return nil, 0, "", fmt.Errorf(
				"%s: it joins the tokens %d to %d: say how many there are", f.Source, low, high)
		}
		tokens, first = high+1-low, low
	case low == 0 && high < tokens:
	case low >= 1 && high == tokens:
		first = 1
	case high >= tokens:
		return nil, 0, "", fmt.Errorf("%s: it joins token %d, and there are %d tokens (indexes "+
			"count from 0, or from 1 where none is 0)", f.Source, high, tokens)
	default:
		return nil, 0, "", fmt.Errorf("%s: its indexes go from %d to %d, and there are %d "+
			"tokens: neither 0 nor %d is among them, which would say whether they count from 0 "+
			"or 1; give an adjacency matrix, or names", f.Source, low, high, tokens, tokens)
	}
	for i := range ends {
		ends[i][0], ends[i][1] = ends[i][0]-first, ends[i][1]-first
	}
	return ends, tokens, fmt.Sprintf("indexes count from %d", first), nil
}

// weights fills an adjacency matrix from edges by place.
func (f *File) weights(ends [][2]int, n int) ([][]float64, error) {
	count, err := array.Count([]int{n, n}, 8)
	if err == nil {
		err = array.NewBudget().Fits(8*int64(count), fmt.Sprintf("a graph of %d tokens", n))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Source, err)
	}
	w := square(n)
	given := make(map[[2]int]int, len(ends))
	for i, e := range ends {
		v := f.data[i]
		say := func(format string, args ...any) error {
			return fmt.Errorf("%s: edge %d, %s to %s, %s", f.Source, i+1, f.ends[i][0],
				f.ends[i][1], fmt.Sprintf(format, args...))
		}
		if math.IsNaN(v) || math.IsInf(v, 0) || v <= 0 {
			return nil, say("weighs %g: weights are finite and positive; leave out pairs "+
				"that are not joined", v)
		}
		if e[0] == e[1] {
			return nil, say("joins a token to itself: leave it out")
		}
		key := [2]int{min(e[0], e[1]), max(e[0], e[1])}
		if before, ok := given[key]; ok && f.data[before] != v {
			return nil, say("weighs %g, and in edge %d %g: an edge has one weight in both "+
				"directions", v, before+1, f.data[before])
		}
		given[key] = i
		w[e[0]][e[1]], w[e[1]][e[0]] = v, v
	}
	return w, nil
}

func square(n int) [][]float64 {
	w := make([][]float64, n)
	for i := range w {
		w[i] = make([]float64, n)
	}
	return w
}
