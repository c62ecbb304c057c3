// Package positions reads where tokens lie - on a line, a grid, in space, or in a graph - from a
// file of any format that package arrayfile reads, and matches it to the tokens of a table: by name
// where both have names, else by order.
//
// Invariants. Every token gets one place and no two tokens share one, or there is an error that
// says file, row and value. What a file holds follows from its shape where that leaves one reading
// only; else the user has to state it. How it was read is said in words.
package positions

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"torchpe/data/array"
	"torchpe/data/array/arrayfile"
	"torchpe/data/array/text"
)

// Form is the form in which a file holds positions.
type Form string

// The forms.
const (
	Auto        Form = ""            // what the shape says
	Order       Form = "order"       // a number a token: its place on a line
	Grid        Form = "grid"        // row and column
	Coordinates Form = "coordinates" // numbers along one or more axes
	Graph       Form = "graph"       // an adjacency matrix
	// Edges is a list of edges: two tokens, by name or by index, and perhaps a weight
	Edges Form = "edges"
	// Distances is a square matrix of distances, of no use to an encoding and so not among Forms
	Distances Form = "distances"
)

// Forms lists what can be stated.
func Forms() []string {
	return []string{string(Order), string(Grid), string(Coordinates), string(Graph), string(Edges)}
}

// ParseForm returns the form called text; auto and the empty text are Auto.
func ParseForm(text string) (Form, error) {
	if text == "auto" || text == "" {
		return Auto, nil
	}
	if !slices.Contains(Forms(), text) {
		return Auto, fmt.Errorf("%q is none of auto, %s", text, strings.Join(Forms(), ", "))
	}
	return Form(text), nil
}

// File is a file of positions that was read, but not yet matched to tokens.
type File struct {
	Source string   // as it was named
	Form   Form     // never Auto
	Names  []string // of the rows; nil where it has none
	Axes   []string // of the columns; nil where it has none

	stated  bool // the user said the form
	rows    int
	columns int
	data    []float64 // [rows,columns]; weights of edges [rows,1]
	ends    [][2]string
}

// maxText is the longest text that is read as a list of edges.
const maxText = 64 << 20

