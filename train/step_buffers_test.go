package train

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"torchpe/models/pe"
	"torchpe/torchpe"
	"torchpe/train/config"
)

// build returns the ensemble of a configuration on a thread of its own, as Run makes it, and what
// ends both.
func build(t testing.TB, c Config) (e *ensemble, end func()) {
	t.Helper()
	if err := c.Resolve(); err != nil {
		t.Fatal(err)
	}
	done, err := c.onDevice()
	if err != nil {
		t.Fatal(err)
	}
	task, err := newTask(c)
	if err == nil {
		e, err = newEnsemble(c, task)
	}
	if err != nil {
		done()
		t.Fatal(err)
	}
	return e, func() { e.close(); done() }
}

// after trains n steps and returns all parameters, the sums since the start, and the steps at which
// members stopped.
func after(t *testing.T, c Config, n int, how func(*ensemble)) (weights []float64, sums trainSums, stopped []int) {
	t.Helper()
	e, end := build(t, c)
	defer end()
	how(e)
	for made := 0; made < n; {
		more, err := e.steps(made, n-made, n)
		if err != nil {
			t.Fatalf("%s, step %d: %v", c.PE, made, err)
		}
		made += more
	}
	return readState(t, e)
}

// readState returns all parameters, the sums, and the steps at which members stopped.
func readState(t *testing.T, e *ensemble) (weights []float64, sums trainSums, stopped []int) {
	t.Helper()
	sums, err := e.buffers.sums()
	if err == nil {
		stopped, _, err = e.buffers.divergedAt()
	}
	if err != nil {
		t.Fatal(err)
	}
	s := torchpe.NewScopeNoGrad()
	defer s.Close()
	return e.model.Params.Flat(s).Float64s(), sums, stopped
}

// recorded trains as a GPU does: what never changes is brought to the device once, and a step, or two
// together, are recorded and replayed. What the host sends must be all that differs between steps.
func recorded(e *ensemble) { e.graphs, e.repeat, e.stepsAtATime = true, true, 2 }

// together does the same with as many steps together as a GPU is given.
func together(e *ensemble) { e.graphs, e.repeat, e.stepsAtATime = true, true, stepsPerGraph }

// oneByOne gives the device single steps that are not recorded.
func oneByOne(e *ensemble) { e.graphs, e.stepsAtATime = false, 1 }

// Every scheme trains the same with recorded steps, over epochs whose last batch is smaller.
func TestRecordedStepsOfEveryScheme(t *testing.T) {
	base := tiny(t, "learn")
	base.Batch, base.Layers = 120, 1
	for _, scheme := range pe.Schemes() {
		c := base
		c.PE = scheme.Name
		if !scheme.Learned {
			c.Members = slices.Clone(c.Members)
			for m := range c.Members {
				c.Members[m].Sigma = nil
			}
		}
		plain, sums, _ := after(t, c, 9, func(*ensemble) {})
		same, sumsToo, _ := after(t, c, 9, recorded)
		if !slices.Equal(plain, same) || !slices.Equal(sums.loss, sumsToo.loss) ||
			!slices.Equal(sums.correct, sumsToo.correct) || sums.examples != sumsToo.examples {
			t.Errorf("%s: recorded steps train otherwise: losses %v and %v", scheme.Name, sums, sumsToo)
		}
	}
}

// The same for masked prediction, with exact and independent masks, clipping, and a warm-up of the
// PE's own.
func TestRecordedStepsOfMaskedPrediction(t *testing.T) {
	for _, draw := range []string{config.ExactMask, config.BernoulliMask} {
		c := tinyMasked(t, "learn")
		c.Masked.Draw, c.ClipNorm, c.Schedule, c.PEWarmupSteps = draw, 0.1, config.Cosine, new(int)
		*c.PEWarmupSteps = 4
		plain, sums, _ := after(t, c, 8, func(*ensemble) {})
		same, sumsToo, _ := after(t, c, 8, recorded)
		if !slices.Equal(plain, same) || !slices.Equal(sums.loss, sumsToo.loss) {
			t.Errorf("%s masks: recorded steps train otherwise: %v and %v", draw, sums, sumsToo)
		}
	}
}

