// Package positions reads the positions of tokens on a line, on a grid, in space or in a graph from any
// file that package arrayfile reads. It matches them to the tokens of a table, by name if both have
// names, else by order.
//
// Invariants: every token gets one position that it shares with no other, or there is an error with file,
// row and value. The form of a file follows from its shape if that is unambiguous. Otherwise the user
// must state it. Notes describe how the file was read.
//
// As in the readers below package array, a function ends the reading where it finds the file wrong; Read and
// Place return the error.
package positions

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"torchpe/data/array"
	"torchpe/data/array/arrayfile"
	"torchpe/data/array/text"
	"torchpe/data/partition"
)

// Form is the form in which a file holds positions.
type Form string

// The forms.
const (
	Auto        Form = ""            // determined by the shape
	Order       Form = "order"       // one number per token: its place on a line
	Grid        Form = "grid"        // row and column
	Coordinates Form = "coordinates" // numbers along one or more axes
	Graph       Form = "graph"       // an adjacency matrix
	// Edges is a list of edges: two tokens, by name or index, and an optional weight.
	Edges Form = "edges"
	// Distances is a square matrix of distances. It is not among Forms, because no encoding uses it.
	Distances Form = "distances"
)

// Forms lists the forms that a user can state.
func Forms() []string {
	return []string{string(Order), string(Grid), string(Coordinates), string(Graph), string(Edges)}
}

// ParseForm returns the form named text. "auto" and "" are Auto.
func ParseForm(text string) (Form, error) {
	if text == "auto" || text == "" {
		return Auto, nil
	}
	if !slices.Contains(Forms(), text) {
		return Auto, fmt.Errorf("%q is not one of auto, %s", text, strings.Join(Forms(), ", "))
	}
	return Form(text), nil
}

// File holds the positions of a file, not yet matched to tokens.
type File struct {
	Source string   // reference to the file
	Form   Form     // never Auto
	Names  []string // names of the rows, or nil
	Axes   []string // names of the columns, or nil

	stated  bool // the user stated the form
	rows    int
	columns int
	data    []float64 // [rows,columns]; weights of edges [rows,1]
	ends    [][2]string
	heading []string // first line of a text that the user says is a heading, and is not one of edges
}

// Read reads positions from FILE, or from the array NAME of FILE:NAME. as states the form or is Auto.
// header says whether the first line of text holds names of columns. names are the names of the tokens,
// if any. They decide whether numbers in the first column are names.
func Read(reference string, as Form, header text.Choice, names ...string) (f *File, err error) {
	defer array.Catch(&err)
	f = &File{Source: reference, Form: as, stated: as != Auto}
	if f.readWords(reference, header, names) {
		return f, nil
	}
	a := array.Got(arrayfile.Read(reference, header, func(shape []int) error {
		if long := len(shape); long < 1 || long > 2 || slices.Min(shape) < 1 {
			return fmt.Errorf("an array of shape %v: positions are a vector or a matrix", shape)
		}
		return nil
	}))
	f.Source = a.Source
	a = f.nameRows(a, names)
	f.data, f.Names, f.Axes, f.rows, f.columns = a.Data, a.Rows, a.Columns, a.Shape[0], 1
	if len(a.Shape) == 2 {
		f.columns = a.Shape[1]
	}
	// The columns of a row vector are tokens.
	if f.rows == 1 && f.columns > 1 && (len(f.Axes) == 0 || f.columns > 3) {
		f.rows, f.columns, f.Names, f.Axes = f.columns, 1, f.Axes, nil
	}
	for i, v := range f.data {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			f.fail("%s, column %d is %v: every token needs finite numbers; give it a place, or leave the "+
				"token out of the data too", f.row(i/f.columns), i%f.columns+1, v)
		}
	}
	if f.Form != Edges || f.stated {
		f.decideForm()
	}
	if f.Form == Edges {
		f.edgesOfNumbers(names)
	} else {
		f.checkUnits()
		f.checkHeadings()
	}
	return f, nil
}

// fail ends the reading with an error that begins with the file.
func (f *File) fail(format string, args ...any) {
	array.Failf("%s: %w", f.Source, fmt.Errorf(format, args...))
}

// nameRows takes the names of rows from the first column of an array if it holds names.
func (f *File) nameRows(a arrayfile.Array, names []string) arrayfile.Array {
	square := len(a.Shape) == 2 && a.Shape[0] == a.Shape[1]
	switch counts, _ := arrayfile.Numbering(names); {
	case slices.Contains([]Form{Graph, Distances, Edges}, f.Form),
		f.Form == Auto && square && a.Shape[0] > 3: // tokens by tokens
		return a
	case f.joinsIDs(a, names) && !counts:
		f.Form = Edges
		return a
	case f.joinsIDs(a, names):
		if named, err := a.Named(names); err != nil || named.Rows != nil {
			f.fail("its rows may be a token and its place, or edges: name the columns of the former " +
				"id,place, or give --positions-as edges")
		}
		return a
	}
	named, err := a.Named(names)
	if err != nil && f.Form == Auto && a.Shape[1] < 4 {
		err = fmt.Errorf("%w; a list of edges is --positions-as edges", err)
	}
	return array.Got(named, err)
}