// Read reads FILE, or FILE:NAME of a file that holds several arrays. as is Auto, or states the
// form.
func Read(reference string, as Form) (*File, error) {
	f := &File{Source: reference, Form: as, stated: as != Auto}
	if lines, err := edgeLines(reference, as); err != nil || lines != nil {
		if err != nil {
			return nil, err
		}
		return f, f.readEdges(lines)
	}
	a, err := arrayfile.Read(reference, func(shape []int) error {
		if long := len(shape); long < 1 || long > 2 || slices.Min(shape) < 1 {
			return fmt.Errorf("an array of shape %v: positions are a vector or a matrix", shape)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	f.Source = a.Source
	if a, err = f.withNames(a); err != nil {
		return nil, err
	}
	f.data, f.Names, f.Axes, f.rows, f.columns = a.Data, a.Rows, a.Columns, a.Shape[0], 1
	if len(a.Shape) == 2 {
		f.columns = a.Shape[1]
	}
	// A row vector: its columns are tokens.
	if f.rows == 1 && f.columns > 1 && (len(f.Axes) == 0 || f.columns > 3) {
		f.rows, f.columns, f.Names, f.Axes = f.columns, 1, f.Axes, nil
	}
	for i, v := range f.data {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("%s: %s, column %d is %v: every token needs finite numbers; "+
				"give it a place, or leave the token out of the data too",
				f.Source, f.row(i/f.columns), i%f.columns+1, v)
		}
	}
	if err := f.decideForm(); err != nil {
		return nil, err
	}
	if f.Form == Edges {
		return f, f.edgesOfNumbers()
	}
	return f, nil
}

// nameColumns are headers of a first column that holds names even where they are numbers.
var nameColumns = []string{"name", "names", "token", "region", "parcel", "node", "sensor",
	"channel", "gene", "id", "label", "roi"}

// withNames reads a text file anew whose first column is headed as one of names but holds numbers.
func (f *File) withNames(a arrayfile.Array) (arrayfile.Array, error) {
	if a.Rows != nil || len(a.Columns) < 2 || !slices.Contains(nameColumns,
		strings.ToLower(a.Columns[0])) || slices.Contains(a.Columns[1:], a.Columns[0]) {
		return a, nil
	}
	t, err := text.ReadWith(a.Source, text.Options{Header: text.Yes, RowNames: text.Yes})
	return arrayfile.Array{Array: t.Array, Source: a.Source, Rows: t.Rows, Columns: t.Columns}, err
}

// row names a row in messages, from 1 as editors count.
func (f *File) row(i int) string {
	if f.Names != nil {
		return fmt.Sprintf("row %d (%s)", i+1, f.Names[i])
	}
	return fmt.Sprintf("row %d", i+1)
}

// decideForm finds the form where none is stated, and checks a stated one against the shape.
func (f *File) decideForm() error {
	shape := fmt.Sprintf("%s holds %d rows of %d numbers", f.Source, f.rows, f.columns)
	if f.stated {
		switch {
		case f.Form == Order && f.columns != 1:
			return fmt.Errorf("%s: an order is one number a token", shape)
		case f.Form == Grid && f.columns != 2:
			return fmt.Errorf("%s: a grid takes two a token, row and column", shape)
		case f.Form == Graph && f.columns != f.rows:
			return fmt.Errorf("%s: a graph is a square adjacency matrix; for a list of edges say "+
				"--positions-as edges", shape)
		case f.Form == Distances && f.columns != f.rows:
			return fmt.Errorf("%s: distances between tokens are a square matrix", shape)
		case f.Form == Edges && f.columns != 2 && f.columns != 3:
			return fmt.Errorf("%s: an edge is two tokens and perhaps a weight", shape)
		}
		return nil
	}
	state := func(one, other Form) error {
		return fmt.Errorf("%s, which may be of the form %s or %s: say which with --positions-as",
			shape, one, other)
	}
	switch {
	case f.isEdgeHeader():
		f.Form = Edges
	case f.columns == f.rows && f.rows > 3:
		f.Form = Graph
	case f.columns == f.rows && f.rows > 1 && !f.isAxisHeader():
		return state(Graph, map[int]Form{2: Grid, 3: Coordinates}[f.columns])
	case f.columns == 1:
		if f.Form = Coordinates; f.isConsecutive() {
			f.Form = Order
		}
	case f.columns == 2:
		whole, dense := f.isGrid()
		switch {
		case !whole:
			f.Form = Coordinates
		case dense:
			f.Form = Grid
		default:
			return state(Grid, Coordinates)
		}
	case f.columns == 3:
		f.Form = Coordinates
	default:
		return fmt.Errorf("%s: two are row and column, two or three coordinates, and as many as "+
			"rows a graph; --positions-as coordinates takes any number", shape)
	}
	return nil
}

// isConsecutive reports whether the numbers are 0..N-1 or 1..N in some order.
func (f *File) isConsecutive() bool {
	sorted := slices.Sorted(slices.Values(f.data))
	for i, v := range sorted {
		if v != sorted[0]+float64(i) {
			return false
		}
	}
	return sorted[0] == 0 || sorted[0] == 1
}

// isGrid reports whether all numbers are whole and not negative, and whether they fill at least a
// quarter of the grid that they span.
func (f *File) isGrid() (whole, dense bool) {
	low, high := [2]float64{math.Inf(1), math.Inf(1)}, [2]float64{math.Inf(-1), math.Inf(-1)}
	negative := false
	for i, v := range f.data {
		if v != math.Trunc(v) {
			return false, false
		}
		negative = negative || v < 0
		low[i%2], high[i%2] = min(low[i%2], v), max(high[i%2], v)
	}
	area := (high[0] - low[0] + 1) * (high[1] - low[1] + 1)
	return true, !negative && area <= 4*float64(f.rows)
}

// isEdgeHeader reports whether the columns are called as those of an edge list are.
func (f *File) isEdgeHeader() bool { return f.columns <= 3 && isEdgeHeader(f.Axes) }

// isAxisHeader reports whether the columns are called as axes are.
func (f *File) isAxisHeader() bool {
	header := strings.ToLower(strings.Join(f.Axes, " "))
	return slices.Contains([]string{"x y", "x y z", "row column", "row col", "column row",
		"col row", "frame row column", "time row column"}, header)
}

func isEdgeHeader(cells []string) bool {
	if len(cells) != 2 && len(cells) != 3 {
		return false
	}
	pair := strings.ToLower(strings.TrimSpace(cells[0]) + " " + strings.TrimSpace(cells[1]))
	return slices.Contains([]string{"from to", "source target", "node1 node2", "node_1 node_2"},
		pair)
}

// edgeLines returns the cells of a text file that lists edges between names; nil where it is no
// such file.
func edgeLines(reference string, as Form) ([][]string, error) {
	file, name, err := arrayfile.Split(reference)
	if err != nil {
		return nil, err
	}
	if as != Auto && as != Edges || name != "" || !slices.Contains([]string{".csv", ".tsv", ".tab",
		".txt", ""}, strings.ToLower(filepath.Ext(file))) {
		return nil, nil
	}
	if info, err := os.Stat(file); file != array.Stdin && (err != nil || info.Size() > maxText) {
		return nil, err
	}
	b, err := array.ReadText(file, maxText)
	if err != nil || strings.IndexByte(b, 0) >= 0 {
		return nil, err
	}
	var lines [][]string
	all := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.TrimPrefix(b, "\ufeff"))
	for line := range strings.SplitSeq(all, "\n") {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			lines = append(lines, splitCells(line))
		}
	}
	if len(lines) > 0 && isEdgeHeader(lines[0]) {
		lines = lines[1:]
	}
	if len(lines) == 0 || as == Auto && !slices.ContainsFunc(lines,
		func(l []string) bool { return len(l) > 1 && !isNumber(l[1]) }) {
		return nil, nil
	}
	for _, l := range lines { // names in all rows of two columns, or it is another table
		if as == Auto && (len(l) < 2 || len(l) > 3 || isNumber(l[1]) || isNumber(l[0])) {
			return nil, nil
		}
	}
	return lines, nil
}

// splitCells splits a line at tabs, else semicolons, else commas, else blanks.
func splitCells(line string) []string {
	for _, d := range []string{"\t", ";", ","} {
		if strings.Contains(line, d) {
			parts := strings.Split(line, d)
			for i, p := range parts {
				parts[i] = strings.Trim(strings.TrimSpace(p), `"`)
			}
			return parts
		}
	}
	return strings.Fields(line)
}

func isNumber(cell string) bool {
	_, err := strconv.ParseFloat(cell, 64)
	return err == nil
}
