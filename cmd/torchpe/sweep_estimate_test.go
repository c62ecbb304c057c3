package main

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/train/sweep"
)

// A note on data that several points share is printed once.
func TestNotesOfPointsOnce(t *testing.T) {
	_, errs, _ := here(t, t.TempDir(), strings.Fields("sweep --dry-run --no-calibrate --skip-invalid --task nmar "+
		"--nmar-frames 400 --pe nope --mask-level 0.3,0.5")...)
	expect.Equal(t, errs, strings.Count(errs, "modules: 3"), 1)
}

// What is done takes no more time and no more disk.
func TestDryRunOfDone(t *testing.T) {
	dir := t.TempDir()
	flags := smallSet(t, dir) + "--epochs 1 --seeds 1 --out s --pack 1 --pe "
	says(t, dir, "sweep"+flags+"nope,rope", 0)
	ask := func(pe string) (e sweep.Estimate) {
		t.Helper()
		saysJSON(t, dir, "sweep --dry-run --no-calibrate"+flags+pe, &e)
		return e
	}
	if e := ask("nope,rope"); e.Runs != 2 || e.Done != 2 || e.New != 0 || e.DiskMB != 0 ||
		len(e.Shapes) != 0 || e.FreeMB <= 0 {
		t.Errorf("%+v", e)
	}
	one := ask("nope,rope,t5")
	expect.NoError(t, os.RemoveAll(filepath.Join(dir, "s/runs/nope_seed=1")))
	// Without --out, the folder is that of the sweep's name. What is planned keeps its ensembles.
	expect.NoError(t, os.WriteFile(filepath.Join(dir, "mine.yaml"), []byte("grid: {pe: nope}\n"), 0o666))
	mine := "sweep mine.yaml --seeds 1,2" + smallSet(t, dir)
	says(t, dir, mine+"--launcher none --pack 2 --no-calibrate", 0, "2>--no-calibrate has no effect without --dry-run")
	says(t, dir, mine+"--dry-run --no-calibrate --pack 1", 0, "2 runs (0 new", "2>--pack has no effect")
	if two := ask("nope,rope,t5"); one.Done != 2 || two.Done != 1 || two.New != 1 ||
		math.Abs(two.DiskMB-2*one.DiskMB) > 1e-9 || one.DiskMB <= 0 {
		t.Errorf("%+v, %+v", one, two)
	}
}

// A status that nobody can read is no success.
func TestStatusOnFullDevice(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	dir := t.TempDir()
	says(t, dir, "sweep --pe nope --out s --launcher none"+smallSet(t, dir), 0)
	cmd := program(dir, "sweep status s")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = full, &said
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != exitDiskFull ||
		!strings.Contains(said.String(), "no space left") {
		t.Errorf("%v: %s", err, said.String())
	}
}
