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
}
