package cohort_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/data/array/safetensors"
	"torchpe/internal/expect"
	"torchpe/internal/metrics"
	"torchpe/report/cohort"
	"torchpe/report/internal/synthetic"
	"torchpe/train/config"
	"torchpe/train/runlog"
)

// Of a run that is not finished it is said how far it has come, and, where nobody goes on with it, what does.
func TestUnfinished(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a run")
	r := expect.Must(runlog.Create(dir, []byte(`{"task":"lst","pe":"nope","members":[{"seed":1}],"epochs":150}`),
		runlog.Environment{}, runlog.Options{}))
	expect.NoError(t, r.SaveCheckpoint(22, nil, nil))
	expect.NoError(t, r.Close())
	expect.Error(t, expect.ErrorOf(cohort.Open(dir)), "stopped after 22 steps, before its first record; torchpe")
	r = expect.Must(runlog.Resume(dir, runlog.Options{}))
	expect.Must(r.TruncateMetrics(22))
	expect.NoError(t, r.Append(runlog.Record{Step: 7680, Epoch: 120, Seed: 1}))
	if _, err := cohort.Open(dir); err == nil || err.Error() != dir+": is being trained: 120 of 150 epochs" {
		t.Errorf("while it is trained: %v", err)
	}
	expect.NoError(t, r.Close())
	if _, err := cohort.Open(dir); err == nil ||
		err.Error() != dir+": stopped after 120 of 150 epochs; torchpe train --resume --out '"+dir+"'" {
		t.Errorf("afterwards: %v", err)
	}
}

func TestFind(t *testing.T) {
	dir := synthetic.Dir(t, synthetic.Run{Name: "b/two", Task: "lst", PE: "learn", Sigma: .2, Seeds: []int{5, 6}},
		synthetic.Run{Name: "a", Task: "fmri", PE: "rope", Seeds: []int{1}},
	)
	for name, text := range map[string]string{
		"unfinished/config.json":  `{"schema":1,"task":"lst"}`,
		"newer/config.json":       `{"schema":99}`,
		"not a run/config.json":   `{"name":"x"}`,
		"b/two/inner/config.json": `{"schema":1}`, // inside a run: not looked at
		// Of a sweep, what it is working on is passed over; a folder that is merely called so is
		// not.
		"swept/sweep.json":                   `{}`,
		"swept/tasks/000001/run/config.json": `{"schema":1,"task":"lst"}`,
		"tasks/x/config.json":                `{"schema":99}`,
	} {
		path := filepath.Join(dir, name)
		expect.NoError(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755),
			os.WriteFile(path, []byte(text), 0o644)))
	}
	// A link to a run elsewhere is named, and one to a folder of runs; those to runs that are found are not.
	elsewhere := synthetic.Dir(t, synthetic.Run{Name: "c", Task: "lst", PE: "nope", Seeds: []int{1}})
	expect.NoError(t, errors.Join(os.Symlink(filepath.Join(elsewhere, "c"), filepath.Join(dir, "link")),
		os.Symlink(elsewhere, filepath.Join(dir, "links")), os.Symlink("a", filepath.Join(dir, "latest")),
		os.Symlink(filepath.Join(dir, "b"), filepath.Join(dir, "whole"))))
	found, skipped, err := cohort.Find(dir)
	if err != nil || len(found) != 2 || found[0].Name != "a" || found[1].Name != "b/two" {
		t.Fatalf("%v, %v", found, err)
	}
	if len(skipped) != 5 || !strings.HasPrefix(skipped[0].Reason, filepath.Join(dir, "link")+" is a link to runs") ||
		!strings.HasPrefix(skipped[1].Reason, filepath.Join(dir, "links")+" is a link to runs") {
		t.Fatalf("skipped %+v", skipped)
	}
	if skipped = skipped[2:]; !strings.Contains(skipped[0].Reason, "99") ||
		!strings.Contains(skipped[1].Reason, "99") ||
		!strings.Contains(skipped[2].Reason, "stopped after 0 of 0 epochs") {
		t.Errorf("skipped %+v", skipped)
	}
	models, diverged := cohort.Models(found)
	if len(models) != 3 || diverged != 0 || models[0].Label() != "rope" ||
		models[2].Label() != "learn-0.2" || models[2].Member.Seed != 6 || models[0].Sigma() != -1 {
		t.Errorf("%+v, %d", models, diverged)
	}
	records, err := found[1].Records()
	if own := models[2].Records(records); err != nil || len(own) == 0 ||
		len(own) != len(records)/2 || own[0].Seed != 6 {
		t.Errorf("%d of %d records, %v", len(own), len(records), err)
	}
	if _, _, err := cohort.Find(filepath.Join(dir, "absent")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	one, _, err := cohort.Find(filepath.Join(dir, "a"))
	if err != nil || len(one) != 1 || one[0].Name != "a" {
		t.Errorf("a run itself: %v, %v", one, err)
	}
}

