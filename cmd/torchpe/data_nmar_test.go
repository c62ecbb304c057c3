package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"
)

// The files that generate writes hold the series that show describes: its correlations follow from
// them.
func TestNMARFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "network")
	args := []string{"data", "nmar", "generate", "--frames", "3000", "--nodes", "6", "--modules",
		"2", "--seed", "4", "--json", "--out", dir}
	out, _, code := here(t, ".", args...)
	if code != 0 {
		t.Fatalf("exit %d: %s", code, out)
	}
	var described struct {
		Within  float64 `json:"correlation_within"`
		Between float64 `json:"correlation_between"`
		Frames  int
		Order   []string
		Modules []int `json:"order_modules"`
	}
	if err := json.Unmarshal([]byte(out), &described); err != nil {
		t.Fatal(err)
	}
	read := func(name string) [][]string {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		rows, err := csv.NewReader(f).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		return rows
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
			v, err := strconv.ParseFloat(text, 64)
			if err != nil {
				t.Fatal(err)
			}
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
	if _, stderr, code := here(t, ".", args...); code != exitUsage || !strings.Contains(stderr, "--force") {
		t.Errorf("written twice: exit %d, %s", code, stderr)
	}
}

// Whether a network is stable is said in text and JSON, and what to do where it is not; a
// correlation that no two nodes have is null.
func TestNMARStability(t *testing.T) {
	for _, test := range []struct {
		args            []string
		stable          bool
		within, between bool // there are such pairs
		stderr          string
	}{
		{[]string{"--nodes", "60", "--modules", "6"}, true, true, true, ""},
		{[]string{"--modules", "1"}, true, true, false, ""},
		{[]string{"--modules", "15"}, true, false, true, ""},
		{[]string{"--scale", "0.6"}, false, true, true,
			"lower --scale from 0.6, or leave it out for one over the lags, 0.3333"},
	} {
		args := append([]string{"data", "nmar", "show", "--frames", "300"}, test.args...)
		out, stderr, code := here(t, ".", append(args, "--json")...)
		var got struct {
			Radius  float64 `json:"spectral_radius"`
			Stable  *bool
			Within  *float64 `json:"correlation_within"`
			Between *float64 `json:"correlation_between"`
		}
		if err := json.Unmarshal([]byte(out), &got); err != nil || code != 0 {
			t.Fatalf("%v: exit %d, %v: %s%s", test.args, code, err, out, stderr)
		}
		if got.Stable == nil || *got.Stable != test.stable || (got.Radius < 1) != test.stable ||
			(got.Within != nil) != test.within || (got.Between != nil) != test.between {
			t.Errorf("%v: %s", test.args, out)
		}
		if (stderr == "") != test.stable || !strings.Contains(stderr, test.stderr) {
			t.Errorf("%v: stderr %q", test.args, stderr)
		}
		out, _, _ = here(t, ".", args...)
		lines := strings.Join(strings.Fields(strings.ReplaceAll(out, "│", " ")), " ")
		if want := map[bool]string{true: "stable yes",
			false: "stable no"}[test.stable]; !strings.Contains(lines, want) ||
			strings.Contains(lines, "NaN") || !strings.Contains(lines, "nodes in their drawn order") {
			t.Errorf("%v: %s", test.args, out)
		}
	}
}

// The surrogate is made z-scored: --zscore is said to have no effect on it, and has one elsewhere.
func TestZScoreOfTheSurrogate(t *testing.T) {
	const note = "--zscore has no effect on the surrogate"
	small := []string{"--zscore=false", "--steps", "1", "--batch", "2", "--layers", "1",
		"--d-model", "16", "--test-frames", "4", "--test-levels", "0.5", "--threads", "1",
		"--device", "cpu", "--out", filepath.Join(t.TempDir(), "run")}
	if _, stderr, code := here(t, ".", append([]string{"train", "--task", "fmri",
		"--surrogate", "subjects=2,frames=20"}, small...)...); code != 0 || !strings.Contains(stderr, note) {
		t.Errorf("surrogate: exit %d, %s", code, stderr)
	}
	small[len(small)-1] += "-nmar"
	if _, stderr, code := here(t, ".", append([]string{"train", "--task", "nmar",
		"--nmar-frames", "200"}, small...)...); code != 0 || strings.Contains(stderr, "--zscore") {
		t.Errorf("nmar: exit %d, %s", code, stderr)
	}
}

// A run of task nmar gives the keys that other programs rely on; settings of another task are
// named, not swallowed.
func TestTrainNMAR(t *testing.T) {
	dir := t.TempDir()
	small := []string{"train", "--task", "nmar", "--nmar-frames", "600", "--test-frames", "40",
		"--steps", "12", "--batch", "16", "--d-model", "16",
		"--layers", "2", "--threads", "1", "--device", "cpu"}
	out, stderr, code := here(t, dir, append(small, "--members", "2", "--json", "--out", "run",
		"--read-out", "last", "--epochs", "3")...)
	if code != 0 || !strings.Contains(stderr, "--read-out has no effect on task nmar") ||
		!strings.Contains(stderr, "--epochs has no effect on task nmar") {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	var result struct {
		Members []struct {
			PE          string
			Seed, Steps int
			Sigma       float64
			Measures    map[string]float64
		}
		Baselines map[string]map[string]float64
	}
	if err := json.Unmarshal([]byte(out), &result); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if len(result.Members) != 2 || len(result.Baselines) != 3 {
		t.Fatalf("%s", out)
	}
	m := result.Members[1]
	if m.PE != "learn" || m.Seed != 2 || m.Steps != 12 || m.Sigma != 0.2 || !(m.Measures["train_mse"] > 0) {
		t.Errorf("member 1 of %s", out)
	}
	for name, want := range map[string]bool{"modularity": true, "clustering": true, "modularity/1": true,
		"train": false} {
		if _, has := m.Measures[name]; has != want {
			t.Errorf("%s: %v in %v, want %v", name, has, m.Measures, want)
		}
	}
	for _, level := range []string{"0.15", "0.50", "0.75", "0.90"} {
		if !(m.Measures["test_mse/"+level] > 0) || !(result.Baselines["gaussian"][level] > 0) ||
			!(result.Baselines["zero"][level] > 0) || !(result.Baselines["mean"][level] > 0) {
			t.Errorf("level %s of %s", level, out)
		}
	}
	if out, stderr, code := here(t, dir, "train", "--resume", "--out", "run",
		"--quiet"); code != 0 || !strings.Contains(out, "baseline: gaussian") {
		t.Errorf("a finished run: exit %d, %s%s", code, out, stderr)
	}
}

func TestNMARFigure(t *testing.T) {
	dir := t.TempDir()
	if _, errs, code := here(t, dir, "data", "nmar", "show", "--figure", "network.pdf",
		"--frames", "300"); code != 0 {
		t.Fatal(errs)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "network.pdf")); err != nil ||
		!strings.HasPrefix(string(b), "%PDF-") {
		t.Errorf("%v", err)
	}
}
