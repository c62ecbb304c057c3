package paper

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"torchpe/report/figure"
	"torchpe/report/runs"
	"torchpe/train/config"
	"torchpe/train/runlog"
)

// A model has fitted where its run says so, or without a criterion at a training accuracy of .99;
// groups with others have a star, and their dots are hollow.
func TestFitMarks(t *testing.T) {
	g := made("a", nil, .5, .5, .5, .5, .5)
	for i, c := range []struct {
		accuracy float64
		fit      *runlog.Fit
	}{{.99, nil}, {.9899, nil}, {.2, &runlog.Fit{Reached: true}}, {1, &runlog.Fit{}}, {.5, nil}} {
		g.Models[i].Result.TrainAccuracy, g.Models[i].Result.Fit = c.accuracy, c.fit
	}
	if want := []bool{false, true, false, true, true}; !slices.Equal(g.hollow(), want) {
		t.Errorf("hollow %v, want %v", g.hollow(), want)
	}
	if g.fittedText() != "2 of 5" || g.name() != "a*" {
		t.Errorf("%s: %s", g.name(), g.fittedText())
	}
	g.Models = []Model{g.Models[0], g.Models[2]}
	if g.fittedText() != "2 of 2" || g.name() != "a" || slices.Contains(g.hollow(), true) {
		t.Errorf("%s: %s, hollow %v", g.name(), g.fittedText(), g.hollow())
	}
}

// The sentence counts models that have fitted, and gives the range of accuracies of those that have
// not alone.
func TestFitNote(t *testing.T) {
	accurate := func(g group, training, iid float64, at ...int) group {
		for _, i := range at {
			g.Models[i].Result.TrainAccuracy, g.Models[i].Result.IIDAccuracy = training, iid
		}
		return g
	}
	sigma := .2
	a := accurate(accurate(made("", nil, .9, .8, .7), .314, .2, 0), .361, math.NaN(), 2)
	b := accurate(made("", nil, .9), .5, math.NaN(), 0)
	for i := range a.Models {
		a.Models[i].Run.Config.PE = "nope"
	}
	b.Models[0].Run.Config.PE, b.Models[0].Member.Sigma = "learn", &sigma
	fine := made("", nil, .1, .2)
	if got, want := fitNote(fine.Models), " 2 of 2 models have fitted their training puzzles "+
		"(train=0.99)."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	const rest = " Not fitted, marked *, so that their validation accuracy says nothing about " +
		"generalisation: "
	for want, models := range map[string][]Model{
		" 1 of 4 models has fitted their training puzzles (train=0.99)." + rest +
			"learn-0.2 1 of 1 (training accuracy .50, IID not measured); nope 2 of 3 (training " +
			"accuracy .31 to .36, IID .20).": slices.Concat(b.Models, a.Models),
		" 0 of 1 model has fitted their training puzzles (loss=0.1)." + rest +
			"learn-0.2 1 of 1 (training accuracy .50, IID not measured).": {withFit(b.Models[0],
			&runlog.Fit{Criterion: "loss=0.1"})},
	} {
		if got := fitNote(models); got != want {
			t.Errorf("%q,\nwant %q", got, want)
		}
	}
	// SGD and Adam of one σ and learning rate count apart.
	both := slices.Concat(b.Models, []Model{b.Models[0]})
	both[0].identity, both[1].identity = map[string]string{"optimizer": "sgd"}, map[string]string{"optimizer": "adam"}
	if got, want := fitNote(both), "learn-0.2 (optimizer sgd) 1 of 1 (training accuracy .50, IID not measured); "+
		"learn-0.2 (optimizer adam) 1 of 1"; !strings.Contains(got, want) {
		t.Errorf("%q, want %q in it", got, want)
	}
	masked := made("", nil, .1)
	masked.Models[0].Run.Config.Masked = &config.MaskedConfig{}
	if got := fitNote(masked.Models); got != "" {
		t.Errorf("of masked prediction: %q", got)
	}
	if got := fitNote(nil); got != "" {
		t.Errorf("of nothing: %q", got)
	}
}