// A report leaves out runs whose records or probes are damaged, by name, and is made of the others, also of
// those that kept no probes.
func TestDamagedRunsAreLeftOut(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a whole", "b cut", "c broken line", "d no probes"} {
		synthetic.Write(t, dir, synthetic.Run{Name: name, Task: "lst", PE: "learn", Sigma: .2,
			Seeds: []int{1}})
	}
	file := func(parts ...string) string { return filepath.Join(append([]string{dir}, parts...)...) }
	expect.NoError(t, errors.Join(os.Truncate(file("b cut", "probes.safetensors"), 2000),
		os.WriteFile(file("c broken line", "metrics.jsonl"), []byte("{\"step\":1}\n{\"st\n{}\n"), 0o644),
		os.Remove(file("d no probes", "probes.safetensors"))))
	found, err := cohort.Read(dir, func(*cohort.Run) bool { return true })
	if err != nil || found.Runs != 2 || len(found.Models) != 2 || len(found.Notes) != 2 {
		t.Fatalf("%+v, %v", found, err)
	}
	for i, want := range []string{file("b cut", "probes.safetensors"), file("c broken line", "metrics.jsonl") + ": "} {
		if note := found.Notes[i]; !strings.HasPrefix(note, "left out: ") || !strings.Contains(note, want) {
			t.Errorf("%q does not name %s", note, want)
		}
	}
}

// Runs by the thousand are read with few files open.
func TestOpenKeepsNoFile(t *testing.T) {
	dir := synthetic.Dir(t, synthetic.Run{Name: "a", Task: "masked", PE: "learn", Sigma: .5,
		Seeds: []int{1, 2}, Subjects: []string{"s1", "s2"}})
	open := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip(err)
		}
		return len(entries)
	}
	before := open()
	var run *cohort.Run
	for range 20 {
		run = expect.Must(cohort.Open(filepath.Join(dir, "a")))
		expect.Must(run.Probes())
		expect.Must(run.Records())
		if _, err := run.Weights(); err != nil && !errors.Is(err, runlog.ErrNoCheckpoint) {
			t.Fatal(err)
		}
	}
	if after := open(); after > before {
		t.Errorf("%d files are open, were %d", after, before)
	}
	p := expect.Must(run.Probes())
	for member := range 2 { // synthetic: subject i has the error 0.1 (i+1)
		subjects, mse, err := p.SubjectErrors("0.50", member)
		if err != nil || !slices.Equal(subjects, []string{"s1", "s2"}) || math.Abs(mse[1]-.2) > 1e-6 {
			t.Errorf("%v, %v, %v", subjects, mse, err)
		}
	}
	if subjects, _, err := p.SubjectErrors("0.49", 0); subjects != nil || err != nil {
		t.Errorf("a level without numbers: %v, %v", subjects, err)
	}
}

// A member's weights are its part of the tensor; a member that is not there is refused.
func TestWeights(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	r := expect.Must(runlog.Create(dir, []byte(`{"task":"lst","members":[{"seed":1},{"seed":2}]}`),
		runlog.Environment{}, runlog.Options{}))
	w := expect.Must(safetensors.New("w/x", []int{2, 1, 2}, []float64{1, 2, 3, 4}))
	odd := expect.Must(safetensors.New("w/odd", []int{3}, []float64{1, 2, 3}))
	scalar := expect.Must(safetensors.New("w/scalar", []int{}, []float64{1}))
	expect.NoError(t, errors.Join(r.SaveCheckpoint(1, []safetensors.Tensor{w, odd, scalar}, nil), r.Close()))
	run, _, err := cohort.OpenAny(dir)
	expect.NoError(t, err)
	all := expect.Must(run.Weights())
	for member, want := range [][]float64{{1, 2}, {3, 4}} {
		got, shape, ok, err := all.Parameter("x", member)
		if err != nil || !ok || !slices.Equal(got, want) || !slices.Equal(shape, []int{1, 2}) {
			t.Errorf("member %d: %v %v, %v, %v", member, got, shape, ok, err)
		}
	}
	for name, member := range map[string]int{"x": 2, "odd": 0, "scalar": 0} {
		_, _, _, err := all.Parameter(name, member)
		expect.Error(t, err, "2 members")
	}
	if _, _, _, err := all.Parameter("x", -1); err == nil {
		t.Error("member -1 is taken")
	}
	if _, _, ok, err := all.Values("none", 0); ok || err != nil {
		t.Errorf("a parameter that is none: %v, %v", ok, err)
	}
}

