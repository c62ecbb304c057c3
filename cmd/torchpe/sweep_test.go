package main

import (
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/data/array/safetensors"
	"torchpe/internal/expect"
	"torchpe/train/runlog"
	"torchpe/train/sweep"
)

// opened is a finished run, read back, as JSON has it: numbers, lists and objects.
type opened map[string]any

func open(t *testing.T, dir string) opened {
	t.Helper()
	r := expect.Must(runlog.Open(dir))
	defer r.Close()
	c := expect.Must(r.LoadCheckpoint())
	delete(c.Metadata, "seconds")
	result, config := keys(t, readText(t, filepath.Join(dir, "result.json"))), keys(t, string(r.Config().JSON))
	// What depends on when and where.
	for _, key := range []string{"wall_seconds", "steps_per_second", "peak_rss_mb", "trained_together",
		"config_sha256", "metrics_crc32c", "crc32c"} {
		delete(result, key)
	}
	var records []any
	for _, r := range expect.Must(runlog.ReadMetrics[map[string]any](r)) {
		delete(r, "wall_seconds")
		delete(r, "step_ms")
		records = append(records, r)
	}
	return opened{"config": config, "result": result, "records": records, "step": float64(c.Step),
		"checkpoint": tensorsOf(c.File), "probes": tensorsOf(expect.Must(r.LoadProbes()))}
}

// tensorsOf returns what a file of tensors holds.
func tensorsOf(f *safetensors.File) map[string]any {
	all := map[string]any{}
	for key, text := range f.Metadata {
		all["metadata "+key] = text
	}
	for _, x := range f.Tensors {
		var values []any
		for _, v := range expect.Must(x.Float64s()) {
			values = append(values, v)
		}
		all[x.Name] = map[string]any{"type": fmt.Sprint(x.DType, x.Shape), "values": values}
	}
	return all
}

// differ returns the first place where two runs differ by more than a tolerance in a number, or in anything
// else; "" for none.
func differ(a, b opened, tolerance float64) string {
	return differAt("run", map[string]any(a), map[string]any(b), tolerance)
}

func differAt(path string, x, y any, tolerance float64) string {
	said := fmt.Sprintf("%s: %.200v, %.200v", path, x, y)
	switch x := x.(type) {
	case float64:
		y, ok := y.(float64)
		if ok && math.Abs(x-y) <= tolerance || ok && math.IsNaN(x) && math.IsNaN(y) {
			return ""
		}
	case map[string]any:
		y, _ := y.(map[string]any)
		if slices.Equal(slices.Sorted(maps.Keys(x)), slices.Sorted(maps.Keys(y))) {
			for k := range x {
				if at := differAt(path+"."+k, x[k], y[k], tolerance); at != "" {
					return at
				}
			}
			return ""
		}
	case []any:
		if y, _ := y.([]any); len(x) == len(y) {
			for i := range x {
				if at := differAt(fmt.Sprint(path, "[", i, "]"), x[i], y[i], tolerance); at != "" {
					return at
				}
			}
			return ""
		}
	default:
		if x == y {
			return ""
		}
	}
	return said
}

