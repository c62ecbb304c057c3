package positions

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"torchpe/data/array"
	"torchpe/data/array/npy"
	"torchpe/data/array/text"
	"torchpe/internal/expect"
)

// named is the name of a file: of commas, or of blanks.
func named(body string) string {
	if strings.Contains(body, ",") {
		return "p.csv"
	}
	return "p.txt"
}

// ring is an adjacency matrix of a ring of n nodes.
func ring(n int) string {
	var b strings.Builder
	for i := range n {
		for j := range n {
			v := 0
			if (i+1)%n == j || (j+1)%n == i {
				v = 1
			}
			fmt.Fprintf(&b, "%d ", v)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func (p Placed) short() string { return fmt.Sprint(p.Index, p.Cells, p.Points, p.Weights) }

func TestForms(t *testing.T) {
	abc := []string{"a", "b", "c"}
	for _, c := range []struct {
		name, body string
		as         Form
		names      []string // of the tokens; three without names where nil
		form       Form
		want, how  string
	}{
		{"an order from 0", "2\n0\n1\n", Auto, nil, Order, "[2 0 1] [] [] []",
			"the order of 3 tokens; tokens matched by order: neither"},
		{"an order from 1", "2\n3\n1\n", Auto, abc, Order, "[1 2 0] [] [] []",
			"the file has no names"},
		{"an order by name", "name,place\nc,1\na,2\nb,3\n", Auto, abc, Order, "[1 2 0] [] [] []",
			"tokens matched by name"},
		{"a row of names and numbers", "c,a,b,d\n4,3,2,1\n", Auto, []string{"a", "b", "c", "d"},
			Order, "[2 1 3 0] [] [] []", "matched by name"},
		{"ranks, asked for", "0.5\n-3\n7\n", Order, nil, Order, "[1 0 2] [] [] []",
			"by the ranks of its numbers"},
		{"one coordinate", "0.5\n-3\n7\n", Auto, nil, Coordinates, "[1 0 2] [] [[0.5] [-3] [7]] []",
			"3 tokens in 1 dimension;"},
		{"a grid", "0,1\n1,0\n0,0\n", Auto, nil, Grid, "[1 2 0] [[0 1] [1 0] [0 0]] [] []",
			"row and column of 3 tokens on a grid of 2 x 2"},
		{"a grid from 1 by name", "name,row,column\nb,2,3\nc,1,3\na,1,2\n", Auto, abc, Grid,
			"[0 2 1] [[0 0] [1 1] [0 1]] [] []", "row (row) and column (column) of 3 tokens on a " +
				"grid of 2 x 2, counted from row 1 and column 2"},
		{"a grid of x and y", "x,y\n1,0\n0,1\n0,0\n", Auto, nil, Grid,
			"[1 2 0] [[0 1] [1 0] [0 0]] [] []", "row (y) and column (x)"},
		{"a grid of lon and lat", "lon,lat\n1,0\n0,1\n0,0\n", Auto, nil, Grid,
			"[1 2 0] [[0 1] [1 0] [0 0]] [] []", "row (lat) and column (lon)"},
		{"a grid of units", "name,pos_x (mm),pos_y (mm)\na,1,0\nb,0,1\nc,0,0\n", Auto, nil, Grid,
			"[1 2 0] [[0 1] [1 0] [0 0]] [] []", "row (pos_y (mm)) and column (pos_x (mm))"},
		{"coordinates of one unit", "time (s),y (µm),x_um,z\n0,1,0,.5\n0,0,1,0\n0,0,0,0\n", Coordinates, nil,
			Coordinates, "[0 1 2] [] [[0 1 0 0.5] [0 0 1 0] [0 0 0 0]] []", "of 3 tokens in 4 dimensions"},
		{"a grid of other headings", "a,b\n1,0\n0,1\n0,0\n", Auto, nil, Grid,
			"[2 1 0] [[1 0] [0 1] [0 0]] [] []", "row (a) and column (b)"},
		{"a grid without equal numbers", "row,col\n0,1\n1,2\n2,0\n", Auto, nil, Grid,
			"[0 1 2] [[0 1] [1 2] [2 0]] [] []", "row (row) and column (col)"},
		{"a named grid without equal numbers", "a,0,1\nb,1,2\nc,2,0\n", Auto, nil, Grid,
			"[0 1 2] [[0 1] [1 2] [2 0]] [] []", "row and column"},
		{"a grid with more columns than tokens", "0,1\n0,2\n2,3\n", Auto, nil, Grid,
			"[0 1 2] [[0 0] [0 1] [2 2]] [] []", "counted from row 0 and column 1"},
		{"a plane", "0.5,1\n1,0\n0,0\n", Auto, nil, Coordinates,
			"[0 1 2] [] [[0.5 1] [1 0] [0 0]] []", "in 2 dimensions;"},
		{"a plane of x and y", "x_mm,y_mm\n1,0.5\n0,1\n0,0\n", Auto, nil, Coordinates,
			"[0 1 2] [] [[0.5 1] [1 0] [0 0]] []", "2 dimensions (y_mm, x_mm: the slowest axis first);"},
		{"a plane of columns and rows", "column,row\n1,0.5\n0,1\n0,0\n", Auto, nil, Coordinates,
			"[0 1 2] [] [[0.5 1] [1 0] [0 0]] []", "(row, column: the slowest axis first)"},
		{"a plane of y and x", "y,x\n0.5,1\n1,0\n0,0\n", Auto, nil, Coordinates,
			"[0 1 2] [] [[0.5 1] [1 0] [0 0]] []", "in 2 dimensions (y, x);"},
		{"frames", "x,y,frame\n1,0.5,7\n0,1,8\n0,0,9\n", Auto, nil, Coordinates,
			"[0 1 2] [] [[7 0.5 1] [8 1 0] [9 0 0]] []", "(frame, y, x: the slowest axis first)"},
		{"height", "lon,lat,elevation (m)\n1,0.5,0\n0,1,0\n0,0,9\n", Coordinates, nil, Coordinates,
			"[0 1 2] [] [[1 0.5 0] [0 1 0] [0 0 9]] []", "(lon, lat, elevation (m))"},
		{"one axis twice", "x1,x2\n1,0.5\n0,1\n0,0\n", Auto, nil, Coordinates,
			"[0 1 2] [] [[1 0.5] [0 1] [0 0]] []", "in 2 dimensions (x1, x2);"},
		{"whole coordinates", "0,100\n1,0\n0,0\n", Coordinates, nil, Coordinates,
			"[0 1 2] [] [[0 100] [1 0] [0 0]] []", "in 2 dimensions"},
		{"space", "region\tx\ty\tz\nc\t1\t2\t3\nb\t1\t2\t4\nA_ROI\t-1\t2\t4\n", Auto,
			[]string{"A", "b", "c"}, Coordinates, "[0 1 2] [] [[-1 2 4] [1 2 4] [1 2 3]] []",
			"in 3 dimensions (x, y, z); tokens matched by name"},
		{"names that are numbers", "id,x,y\n30,0,1\n10,1,1\n20,0,0\n", Auto,
			[]string{"10", "20", "30"}, Grid, "[2 0 1] [[1 1] [0 0] [1 0]] [] []", "by name"},
		{"a matrix", ring(4), Auto, []string{"a", "b", "c", "d"}, Graph,
			"[0 1 2 3] [] [] [[0 1 0 1] [1 0 1 0] [0 1 0 1] [1 0 1 0]]", "an adjacency matrix: 4 " +
				"tokens, 4 edges; tokens matched by order: the file has no names"},
		{"a stated matrix of three with names", "name,c,a,b\nc,0,2,0\na,2,0,0.5\nb,0,0.5,0\n",
			Graph, abc, Graph, "[0 1 2] [] [] [[0 0.5 2] [0.5 0 0] [2 0 0]]", "matched by name"},
		{"a full matrix of one weight", "0 2 2 2\n2 0 2 2\n2 2 0 2\n2 2 2 0\n", Auto,
			[]string{"a", "b", "c", "d"}, Graph, "[0 1 2 3] [] [] [[0 2 2 2] [2 0 2 2] [2 2 0 2] [2 2 2 0]]",
			"4 tokens, 6 edges"},
		{"stated weights of all pairs", "0 .5 2\n.5 0 1\n2 1 0\n", Graph, nil, Graph,
			"[0 1 2] [] [] [[0 0.5 2] [0.5 0 1] [2 1 0]]", "3 tokens, 3 edges"},
		{"edges by name", "c,a\na,b\n", Auto, abc, Edges, "[0 1 2] [] [] [[0 1 1] [1 0 0] [1 0 0]]",
			"a list of edges: 3 tokens, 2 edges; tokens matched by name"},
		{"edges with weights and a header", "from to weight\nc a 2\na c 2\nb a 1\n", Auto, abc,
			Edges, "[0 1 2] [] [] [[0 1 2] [1 0 0] [2 0 0]]", "2 edges"},
		{"edges by index", "0,1\n1,2\n", Edges, nil, Edges,
			"[0 1 2] [] [] [[0 1 0] [1 0 1] [0 1 0]]", "indexes count from 0"},
		{"edges between words and numbers", "a,1\n01,1.0e1\n", Edges, []string{"a", "1", "10"}, Edges,
			"[0 1 2] [] [] [[0 1 0] [1 0 1] [0 1 0]]", "3 tokens, 2 edges; tokens matched by name"},
		{"edges by index from 1", "source,target\n1,2\n3,2\n", Auto, nil, Edges,
			"[0 1 2] [] [] [[0 1 0] [1 0 1] [0 1 0]]", "indexes count from 1"},
		{"distances by name", "name,c,a,b\nc,0,2,3\na,2.0001,0,0.5\nb,3,0.5,0\n", Distances, abc, Distances,
			"[0 1 2] [] [] [[0 0.5 2.00005] [0.5 0 3] [2.00005 3 0]]",
			"distances between 3 tokens; tokens matched by name"},
		{"parts", "0 1 0\n1 0 0\n0 0 0\n", Graph, nil, Graph, "[0 1 2] [] [] [[0 1 0] [1 0 0] [0 " +
			"0 0]]", "falls into 2 parts, 1 token without an edge"},
	} {
		f, err := Read(expect.File(t, named(c.body), c.body), c.as, text.Auto)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		tokens := Tokens{3, c.names}
		if c.names != nil {
			tokens.Count = len(c.names)
		}
		p, err := f.Place(tokens)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if how := strings.Join(p.How, "\n"); f.Form != c.form || p.short() != c.want ||
			!strings.Contains(how, c.how) || !strings.HasPrefix(how, "positions: ") {
			t.Errorf("%s: %s %s (%s), want %s %s (%s)", c.name, f.Form, p.short(), how, c.form,
				c.want, c.how)
		}
		expect.Equal(t, fmt.Sprintf("%s: ranked", c.name), p.Ranked, c.name == "one coordinate")
	}
}

func TestMistakes(t *testing.T) {
	abc := []string{"a", "b", "c"}
	for _, c := range []struct {
		name, body string
		as         Form
		names      []string
		want       []string // besides the file's name
	}{
		{"too few", "0\n1\n", Auto, nil, []string{"positions of 2 tokens, but there are 3"}},
		{"too many", "0,0\n0,1\n1,0\n1,1\n", Auto, nil, []string{"of 4 tokens, but there are 3",
			"--positions-as edges"}},
		{"a missing name", "a,0\nb,1\n", Auto, abc, []string{`no position of token "c"`}},
		{"another name", "a,0\nb,1\nd,2\n", Auto, abc, []string{`no position of token "c"`,
			`other "d"`}},
		{"a surplus name", "a,0\nb,1\nd,2\nc,3\n", Auto, abc,
			[]string{`token "d"`, "leave them out"}},
		{"a name twice", "a,0\nb,1\na,2\n", Auto, abc, []string{`rows 1 and 3 are both named "a"`}},
		{"distances of a rectangle", "0,1\n1,0\n2,3\n", Distances, nil, []string{"3 rows of 2", "square"}},
		{"similarities as distances", "1,.5,.5\n.5,1,.5\n.5,.5,1\n", Distances, nil, []string{"on the diagonal, is 1"}},
		{"a distance of 0", "0,1,2\n1,0,0\n2,0,0\n", Distances, nil, []string{"row 3, column 2 is 0", "above 0"}},
		{"one-way distances", "0,1,2\n1,0,1\n2,2,0\n", Distances, nil,
			[]string{"column 2 is 2", "column 3 is 1", "symmetric"}},
		{"not a number", "a,0\nb,nan\nc,2\n", Auto, abc, []string{"row 2 (b), column 1 is NaN"}},
		{"infinite", "0,1\n1,inf\n2,3\n", Auto, nil, []string{"row 2, column 2 is +Inf"}},
		{"two at one place", "2\n1\n2\n", Order, nil, []string{"row 1 and row 3 are both at 2"}},
		{"two in one cell", "a,0,1\nb,1,1\nc,0,1\n", Auto, abc,
			[]string{"row 1 (a) and row 3 (c) are both at [0 1]"}},
		{"two in the second cell", "a,0,1\nb,1,2\nc,1,2\n", Auto, abc,
			[]string{"row 2 (b) and row 3 (c) are both at [1 2]"}},
		{"two at one point", "0.5,1\n0,0\n0.5,1\n", Auto, nil,
			[]string{"row 1 and row 3 are both at [0.5 1]"}},
		{"two at one point of x and y", "x,y\n1,0.5\n0,0\n1,0.5\n", Auto, nil, []string{"both at [1 0.5]"}},
		{"a sparse grid", "0,0\n500,3\n2,900\n", Auto, nil, []string{"grid or coordinates",
			"--positions-as"}},
		{"negative cells", "0,0\n-1,0\n-1,1\n", Auto, nil, []string{"grid or coordinates"}},
		{"edges or a grid", "0 1\n1 2\n0 2\n", Auto, nil, []string{"3 rows of 2 numbers", "grid or edges",
			"--positions-as"}},
		{"edges or a grid from 1", "1 2\n2 3\n1 3\n", Auto, nil, []string{"grid or edges"}},
		{"distances or weights", "0 .5 2 1\n.5 0 1 1\n2 1 0 1\n1 1 1 0\n", Auto, nil,
			[]string{"4 rows of 4 numbers", "weights of edges or distances", "--positions-as graph",
				"give coordinates"}},
		{"three by three", "0 1 0\n1 0 1\n0 1 0\n", Auto, nil, []string{"graph or coordinates",
			"--positions-as"}},
		{"a grid of fractions", "0,0\n0.5,1\n1,1\n", Grid, nil, []string{"row 2, column 1 is 0.5",
			"whole numbers"}},
		{"a huge grid", "0,0\n1,100000\n100000,1\n", Grid, nil, []string{"100001 x 100001"}},
		{"four columns", "1,2,3,4\n1,3,4,5\n3,4,5,6\n", Auto, nil, []string{"3 rows of 4 numbers",
			"--positions-as coordinates"}},
		{"an order of two columns", "0,1\n1,2\n1,3\n", Order, nil, []string{"one number per token"}},
		{"a graph that is not square", "0,1\n1,0\n2,3\n", Graph, nil,
			[]string{"square", "--positions-as edges"}},
		{"one direction", "0 1 0\n0 0 1\n0 1 0\n", Graph, nil, []string{"row 1, column 2 is 1",
			"row 2, column 1 is 0", "symmetric"}},
		{"a negative weight", "0 -1 0\n-1 0 1\n0 1 0\n", Graph, nil,
			[]string{"row 1, column 2 is -1", "not negative"}},
		{"a diagonal", "1 1 0\n1 1 1\n0 1 1\n", Graph, nil,
			[]string{"row 1, column 1, on the diagonal, is 1"}},
		{"labels among coordinates", "name,x,y,network\na,0.5,1,2\nb,1.5,3,1\nc,2,9,1\n", Coordinates, abc,
			[]string{`column "network" seems to hold labels`}},
		{"what is no axis", "name,x,y,hemi\na,0.5,1,2\nb,1.5,3,1\nc,2,9,1\n", Coordinates, abc,
			[]string{`column "hemi" names no axis`}},
		{"what is no axis beside one", "name,x,area\na,0.5,1\nb,1.5,3\nc,2,9\n", Auto, abc,
			[]string{`column "area" names no axis`}},
		{"angles", "name,theta_deg,phi\na,0.5,1\nb,1.5,3\nc,2,9\n", Coordinates, abc,
			[]string{`column "theta_deg" seems to hold angles`}},
		{"distances for coordinates", "x1,x2,x3,x4\n0,1,2,3\n1,0,4,5\n2,4,0,6\n3,5,6,0\n", Coordinates, nil,
			[]string{"seem to be distances, not coordinates"}},
		{"a distance for a weight", "from,to,distance\na,b,1\nb,c,2\n", Auto, abc,
			[]string{`column "distance" is not one of an edge`}},
		{"a decimal comma in coordinates", "name;x;y\ns0;0,5;1,5\ns1;1,5;2\n", Auto, abc,
			[]string{"decimals with a point"}},
		{"an edge of one token", "from,to\na,\nb,c\n", Auto, abc, []string{`edge 1 joins "a" and ""`}},
		{"a weight in Go's spelling", "from,to,weight\na,b,1_000\nb,c,1\n", Auto, abc,
			[]string{`has weight "1_000"`}},
		{"no edges", "0 0 0\n0 0 0\n0 0 0\n", Graph, nil,
			[]string{"no two of its 3 tokens are joined"}},
		{"names of columns in another order", "name,a,c,b\na,0,1,0\nb,1,0,1\nc,0,1,0\n", Graph, abc,
			[]string{`row 2 is named "b" but column 2 "c"`}},
		{"an edge to a stranger", "a,b\nb,c\nc,d\n", Auto, abc, []string{`"d"`}},
		{"an edge to itself", "a,b\nb,b\nb,c\n", Auto, abc,
			[]string{"edge 2, b to b, joins a token to itself"}},
		{"two weights", "a,b,1\nb,a,2\nb,c,1\n", Auto, abc,
			[]string{"edge 2, b to a, has weight 2, but in edge 1 1"}},
		{"no weight", "a,b,0\nb,c,1\n", Auto, abc, []string{"edge 1, a to b, has weight 0"}},
		{"a weight that is a word", "a,b,x\nb,c,1\n", Auto, abc,
			[]string{`edge 1, a to b, has weight "x"`}},
		{"modules, not edges", "name,label\na,left\nb,right\n", Auto, abc,
			[]string{"read as edges, such as name to label", "--modules"}},
		{"a token without an edge", "a,b\n", Auto, abc, []string{`no position of token "c"`,
			"adjacency matrix"}},
		{"an edge by name without names", "a,b\nb,c\n", Auto, nil,
			[]string{"the data has no names"}},
		{"an index beyond", "0,1\n1,3\n", Edges, nil, []string{"joins token 3, but there are 3"}},
		{"indexes of unknown base", "1,2\n", Edges, nil,
			[]string{"from 1 to 2", "neither 0 nor 3"}},
		{"half an edge", "0,1.5\n1,2\n", Edges, nil, []string{"edge 1 joins 0 and 1.5"}},
		{"a heading or an edge", "region_a,region_b\na,b\nb,c\n", Auto, nil,
			[]string{"its first line, region_a,region_b, may be", "--header yes or --header no"}},
		{"a heading or an edge of numbers", "i j\n0 1\n1 2\n", Edges, nil, []string{"--header yes"}},
		{"units", "name,x (mm),y_cm\na,1.5,0\nb,0,1\nc,0,0\n", Auto, abc,
			[]string{`columns "x (mm)" and "y_cm" are in different units`}},
		{"units of a grid", "x [um],y [m]\n1,0\n0,1\n0,0\n", Auto, nil, []string{`"x [um]" and "y [m]"`}},
		{"nothing", "", Auto, nil, nil},
		{"words", "x y z\n", Auto, nil, nil},
	} {
		path := expect.File(t, named(c.body), c.body)
		f, err := Read(path, c.as, text.Auto, c.names...)
		if err == nil {
			tokens := Tokens{3, c.names}
			_, err = f.Place(tokens)
		}
		if err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want it to say %q", c.name, err, want)
			}
		}
	}
	expect.Refused(t, "a file that is not there", expect.ErrorOf(Read("nowhere.csv", Auto, text.Auto)))
	expect.Refused(t, "a form that is none", expect.ErrorOf(ParseForm("gird")))
}

// A numpy file and a member of an archive are read as text is.
func TestArrays(t *testing.T) {
	var b bytes.Buffer
	expect.NoError(t,
		npy.Write(&b, array.Array{Shape: []int{3, 2}, Data: []float64{0, 1, 1, 0, 0, 0}}, npy.Float64))
	f := expect.Must(Read(expect.File(t, "p.npy", b.String()), Auto, text.Auto))
	expect.Equal(t, "places", expect.Must(f.Place(f.Own())).short(), "[1 2 0] [[0 1] [1 0] [0 0]] [] []")
	b.Reset()
	expect.NoError(t, npy.Write(&b, array.Array{Shape: []int{4}, Data: []float64{3, 0, 2, 1}}, npy.Float64))
	f = expect.Must(Read(expect.File(t, "v.npy", b.String()), Auto, text.Auto))
	expect.Equal(t, "places", expect.Must(f.Place(f.Own())).short(), "[3 0 2 1] [] [] []")
}

// A file says itself how many tokens it has.
func TestOwnTokens(t *testing.T) {
	for body, want := range map[string]string{
		"0,1\n1,0\n0,0\n": "{3 []}", "b,0\na,1\n": "{2 [b a]}", "b,a\na,c\n": "{3 [b a c]}",
		"from,to\n0,1\n1,5\n": "{6 []}", "from,to\n1,2\n2,5\n": "{5 []}",
		"from,to\n2,3\n3,5\n": "{0 []}", "from,to\na,1\n01,b\n": "{3 [a 1 b]}",
		"d,b,c,a\n0,1,0,1\n1,0,1,0\n0,1,0,1\n1,0,1,0\n": "{4 [d b c a]}",
	} {
		f, err := Read(expect.File(t, "p.csv", body), Auto, text.Auto)
		if err != nil {
			t.Errorf("%q: %v", body, err)
		} else if got := fmt.Sprint(f.Own()); got != want {
			t.Errorf("%q: %s, want %s", body, got, want)
		}
	}
	_, err := Read(expect.File(t, "p.txt", "1.0 2.5\n2 3\n"), Edges, text.Auto)
	expect.Error(t, err, "edge 1 joins 1 and 2.5")
}

// Numbers that name tokens are names: by a heading, or because the data's tokens are called so. What
// may also be a coordinate, a place or an edge is refused. The files are as pandas, KONECT and Gephi
// write them.
func TestNumbersAsNames(t *testing.T) {
	ids := []string{"30", "10", "20"} // of the data
	plane, image := "[0 1 2] [] [[0.5 1] [2 0] [0 1.5]] []", "[0 1 2] [] [[1 0.5] [0 2] [1.5 0]] []"
	path := "[0 1 2] [] [] [[0 2 0] [2 0 1] [0 1 0]]" // 30 - 10 - 20
	for _, c := range []struct {
		name, body string
		as         Form
		names      []string
		want       string // the places, or a part of the error
	}{
		{"id", "id,x,y\n10,2,0\n30,.5,1\n20,0,1.5\n", Auto, ids, image},
		{"node_id, zeros before it", "node_id;x;y\n010;2;0\n030;.5;1\n020;0;1.5\n", Coordinates, ids, image},
		{"Electrode No.", "Electrode No.\tx\ty\n10.0\t2\t0\n30.0\t.5\t1\n20\t0\t1.5\n", Auto, ids, image},
		{"no heading, the tokens' names", "10,2,0\n30,.5,1\n20,0,1.5\n", Auto, ids, plane},
		{"another heading, the tokens' names", "detector,x,y\n10,2,0\n30,.5,1\n20,0,1.5\n", Auto, ids, image},
		{"axes", "x,y,z\n10,2,0\n30,.5,1\n20,0,1.5\n", Auto, ids,
			"[0 1 2] [] [[10 2 0] [30 0.5 1] [20 0 1.5]] []"},
		{"dimensions", "d1,d2\n7,.5\n8,1\n9,1.5\n", Auto, nil, "[0 1 2] [] [[7 0.5] [8 1] [9 1.5]] []"},
		{"no names to tell", "7,.5,1\n9,2,0.5\n8,0,1.5\n", Auto, nil, "may be the tokens' names or numbers"},
		{"IDs far outside places on a grid", "2302,0,0\n2001,1,0\n2101,0,1\n", Auto, nil, "may be the tokens' names"},
		{"whole places", "19,9,0\n20,1,8\n21,0,1\n", Coordinates, nil,
			"[0 1 2] [] [[19 9 0] [20 1 8] [21 0 1]] []"},
		{"other names", "7,.5,1\n9,2,0.5\n8,0,1.5\n", Coordinates, ids, "may be the tokens' names or numbers"},
		{"counted rows", "1,3\n2,1\n3,2\n", Auto, nil, "a list of edges is --positions-as edges"},
		{"an index in another order", "index,x,y\n2,.5,1\n1,2,0\n3,0,1\n", Auto, nil,
			"numbers its rows 2, 1, 3, ..., not in the order"},
		{"an index in order", "index,x,y\n1,.5,1\n2,2,0\n3,0,1.5\n", Auto, nil, image},
		{"an ID twice", "site,x,y\n10,2,0\n10,.5,1\n20,0,1.5\n", Auto, ids,
			`heading of its column 1, "site", is one of names of tokens, but 10 in row 2 is also in a row above`},
		{"an ID that is none", "label,x,y\n10,2,0\n1.5,.5,1\n20,0,1.5\n", Auto, ids,
			"1.5 in row 2 is not a whole number"},
		{"an ID behind", "x,y,id\n2,0,10\n.5,1,30\n0,1.5,20\n", Auto, ids,
			`column 3, "id", is one of names of tokens: put it first`},
		{"a token called as IDs are", "a,no,c\n0,2,0\n2,0,1\n0,1,0\n", Graph, []string{"a", "no", "c"}, path},
		{"edges by ID", "30,10,2\n20,10,1\n", Auto, ids, path},
		{"edges by ID, a header", "from,to,weight\n30,10,2\n10.0,20,1\n", Auto, ids, path},
		{"edges by ID that count", "from,to,weight\n1,2,2\n2,3,1\n", Auto, []string{"1", "2", "3"}, path},
		{"edges by ID that count otherwise", "from,to,weight\n1,2,2\n2,3,1\n", Auto, []string{"3", "1", "2"},
			"[0 1 2] [] [] [[0 0 1] [0 0 2] [1 2 0]]"},
		{"edges from 0 of tokens from 1", "from,to\n0,1\n1,2\n", Auto, []string{"1", "2", "3"},
			"[0 1 2] [] [] [[0 1 0] [1 0 1] [0 1 0]]"},
		{"an ID that is no token's", "from,to\n30,10\n10,40\n", Auto, ids, "no token is called 40"},
		{"edges or places", "1,2\n2,3\n3,1\n", Auto, []string{"3", "1", "2"},
			"name the columns of the former id,place"},
		{"large IDs", "30000000,10000000\n10000000,20000000\n", Auto,
			[]string{"10000000", "20000000", "30000000"}, "[0 1 2] [] [] [[0 1 1] [1 0 0] [1 0 0]]"},
		{"KONECT", "% sym unweighted\n% 2 3 3\n1 2 \n2 3 \n", Edges, nil,
			"[0 1 2] [] [] [[0 1 0] [1 0 1] [0 1 0]]"},
		{"a quoted comma", "\"a, left\",\"b, left\",2\n\"b, left\",\"c, left\",1\n", Auto,
			[]string{"a, left", "b, left", "c, left"}, path},
		{"semicolons", "a;b;2\nb;c;1\n", Auto, []string{"a", "b", "c"}, path},
		{"a decimal comma", "a;b;1,5\nb;c;1\n", Auto, []string{"a", "b", "c"}, "commas and semicolons"},
		{"Gephi", "Source,Target,Type,Id\na,b,Directed,0\n", Auto, []string{"a", "b", "c"},
			`its column "Type" is not one of an edge`},
		{"a column of what", "source,target,strength,year\na,b,1,2\n", Auto, []string{"a", "b", "c"},
			`its column "strength" is not one of an edge`},
	} {
		f, err := Read(expect.File(t, named(c.body), c.body), c.as, text.Auto, c.names...)
		var p Placed
		if err == nil {
			p, err = f.Place(Tokens{3, c.names})
		}
		if got := p.short(); got != c.want && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %s, %v, want %s", c.name, got, err, c.want)
		}
	}
}

