package analysis

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/data/array/text"
	"torchpe/internal/expect"
	"torchpe/internal/metrics"
	"torchpe/report/cohort"
	"torchpe/report/internal/synthetic"
)

// gridTable is a table [16,3] of a 4 x 4 grid with names in another order, and with the files that
// say where its tokens lie.
type gridTable struct{ table, modules, cells, apart string }

func gridFiles(t *testing.T) gridTable {
	rng := rand.New(rand.NewPCG(3, 4))
	var table, modules, cells strings.Builder
	apart := "name"
	for i := range 16 {
		apart += fmt.Sprintf(",t%d", i)
	}
	cells.WriteString("name,row,column\n")
	for i := range 16 {
		fmt.Fprintf(&table, "t%d,%v,%v,%v\n", i, rng.NormFloat64(), float64(i/4)+rng.Float64(), float64(i%4))
		fmt.Fprintf(&modules, "t%d,%d\n", i, i/8)
		back := 15 - i
		fmt.Fprintf(&cells, "t%d,%d,%d\n", back, back/4, back%4)
		apart += fmt.Sprintf("\nt%d", i)
		for j := range 16 {
			apart += fmt.Sprintf(",%v", math.Sqrt(math.Pow(float64(i/4-j/4), 2)+math.Pow(float64(i%4-j%4), 2)))
		}
	}
	return gridTable{expect.File(t, "table.csv", "name,a,b,c\n"+table.String()),
		expect.File(t, "modules.csv", modules.String()),
		expect.File(t, "cells.csv", cells.String()), expect.File(t, "apart.csv", apart+"\n")}
}

// The grid, its cells by name in another order and the distances between them say the same.
func TestPlacesOfTokens(t *testing.T) {
	f := gridFiles(t)
	line := "network --permutations 199 --table " + f.table + " --modules " + f.modules + " --table " +
		f.table
	var want float64
	for i, places := range []string{"--coordinates grid", "--coordinates " + f.cells, "--distances " + f.apart} {
		got, _ := result(t, line+" "+places)
		p := jsonNumber(got, "models/0/blocks/0/p_smooth")
		if i == 0 {
			want = p
		}
		if !(p == want) || jsonNumber(got, "models/1/blocks/0/p_smooth") != p || value(got, "models/0/null") != moran ||
			value(got, "models/0/places_from") == "" {
			t.Errorf("%s: %v, want p = %v", places, got, want)
		}
		if shuffled := jsonNumber(got, "models/0/blocks/0/p"); !(shuffled < p) {
			t.Errorf("%s: %v of shuffled labels, and %v of smooth tables, want less", places, shuffled, p)
		}
	}
	got, _ := result(t, line+" --positions 4:12 --coordinates grid") // a part of the grid
	if p := jsonNumber(got, "models/0/blocks/0/p_smooth"); !(p > 0 && p <= 1) {
		t.Errorf("%v", got)
	}
	for places, want := range map[string]string{"": "--coordinates FILE", " --coordinates grid": "p, smooth: "} {
		r, _, err := run(line + places)
		if err != nil || !strings.Contains(r.Tables[0].Foot, "neighbours are alike") ||
			!strings.Contains(r.Tables[0].Foot, "labels of modules shuffled 199 times; p < .05 in ") ||
			!strings.Contains(r.Tables[0].Foot, want) ||
			slices.Contains(r.Tables[0].Head, "p, smooth") != (places != "") {
			t.Errorf("%s: %+v, %v", places, r, err)
		}
	}
}

