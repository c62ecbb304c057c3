package train

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/models/pe"
	"torchpe/torchpe"
	"torchpe/train/config"
)

// build returns the ensemble of a configuration on a thread of its own, as Run makes it, and what
// ends both.
func build(t testing.TB, c Config) (e *ensemble, end func()) {
	t.Helper()
	expect.NoError(t, c.Resolve())
	done := expect.Must(c.onDevice())
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

// started returns the ensemble of a configuration until the end of the test.
func started(t testing.TB, c Config) *ensemble {
	t.Helper()
	e, end := build(t, c)
	t.Cleanup(end)
	return e
}

// atStep calls f with the loss of a model at the inputs of a step.
func atStep(t *testing.T, e *ensemble, step int, in stepInputs, f func(s *torchpe.Scope, loss stepLoss)) {
	t.Helper()
	expect.NoError(t, torchpe.Catch(func() {
		s := e.resident.Child()
		defer s.Close()
		s.Seed(e.seeds, step)
		places := allocateInputs(s, e.device, in)
		places.write(in)
		f(s, e.task.loss(e, s, places))
	}))
}

// after trains n steps and returns all parameters, the sums since the start, and the steps at which
// members stopped.
func after(t *testing.T, c Config, n int, how func(*ensemble)) (weights []float64, sums trainSums, stopped []int) {
	t.Helper()
	e, end := build(t, c)
	defer end()
	how(e)
	for step := range n {
		if err := e.step(step, n); err != nil {
			t.Fatalf("%s, step %d: %v", c.PE, step, err)
		}
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
	expect.NoError(t, err)
	s := torchpe.NewScopeNoGrad()
	defer s.Close()
	return e.model.Params.Flat(s).Float64s(), sums, stopped
}

// recorded trains as a GPU does: what never changes is brought to the device once, and a step is
// recorded and replayed. What the host sends must be all that differs between steps.
func recorded(e *ensemble) { e.graphs, e.repeat = true, true }

// eager makes steps that are not recorded.
func eager(e *ensemble) { e.graphs = false }

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
		if m := tinyMasked(t, scheme.Name); scheme.Needs <= pe.NeedsOrder {
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

// variedSteps returns configurations whose steps differ in what the host sends: epochs with a smaller
// last batch, drawn positions, PE settings of their own, clipping, schedules with a warm-up, and a
// member that diverges.
func variedSteps(t *testing.T) map[string]Config {
	t.Helper()
	groups := tiny(t, "learn")
	groups.Schedule, groups.WarmupSteps, groups.PEWarmupSteps, groups.ClipNorm = config.Cosine, 7, new(13), 0.1
	groups.Members[0].PELR, groups.Members[1].PEWeightDecay = new(0.05), new(0.3)
	drawn := tiny(t, "random")
	drawn.PEOptions = map[string]string{"random": "ruoss"}
	for m := range drawn.Members {
		drawn.Members[m].Sigma = nil
	}
	diverges := tiny(t, "learn")
	diverges.Optimizer, diverges.Schedule, diverges.WarmupSteps = string(torchpe.SGD), config.Linear, 30
	diverges.Members[1].LR = 150 // at step 15, counted from 1
	masks, exact := tinyMasked(t, "learn"), tinyMasked(t, "learn")
	masks.Masked.Draw = config.BernoulliMask
	exact.ClipNorm, exact.Schedule, exact.PEWarmupSteps = 0.1, config.Cosine, new(4)
	return map[string]Config{"settings of groups": groups, "drawn positions": drawn, "a member that diverges": diverges,
		"independent masks": masks, "exact masks": exact}
}

// Recorded steps are those that are not recorded, in the same bits: with every scheme, over epochs whose last
// batch is smaller; with lengths that differ between steps; and whatever else the host sends.
func TestRecordedStepsEqualEager(t *testing.T) {
	check := func(name string, c Config, steps int) {
		t.Helper()
		sameState(t, name, func() ([]float64, trainSums, []int) { return after(t, c, steps, eager) },
			func() ([]float64, trainSums, []int) { return after(t, c, steps, recorded) })
	}
	for _, scheme := range pe.Schemes() {
		c := tiny(t, scheme.Name)
		c.Batch, c.Layers = 120, 1
		check(scheme.Name, c, 9)
	}
	for _, scheme := range []string{"learn", "t5", "rope", "random", "cape"} {
		c := tinySequence(t, "missing-duplicate", scheme)
		if scheme == "random" {
			c.PEOptions = pe.Options{"random": "ruoss", "random-base": "transformer-xl"}
		}
		check("sequences "+scheme, c, 20)
	}
	for name, c := range variedSteps(t) {
		check(name, c, 33)
	}
	_, _, stopped := after(t, variedSteps(t)["a member that diverges"], 33, recorded)
	if stopped[1] < 12 || stopped[1] > 17 {
		t.Errorf("a member diverged at step %d, not among those that are recorded as it should", stopped[1])
	}
}

// Where the device had too little memory beside recorded steps, they are recorded anew, and the bits
// are the same.
func TestRecordedStepsOutOfMemory(t *testing.T) {
	c := tinyMasked(t, "learn")
	outOfMemoryAt11 := func() ([]float64, trainSums, []int) {
		e := started(t, c)
		recorded(e)
		for step := range 33 {
			if step == 11 {
				calls := 0
				err := e.retryAfterOOM(func() error {
					if calls++; calls == 1 {
						return errors.New("CUDA out of memory")
					}
					return nil
				})
				expect.NoError(t, err)
				expect.Equal(t, "calls", calls, 2)
			}
			expect.NoError(t, e.step(step, 33))
			for _, v := range e.buffers.variants {
				// of the runs since the last recording, the fourth is recorded
				expect.Equal(t, fmt.Sprint("recorded after step ", step), v.graph != nil, v.runs > eagerRuns)
			}
		}
		return readState(t, e)
	}
	sameState(t, "out of memory", func() ([]float64, trainSums, []int) { return after(t, c, 33, eager) },
		outOfMemoryAt11)
}

// Inputs of any order of steps are those of the step, and one step is made beforehand.
func TestPrefetcher(t *testing.T) {
	var last int // that was made
	p := prefetcher{make: func(step int) stepInputs {
		last = step
		return stepInputs{examples: step}
	}}
	for _, step := range []int{0, 1, 2, 7, 8, 3, 3, 0, 4} {
		expect.Equal(t, "inputs", p.get(step).examples, step)
	}
	p.wait()
	if last > 4+2 {
		t.Errorf("inputs of step %d were made", last)
	}
}