// On a GPU no operator of a step may read from the device, for that waits for it and cannot be
// recorded. libtorch's operators that do so on a GPU call one of these there and here.
func TestStepsReadNothing(t *testing.T) {
	reads := []string{"aten::_local_scalar_dense", "aten::nonzero", "aten::masked_select", "aten::equal",
		"unique", "multinomial", "bincount",
		"repeat_interleave", "linalg", "cholesky", "embedding_dense_backward"}
	check := func(c Config) {
		t.Helper()
		e, end := build(t, c)
		defer end()
		recorded(e)
		var calls map[string]int
		for step := range eagerRuns + 1 {
			calls = torchpe.Operators(func() {
				if err := e.step(step, eagerRuns+1); err != nil {
					t.Fatalf("%s, step %d: %v", c.PE, step, err)
				}
			})
		}
		if calls["aten::sum"] == 0 {
			t.Fatalf("%s %s: a step of %v", c.Task, c.PE, calls)
		}
		// on the CPU alone it looks for classes out of range
		calls["aten::_local_scalar_dense"] -= 2 * calls["aten::one_hot"]
		for name, n := range calls {
			if n != 0 && slices.ContainsFunc(reads, func(r string) bool { return strings.Contains(name, r) }) {
				t.Errorf("%s %s: a step calls %s", c.Task, c.PE, name)
			}
		}
	}
	for _, scheme := range pe.Schemes() {
		c := tiny(t, scheme.Name)
		c.Layers = 1
		check(c)
		if m := tinyMasked(t, scheme.Name); scheme.Needs == pe.NeedsOrder {
			m.Layers = 1
			check(m)
		}
	}
}

// A member whose loss is not finite is left as it was before that step by the device itself, and
// the others go on.
func TestDeviceStopsMembers(t *testing.T) {
	c := tiny(t, "learn")
	c.Members[1].LR, c.Optimizer = 1e6, string(torchpe.SGD)
	weights, sums, stopped := after(t, c, 12, recorded)
	alone := c
	alone.Members = c.Members[:1]
	want, wantSums, _ := after(t, alone, 12, recorded)
	if !slices.Equal(weights[:len(want)], want) || sums.loss[0] != wantSums.loss[0] {
		t.Error("the member that goes on is not what it is alone")
	}
	if stopped[0] != 0 || stopped[1] < 2 || stopped[1] > 12 { // beyond: stopped more than once
		t.Fatalf("stopped at %v", stopped)
	}
	until, _, _ := after(t, c, stopped[1]-1, recorded)
	if !slices.EqualFunc(weights[len(want):], until[len(want):], func(a, b float64) bool {
		return a == b ||
			a != a && b != b
	}) {
		t.Error("the member that stopped changed after that")
	}
}

// sameState fails a test unless two trainings have the same bits; not a number is the same as that.
func sameState(t *testing.T, what string, a, b func() ([]float64, trainSums, []int)) {
	t.Helper()
	same := func(x, y []float64) bool {
		return slices.EqualFunc(x, y, func(x, y float64) bool { return x == y || x != x && y != y })
	}
	weights, sums, stopped := a()
	weightsToo, sumsToo, stoppedToo := b()
	if !same(weights, weightsToo) || !same(sums.loss, sumsToo.loss) || !same(sums.correct, sumsToo.correct) ||
		sums.examples != sumsToo.examples || !slices.Equal(stopped, stoppedToo) {
		t.Errorf("%s: other bits: %v, stopped at %v; %v, stopped at %v", what, sums, stopped, sumsToo, stoppedToo)
	}
}