func TestProbes(t *testing.T) {
	dir := synthetic.Dir(t,
		synthetic.Run{Name: "lst", Task: "lst", PE: "learn", Sigma: .5, Seeds: []int{1, 2}, Heads: 2},
		synthetic.Run{Name: "nmar", Task: "nmar", PE: "rope", Seeds: []int{1}},
	)
	run := expect.Must(cohort.Open(filepath.Join(dir, "lst")))
	p := expect.Must(run.Probes())
	expect.Equal(t, "blocks", p.Blocks(), []int{0, 1, 2, 3})
	first, err1 := p.Table(0, 0)
	second, err2 := p.Table(1, 0)
	if err1 != nil || err2 != nil || first.Tokens != 16 || len(second.Values) != 16*first.Dim ||
		slices.Equal(first.Values, second.Values) {
		t.Errorf("tables %v, %v", err1, err2)
	}
	a, err := p.Attention(1)
	if err != nil || a.Heads != 2 || a.Tokens != 16 || len(a.Layers) != 4 || len(a.Layers[3]) != a.Examples*2*16*16 {
		t.Fatalf("attention %d examples, %d heads, %v", a.Examples, a.Heads, err)
	}
	sum := 0.0
	for _, v := range a.Layers[3][:16] {
		sum += v
	}
	expect.Near(t, "sum of a row of attention", sum, 1, 1e-5)
	expect.Error(t, expect.ErrorOf(p.Table(2, 0)), "members") // member 2 of 2
	run = expect.Must(cohort.Open(filepath.Join(dir, "nmar")))
	p = expect.Must(run.Probes())
	if _, err := p.Table(0, 0); !errors.Is(err, cohort.ErrNoTable) || p.Blocks() != nil {
		t.Errorf("rope has a table: %v", err)
	}
	a = expect.Must(p.Attention(0))
	expect.Equal(t, "examples and tokens of attention", [2]int{a.Examples, a.Tokens}, [2]int{1, 15})
	if modules, ok, err := p.Modules(); !ok || err != nil || len(modules) != 15 || modules[14] != 2 {
		t.Errorf("modules %v, %v", modules, err)
	}
}

// Tokens have names where there is one for each, and a probe of a member that is not there is an error.
func TestNamesAndMembersOfProbes(t *testing.T) {
	dir := synthetic.Dir(t, synthetic.Run{Name: "a", Task: "masked", PE: "learn", Seeds: []int{1},
		Places: "[[0],[1],[2],[3],[4],[5],[6],[7]]", Order: "[0,1,2,3,4,5,7,7]"})
	run := expect.Must(cohort.Open(filepath.Join(dir, "a")))
	p := expect.Must(run.Probes())
	if points := p.TokenPoints(8); len(points) != 8 || p.TokenPoints(7) != nil {
		t.Errorf("places %v, and of seven tokens %v", points, p.TokenPoints(7))
	}
	expect.Equal(t, "order", p.TokenOrder(8), nil)
	if got := p.TokenNames(8); !slices.Equal(got, synthetic.TokenNames) || p.TokenNames(7) != nil {
		t.Errorf("names %q, and of seven tokens %q", got, p.TokenNames(7))
	}
	_, _, _, err := p.Values("attention/0", 1)
	expect.Error(t, err, "member")
	models, _ := cohort.Models([]*cohort.Run{run})
	expect.NoError(t, os.RemoveAll(run.Dir))
	expect.Refused(t, "records of a run that is gone", expect.ErrorOf(run.Records()))
	step := func(r runlog.Record) int { return r.Step }
	expect.Refused(t, "records by step of a run that is gone", expect.ErrorOf(cohort.RecordsBy(models, step)))
}

