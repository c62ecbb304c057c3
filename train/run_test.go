package train

import (
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/models/pe"
	"torchpe/train/config"
	"torchpe/train/runlog"
)

// Members together equal the same alone, each with its own draws of samples, masks, symbols and noise:
// their weights to 1e-9 in float64, and what is measured.
func TestEnsembleEqualsItsMembers(t *testing.T) {
	three := tiny(t, "learn")
	three.LimitSteps, three.Members = 200, []Member{{Seed: 1, Sigma: new(0.2), LR: 1e-3},
		{Seed: 2, Sigma: new(1.0), LR: 1e-4, WeightDecay: 0.1}, {Seed: 3, Sigma: new(0.5), LR: 3e-4}}
	three.Epochs = 25 // of 9 steps
	independent := tinyMasked(t, "learn")
	independent.Masked.Draw = config.BernoulliMask
	for name, c := range map[string]Config{"three": three, "other sizes": tinySizes(t, "t5"),
		"exact masks": tinyMasked(t, "learn"), "independent masks": independent,
		"sequence": tinySequence(t, "binary-addition", "learn")} {
		c.DType = "float64"
		together, result := runTiny(t, c)
		for e := range c.Members {
			one := c
			one.Members = c.Members[e : e+1]
			alone, own := runTiny(t, one)
			compareMember(t, fmt.Sprint(name, ", member ", e), checkpointOf(t, together), checkpointOf(t, alone), e)
			for key, want := range own.Members[0].Measures {
				what := fmt.Sprintf("%s, member %d: %s together and alone", name, e, key)
				expect.Near(t, what, result.Members[e].Measures.Get(key), want, 1e-9)
			}
		}
	}
}

// compareMember compares the weights of a member with those that it has alone.
func compareMember(t *testing.T, what string, together, alone *runlog.Checkpoint, e int) {
	t.Helper()
	for _, name := range alone.Names() {
		if !strings.HasPrefix(name, "w/") {
			continue
		}
		all, one := floats(t, together, name), floats(t, alone, name)
		for i, want := range one {
			if got := all[e*len(one)+i]; !(math.Abs(got-want) <= 1e-9) {
				t.Errorf("%s: %s[%d] is %g together and %g alone", what, name, i, got, want)
				break
			}
		}
	}
}

// A member whose loss is not finite stops at that step with its last finite weights; the others go
// on as if alone.
func TestDivergedMemberStops(t *testing.T) {
	c := tiny(t, "learn")
	c.Optimizer, c.Epochs, c.Dropout = "sgd", 2, 0
	c.Members[0].LR, c.Members[1].LR = 1e6, 1e-3
	dir := filepath.Join(t.TempDir(), "run")
	heard := &listener{}
	result := expect.Must(Run(t.Context(), c, dir, Options{Observer: heard}))
	bad, good := result.Members[0], result.Members[1]
	if bad.Status != runlog.StatusDiverged || bad.DivergedAtStep < 2 ||
		bad.Steps != bad.DivergedAtStep-1 || bad.Epochs != bad.Steps/9 || !math.IsNaN(bad.Measures.Get("validation")) {
		t.Errorf("the member with learning rate 1e6: %+v", bad)
	}
	if good.Status != runlog.StatusDone || good.Steps != 18 || math.IsNaN(good.Measures.Get("validation")) {
		t.Errorf("the other member: %+v", good)
	}
	said := regexp.MustCompile(fmt.Sprintf(`seed 5\) diverged: its loss at step %d is (NaN|\+Inf);`,
		bad.DivergedAtStep))
	if len(heard.notices) != 1 || !said.MatchString(heard.notices[0]) {
		t.Errorf("notices: %q", heard.notices)
	}
	for _, short := range []int{1, 0} { // a run that ends one step before is done
		c.LimitSteps = bad.DivergedAtStep - short
		_, result := runTiny(t, c)
		expect.Equal(t, result.Members[0], result.Members[0].Status == runlog.StatusDone, short == 1)
	}
	ck := checkpointOf(t, dir)
	for _, name := range ck.Names() {
		if slices.ContainsFunc(floats(t, ck, name), func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }) {
			t.Errorf("%s holds values that are not finite", name)
		}
	}
}

