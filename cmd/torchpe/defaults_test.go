package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torchpe/train"
)

// dryRun returns the configuration that a command would train.
func dryRunOf(t *testing.T, dir string, args ...string) (c train.Config) {
	t.Helper()
	out, stderr, code := here(t, dir, append(args, "--dry-run")...)
	if code != 0 {
		t.Fatalf("%q: exit code %d: %s", args, code, stderr)
	}
	c, err := train.ParseConfig([]byte(out))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// defaultsIn writes the project's file in a new folder, and the user's.
func defaultsIn(t *testing.T, project, user string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	home := filepath.Join(dir, "home")
	t.Setenv("XDG_CONFIG_HOME", home)
	if err := os.MkdirAll(filepath.Dir(userFile()), 0o777); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{filepath.Join(dir, projectFile): project, userFile(): user} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A flag counts before a variable, that before the project's file, and that before the user's; each
// value acts as its flag.
func TestDefaultsInOrder(t *testing.T) {
	dir := defaultsIn(t, "preset: quick\nheads: 2\nlayers: 2\nbatch: 32\nnoise: [0.1, 1]\n",
		"heads: 8\nlayers: 8\nbatch: 8\nepochs: 8\nrope-base: 500\ntask: nmar\n")
	t.Setenv("TORCHPE_LAYERS", "3")
	t.Setenv("TORCHPE_BATCH", "64")
	t.Setenv("TORCHPE_DROPOUT", "")
	got := dryRunOf(t, dir, "train", "--batch", "16", "--pe", "rope")
	t.Setenv(defaultsVariable, "none")
	want := dryRunOf(t, t.TempDir(), "train", "--preset", "quick", "--heads", "2", "--layers", "3", "--batch", "16",
		"--epochs", "8", "--noise", "0.1,1", "--rope-base", "500", "--pe", "rope")
	if text, other := mustJSON(t, got), mustJSON(t, want); text != other {
		t.Errorf("%s\nwith flags:\n%s", text, other)
	}
	t.Setenv(defaultsVariable, "")
	// Another task has neither noise nor the project's preset.
	if c := dryRunOf(t, dir, "train", "--task", "nmar"); c.Task != "nmar" || c.Heads != 2 || c.Noise != nil {
		t.Errorf("%s", mustJSON(t, c))
	}
	out, stderr, code := here(t, dir, "config", "--json")
	var rows []userDefault
	if err := json.Unmarshal([]byte(out), &rows); err != nil || code != 0 {
		t.Fatalf("%v, exit code %d: %s", err, code, stderr)
	}
	from := map[string]string{}
	for _, r := range rows {
		from[r.Flag+"="+r.Value] = r.From
	}
	for row, want := range map[string]string{"layers=3": "TORCHPE_LAYERS", "batch=64": "TORCHPE_BATCH",
		"heads=2": "torchpe.yaml:2", "noise=0.1,1": "torchpe.yaml:5", "epochs=8": userFile() + ":4"} {
		if from[row] != want {
			t.Errorf("%s is from %q, want %s: %q", row, from[row], want, from)
		}
	}
	if len(rows) != 7 {
		t.Errorf("%d defaults, want 7: %q", len(rows), rows)
	}
}

func mustJSON(t *testing.T, c train.Config) string {
	t.Helper()
	text, err := c.JSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Mistakes name the variable, or the file and the line.
func TestDefaultsMistakes(t *testing.T) {
	for _, c := range []struct{ project, variable, value, want string }{
		{"epochs: 3\nepoch: 4\n", "", "",
			`torchpe.yaml: line 2, column 1: defaults: "epoch" is unknown; did you mean "epochs"?`},
		{"epochs: many\n", "", "", `torchpe.yaml: line 1, column 9: epochs: "many" is not a whole number`},
		{"epochs: [3, 4]\n", "", "", `torchpe.yaml: line 1, column 9: epochs: takes one value`},
		{"lr: 1\n\nepochs: 0\n", "", "", `--epochs (of torchpe.yaml:3): 0 is not in`},
		{"heads: 3\n", "TORCHPE_D_MODEL", "16",
			`--d-model (of TORCHPE_D_MODEL): 16 is not divisible by --heads (of torchpe.yaml:1) 3`},
		{"pe: nope\nrope-layout: halb\n", "", "", `torchpe.yaml:2: --rope-layout: "halb" is not one of`},
		{"", "TORCHPE_ROPE_LAYOUT", "halb", `TORCHPE_ROPE_LAYOUT: --rope-layout: "halb" is not one of`},
		{"epochs: 1\npreset: quack\n", "", "", `--preset (of torchpe.yaml:2) "quack" is unknown`},
		{"", "TORCHPE_LST_TRAIN", "puzzles.csv", "--lst-train (of TORCHPE_LST_TRAIN) and --lst-validation go together"},
		{"", "TORCHPE_DEFAULTS", "no", `TORCHPE_DEFAULTS: "no": it is none`},
		{"", "TORCHPE_EPOCHS", "many", `TORCHPE_EPOCHS: "many" is not a whole number`},
		{"", "TORCHPE_PE", "ropes", `--pe (of TORCHPE_PE)`},
		{"seeds: paper\n", "", "", `"seeds" is unknown`},
	} {
		t.Run(c.want, func(t *testing.T) {
			dir := defaultsIn(t, c.project, "")
			if c.variable != "" {
				t.Setenv(c.variable, c.value)
			}
			for _, args := range [][]string{{"config"}, {"train", "--dry-run"}} {
				_, stderr, code := here(t, dir, args...)
				if code != exitUsage || !strings.Contains(stderr, c.want) {
					t.Errorf("%q: exit code %d: %s", args, code, stderr)
				}
			}
		})
	}
}

// A run that goes on keeps its values; a sweep has the defaults where it says nothing itself.
func TestDefaultsOfRunsAndSweeps(t *testing.T) {
	dir := defaultsIn(t, "lr: 0.25\n", "")
	small := append([]string{"train", "--limit-steps", "2", "--out", "run", "--quiet"}, smallSet(t, dir)...)
	if _, stderr, code := here(t, dir, small...); code != 0 {
		t.Fatal(stderr)
	}
	stored := dryRunOf(t, dir, "train", "--config", "run/config.json")
	if lr := stored.Members[0].LR; lr != 0.25 {
		t.Errorf("the run has learning rate %g", lr)
	}
	if err := os.WriteFile(filepath.Join(dir, projectFile), []byte("lr: 0.5\nlayers: 3\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"train", "--config", "run/config.json"}, {"train", "--resume", "--out", "run"},
		{"train", "--resume", "--out", "run", "--limit-steps", "3", "--allow-changed", "limit_steps"}} {
		if c := dryRunOf(t, dir, args...); c.Members[0].LR != 0.25 || c.Layers != 1 {
			t.Errorf("%q: %s", args, mustJSON(t, c))
		}
	}
	// The command that started the run says anew what to train: what differs is refused.
	_, stderr, code := here(t, dir, append(small, "--resume")...)
	if code != exitUsage || !strings.Contains(stderr, "members.lr was 0.25") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if _, stderr, code := here(t, dir, "sweep", "--preset", "quick", "--layers", "1,2", "--out", "swept",
		"--launcher", "none", "--quiet"); code != 0 {
		t.Fatal(stderr)
	}
	plan, err := os.ReadFile(filepath.Join(dir, "swept", "sweep.json"))
	if text := string(plan); err != nil || strings.Contains(text, `"layers":3`) ||
		!strings.Contains(text, `"layers":2`) || !strings.Contains(text, `"lr":0.5`) {
		t.Errorf("%v: %s", err, text)
	}
}