// A first line is a heading, an edge or a position as it is said to be.
func TestReadHeader(t *testing.T) {
	for _, c := range []struct {
		body   string
		as     Form
		header text.Choice
		rows   int
		names  string
	}{
		{"a,b,w\n0,1,2\n1,2,2\n", Edges, text.Yes, 2, "[]"},
		{"from,to\nto,x\n", Edges, text.No, 2, "[from to x]"},
		{"from,to\nto,x\n", Edges, text.Auto, 1, "[to x]"},
		{"a,b\nc,d\n", Auto, text.Yes, 1, "[c d]"},
		{"a,b\nc,d\n", Auto, text.No, 2, "[a b c d]"},
		{"a,b\nb,c\n", Auto, text.Auto, 2, "[a b c]"},
		{"a,b\n", Auto, text.Auto, 1, "[a b]"},
		{"10,20\n0.5,1.5\n2.5,3.5\n0.25,0.5\n", Coordinates, text.Yes, 3, "[]"},
		{"10,20\n0.5,1.5\n2.5,3.5\n0.25,0.5\n", Coordinates, text.No, 4, "[]"},
	} {
		f, err := Read(expect.File(t, "p.csv", c.body), c.as, c.header)
		if err != nil {
			t.Errorf("%q, %v: %v", c.body, c.header, err)
		} else if f.rows != c.rows || fmt.Sprint(f.Names) != c.names {
			t.Errorf("%q, %v: %d rows, names %q", c.body, c.header, f.rows, f.Names)
		}
	}
	// --header is of all files: the data may need it, and edges have none.
	for body, names := range map[string]string{"10,20\n20,30\n30,10\n": "10 20 30", "a,b\nb,c\nc,a\n": "a b c"} {
		path := expect.File(t, "p.csv", body)
		expect.Error(t, expect.ErrorOf(Read(path, Auto, text.Yes, strings.Fields(names)...)),
			path+": --header yes makes its first line, "+strings.Fields(body)[0]+", a heading", "put from,to")
		expect.Must(Read(expect.File(t, "p.csv", "from,to\n"+body), Auto, text.Yes, strings.Fields(names)...))
	}
	expect.Must(Read(expect.File(t, "p.csv", "b,a,c\n2,1,3\n"), Auto, text.Yes, "a", "b", "c")) // a row of names
}
