package runlog

import (
	"encoding/json"
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// stepOf returns the step of a line of metrics.jsonl; like encoding/json it takes the key in any
// case.
func stepOf(line string) (int, bool) {
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(line), &object) != nil {
		return 0, false
	}
	var rec struct{ Step *int }
	if json.Unmarshal([]byte(line), &rec) != nil || rec.Step == nil {
		return 0, false
	}
	return *rec.Step, true
}

// The keys of result.json and of a record, as docs/runs.md has them, not taken from the code.
const (
	wantResult = `{"members":[{"pe":"rope","sigma":null,"seed":7,"epochs":3,"steps":90,"status":"diverged",` +
		`"diverged_at_step":80,"measures":{"iid":0.5,"train":null,"validation":null,"validation/1-vector":1}},` +
		`{"pe":"learn","sigma":0.1,"seed":-1,"epochs":0,"steps":0,"status":"done","measures":{}}],` +
		`"wall_seconds":1.5,"steps_per_second":0.25,"peak_rss_mb":100,"fidelity":"code",` +
		`"baselines":{"zero":{"0.15":null}}}`
	wantRecord = `{"step":5,"epoch":1,"member":2,"seed":9,"sigma":0.3,"measures":{"loss":null,` +
		`"test_mse/0.50":0.25},"map":[[0,1]],"wall_seconds":1e-7,"step_ms":0.5}`
)

// sampleResult is the value of wantResult.
func sampleResult() Result {
	sigma := 0.1
	return Result{
		Members: []MemberResult{
			{PE: "rope", Seed: 7, Epochs: 3, Steps: 90, Status: StatusDiverged, DivergedAtStep: 80,
				Measures: Numbers{"train": math.NaN(), "iid": 0.5, "validation": math.Inf(1),
					"validation/1-vector": 1}},
			{PE: "learn", Sigma: &sigma, Seed: -1, Status: StatusDone},
		},
		WallSeconds: 1.5, StepsPerSecond: 0.25, PeakRSSMB: 100, Fidelity: "code",
		Baselines: map[string]Numbers{"zero": {"0.15": math.Inf(-1)}},
	}
}

// sampleRecord is the value of wantRecord.
func sampleRecord() Record {
	sigma := 0.3
	return Record{Step: 5, Epoch: 1, Member: 2, Seed: 9, Sigma: &sigma, WallSeconds: 1e-7, StepMS: 0.5,
		Measures: Numbers{"loss": math.Inf(1), "test_mse/0.50": 0.25}, Map: [][2]float64{{0, 1}}}
}

// sameJSON reports whether two texts are the same JSON value.
func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	expect.NoError(t, errors.Join(json.Unmarshal([]byte(a), &x), json.Unmarshal([]byte(b), &y)))
	return reflect.DeepEqual(x, y)
}

// TestJSONKeys compares the written JSON with the specification, and reads it back.
func TestJSONKeys(t *testing.T) {
	text, err := json.Marshal(sampleResult())
	if err != nil || !sameJSON(t, string(text), wantResult) {
		t.Errorf("result: got\n%s\nwant\n%s\n(%v)", text, wantResult, err)
	}
	var result Result
	expect.NoError(t, json.Unmarshal([]byte(wantResult), &result))
	again, err := json.Marshal(result)
	if m := result.Members[0].Measures; err != nil || !sameJSON(t, string(again), wantResult) || len(m) != 4 ||
		!math.IsNaN(m.Get("train")) || m.Get("iid") != 0.5 || !math.IsNaN(m["validation"]) ||
		!math.IsNaN(m.Get("absent")) {
		t.Errorf("result read back: %+v, %v", result, err)
	}
	text, err = json.Marshal(sampleRecord())
	if err != nil || !sameJSON(t, string(text), wantRecord) {
		t.Errorf("record: got\n%s\nwant\n%s\n(%v)", text, wantRecord, err)
	}
	rec := Record{Map: [][2]float64{{3, 3}}, Measures: Numbers{"train": 1}} // used before
	expect.NoError(t, json.Unmarshal([]byte(wantRecord), &rec))
	again, err = json.Marshal(rec)
	if err != nil || !sameJSON(t, string(again), wantRecord) {
		t.Errorf("record read back: %+v, %v", rec, err)
	}
}

