package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torchpe/data/array/npy"
	"torchpe/train"
)

// A file of positions gives pe values its tokens, in the file's order: cells 10 and 00 swap the
// rows of the table of the grid itself.
func TestPEValuesOfPositionsInAFile(t *testing.T) {
	dir := put(t, map[string]string{"where.csv": "name,row,column\nc,1,0\nb,0,1\na,0,0\nd,1,1\n"})
	common := []string{"values", "2d-fixed", "--dim", "8", "--fidelity", "text"}
	peRun(t, dir, append(common, "--positions", "2x2", "--tokens", "4", "--out", "grid.npy")...)
	_, notes, code := here(t, dir, append([]string{"pe"},
		append(common, "--positions", "where.csv", "--out", "file.npy")...)...)
	if code != exitDone || !strings.Contains(notes,
		"positions: where.csv has row (row) and column (column) of 4 tokens on a grid of 2 x 2") {
		t.Fatalf("%d, %s", code, notes)
	}
	grid, err := npy.Read(filepath.Join(dir, "grid.npy"))
	if err != nil {
		t.Fatal(err)
	}
	file, err := npy.Read(filepath.Join(dir, "file.npy"))
	if err != nil {
		t.Fatal(err)
	}
	for token, cell := range []int{2, 1, 0, 3} {
		for k := range 8 {
			if a, b := file.Data[token*8+k], grid.Data[cell*8+k]; math.Abs(a-b) > 0 {
				t.Errorf("token %d: %v, its cell has %v", token, a, b)
			}
		}
	}
	peRun(t, dir, "plot", "swin", "--positions", "where.csv", "--dim", "8", "--out", "a.svg")
	peRun(t, dir, "plot", "swin", "2d-fixed", "--positions", "where.csv", "--dim", "8", "--out", "b.svg")
}

// train takes the flags into the configuration, and says what was wrong with a file before it
// writes anything.
func TestTrainWithPositions(t *testing.T) {
	var data strings.Builder
	data.WriteString("a,b,c,d\n")
	for i := range 40 {
		fmt.Fprintf(&data, "%d,%d,%d,%d\n", i*i%7, i*i%11, i*i%13, i*i%17)
	}
	dir := put(t, map[string]string{"x.csv": data.String(),
		"where.csv": "name,x,y\nd,0,0\nc,1,0\nb,0,1\na,1,1\n", "bad.csv": "name,x,y\nd,0,0\nc,1,0\nb,0,1\n"})
	run := strings.Fields("train --task masked --data x.csv --pe swin --d-model 8 --layers 1 " +
		"--steps 3 --test-levels 0.5 --device cpu --threads 1 --quiet --out run")
	with := func(args ...string) (string, string, int) { return here(t, dir, append(run, args...)...) }
	if _, errs, code := with("--positions", "bad.csv"); code == exitDone ||
		!strings.Contains(errs, `bad.csv has no position of token "a"`) {
		t.Errorf("%d, %s", code, errs)
	}
	if _, err := os.Stat(filepath.Join(dir, "run")); err == nil {
		t.Error("there is a run")
	}
	if _, errs, code := with("--positions", "where.csv"); code != exitDone ||
		!strings.Contains(errs, "row (y) and column (x) of 4 tokens on a grid of 2 x 2; tokens matched by name") {
		t.Fatalf("%d, %s", code, errs)
	}
	if _, errs, code := with("--positions", "where.csv", "--resume"); code != exitDone {
		t.Errorf("the same file again: %s", errs)
	}
	if _, errs, code := with("--positions", "bad.csv", "--resume"); code != exitUsage ||
		!strings.Contains(errs, "positions.sha256 was") {
		t.Errorf("another file: %d, %s", code, errs)
	}
	again := []string{"train", "--config", "run/config.json", "--positions-as", "coordinates", "--dry-run"}
	if _, errs, code := here(t, dir, append(again, "--pe", "fourier-features")...); code != exitDone {
		t.Errorf("another form: %s", errs)
	}
	if _, errs, code := here(t, dir, again...); code == exitDone || !strings.Contains(errs, "swin: it needs tokens") {
		t.Errorf("another form for swin: %d, %s", code, errs)
	}
	if _, errs, code := with("--modules", "x.csv", "--dry-run"); code == exitDone || !strings.Contains(errs, "modules") {
		t.Errorf("data for modules: %d, %s", code, errs)
	}
	if out, _, _ := here(t, dir, "train", "--config", "run/config.json", "--positions", "",
		"--pe", "learn", "--dry-run"); strings.Contains(out, `"positions"`) {
		t.Errorf("taken away: %s", out)
	}
}

// Workers of a sweep find the file from any folder, and train with what it held when the sweep was
// planned.
func TestSweptPositions(t *testing.T) {
	dir := put(t, map[string]string{"where.csv": "name,row,column\na,0,0\nb,0,1\n", "x.csv": "a,b\n1,2\n"})
	t.Chdir(dir)
	text, _, err := resolveArguments([]string{"--task", "masked", "--data", "x.csv", "--pe", "swin",
		"--positions", "where.csv"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := train.ParseConfig(text)
	if err != nil || !filepath.IsAbs(c.Positions.File) ||
		filepath.Base(c.Positions.File) != "where.csv" || len(c.Positions.SHA256) != 64 {
		t.Errorf("%+v, %v", c.Positions, err)
	}
}

// data positions draws a map of few tokens without further flags, and says which share it dropped;
// its errors name its own flags.
func TestDataPositionsOfFewTokens(t *testing.T) {
	var data strings.Builder
	data.WriteString("a,b,c,d,e,f\n")
	for i := range 40 {
		fmt.Fprintf(&data, "%d,%d,%d,%d,%d,%d\n", i*i%7, i*i%11, i*i%13, i*i%17, i*i%19, i*i%23)
	}
	dir := put(t, map[string]string{"x.csv": data.String()})
	find := strings.Fields("data positions --task masked --data x.csv --out where.csv")
	if _, errs, code := here(t, dir, find...); code != exitDone || !strings.Contains(errs, "sparsity 0.5 (0.9 leaves") {
		t.Errorf("%d, %s", code, errs)
	}
	_, errs, code := here(t, dir, append(find, "--pe-init-sparsity", "0.95")...)
	if code != exitUsage || !strings.Contains(errs, "--method gradients: ") ||
		!strings.Contains(errs, "a lower --pe-init-sparsity") || strings.Contains(errs, "--pe-init gradients") {
		t.Errorf("%d, %s", code, errs)
	}
}
