package paper

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/report/cohort"
	"torchpe/report/figure"
	"torchpe/report/internal/synthetic"
	"torchpe/report/item"
	"torchpe/train/config"
	"torchpe/train/runlog"
)

// The sentence counts models that have fitted, and gives the range of accuracies of those that have
// not alone.
func TestFitNote(t *testing.T) {
	accurate := func(g cohort.Group, training, iid float64, at ...int) cohort.Group {
		for _, i := range at {
			g.Models[i].Result.Measures["train"], g.Models[i].Result.Measures["iid"] = training, iid
		}
		return g
	}
	a := accurate(accurate(made("nope", nil, .9, .8, .7), .314, .2, 0), .361, math.NaN(), 2)
	b := accurate(made("learn-0.2", nil, .9), .5, math.NaN(), 0)
	fitNote := (&Study{}).fitNote
	fine := made("", nil, .1, .2)
	if got, want := fitNote(fine.Models), " 2 of 2 models have fitted their training puzzles "+
		"(train=0.99)."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := fitNote(fine.Models[:1]), " The model has fitted its training puzzles (train=0.99)."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	const rest = " Not fitted, and marked *, because their validation accuracy says nothing about " +
		"generalization: "
	for want, models := range map[string][]cohort.Model{
		" 1 of 4 models has fitted its training puzzles (train=0.99)." + rest +
			"learn-0.2 1 of 1 (training accuracy .50, IID not measured); nope 2 of 3 (training " +
			"accuracy .31 to .36, IID .20).": slices.Concat(b.Models, a.Models),
		" The model has not fitted its training puzzles (train=0.99)." + rest +
			"learn-0.2 1 of 1 (training accuracy .50, IID not measured).": {withFit(b.Models[0],
			&runlog.Fit{Criterion: "loss=0.1", Reached: true})},
	} {
		expect.Equal(t, "note", fitNote(models), want)
	}
	// SGD and Adam of one σ and learning rate count apart.
	both := slices.Concat(b.Models, []cohort.Model{b.Models[0]})
	for i, optimizer := range []string{"sgd", "adam"} {
		run := *b.Models[0].Run
		run.Config.JSON, both[i].Run = fmt.Appendf(nil, `{"pe":"learn","optimizer":%q}`, optimizer), &run
	}
	if got, want := fitNote(both), "learn-0.2 (optimizer sgd) 1 of 1 (training accuracy .50, IID not measured); "+
		"learn-0.2 (optimizer adam) 1 of 1"; !strings.Contains(got, want) {
		t.Errorf("%q, want %q in it", got, want)
	}
	masked := made("", nil, .1)
	masked.Models[0].Run.Config.Masked = &config.MaskedConfig{}
	expect.Equal(t, "of masked prediction", fitNote(masked.Models), "")
	expect.Equal(t, "of nothing", fitNote(nil), "")
}

func withFit(m cohort.Model, f *runlog.Fit) cohort.Model {
	m.Result.Fit = f
	return m
}

// Boxes have their signs and the means beside them from their own group, though a group without the measure
// has no box. TestNumbers has the rest.
func TestValidationBoxes(t *testing.T) {
	a, b, c := made("learn-0.1", nil, .9, .7), made("learn-1.0", nil, math.NaN()), made("learn-2.0", nil, .3)
	a.Models[0].Result.Measures["train"], a.Models[1].Result.Measures["iid"] = .6, .4 // means .8 and .65
	s := &Study{}
	d := &draft{Draft: item.Draft{Marks: true, Measure: s.value, Groups: []cohort.Group{a, b, c}}, study: s}
	var got []string
	for _, g := range expect.Must(validationBySigma("title")(d))[0].(figure.Boxes).Groups {
		got = append(got, fmt.Sprintf("%s %v %v %.3g", g.Label, g.Values, g.Hollow, g.Beside))
	}
	expect.Equal(t, "groups", got, []string{"0.1* [0.9 0.7] [true false] [0.8 0.65]", "2 [0.3] [false] [1 0.9]"})
}

