package cohort_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/report/cohort"
	"torchpe/report/internal/synthetic"
	"torchpe/train/config"
	"torchpe/train/runlog"
)

// Two models differ where any setting that changes results does, whichever part of the configuration
// it is in. Settings that change nothing, and the seed, tell no models apart.
func TestEverySettingSplits(t *testing.T) {
	synthetic.EverySetting(t, func(key string, models []cohort.Model, isTold bool) {
		want := 1
		if isTold {
			want = 2
		}
		groups, err := cohort.Groups(models)
		if err != nil || len(groups) != want {
			t.Errorf("%s: %d groups, want %d (%v)", key, len(groups), want, err)
		}
		groups, err = cohort.GroupsOfAnyLength(models)
		if err != nil || len(groups) != want && !cohort.IsLength(key) {
			t.Errorf("%s: %d groups of any length, want %d (%v)", key, len(groups), want, err)
		}
	})
}

// A report makes no group of its own; that of lengths takes groups apart by task.
func TestGroupsAreMadeHere(t *testing.T) {
	for _, path := range expect.Must(filepath.Glob("../*/*.go")) {
		isExempt := strings.HasSuffix(path, "_test.go") || strings.Contains(path, "cohort") ||
			path == "../lengths/lengths.go"
		if text := expect.Must(os.ReadFile(path)); !isExempt && bytes.Contains(text, []byte("cohort.Group{Label")) {
			t.Errorf("%s makes a group: only Groups may", path)
		}
	}
}

// A mean is over models that took the measure alike: others lack it, whatever else they measured. Each setting that
// makes measures is tried.
func TestMeasuresOfOtherSettings(t *testing.T) {
	model := func(seed uint64, measure string, change func(*config.Config)) cohort.Model {
		m := cohort.Model{Run: &cohort.Run{}, Member: cohort.Member{Seed: seed}}
		m.Result.Measures = runlog.Numbers{measure: float64(seed), "validation": .5}
		m.Run.Config.JSON = []byte("{}")
		change(&m.Run.Config.Config)
		return m
	}
	for measure, change := range map[string]func(*config.Config){
		"noise/0.5":         func(c *config.Config) { c.Noise = []float64{.5, 1} },
		"noise/1":           func(c *config.Config) { c.NoiseRepeats = 7 },
		"tangent_alignment": func(c *config.Config) { c.TangentPuzzles = 64 },
		"train":             func(c *config.Config) { c.LogEvery = 5 },
		"loss":              func(c *config.Config) { c.LogEvery = 5 },
	} {
		usual := func(*config.Config) {}
		all := []cohort.Model{model(1, measure, usual), model(2, measure, change), model(3, measure, usual)}
		groups := expect.Must(cohort.Groups(all))
		if len(groups) != 1 || len(groups[0].Models) != 3 {
			t.Fatalf("%s: %v", measure, groups)
		}
		got := groups[0].Values(func(m cohort.Model) float64 { return m.Number(measure) })
		if fmt.Sprint(got) != "[1 NaN 3]" || groups[0].Models[1].Number("validation") != .5 ||
			all[1].Number(measure) != 2 {
			t.Errorf("%s: %v of the group", measure, got)
		}
		expect.Equal(t, "validation accuracy depends on the settings of "+measure,
			cohort.MeasuredOtherwise(all, "validation"), nil)
	}
}

// Of a model and its copy that measured more, the copy counts; if their numbers differ, the first does.
func TestCopyThatMeasuredMore(t *testing.T) {
	model := func(measures runlog.Numbers) cohort.Model {
		m := cohort.Model{Run: &cohort.Run{}}
		m.Run.Config.JSON = []byte("{}")
		m.Result.Measures = measures
		return m
	}
	for _, test := range []struct {
		copy, want runlog.Numbers
		note       string
	}{
		{runlog.Numbers{"iid": .5, "noise/1": .4}, runlog.Numbers{"iid": .5, "noise/1": .4}, ""},
		{runlog.Numbers{"iid": .6, "noise/1": .4}, runlog.Numbers{"iid": .5}, "for 1 of them the numbers differ"},
		{runlog.Numbers{}, runlog.Numbers{"iid": .5}, ""},
	} {
		kept, notes, err := cohort.Distinct([]cohort.Model{model(runlog.Numbers{"iid": .5}), model(test.copy)})
		expect.NoError(t, err)
		expect.Equal(t, "kept", fmt.Sprint(len(kept), kept[0].Result.Measures), fmt.Sprint(1, test.want))
		expect.Contains(t, strings.Join(notes, ""), "counted once: 1 model", test.note)
	}
}