// A tiny model learns its training set by heart: the loop trains.
func TestTrainingLearns(t *testing.T) {
	c := tiny(t, "2d-fixed")
	c.Members = c.Members[:1]
	c.Members[0].LR = 3e-3
	c.DModel, c.Epochs, c.Dropout, c.Until = 32, 120, 0, "train=0.9"
	c.PEOptions = map[string]string{"fixed-pe-dropout": "0"}
	dir, result := runTiny(t, c)
	seconds := 0.0
	for _, r := range recordsOf(t, dir) {
		if r.WallSeconds <= seconds || r.StepMS <= 0 {
			t.Errorf("step %d after %g seconds, with %g ms a step", r.Step, r.WallSeconds, r.StepMS)
		}
		seconds = r.WallSeconds
	}
	if result.WallSeconds < seconds || result.StepsPerSecond <= 0 || result.PeakRSSMB <= 0 {
		t.Errorf("%g seconds, %g steps a second, %g MB", result.WallSeconds, result.StepsPerSecond, result.PeakRSSMB)
	}
	if m := result.Members[0]; !m.Fit.Reached {
		t.Errorf("train accuracy %.3f after %d epochs of 270 puzzles", m.Measures["train"], m.Epochs)
	}
}

// Every scheme trains, one in the code's reading and the next in the text's, and its run directory says so.
func TestEverySchemeTrains(t *testing.T) {
	for i, name := range pe.Names() {
		fidelity := []string{"code", "text"}[i%2]
		preset := expect.Must(Preset("quick", fidelity))
		c := tiny(t, name)
		c.Fidelity, c.TokenInput, c.ReadOut = fidelity, preset.TokenInput, preset.ReadOut
		c.LimitSteps, c.Noise = 3, nil
		result, err := Run(t.Context(), c, filepath.Join(t.TempDir(), "run"), Options{})
		if err != nil {
			t.Errorf("%s, %s: %v", name, fidelity, err)
			continue
		}
		if m := result.Members[0]; m.PE != name || m.Steps != 3 || math.IsNaN(m.Measures.Get("validation")) ||
			len(m.Measures.Of("validation")) != 3 {
			t.Errorf("%s, %s: %+v", name, fidelity, m)
		}
	}
}

func TestRate(t *testing.T) { // closed forms
	for _, c := range []struct {
		schedule            string
		step, warmup, total int
		want                float64
	}{
		{config.Constant, 0, 0, 100, 1}, {config.Constant, 99, 0, 100, 1}, {config.Constant, 0, 10,
			100, 0.1}, {config.Constant, 9, 10, 100, 1},
		{config.Linear, 0, 0, 100, 1}, {config.Linear, 50, 0, 100, 0.5}, {config.Linear, 55, 10,
			100, 0.5}, {config.Linear, 100, 0, 100, 0},
		{config.Cosine, 0, 0, 100, 1}, {config.Cosine, 50, 0, 100, 0.5}, {config.Cosine, 25, 0, 100,
			(1 + math.Sqrt2/2) / 2}, {
			config.Cosine, 5, 10, 100, 0.6},
	} {
		expect.Near(t, fmt.Sprintf("scheduleFactor(%s, %d, %d, %d)", c.schedule, c.step, c.warmup, c.total),
			scheduleFactor(c.schedule, c.step, c.warmup, c.total), c.want, 1e-12)
	}
}

// The schedule of a limited run is that of the whole one.
func TestLimitKeepsSchedule(t *testing.T) {
	c := tiny(t, "learn")
	c.Epochs, c.LogEvery, c.Schedule, c.Noise = 3, 1, config.Cosine, nil
	whole, _ := runTiny(t, c)
	first := memberRecords(t, whole, 0)[0]
	c.LimitSteps = int(first["step"].(float64))
	limited, _ := runTiny(t, c)
	if last := memberRecords(t, limited, 0)[0]; last["step"] != first["step"] ||
		!reflect.DeepEqual(last["measures"], first["measures"]) {
		t.Errorf("%v, the whole run has %v", last, first)
	}
}