// The accuracy at a training accuracy lies on the line between the records about it: the first that
// reaches it and the one before.
func TestAtTraining(t *testing.T) {
	nan := math.NaN()
	at := func(records [][3]float64, levels ...float64) (validation, iid []float64) {
		var all []runlog.Record
		for _, r := range records {
			all = append(all, runlog.Record{Measures: runlog.Numbers{"train": r[0], "validation": r[1],
				"iid": r[2]}})
		}
		return atTraining(all, "validation", levels), atTraining(all, "iid", levels)
	}
	rising := [][3]float64{{.2, .1, .9}, {.4, .3, .7}, {.8, .9, .3}}
	for name, c := range map[string]struct {
		records         [][3]float64
		levels          []float64
		validation, iid []float64
	}{
		"between": {rising, []float64{.6, .7, .3}, []float64{.6, .75, .2},
			[]float64{.5, .4, .8}},
		"at a record":    {rising, []float64{.4, .8}, []float64{.3, .9}, []float64{.7, .3}},
		"never":          {rising, []float64{.81}, []float64{nan}, []float64{nan}},
		"from the start": {rising, []float64{.2, .1}, []float64{nan, nan}, []float64{nan, nan}},
		"the first time": {[][3]float64{{.2, .2, 0}, {.6, .4, 0}, {.3, .8, 0}, {.9, 1, 0}},
			[]float64{.5, .75}, []float64{.35, .95}, []float64{0, 0}},
		"not measured": {[][3]float64{{.2, .2, nan}, {.4, .4, .5}}, []float64{.3}, []float64{.3},
			[]float64{nan}},
		"no records": {nil, []float64{.5}, []float64{nan}, []float64{nan}},
	} {
		v, i := at(c.records, c.levels...)
		if !floatsNear(v, c.validation) || !floatsNear(i, c.iid) {
			t.Errorf("%s: %v and %v, want %v and %v", name, v, i, c.validation, c.iid)
		}
	}
}

// The measures of motion are means over blocks, of what was recorded.
func TestMotionMeasures(t *testing.T) {
	full := runlog.Numbers{"pe_moved/0": 1, "pe_moved/1": 2, "pe_moved/10": 6, "pe_gradient_share": .25,
		"pe_disparity/0": .5, "pe_disparity/1": .7, "pe_disparity/2": math.NaN(), "pe_cosine/0": -.2,
		"pe_start_cosine/0": 9}
	nan := math.NaN()
	for i, want := range [][]float64{{3, 3, nan}, {.25, .25, nan}, {.6, .6, nan}, {-.2, -.2, nan}} {
		measure := motionCurves[i].Measure
		got := []float64{item.Value(cohort.Model{Result: runlog.MemberResult{Measures: full}}, measure),
			item.RecordValue(runlog.Record{Measures: full}, measure), item.RecordValue(runlog.Record{}, measure)}
		if !floatsNear(got, want) {
			t.Errorf("%s of a result, a record and none: %v, want %v", measure, got, want)
		}
	}
}

// Figures tell models apart by every setting that changes results, but for the length of training.
func TestGroupsOfFigures(t *testing.T) {
	synthetic.EverySetting(t, func(key string, models []cohort.Model, isTold bool) {
		want := map[bool]int{true: 2, false: 1}[isTold && !cohort.IsLength(key)]
		expect.Equal(t, key+": groups of two models", len((&Study{}).groups(models)), want)
	})
}

// Accuracy under noise is not averaged over models that were tested with other amplitudes, and encodings that
// differ in more than the encoding are named.
func TestUnlikeMeasures(t *testing.T) {
	dir := synthetic.Dir(t,
		synthetic.Run{Name: "few", Task: "lst", PE: "learn", Sigma: .2, Seeds: []int{1}, Amplitudes: []float32{.25, 2}},
		synthetic.Run{Name: "most", Task: "lst", PE: "learn", Sigma: .2, Seeds: []int{2, 3}},
		synthetic.Run{Name: "rope", Task: "lst", PE: "rope", Seeds: []int{2, 3}, LR: .5})
	s := expect.Must(Read(dir, ""))
	for _, m := range s.LST {
		if isFew := m.Run.Name == "few"; math.IsNaN(s.value(m, "noise")) != isFew ||
			math.IsNaN(s.value(m, underNoise(.25))) != isFew {
			t.Errorf("%s, seed %d: accuracy under noise %v", m.Run.Name, m.Member.Seed, s.value(m, "noise"))
		}
	}
	for _, want := range []string{
		"accuracy under noise of 1 model is not shown: it was measured with other settings than most",
		"these encodings differ in more than the encoding: lr 0.0001 (learn-0.2), lr 0.5 (rope)"} {
		if !slices.Contains(s.Notes, want) {
			t.Errorf("no %q in the notes %q", want, s.Notes)
		}
	}
}
