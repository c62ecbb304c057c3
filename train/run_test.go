package train

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/models/pe"
	"torchpe/train/config"
	"torchpe/train/runlog"
)

// Three members together equal the same three alone: weights after 200 steps in float64 to 1e-9.
func TestEnsembleEqualsItsMembers(t *testing.T) {
	c := tiny(t, "learn")
	c.DType, c.Epochs, c.Dropout = "float64", 25, 0.1 // 9 steps an epoch
	c.LimitSteps = 200
	s := []float64{0.2, 1, 0.5}
	c.Members = []Member{{Seed: 1, Sigma: &s[0], LR: 1e-3},
		{Seed: 2, Sigma: &s[1], LR: 1e-4, WeightDecay: 0.1}, {Seed: 3, Sigma: &s[2], LR: 3e-4}}
	equalsItsMembers(t, c)
}

// equalsItsMembers trains a configuration, then each of its members alone, and compares the
// weights.
func equalsItsMembers(t *testing.T, c Config) {
	t.Helper()
	together := filepath.Join(t.TempDir(), "together")
	if _, err := Run(context.Background(), c, together, Options{}); err != nil {
		t.Fatal(err)
	}
	all := c.Members
	for e, m := range all {
		c.Members = []Member{m}
		alone := filepath.Join(t.TempDir(), "alone")
		if _, err := Run(context.Background(), c, alone, Options{}); err != nil {
			t.Fatal(err)
		}
		compareMember(t, together, alone, e, len(all))
	}
}

func compareMember(t *testing.T, together, alone string, e, members int) {
	t.Helper()
	open := func(dir string) *runlog.Checkpoint {
		r, err := runlog.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		c, err := r.LoadCheckpoint()
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	a, b := open(together), open(alone)
	for _, name := range b.Names() {
		if !strings.HasPrefix(name, "w/") {
			continue
		}
		x, _ := a.Tensor(name)
		y, _ := b.Tensor(name)
		all, err := x.Float64s()
		if err != nil {
			t.Fatal(err)
		}
		one, err := y.Float64s()
		if err != nil {
			t.Fatal(err)
		}
		if len(all) != members*len(one) {
			t.Fatalf("%s: %d values together, %d alone", name, len(all), len(one))
		}
		for i, want := range one {
			if got := all[e*len(one)+i]; !(math.Abs(got-want) <= 1e-9) {
				t.Errorf("member %d: %s[%d] is %g together and %g alone", e, name, i, got, want)
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
	result, err := Run(context.Background(), c, dir, Options{Observer: heard})
	if err != nil {
		t.Fatal(err)
	}
	bad, good := result.Members[0], result.Members[1]
	if bad.Status != runlog.StatusDiverged || bad.DivergedAtStep < 2 ||
		bad.Steps != bad.DivergedAtStep-1 || bad.Epochs != bad.Steps/9 || !math.IsNaN(bad.Measures.Get("validation")) {
		t.Errorf("the member with learning rate 1e6: %+v", bad)
	}
	if good.Status != runlog.StatusDone || good.Steps != 18 || math.IsNaN(good.Measures.Get("validation")) {
		t.Errorf("the other member: %+v", good)
	}
	if len(heard.notices) != 1 || !strings.Contains(heard.notices[0], fmt.Sprintf("seed 5) diverged: "+
		"its loss at step %d ", bad.DivergedAtStep)) {
		t.Errorf("notices: %q", heard.notices)
	}
	for _, short := range []int{1, 0} { // a run that ends one step before is done
		c.LimitSteps = bad.DivergedAtStep - short
		result, err := Run(context.Background(), c, filepath.Join(t.TempDir(), "run"), Options{})
		if err != nil || (result.Members[0].Status == runlog.StatusDone) != (short == 1) {
			t.Errorf("diverged at step %d; after %d steps: %+v, %v", bad.DivergedAtStep, c.LimitSteps,
				result.Members[0], err)
		}
	}
	r, err := runlog.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ck, err := r.LoadCheckpoint()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range ck.Names() {
		x, _ := ck.Tensor(name)
		values, err := x.Float64s()
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(values, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }) {
			t.Errorf("%s holds values that are not finite", name)
		}
	}
}

// A tiny model learns its training set by heart: the loop trains.
func TestTrainingLearns(t *testing.T) {
	for _, name := range []string{"learn", "2d-fixed"} {
		c := tiny(t, name)
		c.Members = c.Members[:1]
		c.Members[0].LR = 3e-3
		c.DModel, c.Epochs, c.Dropout, c.Until = 32, 120, 0, "train=0.9"
		c.PEOptions = map[string]string{"fixed-pe-dropout": "0"}
		result, err := Run(context.Background(), c, filepath.Join(t.TempDir(), "run"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if m := result.Members[0]; !m.Fit.Reached {
			t.Errorf("%s: train accuracy %.3f after %d epochs of 270 puzzles", name, m.Measures["train"], m.Epochs)
		}
	}
}

// Every scheme trains, one in the code's reading and the next in the text's, and its run directory says so.
func TestEverySchemeTrains(t *testing.T) {
	for i, name := range pe.Names() {
		fidelity := []string{"code", "text"}[i%2]
		preset, err := Preset("quick", fidelity)
		if err != nil {
			t.Fatal(err)
		}
		c := tiny(t, name)
		c.Fidelity, c.TokenInput, c.ReadOut = fidelity, preset.TokenInput, preset.ReadOut
		c.LimitSteps, c.Noise = 3, nil
		result, err := Run(context.Background(), c, filepath.Join(t.TempDir(), "run"), Options{})
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
		if got := scheduleFactor(c.schedule, c.step, c.warmup, c.total); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("scheduleFactor(%s, %d, %d, %d) = %g, want %g", c.schedule, c.step, c.warmup,
				c.total, got, c.want)
		}
	}
}