// A model that stops at a record depends on how often records are.
func TestRecordsThatEndTraining(t *testing.T) {
	for until, want := range map[string]int{"": 1, "train=0.99": 2} {
		var all []cohort.Model
		for _, every := range []int{1, 20} {
			m := cohort.Model{Run: &cohort.Run{}, Member: cohort.Member{Seed: uint64(every)}}
			m.Run.Config.Until, m.Run.Config.LogEvery = until, every
			m.Run.Config.JSON = fmt.Appendf(nil, `{"log_every": %d, "until": %q}`, every, until)
			all = append(all, m)
		}
		groups := expect.Must(cohort.Groups(all))
		expect.Equal(t, "groups until "+until, len(groups), want)
		expect.Equal(t, "bases until "+until, len(expect.Must(cohort.Bases(all))), 1)
		if want > 1 {
			expect.Equal(t, "a label", groups[1].Label, ", until train=0.99 every 20 epochs")
		}
	}
}

// Early runs have numbers as they were typed.
func TestNumbersAsTyped(t *testing.T) {
	var all []cohort.Model
	for i, typed := range [][2]string{{"1e4", "test_mse/.5=1e-1"}, {"10000", "test_mse/0.50=0.1"}} {
		m := cohort.Model{Run: &cohort.Run{}, Member: cohort.Member{Seed: uint64(i)}}
		m.Run.Config.Until = typed[1]
		m.Run.Config.JSON = fmt.Appendf(nil, `{"pe_options": {"rope-base": %q}, "until": %q}`, typed[0], typed[1])
		all = append(all, m)
	}
	expect.Equal(t, "groups", len(expect.Must(cohort.Groups(all))), 1)
}

// AdamW without decay is Adam.
func TestOptimizer(t *testing.T) {
	decay := .1
	for want, members := range map[string][]cohort.Member{"adam": {{}},
		"adamw": {{WeightDecay: decay}, {PEWeightDecay: &decay}}} {
		for _, member := range members {
			m := cohort.Model{Run: &cohort.Run{}, Member: member}
			m.Run.Config.Optimizer = "adamw"
			expect.Equal(t, fmt.Sprintf("%+v", member), m.Optimizer(), want)
		}
	}
}

func TestDifference(t *testing.T) {
	for want, of := range map[string][2]string{
		"lr 0.001": {"members.lr", "0.001"}, "until none": {"until", ""}, "pe_lr shared": {"members.pe_lr", ""},
		"data 1a0dc7ef": {cohort.DataKey, "1a0dc7efbb"}, "data unknown": {cohort.DataKey, ""},
		"positions bdcef564": {"positions.sha256", "bdcef564711d"}, "imported": {cohort.WeightsKey, "imported"},
	} {
		expect.Equal(t, "difference", cohort.Difference(of[0], of[1]), want)
	}
}

