package advice

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/report/internal/synthetic"
)

// studyOf returns a study of candidates a, b, ... and nope, the last; curves of a candidate begin to be
// flat at its end.
func studyOf(ends [][]float64) *Study {
	s := &Study{unit: "step", X: []float64{100, 200, 300, 400, 500, 600}}
	for i, seeds := range ends {
		c := Candidate{Label: string(rune('a' + i))}
		if i == len(ends)-1 {
			c.Label = without
		}
		for _, e := range seeds {
			c.Errors = append(c.Errors, []float64{e, e, e, e, e, e})
			c.Train = append(c.Train, e)
		}
		s.Candidates = append(s.Candidates, c)
	}
	s.sort()
	return s
}

// Models that stop at their first record leave no curves to judge.
func TestCurvesAreTooShort(t *testing.T) {
	s := studyOf([][]float64{{1, 2, 3}, {4, 5, 6}})
	s.X = s.X[:1]
	expect.Error(t, expect.ErrorOf(s.answer()), "a has no record in one third of the training")
}

// times is the number of simulated answers.
const times = 1500

// simulate answers for candidates with given means and SDs of their three seeds, many times.
func simulate(r *rand.Rand, means, sds []float64) (share map[string]float64) {
	share = map[string]float64{}
	for range times {
		ends := make([][]float64, len(means))
		for i := range ends {
			for range 3 {
				ends[i] = append(ends[i], means[i]+sds[i]*r.NormFloat64())
			}
		}
		a := expect.Must(studyOf(ends).answer())
		share[a.Verdict] += 1. / times
		if a.Verdict == Best && a.Labels[0] == "a" {
			share["a"] += 1. / times
		}
	}
	return share
}

// Where all candidates are equal, fewer than 5 % of the answers name one, or say that some are better
// than none, whatever the spreads of their seeds. Of two candidates of which one does not vary it is 5 %:
// Student's t of three numbers, which is exact.
func TestFalseWinners(t *testing.T) {
	r := rand.New(rand.NewPCG(43, 1))
	for _, k := range []int{2, 3, 5, 8} {
		for _, c := range []struct {
			name string
			sd   func(i int) float64 // of candidate i; the last is none
		}{
			{"equal", func(int) float64 { return 1 }},
			{"one is wide", func(i int) float64 { return map[bool]float64{true: 10, false: 1}[i == 0] }},
			{"none is wide", func(i int) float64 { return map[bool]float64{true: 10, false: 1}[i == k-1] }},
			{"two are wide", func(i int) float64 { return map[bool]float64{true: 10, false: 1}[i < 2] }},
			{"one is narrow", func(i int) float64 { return map[bool]float64{true: 0.1, false: 1}[i == 0] }},
			{"each is wider", func(i int) float64 { return math.Pow(2, float64(i)) }},
			{"half are wide", func(i int) float64 { return map[bool]float64{true: 5, false: 1}[i%2 == 0] }},
			{"one varies", func(i int) float64 { return map[bool]float64{true: 1e3, false: 1e-9}[i == 0] }},
		} {
			means, sds := make([]float64, k), make([]float64, k)
			for i := range sds {
				means[i], sds[i] = 0.5, c.sd(i)
			}
			limit := 0.05
			if k == 2 {
				limit += 2 * math.Sqrt(0.05*0.95/times) // two standard errors of the share
			}
			got := simulate(r, means, sds)
			if wrong := 1 - got[None]; wrong >= limit {
				t.Errorf("%d candidates, %s: %.3f of the answers are wrong: %v", k, c.name, wrong, got)
			}
		}
	}
}

// A candidate that is better by 5 pooled standard deviations is found in four of five sets of three
// seeds, and hardly ever another one.
func TestTrueWinner(t *testing.T) {
	r := rand.New(rand.NewPCG(43, 2))
	for _, k := range []int{3, 5, 8} {
		means, sds := make([]float64, k), make([]float64, k)
		for i := range sds {
			sds[i] = 1
		}
		means[0] = -5
		got := simulate(r, means, sds)
		if got["a"] < 0.8 || got[Best]-got["a"] > 0.001 {
			t.Errorf("%d candidates: %v", k, got)
		}
	}
}

// Seeds that are easy or hard for all candidates alike hide no difference.
func TestSeedsArePaired(t *testing.T) {
	s := studyOf([][]float64{{1.01, 3.02, 6.01}, {1.99, 4.01, 7}, {2.98, 5.01, 8.02}})
	a, err := s.answer()
	if err != nil || s.differences[1].Interval.Low < 0.9 || s.differences[1].Interval.High > 1.1 {
		t.Errorf("%v, %v, %v", a, s.differences[1], err)
	}
}

