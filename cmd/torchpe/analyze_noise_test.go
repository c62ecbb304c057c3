package main

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"torchpe/internal/expect"
)

// learned holds the folder of a run on puzzles of two members with learn-0.5 and two layers, which was
// trained once for the tests that read it.
var learned = sync.OnceValue(func() string {
	dir, err := os.MkdirTemp("", "learned")
	if err != nil {
		panic(err)
	}
	return dir
})

// learnedRun returns a folder of the test's own with runs/learned, a run of two members that measured noise.
func learnedRun(t *testing.T) (dir string) {
	t.Helper()
	from := filepath.Join(learned(), "runs")
	if _, err := os.Stat(from); err != nil {
		line := "--pe learn-0.5 --members 2 --seed 4 --epochs 2 --layers 2 --noise 0,0.5 --noise-repeats 3"
		trainFor(t, learned(), "runs/learned", smallSet(t, learned())+line)
	}
	dir = t.TempDir()
	expect.NoError(t, os.CopyFS(filepath.Join(dir, "runs"), os.DirFS(from)))
	return dir
}

// What train measures with noise at its end, analyze noise measures again from the run, as table and as
// JSON; data that moved are named.
func TestAnalyzeNoise(t *testing.T) {
	dir := learnedRun(t)
	trained := keys(t, readText(t, filepath.Join(dir, "runs", "learned", "result.json")))["members"].([]any)
	report := keys(t, says(t, dir, "analyze noise runs/learned --json", 0), "run", "step", "puzzles", "amplitudes",
		"repeats", "members")
	if report["step"] != 18.0 || report["repeats"] != 3.0 || report["puzzles"] != 12.0 {
		t.Errorf("%v", report)
	}
	for m, member := range report["members"].([]any) {
		got := member.(map[string]any)
		by := trained[m].(map[string]any)["measures"].(map[string]any)
		levels := got["noise"].([]any)
		zero, some := levels[0].(map[string]any), levels[1].(map[string]any)
		if by["noise/0"] != by["validation"] || zero["mean"] != by["noise/0"] || zero["sd"] != 0.0 ||
			got["validation_accuracy"] != by["validation"] || got["pe"] != "learn" || got["sigma"] != 0.5 ||
			some["amplitude"] != 0.5 || some["mean"] != by["noise/0.5"] ||
			len(some["accuracy"].([]any)) != 3 || got["seed"] != float64(4+m) {
			t.Errorf("member %d: %v, trained %v", m, got, by)
		}
	}
	says(t, dir, "analyze noise runs/learned --amplitudes 0.25 --repeats 2", 0, "a = 0.25", "without", "±",
		"12 validation puzzles", "2 draws")
	moved := filepath.Join(learned(), "train.csv")
	expect.NoError(t, os.Rename(moved, moved+".old"))
	says(t, dir, "analyze noise runs/learned", exitUsage, moved)
	expect.NoError(t, os.Rename(moved+".old", moved))
}

// A run cannot be resumed with other noise, nor one without noise with some.
func TestNoiseOfResumedRuns(t *testing.T) {
	dir := learnedRun(t)
	trainFor(t, dir, "runs/plain", smallSet(t, dir)+"--epochs 1 --noise none")
	for run, was := range map[string]string{"learned": "[0,0.5]", "plain": "none"} {
		expect.NoError(t, os.Remove(filepath.Join(dir, "runs", run, "result.json")))
		says(t, dir, "train --resume --noise 1 --out runs/"+run, exitUsage, "noise was "+was)
	}
	// Left out, it is as in the run.
	says(t, dir, "train --resume --epochs 1 --out runs/plain"+smallSet(t, dir), 0, "!>noise")
	// A run of masked prediction has no puzzles to answer.
	trainFor(t, dir, "nmar", "--task nmar --nmar-frames 600 --test-frames 40 --steps 1"+tinyModel)
	says(t, dir, "analyze noise nmar", exitUsage, "task nmar has no puzzles")
}
