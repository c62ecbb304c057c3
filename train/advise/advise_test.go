package advise

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
)

func TestRungs(t *testing.T) {
	for _, c := range []struct {
		n, length int
		want      []Rung
		cost      int // by hand
	}{
		{1, 7, []Rung{{7, 1}}, 14},
		{2, 100, []Rung{{10, 2}, {20, 2}, {40, 2}, {100, 1}}, 3*40 + 2*60},
		{3, 100, []Rung{{10, 3}, {20, 2}, {40, 2}, {100, 1}}, 4*10 + 3*30 + 2*60},
		{12, 500, []Rung{{50, 12}, {100, 6}, {200, 3}, {500, 1}}, 13*50 + 7*50 + 4*100 + 2*300},
		{26, 529, []Rung{{52, 26}, {104, 13}, {208, 7}, {529, 1}}, 27*52 + 14*52 + 8*104 + 2*321},
	} {
		got, err := Rungs(c.n, c.length)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%d candidates, length %d: %v, %v; want %v", c.n, c.length, got, err, c.want)
		}
		if cost := Cost(got); cost != c.cost {
			t.Errorf("%v: cost %d, want %d", got, cost, c.cost)
		}
	}
	if _, err := Rungs(13, 9); err == nil {
		t.Error("9 epochs have a tenth")
	}
}

// Of 20 error curves with noise of seeds, the choice is within a standard error of the best at the
// end, for less than a third of the grid; the noise of a seed is the same for all candidates, so that
// pairs take it out.
func TestChooseOfCurves(t *testing.T) {
	const candidates, seeds, length = 20, 5, 1000
	r := rand.New(rand.NewPCG(3, 7))
	final, speed := make([]float64, candidates), make([]float64, candidates)
	for c := range final {
		final[c], speed[c] = 0.2+0.02*float64(c), 40+20*r.Float64()
	}
	shared := make([]float64, seeds)
	for s := range shared {
		shared[s] = 0.05 * r.NormFloat64()
	}
	trained := make([]int, candidates)
	rungs, err := Rungs(candidates-1, length)
	if err != nil {
		t.Fatal(err)
	}
	const baseline = 7
	a, err := Choose(rungs, candidates, baseline, func(c, length int) ([]float64, error) {
		if length <= trained[c] {
			t.Errorf("candidate %d: trained to %d after %d", c, length, trained[c])
		}
		trained[c] = length
		errs := make([]float64, seeds)
		for s := range errs {
			errs[s] = final[c] + math.Exp(-float64(length)/speed[c]) + shared[s]
		}
		return errs, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	sum := 0
	for _, n := range trained {
		sum += n
	}
	if a.Best != 0 || sum != Cost(rungs) || 3*sum > candidates*length {
		t.Errorf("chose %d after %d of %d", a.Best, sum, candidates*length)
	}
	want := final[baseline] - final[0]
	if g := a.Gain; math.Abs(g.Mean-want) > 1e-6 || !g.Clear() || g.Interval.High-g.Interval.Low > 1e-6 {
		t.Errorf("gain %+v, want %g without spread", g, want)
	}
	if n := a.Gain.Negated(); n.Mean != -a.Gain.Mean || n.Interval.Low != -a.Gain.Interval.High {
		t.Errorf("negated: %+v", n)
	}
	if first := a.Standings[0]; first.Candidate != 0 || first.Length != length || first.Behind != nil {
		t.Errorf("first: %+v", first)
	}
	if second := a.Standings[1]; second.Candidate != baseline || second.Length != length {
		t.Errorf("the baseline is not beside the best: %+v", second)
	}
}

// A seed that diverged puts its candidate behind all that have none, and out of the pairs.
func TestDivergedIsLast(t *testing.T) {
	errs := [][]float64{{1, 1}, {0.1, math.NaN()}, {0.5, 0.6}}
	a, err := Choose([]Rung{{1, 2}}, 3, 0, func(c, _ int) ([]float64, error) { return errs[c], nil })
	if err != nil || a.Best != 2 {
		t.Fatalf("chose %d, %v", a.Best, err)
	}
	last := a.Standings[2]
	if last.Candidate != 1 || last.Behind.Pairs != 1 || last.Behind.Interval != nil || last.Behind.Clear() ||
		math.Abs(last.Behind.Mean+0.4) > 1e-12 {
		t.Errorf("last: %+v, %+v", last, last.Behind)
	}
}

// Without a seed that both have finished, nothing is said of the difference.
func TestAllDiverged(t *testing.T) {
	none := []float64{math.NaN(), math.NaN()}
	errs := [][]float64{{1, 1}, none, {0.5, 0.6}}
	a, err := Choose([]Rung{{1, 2}}, 3, 0, func(c, _ int) ([]float64, error) { return errs[c], nil })
	if last := a.Standings[2]; err != nil || last.Candidate != 1 || last.Behind != nil {
		t.Errorf("last: %+v, %v", last, err)
	}
}

// Slow names what was left on the plateau of the baseline, and what fell fast when it was left, and
// nothing else; where nothing leaves the plateau, all but what was above it and rose, or diverged.
func TestSlow(t *testing.T) {
	inf := math.Inf(1)
	for name, test := range map[string]struct {
		curves  [][]float64 // by candidate, at lengths 1, 2, 4 and 10
		second  int         // how many go on after length 1; 2 after length 2
		slow    []int
		plateau bool
	}{
		"the best is better": {[][]float64{
			{9, 9, 9, 9},   // the baseline
			{5, 4, 3, 2},   // the best
			{6, 5.9, 5.85}, // falls, and levels off
			{8, 6},         // less by 2 a doubling: 1.4 at 10
			{8.9},          // no better than the baseline yet
			{8.5},          // better than it, without a second record
			{8.4, 9.6},     // was better
		}, 4, []int{3, 4, 6}, false},
		"none is better": {[][]float64{
			{9, 9, 9, 9},
			{9.1, 9.1, 9.1, 9.1}, // the least error
			{9.3, 9.29},          // above the baseline, and falls
			{9.05, 9.1, 9.11},    // not clearly above it, and rises
			{9.4, 9.5},           // above it, and rises
			{9.6},                // above it, without a second record
			{inf},
		}, 4, []int{2, 3, 5}, true},
		"one was better for a time": {[][]float64{
			{9, 9, 9, 9},
			{5, 5, 9, 9.5},
			{6, 6, 9.4},
			{8, 8.1}, // less than the best has at the end
			{9},      // no better than the baseline yet
			{inf},
		}, 3, []int{3, 4}, false},
	} {
		at := map[int]int{1: 0, 2: 1, 4: 2, 10: 3}
		shift := []float64{-.02, 0, .02}
		a, err := Choose([]Rung{{1, 6}, {2, test.second}, {4, 2}, {10, 1}}, len(test.curves), 0,
			func(c, length int) ([]float64, error) {
				errs := make([]float64, len(shift))
				for s := range errs {
					errs[s] = test.curves[c][at[length]] + float64(c)*shift[s]
				}
				return errs, nil
			})
		if err != nil || a.Best != 1 || !reflect.DeepEqual(a.Slow, test.slow) || a.Plateau != test.plateau {
			t.Errorf("%s: best %d, slow %v, plateau %v, %v", name, a.Best, a.Slow, a.Plateau, err)
		}
	}
}

func TestChooseFails(t *testing.T) {
	broken := errors.New("no disk")
	if _, err := Choose([]Rung{{1, 1}}, 2, 0, func(int, int) ([]float64, error) { return nil, broken }); !errors.Is(err,
		broken) {
		t.Errorf("got %v", err)
	}
}