// groupsOfSteps returns configurations whose steps differ in what the host sends: epochs with a
// smaller last batch, drawn positions, PE settings of their own, clipping, schedules with a warm-up,
// and a member that diverges in the middle of eight steps.
func groupsOfSteps(t *testing.T) map[string]Config {
	t.Helper()
	groups := tiny(t, "learn")
	groups.Schedule, groups.WarmupSteps, groups.PEWarmupSteps, groups.ClipNorm = config.Cosine, 7, of(13), 0.1
	groups.Members[0].PELR, groups.Members[1].PEWeightDecay = of(0.05), of(0.3)
	drawn := tiny(t, "random")
	drawn.PEOptions = map[string]string{"random": "ruoss"}
	for m := range drawn.Members {
		drawn.Members[m].Sigma = nil
	}
	diverges := tiny(t, "learn")
	diverges.Optimizer, diverges.Schedule, diverges.WarmupSteps = string(torchpe.SGD), config.Linear, 30
	diverges.Members[1].LR = 150 // at step 15, counted from 1: steps 11 to 18 are made together
	masked := tinyMasked(t, "learn")
	masked.Masked.Draw = config.BernoulliMask
	return map[string]Config{"settings of groups": groups, "drawn positions": drawn, "a member that diverges": diverges,
		"masks": masked}
}

// Steps that the device is given together are those one by one, in the same bits, wherever groups
// begin.
func TestStepsTogether(t *testing.T) {
	for name, c := range groupsOfSteps(t) {
		alone := func() ([]float64, trainSums, []int) { return after(t, c, 33, oneByOne) }
		sameState(t, name, alone, func() ([]float64, trainSums, []int) { return after(t, c, 33, together) })
		for first := 1; first < stepsPerGraph; first += 3 { // these and nine more are single steps
			sameState(t, fmt.Sprint(name, ", from step ", first+9), alone, func() ([]float64, trainSums, []int) {
				e, end := build(t, c)
				defer end()
				together(e)
				groups := 0
				for made := 0; made < 33; {
					most := 33 - made
					if made < first+9 {
						most = 1
					}
					more, err := e.steps(made, most, 33)
					if err != nil {
						t.Fatal(err)
					}
					if made += more; more > 1 {
						groups++
					}
				}
				if groups == 0 {
					t.Errorf("%s: no steps are made together", name)
				}
				return readState(t, e)
			})
		}
	}
	_, _, stopped := after(t, groupsOfSteps(t)["a member that diverges"], 33, together)
	if stopped[1] < 12 || stopped[1] > 17 {
		t.Errorf("a member diverged at step %d, not in the middle of steps 11 to 18 as it should", stopped[1])
	}
}

// Where the device had too little memory beside recorded steps, the others come one by one, in the
// same bits.
func TestStepsTogetherOutOfMemory(t *testing.T) {
	c := tinyMasked(t, "learn")
	sameState(t, "out of memory", func() ([]float64, trainSums, []int) { return after(t, c, 33, oneByOne) },
		func() ([]float64, trainSums, []int) {
			e, end := build(t, c)
			defer end()
			together(e)
			var sizes []int
			for made := 0; made < 33; {
				if made == 11 {
					calls := 0
					err := e.retryAfterOOM(func() error {
						if calls++; calls == 1 {
							return errors.New("CUDA out of memory")
						}
						return nil
					})
					if err != nil || calls != 2 {
						t.Fatalf("%d calls: %v", calls, err)
					}
				}
				more, err := e.steps(made, 33-made, 33)
				if err != nil {
					t.Fatal(err)
				}
				made += more
				sizes = append(sizes, more)
			}
			if want := append([]int{1, 1, 1, 8}, slices.Repeat([]int{1}, 22)...); !slices.Equal(sizes, want) {
				t.Errorf("steps at a time %v, want %v", sizes, want)
			}
			return readState(t, e)
		})
}