// Models of other data, imported ones, and those whose settings changed in training are groups of
// their own, which the label says; a copy and a longer training at a constant rate are not.
func TestGroupsByOrigin(t *testing.T) {
	run := func(name string, seed int) synthetic.Run {
		return synthetic.Run{Name: name, Task: "lst", PE: "rope", Seeds: []int{seed}, Data: "aaaaaaaaaaaa"}
	}
	imported, other, unknown, changed, longer := run("imported", 1), run("other", 2), run("unknown", 3),
		run("changed", 4), run("longer", 0)
	edited := run("edited", 6)
	edited.Checkpoint = `{"heads":7,"epochs":1,"device":"cuda:9","new":1}`
	imported.Changed = []string{"weights imported from x/weights.safetensors, whose SHA-256 is 00"}
	other.Data, unknown.Data = "bbbbbbbbbbbb", ""
	changed.Changed = []string{"members.lr was 0.1 and is 0.2 after step 64"}
	longer.Changed = []string{"epochs was 6 and is 12 after step 64", `device was "cpu" and is "cuda:0"`}
	dir := synthetic.Dir(t, run("one", 1), run("copy of one", 1), longer, imported, other, unknown,
		changed, edited)
	found, skipped, err := cohort.Find(dir)
	if err != nil || skipped != nil {
		t.Fatal(skipped, err)
	}
	read, err := cohort.Read(dir, func(*cohort.Run) bool { return true })
	want := []string{"how models were trained in PyTorch is not known: imported, seed 1, imported from PyTorch " +
		"after 12 epochs"}
	expect.NoError(t, err)
	expect.Equal(t, "notes", read.Notes, want)
	models, _ := cohort.Models(found)
	models, notes, err := cohort.Distinct(models)
	expect.NoError(t, err)
	expect.Equal(t, "notes", fmt.Sprint(notes),
		"[counted once: 1 model with the settings, data and seed of another; for 1 of them "+
			"the numbers differ (another build or device, or imported weights?); the first counts]")
	groups := expect.Must(cohort.Groups(models))
	var got []string
	for _, g := range groups {
		got = append(got, fmt.Sprintf("%s: %d", g.Label, len(g.Models)))
	}
	want = []string{"rope, data aaaaaaaa: 2",
		"rope, data aaaaaaaa, config.json was edited: heads: 1", "rope, data aaaaaaaa, imported: 1",
		"rope, data aaaaaaaa, members.lr was 0.1 and is 0.2 after step 64: 1",
		"rope, data bbbbbbbb: 1", "rope, data unknown: 1"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	expect.Equal(t, "the model with the smallest seed", groups[0].Models[0].Run.Name, "longer")
}

// Encodings that differ in more than the encoding are named with what they differ in, unless all labels say it
// or the caller leaves it out; their own settings and σ are no difference.
func TestNoteUnlike(t *testing.T) {
	group := func(label, pe string, rate float64, sigma *float64, settings string) cohort.Group {
		m := cohort.Model{Run: &cohort.Run{}, Member: cohort.Member{LR: rate, Sigma: sigma, PELR: sigma}}
		m.Run.Config.PE = pe
		m.Run.Config.JSON = fmt.Appendf(nil, `{"pe":%q,"pe_options":{"own-%s":"1"}%s}`, pe, pe, settings)
		return cohort.Group{Label: label, Models: []cohort.Model{m}}
	}
	sigma := .2
	learn := group("learn-0.2", "learn", .1, &sigma, "")
	many := []cohort.Group{learn}
	for _, pe := range strings.Fields("a b c d e f g h") {
		many = append(many, group(pe, pe, .3, nil, ""))
	}
	for name, c := range map[string]struct {
		groups  []cohort.Group
		ignored []string
		want    string
	}{
		"alike": {[]cohort.Group{learn, group("rope", "rope", .1, nil, "")}, nil, "[]"},
		"rates": {[]cohort.Group{learn, group("rope", "rope", .3, nil, "")}, nil,
			"lr 0.1 (learn-0.2), lr 0.3 (rope)]"},
		"many": {many, nil, "lr 0.1 (learn-0.2), lr 0.3 (a; b; c; d; e; f and 2 more)]"},
		"said": {[]cohort.Group{group("a, lr 0.1", "a", .1, nil, ""), group("b, lr 0.3", "b", .3, nil, "")}, nil,
			"[]"},
		"longer": {[]cohort.Group{learn, group("rope", "rope", .1, nil, `,"steps":9`)}, nil,
			"steps 9 (rope), steps none"},
		"rows of a table": {[]cohort.Group{learn, group("rope", "rope", .1, nil, `,"sequence":{"places":100}`)}, nil,
			"[]"},
		"left out": {[]cohort.Group{learn, group("rope", "rope", .1, nil, `,"steps":9`)}, cohort.LengthKeys, "[]"},
	} {
		f := &cohort.Found{}
		expect.NoError(t, f.NoteUnlike(c.groups, c.ignored...))
		once := len(f.Notes)
		expect.NoError(t, f.NoteUnlike(c.groups, c.ignored...))
		expect.Equal(t, name+": notes of two equal tasks", len(f.Notes), once)
		if got := fmt.Sprint(f.Notes); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
