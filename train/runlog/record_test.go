package runlog

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
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

// The keys of result.json and of a record in the order of the specification (the design's section
// 7, and what the report was promised), not taken from the code.
const (
	wantResult = `{"members":[{"pe":"rope","seed":7,"epochs":3,"steps":90,"status":"diverged","diverged_at_step":80,` +
		`"sigma":null,"train_accuracy":null,"iid_accuracy":0.5,"validation_accuracy":null,` +
		`"validation_by_condition":{"a":null,"b":1}},` +
		`{"pe":"learn","seed":-1,"epochs":0,"steps":0,"status":"done","sigma":0.1,` +
		`"train_accuracy":0,"iid_accuracy":0,"validation_accuracy":0,"validation_by_condition":{}}],` +
		`"fidelity":"code","wall_seconds":1.5,"steps_per_second":null,"peak_rss_mb":100}`
	wantRecord = `{"step":5,"epoch":1,"member":2,"seed":9,"sigma":0.3,"loss":null,"train_accuracy":0.25,` +
		`"iid_accuracy":null,` +
		`"validation_accuracy":null,"validation_by_condition":{"c":null},"wall_seconds":1e-7,` +
		`"step_ms":null,"extra":{"lr":0.001}}`
)

// sampleResult is the value of wantResult.
func sampleResult() Result {
	sigma := 0.1
	return Result{
		Members: []MemberResult{
			{PE: "rope", Seed: 7, Epochs: 3, Steps: 90, TrainAccuracy: math.NaN(), IIDAccuracy: 0.5,
				ValidationAccuracy: math.Inf(1),
				ValidationByCondition: map[string]float64{"a": math.Inf(-1),
					"b": 1}, Status: StatusDiverged, DivergedAtStep: 80},
			{PE: "learn", Sigma: &sigma, Seed: -1, Status: StatusDone},
		},
		WallSeconds: 1.5, StepsPerSecond: math.Inf(1), PeakRSSMB: 100, Fidelity: "code",
	}
}

// sampleRecord is the value of wantRecord.
func sampleRecord() Record {
	sigma := 0.3
	r := NewRecord(5, 1, 2)
	r.Seed, r.Sigma, r.Loss, r.TrainAccuracy, r.WallSeconds = 9, &sigma, math.Inf(1), 0.25, 1e-7
	r.ValidationByCondition = map[string]float64{"c": math.NaN()}
	r.Extra = map[string]float64{"lr": 0.001}
	return r
}

// sameJSON reports whether two texts are the same JSON value.
func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	if err := errors.Join(json.Unmarshal([]byte(a), &x), json.Unmarshal([]byte(b), &y)); err != nil {
		t.Fatal(err)
	}
	return reflect.DeepEqual(x, y)
}

// TestJSONKeys compares the written JSON with the specification, and reads it back.
func TestJSONKeys(t *testing.T) {
	text, err := json.Marshal(sampleResult())
	if err != nil || !sameJSON(t, string(text), wantResult) {
		t.Errorf("result: got\n%s\nwant\n%s\n(%v)", text, wantResult, err)
	}
	var result Result
	if err := json.Unmarshal([]byte(wantResult), &result); err != nil {
		t.Fatal(err)
	}
	m := result.Members
	if len(m) != 2 || m[0].PE != "rope" || m[0].Sigma != nil || !math.IsNaN(m[0].TrainAccuracy) ||
		m[0].IIDAccuracy != 0.5 ||
		!math.IsNaN(m[0].ValidationByCondition["a"]) || m[0].ValidationByCondition["b"] != 1 ||
		m[0].DivergedAtStep != 80 ||
		*m[1].Sigma != 0.1 || m[1].Seed != -1 || m[1].TrainAccuracy != 0 || result.WallSeconds != 1.5 ||
		!math.IsNaN(result.StepsPerSecond) || result.PeakRSSMB != 100 || result.Fidelity != "code" {
		t.Errorf("result read back: %+v", result)
	}
	text, err = json.Marshal(sampleRecord())
	if err != nil || !sameJSON(t, string(text), wantRecord) {
		t.Errorf("record: got\n%s\nwant\n%s\n(%v)", text, wantRecord, err)
	}
	var rec Record
	if err := json.Unmarshal([]byte(wantRecord), &rec); err != nil {
		t.Fatal(err)
	}
	if rec.Step != 5 || rec.Epoch != 1 || rec.Member != 2 || rec.Seed != 9 || *rec.Sigma != 0.3 ||
		!math.IsNaN(rec.Loss) ||
		rec.TrainAccuracy != 0.25 || rec.WallSeconds != 1e-7 || !math.IsNaN(rec.StepMS) || rec.Extra["lr"] != 0.001 ||
		!math.IsNaN(rec.ValidationByCondition["c"]) {
		t.Errorf("record read back: %+v", rec)
	}
}