// TestResult checks that a result makes a run complete, and that a wrong one is refused.
func TestResult(t *testing.T) {
	r := resumed(t, "")
	if _, err := r.Result(); !errors.Is(err, ErrNoResult) || r.Complete() {
		t.Errorf("before: %v", err)
	}
	if err := r.SaveResult(Result{}); err == nil || r.Complete() {
		t.Errorf("without members: %v", err)
	}
	expect.Error(t, r.SaveResult(Result{Members: []MemberResult{{Status: "fine"}}}), `"fine"`)
	expect.NoError(t, errors.Join(r.SaveResult(sampleResult()), r.Close()))
	expect.ErrorIs(t, expect.ErrorOf(Resume(r.Dir(), Options{})), ErrComplete)
	expect.ErrorIs(t, expect.ErrorOf(Create(r.Dir(), []byte("{}"), Environment{}, Options{})), ErrExists)
	reader := expect.Must(Open(r.Dir()))
	defer reader.Close()
	if got, err := reader.Result(); err != nil || len(got.Members) != 2 || !reader.Complete() {
		t.Errorf("after: %+v, %v", got, err)
	}
}

// TestCompletedMeanwhile lets another process complete the run between Resume's first look and its
// lock.
func TestCompletedMeanwhile(t *testing.T) {
	s := twoCheckpoints(t)
	x := expect.Faults{Of: func(_, name string) bool {
		if name == lockFile {
			expect.NoError(t, os.WriteFile(filepath.Join(s.dir, resultFile), []byte("{}"), 0o666))
		}
		return false
	}}
	expect.ErrorIs(t, x.During(func() error { return expect.ErrorOf(resumeIt(s.dir)) }), ErrComplete)
	expect.Equal(t, "the lock was kept by", snapshot(t, s.dir)[lockFile], "")
}

// TestEnvironment checks that the place of each resumption is kept beside that of the start.
func TestEnvironment(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	env := HostEnvironment([]string{"torchpe", "train"})
	if !strings.HasPrefix(env.Go, "go1.") || env.OS == "" || env.Arch == "" || env.StartTime.IsZero() ||
		len(env.CommandLine) != 2 {
		t.Errorf("%+v", env)
	}
	env.Threads = 2
	r := expect.Must(Create(dir, []byte("{}"), env, Options{}))
	for i := range 2 {
		expect.NoError(t, r.Close())
		r = expect.Must(Resume(dir, Options{}))
		expect.NoError(t, r.AddEnvironment(Environment{Threads: 3 + i}))
	}
	defer r.Close()
	envs, err := r.Environments()
	if err != nil || len(envs) != 3 || !reflect.DeepEqual(envs[0], env) || envs[1].Threads != 3 ||
		envs[2].Threads != 4 {
		t.Errorf("%+v, %v", envs, err)
	}
	var object map[string]any
	expect.NoError(t, r.readJSON(environmentFile, &object))
	want := []string{"arch", "blas", "blas_kernel", "command_line", "cpu", "device", "git_commit",
		"git_modified", "go", "gpu", "host",
		"libtorch_built", "libtorch_running", "os", "resumed", "start_time", "threads", "torchpe"}
	expect.Equal(t, "keys", slices.Sorted(maps.Keys(object)), want)
}

// The newest version of CHANGELOG.md is that of the program, and a run's environment has it.
func TestVersion(t *testing.T) {
	text := expect.Must(os.ReadFile("../../CHANGELOG.md"))
	newest := regexp.MustCompile(`(?m)^## (\d+\.\d+\.\d+)$`).FindSubmatch(text)
	if newest == nil || string(newest[1]) != Version {
		t.Errorf("CHANGELOG.md has %q, the program %s", newest, Version)
	}
	env := HostEnvironment(nil)
	if env.Torchpe != Version || !strings.HasPrefix(env.Build(), "torchpe "+Version) {
		t.Errorf("%q, %q", env.Torchpe, env.Build())
	}
	env.GitCommit, env.GitModified = "0123456789abcdef", true
	expect.Contains(t, env.Build(), ", commit 0123456789ab with changes, go")
}
