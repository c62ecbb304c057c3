package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"

	"torchpe/internal/expect"
)

// The files that generate writes hold the series that show describes: its correlations follow from
// them.
func TestNMARFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "network")
	line := "data nmar generate --frames 3000 --nodes 6 --modules 2 --seed 4 --out " + dir
	var described struct {
		Within  float64 `json:"correlation_within"`
		Between float64 `json:"correlation_between"`
		Frames  int
		Order   []string
		Modules []int `json:"order_modules"`
	}
	saysJSON(t, ".", line, &described)
	read := func(name string) [][]string {
		return expect.Must(csv.NewReader(strings.NewReader(readText(t, filepath.Join(dir, name)))).ReadAll())
	}
	series, modules := read("series.csv"), read("modules.csv")
	if len(series) != 3001 || described.Frames != 3000 || len(modules) != 7 {
		t.Fatalf("%d rows, modules %v", len(series), modules)
	}
	// Nodes 1 to 3 are module 0, in an order that is none of modules; the files and the description
	// have the same.
	if slices.IsSorted(described.Modules) || !slices.Equal(series[0], described.Order) {
		t.Errorf("header %v, order %v of modules %v", series[0], described.Order, described.Modules)
	}
	for i, name := range described.Order {
		module := map[bool]string{true: "0", false: "1"}[name < "node04"]
		if modules[i+1][0] != name || modules[i+1][1] != module || fmt.Sprint(described.Modules[i]) != module {
			t.Errorf("%s: row %v, module %d described, want %s", name, modules[i+1], described.Modules[i], module)
		}
	}
	columns := make([][]float64, 6)
	for _, row := range series[1:] {
		for i, text := range row {
			v := expect.Must(strconv.ParseFloat(text, 64))
			columns[i] = append(columns[i], v)
		}
	}
	within, between := 0.0, 0.0
	for i := range columns {
		for j := range i {
			r := stat.Correlation(columns[i], columns[j], nil)
			if modules[i+1][1] == modules[j+1][1] {
				within += r / 6
			} else {
				between += r / 9
			}
		}
	}
	if math.Abs(within-described.Within) > 1e-6 || math.Abs(between-described.Between) > 1e-6 {
		t.Errorf("correlations %g and %g in the file, %+v described", within, between, described)
	}
	says(t, ".", line, exitUsage, "--force")
}

// Whether a network is stable is said in text and JSON, and what to do where it is not; a
// correlation that no two nodes have is null.
func TestNMARStability(t *testing.T) {
	for _, test := range []struct {
		flags           string
		stable          bool
		within, between bool // there are such pairs
		note            string
	}{
		{"--nodes 60 --modules 6", true, true, true, ""},
		{"--modules 1", true, true, false, ""},
		{"--modules 15", true, false, true, ""},
		{"--scale 0.6", false, true, true,
			"lower --scale from 0.6, or leave it out for 1/lags, 0.3333"},
	} {
		line := "data nmar show --frames 300 " + test.flags
		var got struct {
			Radius  float64 `json:"spectral_radius"`
			Stable  *bool
			Within  *float64 `json:"correlation_within"`
			Between *float64 `json:"correlation_between"`
		}
		saysJSON(t, ".", line, &got)
		if got.Stable == nil || *got.Stable != test.stable || (got.Radius < 1) != test.stable ||
			(got.Within != nil) != test.within || (got.Between != nil) != test.between {
			t.Errorf("%s: %+v", line, got)
		}
		out, notes, _ := here(t, ".", strings.Fields(line)...)
		if (notes == "") != test.stable || !strings.Contains(notes, test.note) {
			t.Errorf("%s: notes %q", line, notes)
		}
		rows := strings.Join(strings.Fields(strings.ReplaceAll(out, "│", " ")), " ")
		want := map[bool]string{true: "stable yes", false: "stable no"}[test.stable]
		if !strings.Contains(rows, want) || strings.Contains(rows, "NaN") ||
			!strings.Contains(rows, "nodes in their drawn order") {
			t.Errorf("%s: %s", line, out)
		}
	}
}

// The surrogate is made z-scored: --zscore is said to have no effect on it, and has one elsewhere.
func TestZScoreOfTheSurrogate(t *testing.T) {
	const note = "--zscore has no effect on the surrogate"
	dir := t.TempDir()
	small := "train --dry-run --zscore=false --task "
	says(t, dir, small+"fmri --surrogate subjects=2,frames=20", 0, "2>"+note)
	_, notes, code := here(t, dir, strings.Fields(small+"nmar")...)
	if code != 0 || strings.Contains(notes, "--zscore") {
		t.Errorf("nmar: exit %d, %s", code, notes)
	}
}

// A run of task nmar gives the keys that other programs rely on; settings of another task are
// named, not swallowed.
func TestTrainNMAR(t *testing.T) {
	dir := t.TempDir()
	line := "train --task nmar --nmar-frames 600 --test-frames 40 --steps 12 --batch 16 --d-model 16 --layers 2 " +
		"--threads 1 --device cpu --members 2 --out run --read-out last --epochs 3"
	out := says(t, dir, line+" --json", 0, "2>--read-out has no effect on task nmar",
		"2>--epochs has no effect on task nmar")
	var result struct {
		Members []struct {
			PE          string
			Seed, Steps int
			Sigma       float64
			Measures    map[string]float64
		}
		Baselines map[string]map[string]float64
	}
	if err := json.Unmarshal([]byte(out), &result); err != nil || len(result.Members) != 2 ||
		len(result.Baselines) != 3 {
		t.Fatalf("%v in %s", err, out)
	}
	m := result.Members[1]
	if m.PE != "learn" || m.Seed != 2 || m.Steps != 12 || m.Sigma != 0.2 || !(m.Measures["train_mse"] > 0) {
		t.Errorf("member 1 of %s", out)
	}
	for name, want := range map[string]bool{"modularity": true, "clustering": true, "modularity/1": true,
		"train": false} {
		_, has := m.Measures[name]
		expect.Equal(t, fmt.Sprintf("%s in %v", name, m.Measures), has, want)
	}
	for _, level := range []string{"0.15", "0.50", "0.75", "0.90"} {
		if !(m.Measures["test_mse/"+level] > 0) || !(result.Baselines["gaussian"][level] > 0) ||
			!(result.Baselines["zero"][level] > 0) || !(result.Baselines["mean"][level] > 0) {
			t.Errorf("level %s of %s", level, out)
		}
	}
	says(t, dir, "train --resume --out run --quiet", 0, "baseline: gaussian")
}