// The four answers, from curves.
func TestAnswers(t *testing.T) {
	exp := func(from, to, at float64) func(x float64) float64 {
		return func(x float64) float64 { return to + (from-to)*math.Exp(-x/at) }
	}
	flat := func(e float64) func(float64) float64 { return exp(e, e, 1) }
	for name, c := range map[string]struct {
		learned, fixed, none func(x float64) float64
		train                float64 // of learned at the end
		verdict, says        string
	}{
		"a winner": {exp(1, 0.2, 50), flat(0.5), flat(0.9), 0.1, Best,
			"learned is better than the rest: its error is below that of the next, fixed, by 0.3 (95 % 0.2"},
		"two are as good": {exp(1, 0.5, 50), flat(0.501), flat(0.9), 0.1, Tie, "These cannot be told apart: learned, " +
			"fixed. The error of the first is below that of none (nope) by 0.4"},
		"none is better": {flat(0.901), flat(0.899), flat(0.9), 0.1, None,
			"None is better than none (nope): the error of fixed, the best of them, is less by 0.001 (95 % "},
		"all are worse": {flat(0.99), flat(0.98), flat(0.9), 0.1, None,
			"None is better than none (nope): the error of fixed, the best of them, is greater by 0.08 (95 % "},
		"none is best and still falls": {flat(0.99), flat(0.98), exp(1, 0.2, 300), 0.1, None,
			"None is better than none (nope): the error of fixed"},
		"nothing learned": {flat(0.901), flat(0.899), flat(0.9), 0.9, None,
			"In training too, learned did no better"},
		// By hand: the thirds' means are .692, .453 and .330, so falls of .239 and .123 with a ratio of .513;
		// from .123 to a third of the spread, .0098, are 5.4 thirds of 200 steps.
		"one of two still falls": {exp(1, 0.2, 300), flat(0.31), flat(0.9), 0.1, Short, "Not trained long enough: " +
			"at least 2000 steps more (--steps 2600, with another --out). The error of learned still falls"},
		"the winner still falls": {exp(1, 0.2, 300), flat(0.5), flat(0.9), 0.1, Best,
			"learned is better than the rest"},
		"all fall slowly": {exp(0.75, 0.6, 2000), exp(0.75, 0.61, 2000), exp(0.75, 0.6, 2100), 0.1, Short,
			"Not trained long enough"}, // as puzzles after 12 epochs
		"another still falls": {exp(1, 0.4, 300), flat(0.3), flat(0.9), 0.1, Short, "The error of learned still"},
		"too far behind":      {exp(1, 0.85, 300), flat(0.3), flat(0.9), 0.1, Best, "fixed is better than the rest"},
		"one has not begun":   {flat(0.9), flat(0.3), flat(0.9), 0.9, Short, "at least 600 steps more"},
		"it knows by heart":   {flat(0.9), flat(0.3), flat(0.9), 0.1, Best, "fixed is better than the rest"},
		"it rises": {func(x float64) float64 { return 0.2 + x/1e4 }, flat(0.5), flat(0.9), 0.1, Best,
			"learned is better"},
	} {
		s := studyOf([][]float64{{0}, {0}, {0}})
		for i, of := range []func(float64) float64{c.learned, c.fixed, c.none} {
			one := Candidate{Label: []string{"learned", "fixed", without}[i], Learned: i == 0}
			for seed := range 3 {
				shift := []float64{-0.008, 0, 0.008}[(seed+i)%3]
				var values []float64
				for _, x := range s.X {
					values = append(values, of(x)+shift)
				}
				one.Errors = append(one.Errors, values)
				one.Train = append(one.Train, []float64{c.train, 0.1, 0.9}[i]+shift)
			}
			s.Candidates[i] = one
		}
		s.sort()
		a, err := s.answer()
		if err != nil || a.Verdict != c.verdict || !strings.Contains(a.Text, c.says) {
			t.Errorf("%s: %v: %s; want %s", name, err, a.Text, c.says)
		}
	}
}