// Configurations packed as ensembles come back as runs that equal, file by file, those of torchpe
// train of each alone.
func TestSweepEqualsTrain(t *testing.T) {
	dir := t.TempDir()
	small := smallSet(t, dir) + "--epochs 2 --dtype float64 --noise 0,0.5 --noise-repeats 2 "
	for _, c := range []struct {
		name, flags string
		runs        map[string]string
	}{
		{"lst", small + "--pe learn,rope --sigma 0.2,1 --lr 1e-3,3e-3 --seeds 5,9", map[string]string{
			"learn-0.2_lr=0.003_seed=9": small + "--pe learn --sigma 0.2 --lr 3e-3 --seed 9",
			"learn-1.0_lr=0.001_seed=5": small + "--pe learn-1.0 --lr 1e-3 --seed 5",
			"rope_lr=0.001_seed=9":      small + "--pe rope --lr 1e-3 --seed 9",
		}},
		{"sizes", small + "--pe rope,t5 --eval-tokens 25,36 --seeds 5,9", map[string]string{
			"rope_seed=9": small + "--pe rope --eval-tokens 25,36 --seed 9",
			"t5_seed=5":   small + "--pe t5 --eval-tokens 36,25 --seed 5",
		}},
		{"nmar", tinyNMAR + "--pe learn --sigma 0.2,1 --members 2", map[string]string{
			"learn-0.2_seed=1": tinyNMAR + "--pe learn-0.2 --seed 1",
			"learn-1.0_seed=2": tinyNMAR + "--pe learn-1.0 --seed 2",
		}},
	} {
		out := "sweep-" + c.name
		says(t, dir, "sweep --workers 1 --pack 8 --out "+out+" "+c.flags, 0)
		for name, flags := range c.runs {
			alone := c.name + "-" + name
			says(t, dir, "train --quiet --out "+alone+" "+flags, 0)
			expect.Equal(t, name, differ(open(t, filepath.Join(dir, out, "runs", name)),
				open(t, filepath.Join(dir, alone)), 1e-9), "")
		}
	}
	// The report reads the runs, and none twice.
	says(t, dir, "report sweep-sizes --json", 0)
	says(t, dir, "report sweep-lst --json", 0, "From 12 runs: 12 models on puzzles")
}

const tinyNMAR = " --task nmar --d-model 16 --layers 1 --batch 16 --steps 20 --nmar-frames 600 --test-frames 32 " +
	"--dtype float64 --threads 1 "

// A member that diverges takes no other with it; the sweep, the list of runs and the exit code say it.
func TestSweepDiverged(t *testing.T) {
	dir := t.TempDir()
	says(t, dir, "sweep --out s --pack 2 --epochs 2 --pe learn --optimizer sgd --lr 1e-3,1e6"+smallSet(t, dir),
		exitFailed, "1 run diverged", "1>diverged", "1>torchpe runs list "+filepath.Join(dir, "s")+" lists them")
	for lr, want := range map[string]string{"0.001": "done", "1000000": "diverged"} {
		result := open(t, filepath.Join(dir, "s/runs/learn-0.2_lr="+lr+"_seed=1"))["result"].(map[string]any)
		expect.Equal(t, fmt.Sprintf("lr %s: %v", lr, result),
			result["members"].([]any)[0].(map[string]any)["status"], any(want))
	}
	says(t, dir, "runs list s --csv -", 0, ",diverged,")
	// It is not tried again.
	says(t, dir, "sweep retry s", exitUsage, "missing: --failed or --lost")
	says(t, dir, "sweep retry s --failed", exitFailed, "1 run diverged")
	says(t, dir, "sweep retry s --lost --fresh", exitUsage, "--fresh has no effect without --failed")
}

// A file that vanishes between planning and training fails that task alone, with a reason; once it
// is back, a retry completes it.
func TestSweepFailsAndRetries(t *testing.T) {
	dir := t.TempDir()
	says(t, dir, "sweep --out s --launcher none --epochs 1 --pe nope,learn --pack 1"+smallSet(t, dir), 0)
	there, gone := filepath.Join(dir, "train.csv"), filepath.Join(dir, "gone.csv")
	move := func(from, to string) {
		t.Helper()
		expect.NoError(t, os.Rename(from, to))
	}
	move(there, gone)
	stdout, stderr, code := torchpeIn(t, dir, "sweep run-task --index 0 s")
	expect.Equal(t, stdout+stderr, code, exitFailed)
	move(gone, there)
	says(t, dir, "sweep resume s --workers 1", exitFailed, "1 task failed", "1>"+sweep.ReasonData, "1>train.csv")
	var st sweep.Status
	saysJSON(t, dir, "sweep status s", &st)
	expect.Equal(t, fmt.Sprintf("%+v: failed and done", st.Counts),
		[2]int{st.Counts[sweep.StateFailed], st.Counts[sweep.StateDone]}, [2]int{1, 1})
	says(t, dir, "sweep retry s --failed", 0, "2 of 2 runs done")
	says(t, dir, "sweep cancel s", 0, "nothing was running: all tasks have ended")
	if stdout, stderr, code = torchpeIn(t, dir, "sweep run-task --index 1 s"); code != 0 ||
		!strings.Contains(stdout, "already done") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
}