// row names a row in messages, counted from 1.
func (f *File) row(i int) string {
	if f.Names != nil {
		return fmt.Sprintf("row %d (%s)", i+1, f.Names[i])
	}
	return fmt.Sprintf("row %d", i+1)
}

// hasWord reports whether one of words is a word of a heading.
func hasWord(heading string, words ...string) bool {
	return slices.ContainsFunc(wordsOf(heading), func(w string) bool { return slices.Contains(words, w) })
}

// checkHeadings fails if a column of coordinates is headed as labels of modules are, as angles are, or by no axis
// beside x, y or z, or beside two others.
func (f *File) checkHeadings() {
	if f.Form != Coordinates {
		return
	}
	axes, named, other := map[int]bool{}, false, ""
	for _, heading := range f.Axes {
		named = named || hasWord(heading, "x", "y", "z")
		switch of := axisOf(heading); {
		case partition.IsHeading(heading):
			f.fail("its column %q seems to hold labels, not coordinates: leave it out, or rename it", heading)
		case hasWord(heading, "theta", "phi", "azimuth", "rho"):
			f.fail("its column %q seems to hold angles or radii: give x, y and z, or rename it", heading)
		case of != noAxis:
			axes[of] = true
		case !hasWord(heading, "alt", "altitude", "depth", "elev", "elevation", "height", "layer", "level", "plane",
			"slice", "t", "w"):
			other = heading
		}
	}
	if (named || len(axes) > 1) && other != "" {
		f.fail("its column %q names no axis, but others do: leave it out, or rename it", other)
	}
}

// XYZ returns the columns of x, y and z, or nil if the headings are not these three.
func (f *File) XYZ() []int {
	columns := []int{-1, -1, -1}
	for i, heading := range f.Axes {
		if at := slices.Index([]int{columnAxis, rowAxis, depthAxis}, axisOf(heading)); at >= 0 {
			columns[at] = i
		}
	}
	if f.columns != 3 || slices.Contains(columns, -1) {
		return nil
	}
	return columns
}

