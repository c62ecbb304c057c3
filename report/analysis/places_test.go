package analysis

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"torchpe/report/internal/synthetic"
	"torchpe/report/runs"
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
	return gridTable{write(t, "table.csv", "name,a,b,c\n"+table.String()), write(t, "modules.csv", modules.String()),
		write(t, "cells.csv", cells.String()), write(t, "apart.csv", apart+"\n")}
}

// The grid, its cells by name in another order and the distances between them say the same.
func TestPlacesOfTokens(t *testing.T) {
	f := gridFiles(t)
	for _, part := range [][2]int{{0, 0}, {4, 12}} {
		var want Number
		for i, o := range []NetworkOptions{{Coordinates: byGrid}, {Coordinates: f.cells}, {Distances: f.apart}} {
			models, _, err := Tables(Selection{Files: []string{f.table}, Member: All, Block: All,
				From: part[0], To: part[1]})
			if err != nil {
				t.Fatal(err)
			}
			if o.Coordinates != byGrid && part[1] > 0 { // names of a part match no file of all: by order
				continue
			}
			o.Null, o.Permutations = Moran, 199
			got, _, err := Networks(append(models, models[0]), f.modules, o) // as two members of one run
			if err != nil {
				t.Fatalf("%+v: %v", o, err)
			}
			if i == 0 {
				want = got[0].Blocks[0].P
			}
			for _, n := range got {
				if p := n.Blocks[0].P; p != want || !p.known() || n.PlacesFrom == "" {
					t.Errorf("%+v: p = %v by %s, want %v", o, p, n.PlacesFrom, want)
				}
			}
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
	files := [3]string{write(t, "w.csv", weights+"\n"), write(t, "m.csv", modules), write(t, "at.csv", at)}
	o := NetworkOptions{Null: Spin, Permutations: 99, Coordinates: files[2]}
	got, _, err := Weights(files[0], files[1], o)
	if err != nil {
		t.Fatal(err)
	}
	if p := got.Blocks[0].P; !(p >= 0.01 && p <= 1) || !strings.Contains(got.PlacesFrom, "each hemisphere") {
		t.Errorf("p = %v, %s", p, got.PlacesFrom)
	}
	for what, bad := range map[string]NetworkOptions{
		"no sphere":  {Coordinates: write(t, "flat.csv", flat)},
		"distances":  {Distances: files[0]},
		"nowhere":    {},
		"a grid":     {Coordinates: byGrid},
		"no numbers": {Coordinates: files[1]},
	} {
		bad.Null, bad.Permutations = Spin, 99
		if _, _, err := Weights(files[0], files[1], bad); err == nil || strings.Contains(err.Error(), "metrics:") {
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
	if err := synthetic.Write(dir, synthetic.Run{Name: "run", Task: "masked", PE: "learn", Sigma: 1, Seeds: []int{3},
		Subjects: []string{"a", "b"}, Places: "[" + places[1:] + "]"}); err != nil {
		t.Fatal(err)
	}
	found, _, err := runs.Find(filepath.Join(dir, "run"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%v, %v", found, err)
	}
	all, _ := runs.Models(found)
	chance, err := all[0].Chance()
	if err != nil || chance == nil {
		t.Fatalf("%v, %v", chance, err)
	}
	models, _, err := Tables(Selection{Runs: []string{dir}, Member: All, Block: 0})
	if err != nil {
		t.Fatal(err)
	}
	for null, want := range map[string]float64{Permute: chance.P, Moran: chance.Smooth} {
		got, _, err := Networks(models, "", NetworkOptions{Null: null, Permutations: runs.Surrogates, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		if b := got[0].Blocks[0]; float64(b.P) != want || float64(b.Modularity) != chance.Q {
			t.Errorf("%s: %+v, the report has %+v", null, b, chance)
		}
	}
}

// Coordinates of numbered tokens are theirs by number, with a heading or without one.
func TestCoordinatesByNumber(t *testing.T) {
	m := &Model{Names: []string{"30", "10", "20"}, tokens: 3, Tables: []Table{{Tokens: 3}}}
	for _, body := range []string{"site,x,y\n10,0,.5\n20,1.5,1\n30,7,2.5\n", "10,0,.5\n20,1.5,1\n30,7,2.5\n"} {
		p, err := NetworkOptions{Coordinates: write(t, "at.csv", body)}.placesOf(m)
		if got := fmt.Sprint(p.points); err != nil || got != "[[7 2.5] [0 0.5] [1.5 1]]" {
			t.Errorf("%q: %s, %v", body, got, err)
		}
	}
}