func withFit(m Model, f *runlog.Fit) Model {
	m.Result.Fit = f
	return m
}

// Boxes have their hollow dots and signs from their own group, in the order of the boxes, of which
// a group without the measure has none.
func TestValidationBoxes(t *testing.T) {
	a, b, c := made("learn-0.1", nil, .9, .7), made("learn-1.0", nil, math.NaN()),
		made("learn-2.0", nil, .3)
	a.Sigma, b.Sigma, c.Sigma = .1, 1, 2
	a.Models[0].Result.TrainAccuracy, a.Models[1].Result.IIDAccuracy = .6, .4 // means .8 and .65
	drawn := validationBoxes("title", []group{a, b, c}, true).(figure.Boxes)
	if len(drawn.Groups) != 2 || drawn.Groups[0].Label != "0.1*" || drawn.Groups[1].Label != "2" {
		t.Fatalf("%+v", drawn)
	}
	for i, want := range []figure.Group{
		{ColorOf: "learn-0.1", Values: []float64{.9, .7}, Hollow: []bool{true, false},
			Beside: []float64{.8, .65}},
		{ColorOf: "learn-2.0", Values: []float64{.3}, Hollow: []bool{false},
			Beside: []float64{1, .9}},
	} {
		got := drawn.Groups[i]
		if got.ColorOf != want.ColorOf || !slices.Equal(got.Values, want.Values) ||
			!slices.Equal(got.Hollow, want.Hollow) ||
			!floatsNear(got.Beside, want.Beside) {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	if p := validationBoxes("title", []group{b}, true); p != nil {
		t.Errorf("boxes of nothing: %+v", p)
	}
}

// The accuracy at a training accuracy lies on the line between the records about it: the first that
// reaches it and the one before.
func TestAtTraining(t *testing.T) {
	nan := math.NaN()
	at := func(records [][3]float64, levels ...float64) (validation, iid []float64) {
		var all []runlog.Record
		for _, r := range records {
			all = append(all, runlog.Record{TrainAccuracy: r[0], ValidationAccuracy: r[1],
				IIDAccuracy: r[2]})
		}
		return atTraining(all, levels)
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
	share := .25
	full := &runlog.PEMotion{Moved: []float64{1, 2, 6}, GradientShare: &share,
		Disparity: []float64{.5, .7}, Cosine: []float64{-.2},
		StartCosine: []float64{9}}
	for i, want := range []struct {
		name  string
		value float64
	}{{"moved", 3}, {"gradient_share", .25}, {"disparity", .6}, {"cosine", -.2}} {
		m := motionMeasures[i]
		if m.name != want.name || !floatsNear([]float64{m.of(full)}, []float64{want.value}) {
			t.Errorf("%s is %v, want %v", m.name, m.of(full), want)
		}
		if v := m.of(nil); !math.IsNaN(v) {
			t.Errorf("%s of nothing is %v", m.name, v)
		}
		if v := m.of(&runlog.PEMotion{}); !math.IsNaN(v) {
			t.Errorf("%s that was not recorded is %v", m.name, v)
		}
	}
}

// A model that has stopped keeps its last value; another ends, and a gap stays a gap.
func TestStoppedModelsStay(t *testing.T) {
	stopped := runs.Model{Run: &runs.Run{}}
	stopped.Run.Config.Until = "train=0.99"
	stopped.Result.Fit = &runlog.Fit{Reached: true}
	unfitted, free := stopped, stopped
	unfitted.Result.Fit = &runlog.Fit{}
	free.Run = &runs.Run{}
	for _, c := range []struct {
		m    runs.Model
		want string
	}{{stopped, "[1 NaN 3 3 3]"}, {unfitted, "[1 NaN 3 NaN NaN]"}, {free, "[1 NaN 3 NaN NaN]"}} {
		got := runs.Curve([]float64{10, 20, 30, 40, 50}, map[int]float64{10: 1, 30: 3}, c.m.HasStopped())
		if fmt.Sprint(got) != c.want {
			t.Errorf("until %q, reached %v: %v, want %s", c.m.Run.Config.Until, c.m.Result.Fit.Reached, got, c.want)
		}
	}
}
