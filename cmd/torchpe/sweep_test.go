package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/data/array/safetensors"
	"torchpe/train/runlog"
	"torchpe/train/sweep"
)

// opened is a finished run, read back.
type opened struct {
	config             map[string]any
	records            []map[string]any
	checkpoint, probes *safetensors.File
	step               int
	result             map[string]any
}

func open(t *testing.T, dir string) opened {
	t.Helper()
	r, err := runlog.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var o opened
	c, err := r.LoadCheckpoint()
	if err != nil {
		t.Fatal(err)
	}
	o.checkpoint, o.step = c.File, c.Step
	if o.probes, err = r.LoadProbes(); err != nil {
		t.Fatal(err)
	}
	if o.records, err = runlog.ReadMetrics[map[string]any](r); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "result.json"))
	if err != nil {
		t.Fatal(err)
	}
	for text, into := range map[string]*map[string]any{string(text): &o.result, string(r.Config().JSON): &o.config} {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	// What depends on when and where.
	for _, key := range []string{"wall_seconds", "steps_per_second", "peak_rss_mb", "trained_together",
		"config_sha256", "metrics_crc32c", "crc32c"} {
		delete(o.result, key)
	}
	for _, r := range o.records {
		delete(r, "wall_seconds")
		delete(r, "step_ms")
	}
	delete(o.checkpoint.Metadata, "seconds")
	return o
}

// differ returns where two runs differ by more than a tolerance in any number, or in anything else.
func differ(a, b opened, tolerance float64) (where []string) {
	var values func(path string, x, y any)
	values = func(path string, x, y any) {
		switch x := x.(type) {
		case float64:
			if y, ok := y.(float64); !ok || math.Abs(x-y) > tolerance {
				where = append(where, fmt.Sprintf("%s: %v, %v", path, x, y))
			}
		case map[string]any:
			y, _ := y.(map[string]any)
			if !slices.Equal(slices.Sorted(maps.Keys(x)), slices.Sorted(maps.Keys(y))) {
				where = append(where, fmt.Sprintf("%s: keys %v, %v", path, x, y))
				return
			}
			for k := range x {
				values(path+"."+k, x[k], y[k])
			}
		case []any:
			y, _ := y.([]any)
			if len(x) != len(y) {
				where = append(where, fmt.Sprintf("%s: %v, %v", path, x, y))
				return
			}
			for i := range x {
				values(fmt.Sprint(path, "[", i, "]"), x[i], y[i])
			}
		default:
			if x != y {
				where = append(where, fmt.Sprintf("%s: %v, %v", path, x, y))
			}
		}
	}
	values("config", a.config, b.config)
	values("result", a.result, b.result)
	values("records", toAny(a.records), toAny(b.records))
	values("step", float64(a.step), float64(b.step))
	for name, pair := range map[string][2]*safetensors.File{"checkpoint": {a.checkpoint,
		b.checkpoint}, "probes": {a.probes, b.probes}} {
		if !slices.Equal(slices.Sorted(slices.Values(pair[0].Names())),
			slices.Sorted(slices.Values(pair[1].Names()))) || !maps.Equal(pair[0].Metadata, pair[1].Metadata) {
			where = append(where, fmt.Sprintf("%s: %v %v, %v %v", name, pair[0].Names(),
				pair[0].Metadata, pair[1].Names(), pair[1].Metadata))
			continue
		}
		for _, x := range pair[0].Tensors {
			y, _ := pair[1].Tensor(x.Name)
			p, err1 := x.Float64s()
			q, err2 := y.Float64s()
			if err1 != nil || err2 != nil || !slices.Equal(x.Shape, y.Shape) || x.DType != y.DType {
				where = append(where, fmt.Sprintf("%s %s: %v %v, %v %v", name, x.Name, x.DType,
					x.Shape, y.DType, y.Shape))
				continue
			}
			for i := range p {
				if d := math.Abs(p[i] - q[i]); d > tolerance || math.IsNaN(p[i]) != math.IsNaN(q[i]) {
					where = append(where, fmt.Sprintf("%s %s: element %d is %g and %g", name, x.Name, i, p[i], q[i]))
					break
				}
			}
		}
	}
	return where
}

func toAny(records []map[string]any) (out []any) {
	for _, r := range records {
		out = append(out, r)
	}
	return out
}