// Where the launcher can go on no more, the table and the reason are printed all the same.
func TestSweepStopsWithTable(t *testing.T) {
	dir := t.TempDir()
	says(t, dir, "sweep --out s --launcher none --epochs 1 --pe nope,learn --pack 1"+smallSet(t, dir), 0)
	// In the place of a full disk: the failure of task 0 cannot be recorded.
	blocked := filepath.Join(dir, "s/tasks/000000/failed.json")
	expect.NoError(t, os.MkdirAll(blocked+".torchpe-tmp", 0o777))
	expect.NoError(t, os.Remove(filepath.Join(dir, "train.csv")))
	says(t, dir, "sweep resume s --workers 1", exitFailed,
		"could not be recorded: write "+blocked+": is a directory",
		"1>0 of 2 runs done; tasks: 0 done, 0 running, 0 failed, 1 lost, 1 pending")
}

// The number of runs in each preset's comment, of resolved configurations, each counted once.
func TestPresetRuns(t *testing.T) {
	for _, p := range sweep.Presets() {
		points := expect.Must(p.Spec.Points())
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
	p := expect.Must(sweep.FindPreset("table1"))
	points := expect.Must(p.Spec.Set([]sweep.Axis{{Flag: "fidelity", Values: []string{"text"}}}).Points())
	configs, _, err := sweep.Resolve(points, resolveArguments)
	if err != nil || !strings.Contains(string(configs[0]), `"fidelity":"text"`) ||
		!strings.Contains(string(configs[0]), `"read_out":"probe"`) {
		t.Errorf("%s, %v", configs[0], err)
	}
}

func TestSweepDryRun(t *testing.T) {
	dir := t.TempDir()
	var e sweep.Estimate
	saysJSON(t, dir, "sweep --dry-run --epochs 2,3 --pe learn,nope --seeds 1,2"+smallSet(t, dir), &e)
	// One shape: PE and length change no step. 270 puzzles in batches of 32 are 9 steps an epoch:
	// 18 and 27 for four runs each.
	if e.Runs != 8 || e.New != 8 || len(e.Shapes) != 1 || e.Shapes[0].StepMS <= 0 ||
		math.Abs((e.Shapes[0].Hours-e.RecordHours*float64(e.Workers))*3.6e6/e.Shapes[0].StepMS-4*(18+27)) > 1e-6 ||
		e.RecordHours <= 0 || !slices.Equal(e.Steps, []int{18, 27}) || e.DiskMB <= 0 {
		t.Errorf("%+v", e)
	}
	left := expect.Must(os.ReadDir(dir))
	expect.Equal(t, fmt.Sprint(left), len(left), 2)
}

// TestSweepByLayer: a value that gives layers their own is one value, also beside others.
func TestSweepByLayer(t *testing.T) {
	dir := t.TempDir()
	of4 := strings.Replace(smallSet(t, dir), "--layers 1", "--layers 4", 1)
	var e sweep.Estimate
	line := "sweep --dry-run --no-calibrate --pe rope*3,nope --pe nope@1,learn@2-4 --pe learn,rope" +
		" --window 4@1,0@2-4 --window 0,3"
	saysJSON(t, dir, line+of4, &e)
	expect.Equal(t, e, e.Runs, 4*3)
	says(t, dir, "sweep --dry-run --pe learn,rope@1-4"+of4, 2,
		"give @LAYERS to every value, or to none")
	says(t, dir, "train --pe rope,nope"+of4, 2, "want one encoding")
	says(t, dir, "train --pe rope@1-3,nope@5"+of4, 2, "layer 4 of 4 has no value")
	says(t, dir, "train --pe rope(base=5)@local,nope@global"+of4, 2, "no layer is local")
	says(t, dir, "train --pe rope --window 3@1-3"+of4, 2, "--window: layer 4")
	says(t, dir, "train --pe rope --window -3"+of4, 2, "is not a number of places")
}

// --dry-run names all points of which no model can be made, once for each reason; --skip-invalid leaves
// them out.
func TestInvalidPoints(t *testing.T) {
	line := "sweep --dry-run --json --pe 2d-fixed,nope,rope --heads 2,3" + tinyNMAR
	says(t, t.TempDir(), line, exitUsage, "torchpe: --pe=2d-fixed --heads=3: --d-model: 16 is not divisible by "+
		"--heads 3 (and 2 other configurations)", "\n--pe=2d-fixed --heads=2: 2d-fixed: it needs tokens on a grid",
		"--skip-invalid leaves out such points")
	var e sweep.Estimate
	errs := saysJSON(t, t.TempDir(), line+"--skip-invalid --no-calibrate", &e)
	if e.Runs != 2 || strings.Count(errs, "left out: ") != 2 { // nope and rope with 2 heads
		t.Errorf("%+v: %s", e, errs)
	}
	// Where none is left it is no help.
	_, errs, code := here(t, t.TempDir(), strings.Fields("sweep --dry-run --pe nope,rope --heads 3"+tinyNMAR)...)
	if code != exitUsage || !strings.Contains(errs, "not divisible") || strings.Contains(errs, "--skip") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	// Each point has its own coordinates to start from, whichever point was read before it.
	starts := "sweep --dry-run --no-calibrate --skip-invalid --pe learn --sigma 0.2 --pe-init normal,gradients,mds"
	says(t, t.TempDir(), starts+tinyNMAR, 0, "3 runs")
	// All encodings of the leaderboard have places for the longest inputs.
	says(t, t.TempDir(), "sweep leader-length --sequence reverse-string --seeds 1 --test-sequences 2 "+
		"--test-lengths 1 --d-model 16 --dry-run --no-calibrate --skip-invalid", 0, "58 runs")
	says(t, t.TempDir(), "sweep --preset sequence-quick --sequence reverse-string --pe abacus "+
		"--abacus-rows 128 --dry-run", exitUsage, "token 127 has place 128 in its run")
}

// A sweep is trained on one set of data: after its file has changed, new seeds are refused, and what
// another run learned from the new data is in no mean with the old.
func TestSweepRefusesChangedData(t *testing.T) {
	dir := put(t, map[string]string{"own.csv": ownTable(1)})
	line := "--quiet --task masked --data own.csv --pe nope --steps 3" + tinyModel
	says(t, dir, "sweep --seeds 1,2 --out all/s "+line, 0)
	expect.NoError(t, os.WriteFile(filepath.Join(dir, "own.csv"), []byte(ownTable(2)), 0o666))
	says(t, dir, "sweep --seeds 1,2,3 --out all/s "+line, exitFailed, "1>the data have changed since ")
	says(t, dir, "train --seeds 4 --out all/four "+line, 0)
	says(t, dir, "report all --out report", 0)
	page := readText(t, filepath.Join(dir, "report", "index.html"))
	expect.Contains(t, page, "1 model not shown, such as four: ")
}

// Models of one file are one group, however its path is written; those of float64 are others, and the report
// says why it does not show them.
func TestOneFileByTwoPaths(t *testing.T) {
	dir := put(t, map[string]string{"own.csv": ownTable(1)})
	line := "--quiet --task masked --pe nope --steps 3" + tinyModel
	says(t, dir, "train --seeds 1 --out all/one --data own.csv "+line, 0)
	says(t, dir, "train --seeds 2 --out all/two --data "+filepath.Join(dir, "own.csv")+" "+line, 0)
	says(t, dir, "runs compare all", 0, ",nope,1 and 2,2,done,")
	says(t, dir, "train --seeds 3 --out all/wide --data own.csv --dtype float64 "+line, 0)
	says(t, dir, "report all --out report", 0)
	page := readText(t, filepath.Join(dir, "report", "index.html"))
	expect.Contains(t, page, "1 model not shown, such as wide: dtype float64, not dtype float32;")
	if rows := strings.Split(readText(t, filepath.Join(dir, "report", "table_errors.csv")), "\n"); len(rows) < 2 ||
		!strings.HasPrefix(rows[1], "nope,2,") {
		t.Errorf("%q: want one row of two models", rows)
	}
}
