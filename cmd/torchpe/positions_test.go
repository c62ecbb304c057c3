package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torchpe/data/array/npy"
	"torchpe/internal/expect"
	"torchpe/train"
)

// A file of positions gives pe values its tokens, in the file's order: cells 10 and 00 swap the
// rows of the table of the grid itself.
func TestPEValuesOfPositionsInAFile(t *testing.T) {
	dir := put(t, map[string]string{"where.csv": "name,row,column\nc,1,0\nb,0,1\na,0,0\nd,1,1\n"})
	const values = "pe values 2d-fixed --dim 8 --fidelity text --positions "
	says(t, dir, values+"2x2 --tokens 4 --out grid.npy", 0)
	says(t, dir, values+"where.csv --out file.npy", 0,
		"2>positions: where.csv has row (row) and column (column) of 4 tokens on a grid of 2 x 2")
	grid := expect.Must(npy.Read(filepath.Join(dir, "grid.npy")))
	file := expect.Must(npy.Read(filepath.Join(dir, "file.npy")))
	for token, cell := range []int{2, 1, 0, 3} {
		for k := range 8 {
			expect.Equal(t, fmt.Sprint("token ", token), file.Data[token*8+k], grid.Data[cell*8+k])
		}
	}
	says(t, dir, "pe plot swin --positions where.csv --dim 8 --out a.svg", 0)
	says(t, dir, "pe plot swin 2d-fixed --positions where.csv --dim 8 --out b.svg", 0)
}

// train takes the flags into the configuration, and says what was wrong with a file before it
// writes anything.
func TestTrainWithPositions(t *testing.T) {
	dir := put(t, map[string]string{"x.csv": ownTable(0),
		"where.csv": "name,x,y\nd,0,0\nc,1,0\nb,0,1\na,1,1\n", "bad.csv": "name,x,y\nd,0,0\nc,1,0\nb,0,1\n"})
	const line = "train --task masked --data x.csv --pe swin --steps 3 --test-levels 0.5 --quiet --out run" + tinyModel
	says(t, dir, line+"--positions bad.csv", exitFailed, `bad.csv has no position of token "a"`)
	expect.ErrorIs(t, expect.ErrorOf(os.Stat(filepath.Join(dir, "run"))), os.ErrNotExist)
	says(t, dir, line+"--positions where.csv", 0,
		"2>row (y) and column (x) of 4 tokens on a grid of 2 x 2; tokens matched by name")
	says(t, dir, line+"--positions where.csv --resume", 0)
	says(t, dir, line+"--positions bad.csv --resume", exitUsage, "positions.sha256 was")
	again := "train --config run/config.json --positions-as coordinates --dry-run"
	says(t, dir, again+" --pe fourier-features", 0)
	says(t, dir, again, exitFailed, "swin: it needs tokens")
	says(t, dir, line+"--modules x.csv --dry-run", exitFailed, "modules")
	says(t, dir, "train --config run/config.json --positions= --pe learn --sigma 1 --dry-run", 0, `!>"positions"`)
}

// A sweep file names a file with a comma in its name.
func TestSweptPositionsWithComma(t *testing.T) {
	dir := put(t, map[string]string{"where,1.csv": "name,row,column\na,0,0\nb,0,1\n", "x.csv": ownTable(0),
		"s.yaml": `set: {task: masked, data: x.csv, positions: "where,1.csv"}` + "\ngrid: {pe: [nope, rope]}\n"})
	says(t, dir, "sweep s.yaml --dry-run --no-calibrate", 0, "2 runs")
}

// Workers of a sweep find the file from any folder, and train with what it held when the sweep was
// planned.
func TestSweptPositions(t *testing.T) {
	dir := put(t, map[string]string{"where.csv": "name,row,column\na,0,0\nb,0,1\n", "x.csv": "a,b\n1,2\n"})
	t.Chdir(dir)
	text, _, err := resolveArguments([]string{"--task", "masked", "--data", "x.csv", "--pe", "swin",
		"--positions", "where.csv"})
	expect.NoError(t, err)
	c, err := train.ParseConfig(text)
	if err != nil || !filepath.IsAbs(c.Positions.File) ||
		filepath.Base(c.Positions.File) != "where.csv" || len(c.Positions.SHA256) != 64 {
		t.Errorf("%+v, %v", c.Positions, err)
	}
}

// data positions draws a map of few tokens without further flags, and says which share it dropped;
// its errors name its own flags.
func TestDataPositionsOfFewTokens(t *testing.T) {
	data := "a,b,c,d,e,f\n"
	for i := range 40 {
		data += fmt.Sprintf("%d,%d,%d,%d,%d,%d\n", i*i%7, i*i%11, i*i%13, i*i%17, i*i%19, i*i%23)
	}
	dir := put(t, map[string]string{"x.csv": data})
	const find = "data positions --task masked --data x.csv --threads 1 --force --out where.csv"
	says(t, dir, find, 0, "2>sparsity 0.5 (0.9 leaves")
	_, errs, code := here(t, dir, strings.Fields(find+" --pe-init-sparsity 0.95")...)
	if code != exitUsage || !strings.Contains(errs, "--method gradients: ") ||
		!strings.Contains(errs, "a lower --pe-init-sparsity") || strings.Contains(errs, "--pe-init gradients") {
		t.Errorf("%d, %s", code, errs)
	}
}

// Names that begin as comments do are read from all files that commands write.
func TestNamesLikeComments(t *testing.T) {
	data, modules := "\"#0\",\"%1\",c,d\n", "\"#0\",a\n\"%1\",a\nc,b\nd,\"#b\"\n"
	for i := range 40 {
		data += fmt.Sprintf("%d,%d,%d,%d\n", i*i%7, i*i%11, i*i%13, i*i%17)
	}
	dir := put(t, map[string]string{"x.csv": data, "m.csv": modules})
	const train = "train --task masked --pe fourier-features --dry-run --positions "
	for _, c := range [][2]string{
		{"data hcp convert x.csv --modules m.csv --out npy", "4 tokens"},
		{"data hcp check npy", "b (1 token), #b (1 token)"},
		{"data positions --task masked --data x.csv --threads 1 --out where.csv", "where.csv: 2 coordinates"},
		{train + "where.csv --data x.csv", "2>tokens matched by name"},
		{"analyze map --table where.csv --out map.csv", "PC 2"},
		{train + "map.csv --data x.csv", "2>tokens matched by name"},
	} {
		says(t, dir, c[0], 0, c[1])
	}
}