// A spin of weights on two hemispheres, told by names, in which the halves of each are modules: any
// turn of a sphere leaves halves, so that p is that of a draw. Of what lies on no sphere there is
// none.
func TestSpinOfWeights(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const n = 24
	weights, at, modules, flat := "name", "", "", ""
	var names []string
	for i := range n {
		name := fmt.Sprintf("%c_%d", "LR"[i/12], i%12)
		names = append(names, name)
		weights += "," + name
		z := 1 - (2*float64(i%12)+1)/12
		turn := 2.4 * float64(i)
		r := math.Sqrt(1 - z*z)
		at += fmt.Sprintf("%s,%v,%v,%v\n", name, 100*r*math.Cos(turn), 100*r*math.Sin(turn), 100*z)
		flat += fmt.Sprintf("%s,%v,%v,%v\n", name, i, i%5, 1)
		half := 0
		if z > 0 {
			half = 1
		}
		modules += fmt.Sprintf("%s,%d\n", name, half)
	}
	w := [n][n]float64{}
	for i := range n {
		for j := range i {
			w[i][j] = rng.Float64()
			w[j][i] = w[i][j]
		}
	}
	for i := range n {
		weights += "\n" + names[i]
		for j := range n {
			weights += fmt.Sprintf(",%v", w[i][j])
		}
	}
	files := [3]string{expect.File(t, "w.csv", weights+"\n"), expect.File(t, "m.csv", modules),
		expect.File(t, "at.csv", at)}
	line := "network --permutations 99 --weights " + files[0] + " --modules " + files[1]
	got, _ := result(t, line+" --coordinates "+files[2])
	from, _ := value(got, "models/0/places_from").(string)
	if p := jsonNumber(got, "models/0/blocks/0/p_smooth"); !(p >= 0.01 && p <= 1) || !strings.Contains(from,
		"each hemisphere") {
		t.Errorf("%v", got)
	}
	zyx := "name,z,y,x\n"
	for row := range strings.Lines(at) {
		cells := strings.Split(strings.TrimSpace(row), ",")
		zyx += strings.Join([]string{cells[0], cells[3], cells[2], cells[1]}, ",") + "\n"
	}
	table := strings.Join(strings.Split(weights, "\n")[1:], "\n") // the same numbers as a table
	nameless := ""
	for row := range strings.Lines(table) {
		_, numbers, _ := strings.Cut(row, ",")
		nameless += numbers
	}
	named := "network --permutations 99 --null spin --modules " + files[1] + " --table " +
		expect.File(t, "t.csv", table+"\n") + " --coordinates "
	same, _ := result(t, named+files[2])
	for what, line := range map[string]string{
		"columns in another order": named + expect.File(t, "zyx.csv", zyx),
		"no names": "network --permutations 99 --null spin --modules " + files[1] + " --table " +
			expect.File(t, "n.csv", nameless) + " --coordinates " + files[2],
	} {
		got, _ := result(t, line)
		const p = "models/0/blocks/0/p_smooth"
		expect.Equal(t, what, jsonNumber(got, p), jsonNumber(same, p))
	}
	for what, bad := range map[string]string{
		"labels":     " --coordinates " + expect.File(t, "label.csv", "name,x,y,network\n"+at),
		"no sphere":  " --coordinates " + expect.File(t, "flat.csv", flat),
		"distances":  " --distances " + files[0],
		"nowhere":    " --null spin",
		"a grid":     " --coordinates grid",
		"no numbers": " --coordinates " + files[1],
	} {
		if _, _, err := run(line + bad); err == nil || strings.Contains(err.Error(), "metrics:") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// The report's tests of a run's modules are those of "torchpe analyze network" with its seed, where
// the tokens lie as the run keeps it.
func TestChanceOfRuns(t *testing.T) {
	dir := t.TempDir()
	places := ""
	for i := range synthetic.TokenNames {
		places += fmt.Sprintf(",[%d,%d]", i/3, i%3)
	}
	synthetic.Write(t, dir, synthetic.Run{Name: "run", Task: "masked", PE: "learn", Sigma: 1, Seeds: []int{3},
		Subjects: []string{"a", "b"}, Places: "[" + places[1:] + "]"})
	found, _, err := cohort.Find(filepath.Join(dir, "run"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%v, %v", found, err)
	}
	all, _ := cohort.Models(found)
	chance, err := all[0].Chance()
	if err != nil || chance == nil {
		t.Fatalf("%v, %v", chance, err)
	}
	line := fmt.Sprintf("network %s --block 0 --seed 1 --permutations %d", dir, cohort.Surrogates)
	got, _ := result(t, line)
	b := value(got, "models/0/blocks/0")
	if jsonNumber(b, "p") != chance.P || jsonNumber(b, "p_smooth") != chance.Smooth ||
		jsonNumber(b, "chance_low") != chance.Low || jsonNumber(b, "chance_high") != chance.High ||
		jsonNumber(b, "modularity") != chance.Q {
		t.Errorf("%v, the report has %+v", b, chance)
	}
	if q := jsonNumber(got, "models/0/connectivity_modularity"); q != synthetic.ConnectivityModularity {
		t.Errorf("the connectivity has %v, want %v", q, synthetic.ConnectivityModularity)
	}
	for _, other := range []string{" --positions 2:6",
		" --modules " + expect.File(t, "m.txt", strings.Repeat("1\n2\n", 4))} {
		if got, _ := result(t, line+other); value(got, "models/0/connectivity_modularity") != nil {
			t.Errorf("%s: %v, the data's modularity is of other modules or tokens", other, got)
		}
	}
}

// The columns of a grid are modules of its tokens.
func TestGridModules(t *testing.T) {
	got, err := (&Model{tokens: 4}).gridModules(byColumns)
	if err != nil || fmt.Sprint(got.Labels, got.Names) != "[0 1 0 1] [column1 column2]" {
		t.Errorf("%+v, %v", got, err)
	}
}

// Coordinates of numbered tokens are theirs by number, with a heading or without one. A heading x, y puts the
// rows, the slowest axis, first.
func TestCoordinatesByNumber(t *testing.T) {
	m := &Model{all: []string{"30", "10", "20"}, tokens: 3, Tables: []Table{{0, metrics.Table{Tokens: 3}}}}
	for body, want := range map[string]string{
		"site,x,y\n10,0,.5\n20,1.5,1\n30,7,2.5\n": "[[2.5 7] [0.5 0] [1 1.5]]",
		"10,0,.5\n20,1.5,1\n30,7,2.5\n":           "[[7 2.5] [0 0.5] [1.5 1]]",
	} {
		p, err := (&networkOptions{coordinates: expect.File(t, "at.csv", body)}).placesOf(m, text.Auto)
		if got := fmt.Sprint(p.points); err != nil || got != want {
			t.Errorf("%q: %s, %v", body, got, err)
		}
	}
}

// A run with --positions is measured where its tokens lie: its table of sinusoids is the closed form, or Toeplitz,
// and its modules are the rows of its own grid.
func TestPlacesOfRuns(t *testing.T) {
	order := []int{5, 6, 7, 0, 4, 3, 1, 2} // row after row of 2 x 4
	var cells [][2]int
	var rows, columns []any
	for _, p := range order {
		cells = append(cells, [2]int{p / 4, p % 4})
		rows, columns = append(rows, fmt.Sprint("row", p/4+1)), append(columns, fmt.Sprint("column", p%4+1))
	}
	places, line := string(expect.Must(json.Marshal(cells))), string(expect.Must(json.Marshal(order)))
	write := func(pe, places, order string, at func(i int) []float64) string {
		return synthetic.Dir(t, synthetic.Run{Name: "run", Task: "masked", PE: pe, Seeds: []int{3},
			Subjects: []string{"a"}, Places: places, Order: order, Edit: func(m *synthetic.Member) {
				for _, table := range m.Tables {
					for i := range cells {
						row, axes := table[i*len(table)/8:(i+1)*len(table)/8], at(i)
						for k := range row { // sines and cosines of each axis side by side
							width := len(row) / len(axes)
							angle := axes[k/width] / math.Pow(10000, float64(k%width/2*2)/float64(width))
							row[k] = float32(math.Sin(angle + math.Pi/2*float64(k%2)))
						}
					}
				}
			}})
	}
	onGrid := write(fixed2D, places, line, func(i int) []float64 {
		return []float64{float64(cells[i][0]), float64(cells[i][1])}
	})
	onLine := write(fixed1D, "", line, func(i int) []float64 { return []float64{float64(order[i])} })
	for _, c := range []struct {
		line, path string
		want       float64
	}{
		{"procrustes " + onGrid, "raw", 0}, {"procrustes " + onGrid + " --positions 2:7", "raw", 0},
		{"procrustes --reference 1d-fixed " + onLine, "raw", 0}, {"toeplitz " + onLine, "r2", 1},
		{"toeplitz --positions 5: " + onLine, "r2", 1},
	} {
		got, _ := result(t, c.line)
		expect.Near(t, c.line, jsonNumber(got, "models/0/"+c.path), c.want, 1e-5)
	}
	got, _ := result(t, "map --block 0 --modules rows "+onGrid)
	near(t, "rows", value(got, "models/0/modules"), rows)
	got, _ = result(t, "map --block 0 --modules columns "+onGrid)
	near(t, "columns", value(got, "models/0/modules"), columns)
	own, _ := result(t, "network --permutations 99 --modules rows "+onGrid)
	got, _ = result(t, "network --permutations 99 --modules rows --coordinates grid "+onGrid)
	near(t, "p, smooth", value(got, "models/0/blocks"), value(own, "models/0/blocks"))
	near(t, "the grid", value(got, "models/0"), map[string]any{"modules_from": "rows of the run's 2 x 4 grid",
		"places_from": "the run's 2 x 4 grid"})
	earlier := write(fixed2D, places, "", func(int) []float64 { return []float64{0, 0} })
	plain := write(fixed1D, "", "", func(i int) []float64 { return []float64{float64(i)} })
	for line, want := range map[string]string{
		"procrustes " + plain:                        "are on a line unless --positions of the training",
		"procrustes " + onLine:                       "where.csv of the run places its tokens on no grid",
		"network --modules columns " + onLine:        "on no grid of rows and columns",
		"toeplitz " + earlier:                        "does not keep where --positions where.csv places its tokens",
		"procrustes --reference 1d-fixed " + earlier: "train it again",
		"toeplitz --positions 2:4 " + onLine:         "other tokens lie between tokens 2 to 3",
	} {
		_, _, err := run(line)
		expect.Error(t, err, want)
	}
}
