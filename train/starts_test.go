package train

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/internal/metrics"
)

// startOfRun returns the tables of the first block that an untrained model of a configuration has,
// [E][N*D], and what is said about the data.
func startOfRun(t *testing.T, c Config) (tables [][]float64, notes string) {
	t.Helper()
	c.DType = "float64"
	e := started(t, c)
	p := expect.Must(e.peTables())
	return p.blocks[0], strings.Join(e.task.notes(), "\n")
}

// apartBy checks that distances between the rows of a table [n,d] are want [n,n], but for a factor,
// and that the table has the norm of a draw with sigma.
func apartBy(t *testing.T, table, want []float64, n int, sigma float64) {
	t.Helper()
	d := len(table) / n
	got := metrics.Table{Tokens: n, Dim: d, Values: table}.Distances(metrics.Euclidean)
	factor := got[1] / want[1]
	for i := range got {
		if math.Abs(got[i]-factor*want[i]) > 1e-9*factor {
			t.Fatalf("tokens %d and %d are %g apart, want %g", i/n, i%n, got[i]/factor, want[i])
		}
	}
	expect.Near(t, "norm", frobenius(table), sigma*math.Sqrt(float64(n*d)), 1e-9)
}

// TestStartFromThePuzzlesGrid: rows of the table are as far apart as the cells, and two members have
// other tables.
func TestStartFromThePuzzlesGrid(t *testing.T) {
	c := tiny(t, "learn")
	c.PEInit = "mds"
	tables, notes := startOfRun(t, c)
	want := make([]float64, 256)
	for i := range want {
		a, b := i/16, i%16
		want[i] = math.Hypot(float64(a/4-b/4), float64(a%4-b%4))
	}
	for m, table := range tables {
		apartBy(t, table, want, 16, *c.Members[m].Sigma)
	}
	if slices.Equal(tables[0], tables[1]) ||
		!strings.Contains(notes, "2 coordinates of distances of tokens on a grid of 4 x 4") {
		t.Error(notes)
	}
}

// TestStartFromAFile: coordinates of a file, in an order of its own, whose tokens have names; and a
// graph, in which a path's tokens are as far apart as on a line; and places in an order of its own.
func TestStartFromAFile(t *testing.T) {
	point := func(token int) [3]float64 {
		return [3]float64{float64(token * token % 7), float64(token), math.Sqrt(float64(token))}
	}
	lines := "name,x,y,z\n"
	for _, token := range shuffled {
		lines += fmt.Sprintf("t%d%d,%v,%v,%v\n", token/4, token%4, point(token)[0], point(token)[1], point(token)[2])
	}
	edges, space, line, order := "from,to\n", make([]float64, 256), make([]float64, 256), make([]float64, 256)
	places := rows(inOrder16(), "name,place", func(r, c int) string { return fmt.Sprint(shuffled[4*r+c]) })
	for a := range 16 {
		if a > 0 {
			edges += fmt.Sprintf("t%d%d,t%d%d\n", (a-1)/4, (a-1)%4, a/4, a%4)
		}
		for b := range 16 {
			line[a*16+b] = math.Abs(float64(a - b))
			order[a*16+b] = math.Abs(float64(shuffled[a] - shuffled[b]))
			for axis, v := range point(a) {
				space[a*16+b] = math.Hypot(space[a*16+b], v-point(b)[axis])
			}
		}
	}
	for where, want := range map[string][]float64{lines: space, edges: line, places: order} {
		c := placedRun(t, "learn", inOrder16(), where, "")
		c.PEInit = "mds"
		tables, notes := startOfRun(t, c)
		apartBy(t, tables[0], want, 16, *c.Members[0].Sigma)
		if strings.Contains(notes, "only the order of tokens") || !strings.Contains(notes, "start of learn: ") {
			t.Error(notes)
		}
	}
}

// TestStartsLeaveHeldOutDataAlone: another held-out subject changes no bit of the start, another
// training subject does.
func TestStartsLeaveHeldOutDataAlone(t *testing.T) {
	for _, init := range []string{"mds", "gradients:2"} {
		c, _ := tinyFiles(t, map[string]string{
			"a.csv": tableText(90, 1), "b.csv": tableText(90, 2), "c.csv": tableText(90, 3),
			"subjects.csv": "file,subject,split\na.csv,a,train\nb.csv,b,train\nc.csv,c,test\n",
		})
		c.PEInit = init
		if init != "mds" {
			c.PEInitSparsity = new(0.4)
		}
		before, _ := startOfRun(t, c)
		for i, changes := range []bool{true, false, false} { // a first: then c alone
			file := c.Masked.Files.Data[[]int{0, 2, 2}[i]]
			was := expect.Must(os.ReadFile(file))
			expect.NoError(t, os.WriteFile(file, []byte(tableText(120+i, 11+i)), 0o600))
			after, _ := startOfRun(t, c)
			if slices.Equal(before[0], after[0]) == changes {
				t.Errorf("%s: %s changed, and the start: %v", init, file, !changes)
			}
			expect.NoError(t, os.WriteFile(file, was, 0o600))
		}
	}
}

// Starts that cannot be had are errors before training.
func TestRefusedStarts(t *testing.T) {
	constant := "a,b,c\n" + strings.Repeat("1,2,5\n3,1,5\n2,2,5\n", 30)
	flat, _ := tinyFiles(t, map[string]string{"x.csv": constant})
	flat.Masked.ZScore, flat.PEInit = false, "mds"
	few, many, puzzles, parts := tinyMasked(t, "learn"), tinyMasked(t, "learn"), tiny(t, "learn"),
		placedRun(t, "learn", inOrder16(), adjacencyOfTwo(), "graph")
	flat2 := flat
	flat2.PEInit = "gradients"
	few.PEInitSparsity = new(0.9) // not sparsityOfFew, as where none is given
	few.PEInit, many.PEInit, puzzles.PEInit, parts.PEInit = "gradients", "mds:16", "gradients", "mds"
	for says, c := range map[string]Config{
		"token 2 (c), from 0, is constant":         flat,
		"masked: token 2 (c), from 0, is constant": flat2,
		"give a lower --pe-init-sparsity":          few,
		"at most 14 coordinates":                   many,
		"task lst has none":                        puzzles,
		"no path connects tokens":                  parts,
	} {
		err := c.Resolve()
		if err == nil {
			_, err = newTask(c)
		}
		expect.Error(t, err, says, "--pe-init")
	}
}

// adjacencyOfTwo is the adjacency matrix of 16 tokens, of which the first two are joined.
func adjacencyOfTwo() string {
	rows := slices.Repeat([]string{strings.Repeat("0,", 15) + "0"}, 16)
	rows[0], rows[1] = "0,1"+strings.Repeat(",0", 14), "1"+strings.Repeat(",0", 15)
	return strings.Join(rows, "\n") + "\n"
}