// Attention is square, and has as many examples, heads and tokens in all layers.
func TestAttentionOfOddShapes(t *testing.T) {
	for want, shapes := range map[string][][]int{
		"attention/0 has shape":                 {{1, 1, 1, 2, 3}},
		"attention/1 has shape [1 1 2 2 2], un": {{1, 1, 1, 2, 2}, {1, 1, 2, 2, 2}},
		"attention/1 has shape [1 2 1 2 2], un": {{1, 1, 1, 2, 2}, {1, 2, 1, 2, 2}},
		"attention/1 has shape [1 1 1 3 3], un": {{1, 1, 1, 2, 2}, {1, 1, 1, 3, 3}},
	} {
		dir := filepath.Join(t.TempDir(), "run")
		r := expect.Must(runlog.Create(dir, []byte(`{"task":"lst","members":[{"seed":1}]}`), runlog.Environment{},
			runlog.Options{}))
		var all []safetensors.Tensor
		for layer, shape := range shapes {
			size := 1
			for _, n := range shape {
				size *= n
			}
			name := fmt.Sprintf("attention/%d", layer)
			all = append(all, expect.Must(safetensors.New(name, shape, make([]float64, size))))
		}
		expect.NoError(t, errors.Join(r.SaveProbes(all, nil), r.Close()))
		run, _, err := cohort.OpenAny(dir)
		expect.NoError(t, err)
		p := expect.Must(run.Probes())
		expect.Error(t, expect.ErrorOf(p.Attention(0)), want)
	}
}

func TestBaseAndDifferences(t *testing.T) {
	dir := synthetic.Dir(t, synthetic.Run{Name: "a", Task: "fmri", PE: "learn", Sigma: .1, Seeds: []int{1}},
		synthetic.Run{Name: "b", Task: "fmri", PE: "rope", Seeds: []int{2}, MaskLevel: .9, Heads: 2},
		synthetic.Run{Name: "c", Task: "nmar", PE: "rope", Seeds: []int{2}},
	)
	found, _, err := cohort.Find(dir)
	expect.NoError(t, err)
	models, _ := cohort.Models(found)
	bases, err := cohort.Bases(models)
	if err != nil || len(bases) != 2 || len(bases[0].Models) != 2 || bases[0].Models[1].Run.Name != "b" {
		t.Errorf("bases %+v, %v", bases, err)
	}
	var settings []map[string]string
	for _, r := range found {
		settings = append(settings, expect.Must(r.Config.Settings()))
	}
	keys := cohort.Differing(settings[:2])
	expect.Equal(t, "differences", keys, []string{"heads", "masked.mask_level", "pe", "pe_options.pe-placement"})
	if settings[0]["masked.mask_level"] != "0.5" || settings[1]["masked.mask_level"] != "0.9" ||
		settings[0]["pe_options.pe-placement"] != "block" {
		t.Errorf("%v", settings)
	}
	if !cohort.IsIncidental("device") || cohort.IsIncidental("heads") {
		t.Error("the device changes no model, the number of heads does")
	}
}

func TestFinite(t *testing.T) {
	got := cohort.Finite([]float64{1, math.NaN(), math.Inf(1), 2, math.Inf(-1)})
	expect.Equal(t, "values", got, []float64{1, 2})
}

func TestLabel(t *testing.T) {
	for sigma, want := range map[float64]string{.2: "learn-0.2", 1: "learn-1.0", .05: "learn-0.05",
		10: "learn-10.0", 0: "learn-0.0"} {
		expect.Equal(t, sigma, cohort.Label("learn", &sigma), want)
	}
	expect.Equal(t, "label", cohort.Label("rope", nil), "rope")
	expect.Equal(t, "label of layers", cohort.Label("rope@1,learn@2-3", new(.5)), "rope@1,learn@2-3, σ 0.5")
}