// decideForm sets the form if none is stated, and checks a stated form against the shape.
func (f *File) decideForm() {
	shape := fmt.Sprintf("%s holds %d rows of %d numbers", f.Source, f.rows, f.columns)
	if f.stated {
		switch {
		case f.Form == Order && f.columns != 1:
			array.Failf("%s: an order is one number per token", shape)
		case f.Form == Grid && f.columns != 2:
			array.Failf("%s: a grid takes two per token, row and column", shape)
		case f.Form == Graph && f.columns != f.rows:
			array.Failf("%s: a graph is a square adjacency matrix; for a list of edges give "+
				"--positions-as edges", shape)
		case f.Form == Distances && f.columns != f.rows:
			array.Failf("%s: distances between tokens are a square matrix", shape)
		case f.Form == Edges && f.columns != 2 && f.columns != 3:
			array.Failf("%s: an edge is two tokens and optionally a weight", shape)
		case f.Form == Coordinates && f.columns == f.rows && f.rows > 3 && f.mayBeDistances():
			array.Failf("%s, all above 0 except those on the diagonal: these seem to be distances, not coordinates",
				shape)
		}
		return
	}
	askFor := func(forms ...string) {
		array.Failf("%s, which may be of the form %s: choose one with --positions-as", shape,
			strings.Join(forms, " or "))
	}
	switch {
	case f.columns == f.rows && f.rows > 3:
		if f.Form = Graph; f.mayBeDistances() {
			array.Failf("%s, all above 0 except those on the diagonal, which may be weights of edges or "+
				"distances: --positions-as graph takes weights; no encoding takes distances: give "+
				"coordinates, or edges between near tokens", shape)
		}
	case f.columns == f.rows && f.rows > 1 && !isAxisHeader(f.Axes):
		askFor("graph", map[int]string{2: "grid", 3: "coordinates"}[f.columns])
	case f.columns == 1:
		if f.Form = Coordinates; f.isConsecutive() {
			f.Form = Order
		}
	case f.columns == 2:
		whole, dense := f.isGrid()
		if f.Form = Grid; !whole {
			f.Form = Coordinates
			break
		}
		forms := []string{"grid"}
		if !dense {
			forms = append(forms, "coordinates")
		}
		if f.mayBeEdges() {
			forms = append(forms, "edges")
		}
		if len(forms) > 1 {
			askFor(forms...)
		}
	case f.columns == 3:
		f.Form = Coordinates
	default:
		array.Failf("%s: two are row and column, two or three coordinates, and as many as "+
			"rows a graph; --positions-as coordinates takes any number", shape)
	}
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

// isGrid reports whether all numbers are integers, and whether they are not negative and fill at least a
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

// mayBeEdges reports whether rows of two whole numbers may be edges between the indexes of as many tokens.
func (f *File) mayBeEdges() bool {
	low, high, n := slices.Min(f.data), slices.Max(f.data), float64(f.rows)
	return f.JoinsTokens() && (low == 0 && high < n || low > 0 && high == n)
}

// JoinsTokens reports whether the rows may be edges between any number of tokens: they have two whole
// numbers of at least 0, no heading or name contradicts it, and no row joins a token to itself.
func (f *File) JoinsTokens() bool {
	if f.columns != 2 || f.Names != nil || isAxisHeader(f.Axes) || slices.Min(f.data) < 0 {
		return false
	}
	whole, _ := f.isGrid()
	for row := range slices.Chunk(f.data, 2) {
		whole = whole && row[0] != row[1]
	}
	return whole
}

// mayBeDistances reports whether a square matrix has zeros only on its diagonal, and above 0
// numbers that differ.
func (f *File) mayBeDistances() bool {
	differ := false
	for i, v := range f.data {
		onDiagonal := i%(f.rows+1) == 0
		if v < 0 || onDiagonal != (v == 0) {
			return false
		}
		differ = differ || !onDiagonal && v != f.data[1]
	}
	return differ
}

// The axes that headings name, from the slowest. Depth has no place among them.
const (
	noAxis = iota
	frameAxis
	rowAxis
	columnAxis
	depthAxis
)

// wordsOf returns the words of a heading: x and mm of "x (mm)".
func wordsOf(heading string) []string {
	return strings.FieldsFunc(strings.ToLower(heading), func(r rune) bool { return !unicode.IsLetter(r) })
}

// unitNames lists units of length and angle, each with its spellings.
var unitNames = [][]string{{"nm", "nanometers"}, {"um", "µm", "μm", "micrometers", "microns"}, {"mm", "millimeters"},
	{"cm", "centimeters"}, {"m", "meters", "metres"}, {"km", "kilometers"}, {"px", "pixels"}, {"deg", "degrees"},
	{"rad", "radians"}}

// checkUnits fails if the headings of two columns end with different units.
func (f *File) checkUnits() {
	column, unit := 0, -1 // of the first column that has one
	for i, heading := range f.Axes {
		words := wordsOf(heading)
		if len(words) < 2 || axisOf(heading) == frameAxis || f.Form != Coordinates && f.Form != Grid {
			continue
		}
		last := words[len(words)-1]
		of := slices.IndexFunc(unitNames, func(names []string) bool { return slices.Contains(names, last) })
		switch {
		case of < 0:
		case unit < 0:
			column, unit = i, of
		case of != unit:
			f.fail("its columns %q and %q are in different units: bring them to one, or, if they are, "+
				"correct the headings", f.Axes[column], heading)
		}
	}
}

// axisOf returns the axis that a heading names: "x (mm)", "pos_x" and "lon" name the column.
func axisOf(heading string) int {
	for _, word := range wordsOf(heading) {
		begins := func(with string) bool { return strings.HasPrefix(word, with) }
		switch {
		case word == "frame" || word == "time":
			return frameAxis
		case word == "y" || word == "r" || begins("row") || begins("lat"):
			return rowAxis
		case word == "x" || word == "c" || begins("col") || begins("lon"):
			return columnAxis
		case word == "z":
			return depthAxis
		}
	}
	return noAxis
}

// isAxisHeader reports whether each heading names an axis of its own.
func isAxisHeader(headings []string) bool {
	seen := map[int]bool{noAxis: true}
	for _, heading := range headings {
		if seen[axisOf(heading)] {
			return false
		}
		seen[axisOf(heading)] = true
	}
	return headings != nil
}

// slowestFirst returns the columns from the slowest axis if headings name all axes, else unchanged.
// Coordinates in space (x, y, z) are also unchanged.
func (f *File) slowestFirst() []int {
	columns := identity(f.columns)
	axis := func(column int) int { return axisOf(f.Axes[column]) }
	if isAxisHeader(f.Axes) && !slices.ContainsFunc(columns, func(c int) bool { return axis(c) == depthAxis }) {
		slices.SortFunc(columns, func(a, b int) int { return axis(a) - axis(b) })
	}
	return columns
}
