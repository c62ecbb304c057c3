package main

import (
	"os"
	"path/filepath"
	"strings"
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
		line := "--pe learn-0.5 --members 2 --seed 4 --epochs 2 --noise 0,0.5 --noise-repeats 3"
		small := strings.Replace(smallSet(t, learned()), "--layers 1", "--layers 2", 1)
		trainFor(t, learned(), "runs/learned", small+line)
	}
	dir = t.TempDir()
	expect.NoError(t, os.CopyFS(filepath.Join(dir, "runs"), os.DirFS(from)))
	return dir
}

// Scales of initial weights are not kept where the weights are those of a run. A sweep does not start from a run of two
// members: which of them a model starts from would depend on its tasks.
func TestFlagsBesideFrom(t *testing.T) {
	dir := learnedRun(t)
	line := strings.Replace(smallSet(t, dir), "--layers 1", "--layers 2", 1) +
		"--pe nope --members 2 --from runs/learned "
	want := says(t, dir, "train --dry-run "+line, 0)
	expect.Equal(t, "with scales", says(t, dir, "train --dry-run "+line+"--init-scale 3 --embed-init-scale 3", 0,
		"2>--init-scale has no effect on weights that are taken from a run"), want)
	says(t, dir, "sweep --dry-run --out s "+line, exitUsage, "that run has 2 members: give a run of one")
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
