package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What train measures with noise at its end, analyze noise measures again from the run, as table
// and as JSON.
func TestAnalyzeNoise(t *testing.T) {
	dir := t.TempDir()
	base := slices.Concat([]string{"train", "--members", "2", "--epochs", "2", "--json"}, smallSet(t, dir))
	args := slices.Concat(base, []string{"--noise", "0,0.5", "--noise-repeats", "3", "--out", "run"})
	stdout, stderr, code := here(t, dir, args...)
	if code != 0 {
		t.Fatal(stderr)
	}
	trained := keys(t, stdout, "members")["members"].([]any)
	config, err := os.ReadFile(filepath.Join(dir, "run", "config.json"))
	if c := keys(t, string(config), "noise", "noise_repeats"); err != nil || c["noise_repeats"] != 3.0 {
		t.Errorf("%v, config.json: %s", err, config)
	}
	if stdout, stderr, code = here(t, dir, "analyze", "noise", "run", "--json"); code != 0 {
		t.Fatal(stderr)
	}
	report := keys(t, stdout, "run", "step", "puzzles", "amplitudes", "repeats", "members")
	if report["step"] != 18.0 || report["repeats"] != 3.0 || report["puzzles"] != 12.0 {
		t.Errorf("%s", stdout)
	}
	for m, member := range report["members"].([]any) {
		part, _ := json.Marshal(member)
		got := keys(t, string(part), "pe", "sigma", "seed", "validation_accuracy", "noise")
		result := trained[m].(map[string]any)
		by := result["measures"].(map[string]any)
		levels := got["noise"].([]any)
		zero, some := levels[0].(map[string]any), levels[1].(map[string]any)
		if by["noise/0"] != by["validation"] || zero["mean"] != by["noise/0"] || zero["sd"] != 0.0 ||
			some["amplitude"] != 0.5 || some["mean"] != by["noise/0.5"] ||
			len(some["accuracy"].([]any)) != 3 || got["seed"] != float64(1+m) {
			t.Errorf("member %d: %s, trained %v", m, part, by)
		}
	}
	stdout, stderr, code = here(t, dir, "analyze", "noise", "run", "--amplitudes", "0.25", "--repeats", "2")
	for _, want := range []string{"a = 0.25", "without", "±", "12 validation puzzles", "2 draws"} {
		if code != 0 || !strings.Contains(stdout, want) {
			t.Errorf("exit code %d, no %q in %s%s", code, want, stdout, stderr)
		}
	}
	// Data that moved are named.
	moved := args[slices.Index(args, "--lst-train")+1]
	if err := os.Rename(moved, moved+".old"); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code = here(t, dir, "analyze", "noise", "run"); code != 2 ||
		!strings.Contains(stderr, moved) {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	// A run cannot be resumed with other noise, nor one without noise with some.
	if err := os.Rename(moved+".old", moved); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "run", "result.json")); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code = here(t, dir, "train", "--resume", "--out", "run", "--noise",
		"1"); code != exitUsage || !strings.Contains(stderr, "noise was [0,0.5]") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if _, stderr, code = here(t, dir,
		slices.Concat(base, []string{"--noise", "none", "--force", "--out", "run"})...); code != 0 {
		t.Fatal(stderr)
	}
	if err := os.Remove(filepath.Join(dir, "run", "result.json")); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code = here(t, dir, "train", "--resume", "--out", "run", "--noise",
		"1"); code != exitUsage || !strings.Contains(stderr, "noise was none") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	whole := slices.Concat(base, []string{"--out", "run", "--resume"}) // noise left out: as in the run
	if stdout, stderr, code = here(t, dir, whole...); code != 0 || strings.Contains(stdout, "noise") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
}

func TestNoiseMistakesExitWithTwo(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"train", "--noise", "loud"}, `"loud" is not a number or the word none`},
		{[]string{"train", "--noise", "0.1,0.1"}, "given twice"},
		{[]string{"train", "--noise", "-1"}, "--noise: -1"},
		{[]string{"train", "--noise", ""}, "none"},
		{[]string{"train", "--noise-repeats", "0"}, "--noise-repeats"},
		{[]string{"analyze", "noise"}, "run directory"},
		{[]string{"analyze", "noise", "a", "b"}, "2 were given"},
		{[]string{"analyze", "noise", "run", "--amplitudes", "x"}, `--amplitudes: "x"`},
		{[]string{"analyze", "noise", "run", "--amplitudes", "nan"}, "--amplitudes: NaN"},
		{[]string{"analyze", "noise", "run", "--amplitudes", "none"}, "--amplitudes"},
		{[]string{"analyze", "noise", "run", "--repeats", "0"}, "--repeats"},
		{[]string{"analyze", "noise", "missing"}, "missing"},
		{[]string{"analyze", "nois"}, "noise"},
	} {
		if _, stderr, code := here(t, dir, c.args...); code != exitUsage || !strings.Contains(stderr, c.want) {
			t.Errorf("%q: exit code %d, no %q in %s", c.args, code, c.want, stderr)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("wrote %v", left)
	}
	// A run of masked prediction is an input that cannot be measured, as any other.
	trainFor(t, dir, "run", "--task", "nmar", "--nmar-frames", "600", "--test-frames", "40",
		"--steps", "1", "--batch", "16", "--d-model", "16", "--layers", "1")
	if _, stderr, code := here(t, dir, "analyze", "noise", "run"); code != exitUsage ||
		!strings.Contains(stderr, "task nmar has no puzzles") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}