// Configurations packed as ensembles come back as runs that equal, file by file, those of torchpe
// train of each alone.
func TestSweepEqualsTrain(t *testing.T) {
	dir := t.TempDir()
	small := append(smallSet(t, dir), "--epochs", "2", "--dtype", "float64", "--noise", "0,0.5",
		"--noise-repeats", "2")
	for _, c := range []struct {
		name  string
		flags []string
		runs  map[string][]string
	}{
		{"lst", with(small, "--pe", "learn,rope", "--sigma", "0.2,1", "--lr", "1e-3,3e-3",
			"--seeds", "5,9"), map[string][]string{
			"learn-0.2_lr=0.003_seed=9": with(small, "--pe", "learn", "--sigma", "0.2", "--lr",
				"3e-3", "--seed", "9"),
			"learn-1.0_lr=0.001_seed=5": with(small, "--pe", "learn-1.0", "--lr", "1e-3", "--seed", "5"),
			"learn-1.0_lr=0.003_seed=9": with(small, "--pe", "learn-1.0", "--lr", "3e-3", "--seed", "9"),
			"rope_lr=0.001_seed=9":      with(small, "--pe", "rope", "--lr", "1e-3", "--seed", "9"),
		}},
		{"sizes", with(small, "--pe", "rope,t5", "--eval-tokens", "25,36", "--seeds", "5,9"), map[string][]string{
			"rope_seed=9": with(small, "--pe", "rope", "--eval-tokens", "25,36", "--seed", "9"),
			"t5_seed=5":   with(small, "--pe", "t5", "--eval-tokens", "36,25", "--seed", "5"),
		}},
		{"nmar", with(tinyNMAR, "--pe", "learn", "--sigma", "0.2,1", "--members", "2"), map[string][]string{
			"learn-0.2_seed=1": with(tinyNMAR, "--pe", "learn-0.2", "--seed", "1"),
			"learn-1.0_seed=2": with(tinyNMAR, "--pe", "learn-1.0", "--seed", "2"),
		}},
	} {
		out := "sweep-" + c.name
		stdout, stderr, code := here(t, dir, slices.Concat([]string{"sweep", "--out", out,
			"--workers", "1", "--pack", "8"}, c.flags)...)
		if code != 0 {
			t.Fatalf("exit code %d: %s%s", code, stdout, stderr)
		}
		for name, flags := range c.runs {
			alone := c.name + "-" + name
			if _, stderr, code := here(t, dir,
				slices.Concat([]string{"train", "--out", alone, "--quiet"}, flags)...); code != 0 {
				t.Fatal(stderr)
			}
			for _, d := range differ(open(t, filepath.Join(dir, out, "runs", name)),
				open(t, filepath.Join(dir, alone)), 1e-9) {
				t.Errorf("%s: %s", name, d)
			}
		}
	}
	// The report reads the runs, and none twice.
	if _, stderr, code := here(t, dir, "report", "sweep-sizes", "--json"); code != 0 {
		t.Errorf("a report of runs with other sizes: %s", stderr)
	}
	stdout, stderr, code := here(t, dir, "report", "sweep-lst", "--json")
	if code != 0 || !strings.Contains(stdout, "From 12 runs: 12 models on puzzles") {
		t.Errorf("exit code %d: %.400s%s", code, stdout, stderr)
	}
}

// with returns flags and more, in a slice of its own.
func with(flags []string, more ...string) []string { return slices.Concat(flags, more) }

var tinyNMAR = []string{"--task", "nmar", "--d-model", "16", "--layers", "1", "--batch", "16",
	"--steps", "20", "--nmar-frames", "600", "--test-frames", "32", "--dtype", "float64", "--threads", "1"}

// A member that diverges takes no other with it; the summary and the exit code say it.
func TestSweepDiverged(t *testing.T) {
	dir := t.TempDir()
	flags := append(smallSet(t, dir), "--epochs", "2", "--pe", "learn", "--optimizer", "sgd", "--lr", "1e-3,1e6")
	stdout, stderr, code := here(t, dir, slices.Concat([]string{"sweep", "--out", "s", "--pack", "2"}, flags)...)
	if code != exitFailed || !strings.Contains(stderr, "1 run diverged") || !strings.Contains(stdout, "diverged") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	good, bad := open(t, filepath.Join(dir, "s/runs/learn-0.2_lr=0.001_seed=1")), open(t,
		filepath.Join(dir, "s/runs/learn-0.2_lr=1000000_seed=1"))
	if good.result["members"].([]any)[0].(map[string]any)["status"] != "done" ||
		bad.result["members"].([]any)[0].(map[string]any)["status"] != "diverged" {
		t.Errorf("%v, %v", good.result, bad.result)
	}
	summary, err := os.ReadFile(filepath.Join(dir, "s/summary.csv"))
	if err != nil || !strings.Contains(string(summary), "diverged") {
		t.Errorf("%s, %v", summary, err)
	}
	// It is not tried again.
	if stdout, stderr, code = here(t, dir, "sweep", "retry", "s",
		"--failed"); code != exitFailed || !strings.Contains(stderr, "1 run diverged") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
}

