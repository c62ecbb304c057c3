package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Runs that were trained become a report and a comparison, with the numbers that training gave.
func TestReportOfTrainedRuns(t *testing.T) {
	dir := t.TempDir()
	small := smallSet(t, dir)
	// A bound that the first epoch reaches: nothing is compared with a 2d-fixed that has not
	// fitted.
	small = append(small, "--until", "train=0.01")
	for _, flags := range [][]string{
		{"--pe", "learn", "--sigma", "0.2,2", "--seeds", "1,1", "--out", "runs/learn"},
		{"--pe", "2d-fixed", "--members", "2", "--out", "runs/fixed"},
	} {
		if _, stderr, code := here(t, dir,
			append(append([]string{"train", "--epochs", "2", "--quiet"}, small...), flags...)...); code != 0 {
			t.Fatal(stderr)
		}
	}
	stdout, stderr, code := here(t, dir, "report", "runs/fixed", "--out", "one")
	if code != 0 || !strings.Contains(stdout, "from 1 run") ||
		!strings.Contains(stdout, filepath.Join("one", "index.html")) {
		t.Fatalf("exit code %d: %s%s", code, stdout, stderr)
	}
	report, stderr, code := here(t, dir, "report", "runs", "--out", "made", "--json")
	if code != 0 {
		t.Fatal(stderr)
	}
	f, err := os.Open(filepath.Join(dir, "made", "fig3.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil || len(rows) != 3 || rows[0][4] != "cosine" || rows[1][4] == "" || rows[1][6] == "" {
		t.Errorf("fig3.csv: %v, %v", rows, err)
	}
	keys(t, report, "items", "missing", "notes")
	var made struct {
		Missing []struct{ Item, Command string }
	}
	if err := json.Unmarshal([]byte(report), &made); err != nil || len(made.Missing) < 10 {
		t.Fatalf("%v: %+v", err, made)
	}
	planned := map[string]bool{}
	for _, m := range made.Missing { // each is a sweep that can be planned
		if planned[m.Item] || !slices.Contains([]string{"fig2", "table_a4", "table_a6", "fig_a15",
			"ablation", "fig4"}, m.Item) {
			continue
		}
		planned[m.Item] = true
		command := strings.TrimPrefix(m.Command, "torchpe ")
		if _, stderr, code := here(t, dir, append(strings.Fields(command), "--launcher", "none")...); code != 0 {
			t.Errorf("%s: %s", m.Command, stderr)
		}
	}
	if len(planned) != 6 {
		t.Errorf("planned %v", planned)
	}

	stdout, stderr, code = here(t, dir, "runs", "compare", "runs/learn", "runs/fixed", "--out", "both")
	if code != 0 || !strings.Contains(stdout, "runs/fixed") ||
		!strings.Contains(stdout, "2d-fixed") || strings.Count(stdout, "runs/learn") != 2 { // of each σ
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	if _, err := os.Stat(filepath.Join(dir, "both", "validation.pdf")); err != nil {
		t.Error(err)
	}
	if _, stderr, code = here(t, dir, "report", "runs", "--out",
		"runs/learn"); code != exitUsage || !strings.Contains(stderr, "run directory") {
		t.Errorf("a report into a run: exit code %d: %s", code, stderr)
	}
}

// Runs on a table of one's own become a page of their own, with the names of the table's columns,
// which analyze map prints too.
func TestReportOfOwnData(t *testing.T) {
	dir := t.TempDir()
	var text strings.Builder
	text.WriteString("alpha,beta,gamma,delta\n")
	for i := range 120 {
		for j := range 4 {
			text.WriteString(fmt.Sprint((i*(j+3)+i*i*(j%2))%17) + map[bool]string{true: "\n", false: ","}[j == 3])
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "own.csv"), []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := here(t, dir, "train", "--task", "masked", "--data", "own.csv", "--sigma", "0.5",
		"--layers", "1", "--d-model", "16", "--steps", "10", "--quiet", "--out", "runs/own"); code != 0 {
		t.Fatal(stderr)
	}
	stdout, stderr, code := here(t, dir, "report", "runs")
	if code != 0 || !strings.Contains(stdout, "from 1 run on own data") || strings.Contains(stdout, "missing") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	stdout, stderr, code = here(t, dir, "analyze", "map", "runs/own")
	if code != 0 || !strings.Contains(stdout, "gamma") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
}