// A model of puzzles has fitted where it reached 99 % in training: at its end, or by as strict a criterion.
func TestFitted(t *testing.T) {
	masked := &cohort.Run{}
	masked.Config.Masked = &config.MaskedConfig{}
	for i, c := range []struct {
		run  *cohort.Run
		fit  *runlog.Fit
		got  float64
		want string
	}{
		{&cohort.Run{}, nil, .99, "yes"}, {&cohort.Run{}, nil, .98, "no"}, {masked, nil, .99, ""},
		{masked, &runlog.Fit{Reached: true}, 0, "yes"}, {&cohort.Run{}, &runlog.Fit{}, .5, "no"},
		{&cohort.Run{}, &runlog.Fit{Criterion: "train=0.2", Reached: true}, .27, "no"},
		{&cohort.Run{}, &runlog.Fit{Criterion: "iid=0.99", Reached: true}, .98, "no"},
		{&cohort.Run{}, &runlog.Fit{Criterion: "train=0.2", Reached: true}, .99, "yes"},
		{&cohort.Run{}, &runlog.Fit{Criterion: "train=0.995", Reached: true}, .98, "yes"},
		{&cohort.Run{}, &runlog.Fit{Criterion: "train=0.999"}, .995, "yes"},
	} {
		m := cohort.Model{Run: c.run, Result: runlog.MemberResult{Fit: c.fit, Measures: runlog.Numbers{"train": c.got}}}
		expect.Equal(t, fmt.Sprint("case ", i), m.FitText(), c.want)
	}
}

// A mean over training is over the same models everywhere: where all have a record. A model that has stopped
// at its criterion keeps its last value; one that was not measured has none, and hides nobody.
func TestCourse(t *testing.T) {
	model := func(until string, reached bool) cohort.Model {
		m := cohort.Model{Run: &cohort.Run{}}
		m.Run.Config.Until, m.Result.Fit = until, &runlog.Fit{Reached: reached}
		return m
	}
	records := func(values map[int]float64) map[int]runlog.Record {
		out := map[int]runlog.Record{}
		for x, v := range values {
			out[x] = runlog.Record{Measures: runlog.Numbers{"train": v}}
		}
		return out
	}
	stopped, unfitted, free := model("train=0.99", true), model("train=0.99", false), model("", true)
	tens := records(map[int]float64{10: 1, 20: 2, 30: 3, 40: 4})
	short := records(map[int]float64{10: 5, 20: math.NaN(), 30: 7})
	for _, c := range []struct {
		name    string
		models  []cohort.Model
		records []map[int]runlog.Record
		want    string
	}{
		{"one stopped", []cohort.Model{free, stopped}, []map[int]runlog.Record{tens, short},
			"[10 30 40] [[1 3 4] [5 7 7]]"},
		{"one ended before its criterion", []cohort.Model{free, unfitted}, []map[int]runlog.Record{tens, short},
			"[10 30] [[1 3] [5 7]]"},
		{"one ended", []cohort.Model{free, free}, []map[int]runlog.Record{tens, short}, "[10 30] [[1 3] [5 7]]"},
		{"one not measured", []cohort.Model{free, free}, []map[int]runlog.Record{short, nil},
			"[10 30] [[5 7] [NaN NaN]]"},
		{"none measured", []cohort.Model{free}, []map[int]runlog.Record{nil}, "[] [[]]"},
	} {
		at, values := cohort.Course(c.models, c.records, "train",
			func(r runlog.Record) float64 { return r.Measures.Get("train") })
		expect.Equal(t, c.name, fmt.Sprint(at, values), c.want)
	}
}

// Means since the last record are not comparable between models with more or fewer records.
func TestCourseOfOtherRecords(t *testing.T) {
	var models []cohort.Model
	for i, every := range []int{3, 30, 3} {
		m := trained("rope", "", 9)
		m.Run.Dir, m.Run.Config.LogEvery = fmt.Sprint(i), every
		models = append(models, m)
	}
	records := []map[int]runlog.Record{{3: {Step: 3}, 30: {Step: 30}}, {30: {Step: 30}}, {3: {Step: 3}, 30: {Step: 30}}}
	for measure, want := range map[string]string{
		"train_mse": "[3 30] [[3 30] [NaN NaN] [3 30]]", "test_mse/0.50": "[30] [[30] [30] [30]]",
	} {
		at, values := cohort.Course(models, records, measure, func(r runlog.Record) float64 { return float64(r.Step) })
		expect.Equal(t, measure, fmt.Sprint(at, values), want)
	}
}

