package main

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/train/sweep"
)

func TestTexts(t *testing.T) {
	for seconds, want := range map[float64]string{0.2: "0.2 seconds", 61.4: "61.4 seconds", 1800: "30 minutes",
		36.04 * 3600: "36.0 hours", 20e6: "231.5 days"} {
		if got := timeText(seconds); got != want {
			t.Errorf("%g s: %s, want %s", seconds, got, want)
		}
	}
	for mb, want := range map[float64]string{0.25: "256 kB", 30.2: "30 MB", 2560: "2.5 GB"} {
		if got := diskText(mb); got != want {
			t.Errorf("%g MB: %s", mb, got)
		}
	}
	if text := shortOfDisk("/data", 2048, 100); !strings.Contains(text, "/data has 100 MB free") ||
		!strings.Contains(text, "about 2.0 GB") {
		t.Error(text)
	}
	if text := shortOfDisk("/data", 2048, 4096) + shortOfDisk("/data", 2048, 0); text != "" {
		t.Error(text)
	}
}

// What is done takes no more time and no more disk.
func TestDryRunOfDone(t *testing.T) {
	dir := t.TempDir()
	flags := append(smallSet(t, dir), "--epochs", "1", "--seeds", "1", "--out", "s", "--pack", "1")
	if _, stderr, code := torchpeIn(t, dir, slices.Concat([]string{"sweep", "--pe", "nope,rope"},
		flags)...); code != 0 {
		t.Fatal(stderr)
	}
	ask := func(pe string) (e sweep.Estimate) {
		t.Helper()
		stdout, stderr, code := torchpeIn(t, dir, slices.Concat([]string{"sweep", "--dry-run",
			"--json", "--no-calibrate", "--pe", pe}, flags)...)
		if err := json.Unmarshal([]byte(stdout), &e); err != nil || code != 0 {
			t.Fatalf("%v, exit code %d: %s%s", err, code, stdout, stderr)
		}
		return e
	}
	if e := ask("nope,rope"); e.Runs != 2 || e.Done != 2 || e.New != 0 || e.DiskMB != 0 ||
		len(e.Shapes) != 0 || e.FreeMB <= 0 {
		t.Errorf("%+v", e)
	}
	one := ask("nope,rope,t5")
	if err := os.RemoveAll(filepath.Join(dir, "s/runs/nope_seed=1")); err != nil {
		t.Fatal(err)
	}
	if two := ask("nope,rope,t5"); one.Done != 2 || two.Done != 1 || two.New != 1 ||
		math.Abs(two.DiskMB-2*one.DiskMB) > 1e-9 || one.DiskMB <= 0 {
		t.Errorf("%+v, %+v", one, two)
	}
}

// Mistakes that would else show in every task, or not at all.
func TestSweepMistakesAtPlanning(t *testing.T) {
	dir := t.TempDir()
	small := smallSet(t, dir)
	if err := os.WriteFile(filepath.Join(dir, "bad.yaml"),
		[]byte("grid:\n  pe: [learn]\n  sigma: [0.5, abc]\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	gone := filepath.Join(dir, "gone.csv")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--pe", "nope", "--exclude", "pe=nope", "--dry-run"}, "every configuration is excluded"},
		{[]string{"--pe", "nope", "--exclude", "pe=nope"}, "every configuration is excluded"},
		{[]string{"--pe", "nope,nope"}, "nope is given twice"},
		{[]string{"--pe", "nope", "--seeds", "1:3,2"}, "--seeds: 2 is given twice"},
		{[]string{"--pe", "learn", "--sigma", "abc"}, `--sigma: "abc" is not a number`},
		{[]string{"--pe", "learn", "--heads", "1.5"}, `--heads: "1.5" is not a whole number`},
		{[]string{"bad.yaml"}, `bad.yaml: line 3, column 16: sigma: "abc" is not a number`},
		{[]string{"--pe", "nope", "--lst-train", "gone.csv", "--lst-validation",
			small[len(small)-1], "--dry-run"}, "--lst-train: stat " + gone + ": no such file"},
		{[]string{"--pe", "nope", "--launcher", "slurm", "--sbatch=--array=0-3"}, "--array=0-3: use --throttle"},
	} {
		stdout, stderr, code := here(t, dir, slices.Concat([]string{"sweep", "--out", "s"}, c.args)...)
		if code != exitUsage || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: exit code %d, no %q in %s%s", c.args, code, c.want, stdout, stderr)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "s")); err == nil {
		t.Error("something was written")
	}
	_, stderr, code := here(t, dir, "sweep", "--pe", "nope", "--exclude", "pe=nop", "--dry-run", "--no-calibrate")
	if code != 0 || !strings.Contains(stderr, "the exclusion pe=nop agrees with no configuration") {
		t.Errorf("exit code %d: %s", code, stderr)
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
	if _, stderr, code := torchpeIn(t, dir, slices.Concat([]string{"sweep", "--pe", "nope", "--out",
		"s", "--launcher", "none"}, smallSet(t, dir))...); code != 0 {
		t.Fatal(stderr)
	}
	cmd := program(dir, "sweep", "status", "s")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = full, &said
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != exitDiskFull ||
		!strings.Contains(said.String(), "no space left") {
		t.Errorf("%v: %s", err, said.String())
	}
}