// Encodings whose models have not fitted lose to none yet; nope may never fit.
func TestUnfitted(t *testing.T) {
	s := studyOf([][]float64{{.1, .11, .12}, {.8, .8, .81}, {.8, .79, .8}})
	s.Candidates[s.none].Unfitted = 3
	expect.Equal(t, "nope has not fitted", expect.Must(s.answer()).Verdict, Best)
	for i, c := range s.Candidates {
		if c.Label == "b" {
			s.Candidates[i].Unfitted = 2
		}
	}
	a := expect.Must(s.answer())
	expect.Equal(t, "verdict", a.Verdict+fmt.Sprint(a.Labels), Short+"[b]")
	expect.Contains(t, a.Text, "at least 600 steps more", "have not fitted their training data", "2 of 3 of b;")

	run := func(pe string) synthetic.Run {
		return synthetic.Run{Task: "lst", PE: pe, Seeds: []int{1, 2}, Edit: func(m *synthetic.Member) {
			m.Result.Fit, m.Result.Measures["train"] = nil, []float64{1, .5}[m.Index]
		}}
	}
	s = expect.Must(Read(synthetic.Dir(t, run("nope"), run("rope"))))
	expect.Equal(t, "unfitted models", [2]int{s.Candidates[0].Unfitted, s.Candidates[1].Unfitted}, [2]int{1, 1})
}

// If no candidate predicts better than zero, none is called better.
func TestNothingLearned(t *testing.T) {
	s := studyOf([][]float64{{6e24, 5e24, 6e24}, {7e24, 8e24, 7e24}})
	s.zero = .9
	a, err := s.answer()
	if err != nil || a.Verdict != Short || !strings.HasPrefix(a.Text, "Nothing can be compared: the smallest error") {
		t.Errorf("%+v, %v", a, err)
	}
}

// Without any spread of seeds nothing is divided by 0.
func TestNoSpread(t *testing.T) {
	for _, c := range []struct {
		ends [][]float64
		want string
	}{{[][]float64{{0, 0, 0}, {0, 0, 0}}, None}, {[][]float64{{0, 0, 0}, {.5, .5, .5}}, Best}} {
		a, err := studyOf(c.ends).answer()
		if err != nil || a.Verdict != c.want {
			t.Errorf("%v: %v, %v", c.ends, a, err)
		}
	}
	expect.Error(t, expect.ErrorOf(studyOf([][]float64{{0, math.NaN(), 0}, {0, 0, 0}}).answer()), "NaN")
}

// The numbers of the curves name the seeds that were trained.
func TestCurvesNameTheirSeeds(t *testing.T) {
	s := studyOf([][]float64{{.1, .2}, {.3, .4}})
	for i := range s.Candidates {
		s.Candidates[i].Seeds = []uint64{2235, 18446744073709551615}
	}
	for i, row := range s.numbers().Rows {
		want := []string{"2235", "18446744073709551615"}[i/len(s.X)%2]
		expect.Equal(t, fmt.Sprintf("row %d: seed", i), row[1].String(), want)
	}
}

// Candidates are the models of one training: those of other settings or data, those that lack seeds, and copies
// are left out, whatever their encoding is called.
func TestCandidates(t *testing.T) {
	run := func(name, pe string, seeds ...int) synthetic.Run {
		return synthetic.Run{Name: name, Task: "masked", PE: pe, Sigma: .2, Seeds: seeds, Data: "aaaa"}
	}
	rate, data, none := run("other rate", "learn", 1, 2), run("other data", "rope", 1, 2), run("slow", "nope", 1)
	rate.LR, data.Data, none.LR = .1, "bbbb", .1
	own := run("own rate", "learn", 1, 2)
	own.PELR = .3
	dir := synthetic.Dir(t, run("a", "nope", 1, 2), run("b", "learn", 2, 1), run("c", "rope", 1), rate, data,
		none, own, run("copy", "nope", 2))
	s := expect.Must(Read(dir))
	got := map[string]string{}
	for _, c := range s.Candidates {
		got[c.Label] = fmt.Sprint(c.Seeds, len(c.Errors))
	}
	want := map[string]string{"nope": "[1 2] 2", "learn-0.2, pe_lr shared": "[1 2] 2",
		"learn-0.2, pe_lr 0.3": "[1 2] 2"}
	expect.Equal(t, "candidates", got, want)
	expect.Contains(t, strings.Join(s.Notes, "\n"), "counted once: 1 model",
		"learn-0.2, lr 0.1, pe_lr shared is not compared: settings or data",
		"nope, lr 0.1 is not compared: settings or data", "rope, data bbbb is not compared: settings or data",
		"rope, data aaaa is not compared: it lacks seeds")

	// Where nope lacks a seed, because it diverged, the others are compared over its seeds.
	s = expect.Must(Read(synthetic.Dir(t, run("a", "nope", 1, 3), run("b", "learn", 1, 2, 3),
		run("c", "rope", 3, 2, 1))))
	for _, c := range s.Candidates {
		expect.Equal(t, c.Label, fmt.Sprint(c.Seeds, len(c.Errors)), "[1 3] 2")
	}
	expect.Equal(t, "candidates", len(s.Candidates), 3)
	expect.Contains(t, strings.Join(s.Notes, "\n"), "2 models of seeds that nope lacks: left out")
}
