package main

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"torchpe/internal/expect"
	"torchpe/torchpe"
	"torchpe/train/runlog"
)

// What an earlier version wrote is listed, resumed to the same numbers, finished and reported.
func TestReleasedDirectories(t *testing.T) {
	dir := t.TempDir()
	expect.NoError(t, os.CopyFS(dir, os.DirFS("testdata/released")))
	var listed []map[string]any
	if saysJSON(t, dir, "runs list .", &listed); len(listed) != 5 {
		t.Fatalf("%v", listed)
	}
	says(t, dir, "train --resume --out stopped --quiet", 0)
	compareReleased(t, filepath.Join(dir, "done"), filepath.Join(dir, "stopped"))
	// Which 0.1.0 refuses.
	expect.Contains(t, readText(t, filepath.Join(dir, "stopped", "config.json")), `"schema": 2,`)
	says(t, dir, "sweep resume sweep --quiet", 0, "2 of 2 runs done")
	says(t, dir, "report . --out report", 0)
	readText(t, filepath.Join(dir, "report", "index.html"))
}

// compareReleased compares the last records of two runs: to what our own loops, which round otherwise
// than that version's, do in 600 steps where libtorch's kernels are those of the machine that wrote the
// first, and to what other kernels do elsewhere.
func compareReleased(t *testing.T, was, now string) {
	t.Helper()
	last := func(dir string) (records []runlog.Record, kernel string) {
		r := expect.Must(runlog.Open(dir))
		defer r.Close()
		all, err := runlog.ReadMetrics[runlog.Record](r)
		if err != nil || len(all) < 2 {
			t.Fatalf("%s: %d records, %v", dir, len(all), err)
		}
		envs := expect.Must(r.Environments())
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