// Of models of one encoding the commonest length is kept, and the others are named.
func TestOfCommonLength(t *testing.T) {
	rope, short, cope := trained("rope", "", 9), trained("rope", "", 4), trained("cope", "", 9)
	cut, cutUnfitted := trained("rope", "", 9), trained("rope", "train=0.99", 9) // within an epoch
	for _, m := range []*cohort.Model{&cut, &cutUnfitted} {
		m.Run.Config.LimitSteps, m.Result.Steps = 40, 40
	}
	unfitted, early, bounded := trained("rope", "train=0.99", 9), trained("rope", "train=0.9", 2),
		trained("rope", "train=0.99", 6)
	bounded.Run.Config.Epochs = 7
	for want, models := range map[string][]cohort.Model{
		"[]": {rope, rope, cope},
		"[1 model of rope, trained for 4 epochs, is":                       {rope, rope, short, cope},
		"[1 model of rope, trained for 40 steps, is":                       {rope, rope, rope, cut},
		"[1 model of rope, trained until train=0.99, 40 steps at most, is": {unfitted, unfitted, unfitted, cutUnfitted},
		"[1 model of rope, trained until train=0.9, 9 epochs at most, is":  {unfitted, early, unfitted, unfitted},
		"[1 model of rope, trained until train=0.99, 7 epochs at most, is": {bounded, unfitted, unfitted, unfitted},
		"[2 models of rope, trained for 40 steps, are":                     {rope, cut, rope, cut, cope},
		"[2 models of rope, trained for 4 epochs, are":                     {rope, rope, rope, short, short},
	} {
		for i := range models {
			models[i].Member.Seed = uint64(i)
		}
		kept, notes, err := cohort.OfCommonLength(models)
		if len(kept) != 3 || err != nil || !strings.HasPrefix(fmt.Sprint(notes), want) {
			t.Errorf("%d models, %q, %v; want %s", len(kept), notes, err, want)
		}
	}
}

// A training of 3 steps and one of 50 that was cut short after 3 are one, but where the learning rate fell by other
// steps.
func TestOfCommonLengthCountsAModelOnce(t *testing.T) {
	of := func(schedule string, steps, limit int) cohort.Model {
		m := cohort.Model{Run: &cohort.Run{}, Result: runlog.MemberResult{PE: "rope", Steps: 3}}
		c := &m.Run.Config
		c.PE, c.Masked, c.Schedule, c.Steps, c.LimitSteps = "rope", &config.MaskedConfig{}, schedule, steps, limit
		c.JSON = fmt.Appendf(nil, `{"schedule":%q,"steps":%d,"limit_steps":%d}`, schedule, steps, limit)
		return m
	}
	for schedule, want := range map[string]string{
		config.Constant: "[counted once: 1 model with",
		config.Cosine: "[1 model of rope, trained for 3 steps of 50 steps, is not shown beside those trained for " +
			"3 steps:",
	} {
		kept, notes, err := cohort.OfCommonLength([]cohort.Model{of(schedule, 3, 0), of(schedule, 50, 3)})
		if len(kept) != 1 || err != nil || !strings.HasPrefix(fmt.Sprint(notes), want) {
			t.Errorf("%d models, %q, %v; want %s", len(kept), notes, err, want)
		}
	}
}

// A model that a GPU trained in tf32 is no other seed of one that a CPU trained in fp32, though both asked for auto.
func TestPrecisionThatWasUsedSplits(t *testing.T) {
	dir := t.TempDir()
	for i, used := range []string{"", "fp32", "tf32"} {
		c := expect.Must(config.Preset("quick", "code"))
		c.Members = []config.Member{{Seed: uint64(i), LR: 1e-3}}
		run := expect.Must(runlog.Create(filepath.Join(dir, "run"+used), expect.Must(c.JSON()),
			runlog.Environment{Precision: used}, runlog.Options{}))
		result := runlog.Result{Members: []runlog.MemberResult{{Seed: int64(i), Status: runlog.StatusDone}}}
		err := run.SaveResult(result)
		expect.NoError(t, errors.Join(err, run.Close()))
	}
	runs, _, err := cohort.Find(dir)
	models, _ := cohort.Models(runs)
	groups, groupErr := cohort.Groups(models)
	bases, baseErr := cohort.Bases(models)
	expect.NoError(t, errors.Join(err, groupErr, baseErr))
	if len(groups) != 2 || len(groups[0].Models) != 2 || !strings.HasSuffix(groups[1].Label, "precision tf32") {
		t.Errorf("%d groups, such as %s", len(groups), groups[0].Label)
	}
	expect.Equal(t, "bases (reports compare the models of both)", len(bases), 1)
}

