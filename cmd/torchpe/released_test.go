package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torchpe/torchpe"
	"torchpe/train/runlog"
)

// released copies the directories of an earlier version into a folder of the test's own.
func released(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/released")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// What an earlier version wrote is listed, resumed to the same numbers, finished and reported.
func TestReleasedDirectories(t *testing.T) {
	dir := released(t)
	stdout, stderr, code := here(t, dir, "runs", "list", ".", "--json")
	var listed []map[string]any
	if err := json.Unmarshal([]byte(stdout), &listed); err != nil || code != 0 || len(listed) != 5 {
		t.Fatalf("%v, exit code %d: %s%s", err, code, stdout, stderr)
	}
	if _, stderr, code = here(t, dir, "train", "--resume", "--out", "stopped", "--quiet"); code != 0 {
		t.Fatal(stderr)
	}
	compareReleased(t, filepath.Join(dir, "done"), filepath.Join(dir, "stopped"))
	config, err := os.ReadFile(filepath.Join(dir, "stopped", "config.json"))
	if err != nil || !strings.Contains(string(config), `"schema": 2,`) { // which 0.1.0 refuses
		t.Errorf("%s, %v", config, err)
	}
	if stdout, stderr, code = here(t, dir, "sweep", "resume", "sweep", "--quiet"); code != 0 ||
		!strings.Contains(stdout+stderr, "2 of 2 runs done") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	if stdout, stderr, code = here(t, dir, "report", ".", "--out", "report"); code != 0 {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	if _, err := os.Stat(filepath.Join(dir, "report", "index.html")); err != nil {
		t.Error(err)
	}
}

// compareReleased compares the last records of two runs: to what our own loops, which round otherwise
// than that version's, do in 600 steps where libtorch's kernels are those of the machine that wrote the
// first, and to what other kernels do elsewhere.
func compareReleased(t *testing.T, was, now string) {
	t.Helper()
	last := func(dir string) (records []runlog.Record, kernel string) {
		r, err := runlog.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		all, err := runlog.ReadMetrics[runlog.Record](r)
		if err != nil || len(all) < 2 {
			t.Fatalf("%s: %d records, %v", dir, len(all), err)
		}
		envs, err := r.Environments()
		if err != nil {
			t.Fatal(err)
		}
		return all[len(all)-2:], envs[0].BLASKernel
	}
	want, kernel := last(was)
	got, _ := last(now)
	tolerance := 0.05
	if s := torchpe.DescribeSystem(); s.BLASKernel == kernel && s.LibtorchRunning == "1.13.0" {
		tolerance = 1e-8
	}
	for m := range want {
		if math.Abs(got[m].Measures["loss"]-want[m].Measures["loss"]) > tolerance*want[m].Measures["loss"] ||
			got[m].Step != want[m].Step {
			t.Errorf("member %d: step %d loss %v, want step %d loss %v", m, got[m].Step, got[m].Measures["loss"],
				want[m].Step, want[m].Measures["loss"])
		}
	}
}