// A file that vanishes between planning and training fails that task alone, with a reason; once it
// is back, a retry completes it.
func TestSweepFailsAndRetries(t *testing.T) {
	dir := t.TempDir()
	flags := append(smallSet(t, dir), "--epochs", "1", "--pe", "nope,learn", "--pack", "1", "--workers", "1")
	if _, stderr, code := here(t, dir,
		slices.Concat([]string{"sweep", "--out", "s", "--launcher", "none"}, flags)...); code != 0 {
		t.Fatal(stderr)
	}
	if err := os.Rename(filepath.Join(dir, "train.csv"), filepath.Join(dir, "gone.csv")); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, code := torchpeIn(t, dir, "sweep", "run-task", "--index", "0", "s")
	if code != exitFailed {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	if err := os.Rename(filepath.Join(dir, "gone.csv"), filepath.Join(dir, "train.csv")); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, code = here(t, dir, "sweep", "resume", "s")
	if code != exitFailed || !strings.Contains(stdout, sweep.ReasonData) ||
		!strings.Contains(stdout, "train.csv") || !strings.Contains(stderr, "1 task failed") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	var st sweep.Status
	stdout, _, code = here(t, dir, "sweep", "status", "s", "--json")
	if err := json.Unmarshal([]byte(stdout), &st); err != nil || code != 0 ||
		st.Counts[sweep.StateFailed] != 1 || st.Counts[sweep.StateDone] != 1 {
		t.Errorf("%v, exit code %d: %s", err, code, stdout)
	}
	if stdout, stderr, code = here(t, dir, "sweep", "retry", "s", "--failed"); code != 0 ||
		!strings.Contains(stdout, "2 of 2 runs done") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	if stdout, stderr, code = torchpeIn(t, dir, "sweep", "run-task", "--index", "1",
		"s"); code != 0 || !strings.Contains(stdout, "done already") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
}

// Where the launcher can go on no more, the table and the reason are printed all the same.
func TestSweepStopsWithTable(t *testing.T) {
	dir := t.TempDir()
	flags := append(smallSet(t, dir), "--epochs", "1", "--pe", "nope,learn", "--pack", "1", "--out", "s")
	if _, stderr, code := here(t, dir, slices.Concat([]string{"sweep", "--launcher", "none"},
		flags)...); code != 0 {
		t.Fatal(stderr)
	}
	// In the place of a full disk: the failure of task 0 cannot be recorded.
	blocked := filepath.Join(dir, "s/tasks/000000/failed.json")
	if err := os.MkdirAll(blocked+".torchpe-tmp", 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "train.csv")); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, code := here(t, dir, "sweep", "resume", "s", "--workers", "1")
	if code != exitFailed || !strings.Contains(stdout,
		"0 of 2 runs done; tasks: 0 done, 0 running, 0 failed, 1 lost, 1 pending") ||
		!strings.Contains(stderr, "could not be recorded: write "+blocked+": is a directory") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
}

// The number of runs in each preset's comment, of resolved configurations, each counted once.
func TestPresetRuns(t *testing.T) {
	for _, p := range sweep.Presets() {
		points, err := p.Spec.Points()
		if err != nil {
			t.Fatal(err)
		}
		configs, notes, err := sweep.Resolve(points, resolveArguments)
		if err != nil {
			t.Errorf("%s: %v", p.Name, err)
			continue
		}
		var plan sweep.Plan
		added, err := plan.Add(configs, sweep.Packing{Members: 15}, nil)
		if err != nil || added.New != p.Runs || len(notes) > 0 {
			t.Errorf("%s: %+v, want %d new; notes %q, %v", p.Name, added, p.Runs, notes, err)
		}
	}
	// On request in the text's reading.
	p, err := sweep.FindPreset("table1")
	if err != nil {
		t.Fatal(err)
	}
	points, err := p.Spec.Set([]sweep.Axis{{Flag: "fidelity", Values: []string{"text"}}}).Points()
	if err != nil {
		t.Fatal(err)
	}
	configs, _, err := sweep.Resolve(points, resolveArguments)
	if err != nil || !strings.Contains(string(configs[0]), `"fidelity":"text"`) ||
		!strings.Contains(string(configs[0]), `"read_out":"probe"`) {
		t.Errorf("%s, %v", configs[0], err)
	}
}

