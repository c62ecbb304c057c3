package train

import (
	"fmt"
	"slices"
	"testing"
)

// epochs returns inputs whose shape is another in the last step of an epoch, where last is set.
func epochs(perEpoch int, last bool) func(step int) stepInputs {
	return func(step int) stepInputs {
		n := 4
		if last && step%perEpoch == perEpoch-1 {
			n = 3
		}
		index := slices.Repeat([]int64{int64(step)}, n)
		return stepInputs{examples: n, arrays: []hostArray{{name: "index", shape: []int{n}, ints: index}}}
	}
}

// Steps made together cover a run once and in order, have inputs of one shape, and end where the host
// has work to do; they are as many as these allow: between two such ends, of n steps of one shape,
// n/8 groups and n%8 single ones.
func TestStepsMadeTogether(t *testing.T) {
	for _, c := range []struct {
		pauses
		perEpoch int
		last     bool // batch of an epoch is smaller
		from     int
		groups   int // by hand
	}{
		{pauses{total: 64, recordEvery: 64, checkEvery: 256}, 64, false, 0, 8},
		{pauses{total: 128, recordEvery: 64, checkEvery: 256}, 64, true, 0, 14},
		{pauses{total: 128, recordEvery: 64, checkEvery: 256}, 64, true, 5, 7 + 7},
		{pauses{total: 128, recordEvery: 64, checkEvery: 256}, 64, true, 8, 6 + 7},
		{pauses{total: 600, recordEvery: 1000, checkEvery: 256}, 1000, false, 0, 32 + 32 + 11},
		{pauses{total: 600, recordEvery: 100, checkEvery: 256}, 1000, false, 0, 12 + 12 + 7 + 5 + 12 + 12 + 1 + 11},
		{pauses{total: 600, recordEvery: 7, checkEvery: 256}, 1000, false, 0, 0},
		{pauses{total: 40, recordEvery: 40, checkEvery: 1}, 40, false, 0, 0},
		{pauses{total: 40, recordEvery: 40, checkEvery: 256, stopAfter: 21}, 40, false, 0, 2},
		{pauses{total: 40, recordEvery: 40, checkEvery: 256, stopAfter: 21}, 40, false, 13, 1},
		{pauses{total: 40, recordEvery: 40, checkEvery: 256, stopAfter: 21}, 40, false, 30, 0},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			inputs := epochs(c.perEpoch, c.last)
			e := &ensemble{stepsAtATime: stepsPerGraph}
			e.buffers = &stepBuffers{variants: map[string]*stepVariant{}}
			e.buffers.inputs = prefetcher{make: inputs, ahead: stepsPerGraph}
			defer e.buffers.inputs.wait()
			groups := 0
			for made := c.from; made < c.total; {
				first := made
				for range eagerRuns { // of every variant, so that it counts as recorded
					e.variantOf(inputs(made)).runs++
				}
				_, batches := e.nextBatches(made, c.until(made))
				if len(batches) > 1 {
					groups++
				}
				for i, b := range batches {
					if b.arrays[0].ints[0] != int64(made) || b.shapes() != inputs(first).shapes() {
						t.Fatalf("the inputs of step %d are %v, in %d from step %d on", made, b, len(batches), first)
					}
					made++
					if i < len(batches)-1 && (c.checks(made) || c.stops(made)) {
						t.Fatalf("%d steps from %d on, and the host has work to do at %d", len(batches), first, made)
					}
				}
				if c.stops(made) {
					break
				}
			}
			if groups != c.groups {
				t.Errorf("%d groups of %d steps, want %d", groups, stepsPerGraph, c.groups)
			}
		})
	}
}

// A variant that is new comes step by step until it is recorded.
func TestNewStepsComeOneByOne(t *testing.T) {
	e := &ensemble{stepsAtATime: stepsPerGraph, buffers: &stepBuffers{variants: map[string]*stepVariant{}}}
	e.buffers.inputs = prefetcher{make: epochs(100, false), ahead: stepsPerGraph}
	defer e.buffers.inputs.wait()
	var sizes []int
	for made := 0; made < 30; {
		v, batches := e.nextBatches(made, 100)
		v.runs++
		made += len(batches)
		sizes = append(sizes, len(batches))
	}
	if want := []int{1, 1, 1, 8, 8, 8, 8}; !slices.Equal(sizes, want) {
		t.Errorf("steps at a time %v, want %v", sizes, want)
	}
}

// Inputs of any order of steps are those of the step, and no more than ahead are made beforehand.
func TestPrefetcher(t *testing.T) {
	var most int
	p := prefetcher{ahead: 3}
	p.make = func(step int) stepInputs {
		most = max(most, step)
		return epochs(5, true)(step)
	}
	for _, step := range []int{0, 1, 2, 7, 8, 3, 3, 0, 4} {
		for _, n := range []int{1, 4} {
			got := p.get(step, n)
			for i, in := range got {
				if in.arrays[0].ints[0] != int64(step+i) {
					t.Errorf("step %d of %d from %d: %v", i, n, step, in)
				}
			}
			if n == 1 && len(got) != 1 {
				t.Errorf("%d inputs for one", len(got))
			}
		}
		p.drop(1)
	}
	p.wait()
	if most > 8+4+3 {
		t.Errorf("inputs of step %d were made", most)
	}
	all := joined([]stepInputs{epochs(5, true)(1), epochs(5, true)(2)})
	if a := all.arrays[0]; all.examples != 8 || !slices.Equal(a.shape, []int{2, 4}) ||
		!slices.Equal(a.ints, []int64{1, 1, 1, 1, 2, 2, 2, 2}) || a.flags != nil || a.floats != nil {
		t.Errorf("joined: %+v", all)
	}
}