// TestAbsentIsNotZero checks that a measurement which is not in the file does not become a 0, in
// values that were used before.
func TestAbsentIsNotZero(t *testing.T) {
	rec, result := sampleRecord(), sampleResult()
	if err := errors.Join(json.Unmarshal([]byte(`{"step":1}`), &rec),
		json.Unmarshal([]byte(`{"members":[{}]}`), &result)); err != nil {
		t.Fatal(err)
	}
	m := result.Members[0]
	for i, v := range []float64{rec.Loss, rec.TrainAccuracy, rec.IIDAccuracy, rec.ValidationAccuracy,
		rec.WallSeconds, rec.StepMS,
		m.TrainAccuracy, m.IIDAccuracy, m.ValidationAccuracy, result.WallSeconds, result.StepsPerSecond,
		result.PeakRSSMB} {
		if !math.IsNaN(v) {
			t.Errorf("number %d is %v", i, v)
		}
	}
	if rec.Sigma != nil || rec.Extra != nil || m.Sigma != nil {
		t.Error("an absent value was kept from before")
	}
}

// TestPythonReadsJSON checks with Python's strict reading that no file has a NaN, and that the keys
// are the promised ones.
func TestPythonReadsJSON(t *testing.T) {
	r := resumed(t, "")
	if _, err := r.TruncateMetrics(noStep); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(r.Append(sampleRecord()), r.SaveResult(sampleResult())); err != nil {
		t.Fatal(err)
	}
	const script = `
import json, sys
def refuse(x): raise ValueError(x)
r = json.load(open(sys.argv[1] + "/result.json"), parse_constant=refuse)
print(*sorted(r)); print(*sorted(r["members"][1]))
print(*sorted(json.loads(open(sys.argv[1] + "/metrics.jsonl").read(), parse_constant=refuse)))
`
	out, err := exec.Command("/usr/bin/python3", "-c", script, r.Dir()).CombinedOutput()
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("needs /usr/bin/python3:", err)
	}
	want := "config_sha256 crc32c fidelity members peak_rss_mb steps_per_second wall_seconds\n" +
		"epochs iid_accuracy pe seed sigma status steps train_accuracy validation_accuracy validation_by_condition\n" +
		"epoch extra iid_accuracy loss member seed sigma step step_ms train_accuracy validation_accuracy " +
		"validation_by_condition wall_seconds\n"
	if err != nil || string(out) != want {
		t.Errorf("python printed\n%s(%v); want\n%s", out, err, want)
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
	if err := r.SaveResult(Result{Members: []MemberResult{{Status: "fine"}}}); err == nil ||
		!strings.Contains(err.Error(), `"fine"`) {
		t.Errorf("unknown status: %v", err)
	}
	if err := errors.Join(r.SaveResult(sampleResult()), r.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := Resume(r.Dir(), Options{}); !errors.Is(err, ErrComplete) {
		t.Errorf("Resume: %v", err)
	}
	if _, err := Create(r.Dir(), []byte("{}"), Environment{}, Options{}); !errors.Is(err, ErrExists) {
		t.Errorf("Create: %v", err)
	}
	reader, err := Open(r.Dir())
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if got, err := reader.Result(); err != nil || len(got.Members) != 2 || !reader.Complete() {
		t.Errorf("after: %+v, %v", got, err)
	}
}

// TestCompletedMeanwhile lets another process complete the run between Resume's first look and its
// lock.
func TestCompletedMeanwhile(t *testing.T) {
	s := twoCheckpoints(t)
	meanwhile := func(d disk) disk {
		if err := os.WriteFile(filepath.Join(s.dir, resultFile), []byte("{}"), 0o666); err != nil {
			t.Error(err)
		}
		return d
	}
	if _, err := Resume(s.dir, Options{wrap: meanwhile}); !errors.Is(err, ErrComplete) {
		t.Errorf("got %v", err)
	}
	if text := snapshot(t, s.dir)[lockFile]; text != "" {
		t.Errorf("the lock was kept by %s", text)
	}
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
	r, err := Create(dir, []byte("{}"), env, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if r, err = Resume(dir, Options{}); err != nil {
			t.Fatal(err)
		}
		if err := r.AddEnvironment(Environment{Threads: 3 + i}); err != nil {
			t.Fatal(err)
		}
	}
	defer r.Close()
	envs, err := r.Environments()
	if err != nil || len(envs) != 3 || !reflect.DeepEqual(envs[0], env) || envs[1].Threads != 3 ||
		envs[2].Threads != 4 {
		t.Errorf("%+v, %v", envs, err)
	}
	var object map[string]any
	if err := r.readJSON(environmentFile, &object); err != nil {
		t.Fatal(err)
	}
	want := []string{"arch", "blas", "blas_kernel", "command_line", "cpu", "device", "git_commit",
		"git_modified", "go", "gpu", "host",
		"libtorch_built", "libtorch_running", "os", "resumed", "start_time", "threads", "torchpe"}
	if got := slices.Sorted(maps.Keys(object)); !slices.Equal(got, want) {
		t.Errorf("keys %v", got)
	}
}

// The newest version of CHANGELOG.md is that of the program, and a run's environment has it.
func TestVersion(t *testing.T) {
	text, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	newest := regexp.MustCompile(`(?m)^## (\d+\.\d+\.\d+)$`).FindSubmatch(text)
	if newest == nil || string(newest[1]) != Version {
		t.Errorf("CHANGELOG.md has %q, the program %s", newest, Version)
	}
	env := HostEnvironment(nil)
	if env.Torchpe != Version || !strings.HasPrefix(env.Build(), "torchpe "+Version) {
		t.Errorf("%q, %q", env.Torchpe, env.Build())
	}
	env.GitCommit, env.GitModified = "0123456789abcdef", true
	if !strings.Contains(env.Build(), ", commit 0123456789ab with changes, go") {
		t.Error(env.Build())
	}
}

// Of masked prediction a result has the keys that other programs rely on, and no accuracies.
func TestMaskedResult(t *testing.T) {
	mse, q := 0.5, -0.25
	want := Result{
		Members: []MemberResult{{
			PE: "learn", Seed: 3, Steps: 10, Status: StatusDone,
			TrainAccuracy: math.NaN(), IIDAccuracy: math.NaN(), ValidationAccuracy: math.NaN(),
			MaskedMeasures: &MaskedMeasures{
				TrainMSE: &mse, TestMSEByMask: map[string]float64{"0.15": 1,
					"0.90": 2}, Modularity: &q, ModularityByBlock: []float64{-0.25},
			},
		}},
		WallSeconds: 1, StepsPerSecond: 2, PeakRSSMB: 3, Fidelity: "code",
		Baselines: map[string]Numbers{"zero": {"0.15": 1}},
	}
	const text = `{"members":[{"pe":"learn","seed":3,"epochs":0,"steps":10,"status":"done","train_mse":0.5,` +
		`"test_mse_by_mask":{"0.15":1,"0.90":2},"modularity":-0.25,"clustering":null,` +
		`"modularity_by_block":[-0.25],"sigma":null}],` +
		`"fidelity":"code","baselines":{"zero":{"0.15":1}},"wall_seconds":1,"steps_per_second":2,"peak_rss_mb":3}`
	got, err := json.Marshal(want)
	if err != nil || string(got) != text {
		t.Errorf("wrote %s, %v\nwant %s", got, err, text)
	}
	var back Result
	if err := json.Unmarshal(got, &back); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(back)
	if err != nil || string(again) != text {
		t.Errorf("read back and written again: %s, %v", again, err)
	}
	if m := back.Members[0]; m.MaskedMeasures == nil || *m.Modularity != q || m.Clustering != nil ||
		!math.IsNaN(m.ValidationAccuracy) {
		t.Errorf("read back %+v", m)
	}
}

// What not every run measures is absent where it was not, and read back where it was.
func TestOptionalMeasures(t *testing.T) {
	norm, rank := 10.5, 3.25
	rec := sampleRecord()
	rec.PENorm, rec.PEEffectiveRank = &norm, &rank
	text, err := json.Marshal(rec)
	want := strings.TrimSuffix(wantRecord, "}") + `,"pe_norm":10.5,"pe_effective_rank":3.25}`
	if err != nil || !sameJSON(t, string(text), want) {
		t.Errorf("%v, %s", err, text)
	}
	var back Record
	if err := json.Unmarshal(text, &back); err != nil || *back.PENorm != norm || *back.PEEffectiveRank != rank {
		t.Errorf("%v, %+v", err, back)
	}
	if err := json.Unmarshal([]byte(wantRecord), &back); err != nil || back.PENorm != nil ||
		back.PEEffectiveRank != nil {
		t.Errorf("%v, %+v", err, back)
	}
	m := MemberResult{Status: StatusDone, NoiseAccuracy: map[string]float64{"0.1": 0.5, "2": 0.25}}
	if text, err = json.Marshal(m); err != nil ||
		!strings.Contains(string(text), `"noise_accuracy":{"0.1":0.5,"2":0.25}`) {
		t.Errorf("%v, %s", err, text)
	}
	var member MemberResult
	if err := json.Unmarshal(text, &member); err != nil || !maps.Equal(member.NoiseAccuracy, m.NoiseAccuracy) {
		t.Errorf("%v, %+v", err, member)
	}
}

// Accuracies at other sizes are there where they were measured, and null where they are not finite.
func TestAccuracyByTokens(t *testing.T) {
	const want = `"accuracy_by_tokens":{"25":0.5,"36":null}`
	r := NewRecord(1, 1, 0)
	r.AccuracyByTokens = map[string]float64{"25": .5, "36": math.NaN()}
	m := MemberResult{Status: StatusDone, AccuracyByTokens: r.AccuracyByTokens,
		AccuracyByTokensAndCondition: map[string]Numbers{"25": {"Binary": .5}}}
	for _, v := range []any{r, m} {
		text, err := json.Marshal(v)
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%v, %s", err, text)
		}
		var record Record
		var member MemberResult
		if err := errors.Join(json.Unmarshal(text, &record), json.Unmarshal(text, &member)); err != nil {
			t.Fatal(err)
		}
		for _, by := range []map[string]float64{record.AccuracyByTokens, member.AccuracyByTokens} {
			if len(by) != 2 || by["25"] != .5 || !math.IsNaN(by["36"]) {
				t.Errorf("%v of %s", by, text)
			}
		}
	}
	text, err := json.Marshal(m)
	if err != nil || !strings.Contains(string(text), `"accuracy_by_tokens_and_condition":{"25":{"Binary":0.5}}`) {
		t.Errorf("%v, %s", err, text)
	}
}