// trained returns a model that was trained for some of 9 epochs.
func trained(pe, until string, epochs int) cohort.Model {
	m := cohort.Model{Run: &cohort.Run{}, Result: runlog.MemberResult{PE: pe, Epochs: epochs}}
	m.Run.Config.PE, m.Run.Config.Epochs, m.Run.Config.Until = pe, 9, until
	m.Run.Config.JSON = fmt.Appendf(nil, `{"pe":%q,"until":%q,"epochs":9}`, pe, until)
	m.Result.Fit = &runlog.Fit{Reached: true, Epoch: epochs}
	return m
}

// Lengths that end by a criterion are a range; other lengths follow with their encodings.
func TestLengthText(t *testing.T) {
	until := []cohort.Model{trained("rope", "train=0.99", 3), trained("rope", "train=0.99", 6)}
	never := trained("rope", "train=0.99", 5) // of 9 epochs at most
	never.Result.Fit.Reached = false
	steps := trained("rope", "train_mse=0.5", 3)
	steps.Run.Config.Masked, steps.Run.Config.Steps, steps.Run.Config.Epochs = &config.MaskedConfig{}, 300, 0
	for want, models := range map[string][]cohort.Model{
		"":                                 nil,
		"3 to 6 epochs (until train=0.99)": until,
		"6 epochs (until train=0.99)":      until[1:],
		"4 epochs (rope: 3 epochs (until train=0.99))": {trained("learn", "", 4), trained("cope", "", 4), until[0]},
		"until train_mse=0.5, 300 steps at most":       {steps},
		"3 to 9 epochs (until train=0.99)":             {until[0], never},
		"3 to 6 epochs (until train=0.99) (learn, cope: 4 epochs)": append(until,
			trained("learn", "", 4), trained("cope", "", 4)),
	} {
		expect.Equal(t, "lengths", cohort.LengthText(models), want)
	}
}

// Modularity is tested where a model has a table and modules of its tokens, and nowhere else: the
// labels of a model whose tables fall into its modules pass.
func TestChance(t *testing.T) {
	dir := synthetic.Dir(t, synthetic.Run{Name: "lst", Task: "lst", PE: "learn", Sigma: .5, Seeds: []int{1}},
		synthetic.Run{Name: "learn", Task: "nmar", PE: "learn", Sigma: .1, Seeds: []int{1}},
		synthetic.Run{Name: "rope", Task: "nmar", PE: "rope", Seeds: []int{1}},
	)
	found, _, err := cohort.Find(dir)
	expect.NoError(t, err)
	models, _ := cohort.Models(found)
	expect.Equal(t, "models", len(models), 3)
	for _, m := range models {
		c, err := m.Chance()
		if err != nil || (c != nil) != (m.Run.Name == "learn") {
			t.Fatalf("%s: %+v, %v", m.Run.Name, c, err)
		}
		if c == nil {
			continue
		}
		if !(c.Low < c.Mean && c.Mean < c.High && c.Q > c.High && c.P == 1.0/(1+cohort.Surrogates)) {
			t.Errorf("%+v", c)
		}
		// Of 999 numbers, numpy's 2.5 % quantile lies .95 of the way from the 25th to the 26th.
		below, above := 0, 0
		for _, v := range deals(m) {
			if v < c.Low {
				below++
			} else if v > c.High {
				above++
			}
		}
		expect.Equal(t, "deals below the bounds and above", [2]int{below, above}, [2]int{25, 25})
	}
}

// deals returns the modularities that Chance draws.
func deals(m cohort.Model) []float64 {
	p := expect.Must(m.Run.Probes())
	x := expect.Must(p.Table(m.Index, 0))
	modules := make([]int, x.Tokens)
	for i := range modules {
		modules[i] = i / 5
	}
	w := metrics.Proximity(x.Distances(metrics.Euclidean))
	return metrics.Null(metrics.Permuted(w, modules), cohort.Surrogates, 1)
}

// A guess is among the symbols that training puzzles have: as many as the side; where symbols are renamed, those of
// the largest puzzles (docs/sizes.md).
func TestChanceOfGuess(t *testing.T) {
	for text, want := range map[string]float64{
		`{}`:              1. / 4,
		`{"lst_side": 5}`: 1. / 5,
		`{"eval_tokens": [16, 36], "rename_symbols": true}`:  1. / 6,
		`{"eval_tokens": [16, 36], "rename_symbols": false}`: 1. / 4,
	} {
		var c cohort.Config
		expect.NoError(t, json.Unmarshal([]byte(text), &c))
		expect.Equal(t, text, c.Chance(), want)
	}
}