func TestSweepDryRun(t *testing.T) {
	dir := t.TempDir()
	flags := append(smallSet(t, dir), "--epochs", "2,3", "--pe", "learn,nope", "--seeds", "1,2")
	stdout, stderr, code := here(t, dir, slices.Concat([]string{"sweep", "--dry-run", "--json"}, flags)...)
	var e sweep.Estimate
	if err := json.Unmarshal([]byte(stdout), &e); err != nil || code != 0 {
		t.Fatalf("%v, exit code %d: %s%s", err, code, stdout, stderr)
	}
	// One shape: PE and length change no step. 270 puzzles in batches of 32 are 9 steps an epoch:
	// 18 and 27 for four runs each.
	if e.Runs != 8 || e.New != 8 || len(e.Shapes) != 1 || e.Shapes[0].StepMS <= 0 ||
		math.Abs((e.Shapes[0].Hours-e.RecordHours*float64(e.Workers))*3.6e6/e.Shapes[0].StepMS-4*(18+27)) > 1e-6 ||
		e.RecordHours <= 0 || !slices.Equal(e.Steps, []int{18, 27}) || e.DiskMB <= 0 {
		t.Errorf("%s", stdout)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("%v, %v", left, err)
	}
}

// --dry-run names all points of which no model can be made, once for each reason; --skip-invalid leaves
// them out.
func TestInvalidPoints(t *testing.T) {
	flags := with(tinyNMAR, "--pe", "2d-fixed,nope,rope", "--heads", "2,3")
	flags = append([]string{"sweep", "--dry-run", "--json"}, flags...)
	_, errs, code := here(t, t.TempDir(), flags...)
	for _, want := range []string{"torchpe: --pe=2d-fixed --heads=3: --d-model: 16 is not divisible by --heads 3 " +
		"(and 2 other configurations)", "\n--pe=2d-fixed --heads=2: 2d-fixed: it needs tokens on a grid",
		"--skip-invalid leaves out such points"} {
		if code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("exit code %d: %s; want %q", code, errs, want)
		}
	}
	out, errs, code := here(t, t.TempDir(), append(flags, "--skip-invalid", "--no-calibrate")...)
	var e sweep.Estimate
	if err := json.Unmarshal([]byte(out), &e); err != nil || code != 0 || e.Runs != 2 || // nope and rope with 2 heads
		strings.Count(errs, "left out: ") != 2 {
		t.Errorf("%v, exit code %d: %s%s", err, code, out, errs)
	}
}

// One point of a sweep. Planning 5,000 of them should take less than two seconds.
func BenchmarkResolve(b *testing.B) {
	for range b.N {
		if _, _, err := resolveArguments([]string{"--pe=learn", "--sigma=0.3", "--heads=2",
			"--seeds=paper"}); err != nil {
			b.Fatal(err)
		}
	}
}

// A sweep is trained on one set of data: after its file has changed, new seeds are refused, and what
// another run learned from the new data is in no mean with the old.
func TestSweepRefusesChangedData(t *testing.T) {
	dir := t.TempDir()
	write := func(phase float64) {
		var b strings.Builder
		b.WriteString("a,b,c,d\n")
		for i := range 60 {
			for k := range 4 {
				fmt.Fprintf(&b, "%g%s", math.Sin(phase+float64(i*(k+1))),
					map[bool]string{true: "\n", false: ","}[k == 3])
			}
		}
		if err := os.WriteFile(filepath.Join(dir, "own.csv"), []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	grid := func(seeds string) []string {
		return []string{"sweep", "--task", "masked", "--data", "own.csv", "--pe", "nope", "--layers", "1", "--d-model",
			"16", "--steps", "3", "--seeds", seeds, "--out", "all/s", "--quiet"}
	}
	write(1)
	if _, stderr, code := here(t, dir, grid("1,2")...); code != 0 {
		t.Fatal(stderr)
	}
	write(2)
	stdout, stderr, code := here(t, dir, grid("1,2,3")...)
	if code != 1 || !strings.Contains(stdout, "the data have changed since ") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	if _, stderr, code = here(t, dir, "train", "--task", "masked", "--data", "own.csv", "--pe", "nope",
		"--layers", "1", "--d-model", "16", "--steps", "3", "--seeds", "4", "--out", "all/four", "--quiet"); code != 0 {
		t.Fatal(stderr)
	}
	if _, stderr, code = here(t, dir, "report", "all", "--out", "report"); code != 0 {
		t.Fatal(stderr)
	}
	page, err := os.ReadFile(filepath.Join(dir, "report", "index.html"))
	if err != nil || !strings.Contains(string(page), "1 model of other data or another size, such as four") {
		t.Errorf("the page does not say that a model is of other data (%v)", err)
	}
}