// TestOverflowInEachMap checks that a measurement that is not finite, such as a perplexity that overflows,
// is null in every map of every file, and NaN when it is read.
func TestOverflowInEachMap(t *testing.T) {
	for _, v := range []any{&Record{}, &MemberResult{}, &MaskedMeasures{}, &Result{}} {
		filled := 0
		for i, at := 0, reflect.ValueOf(v).Elem(); i < at.NumField(); i++ {
			odd := Numbers{"over": math.Inf(1), "under": math.Inf(-1), "none": math.NaN(), "one": 1}
			switch at.Field(i).Interface().(type) {
			case Numbers:
				at.Field(i).Set(reflect.ValueOf(odd))
			case map[string]Numbers:
				at.Field(i).Set(reflect.ValueOf(map[string]Numbers{"x": odd}))
			case map[string]float64, map[string]map[string]float64:
				t.Errorf("%T.%s is a map of float64, which cannot be written where one is not finite", v,
					at.Type().Field(i).Name)
				continue
			default:
				continue
			}
			filled++
		}
		text, err := json.Marshal(v)
		const want = `{"none":null,"one":1,"over":null,"under":null}`
		if err != nil || strings.Count(string(text), want) != filled || filled == 0 {
			t.Errorf("%T: %v, %s; want %d times %s", v, err, text, filled, want)
		}
		read := reflect.New(reflect.TypeOf(v).Elem())
		if err := json.Unmarshal(text, read.Interface()); err != nil {
			t.Error(err)
		}
		for i, at := 0, read.Elem(); i < at.NumField(); i++ {
			by, _ := at.Field(i).Interface().(Numbers)
			if all, ok := at.Field(i).Interface().(map[string]Numbers); ok {
				by = all["x"]
			}
			if by != nil && (!math.IsNaN(by["over"]) || !math.IsNaN(by["under"]) || !math.IsNaN(by["none"]) ||
				by["one"] != 1 || len(by) != 4) {
				t.Errorf("%T.%s was read as %v", v, at.Type().Field(i).Name, by)
			}
		}
	}
}
