// Package advise chooses one of several configurations by successive halving (Jamieson and Talwalkar
// 2016): all are trained for a short time, the better half goes on for twice as long, and so on; the
// best is trained to the end. A baseline, with no encoding, is trained beside them at each stage.
package advise

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"torchpe/internal/stats"
)

// Stages end at these tenths of the length, each with half of the candidates of the one before it.
// Shorter ones, and fewer, choose before learning begins: see results/advise-cpu.
var stageTenths = []int{1, 2, 4}

// level is that of the confidence intervals.
const level = 0.95

// Rung is a stage: so many candidates are trained up to a length, in epochs or steps.
type Rung struct {
	Length     int `json:"length"`
	Candidates int `json:"candidates"` // without the baseline
}

// Rungs returns the stages by which one of n candidates is chosen, the last of the whole length. It
// fails where the length is too short for them.
func Rungs(n, length int) ([]Rung, error) {
	last := Rung{Length: length, Candidates: 1}
	if n < 2 {
		return []Rung{last}, nil
	}
	if length < 10 {
		return nil, fmt.Errorf("a length of %d is too short to choose by a tenth of it: want at least 10",
			length)
	}
	var rungs []Rung
	for _, tenths := range stageTenths {
		rungs = append(rungs, Rung{Length: length / 10 * tenths, Candidates: n})
		n = max(2, (n+1)/2)
	}
	return append(rungs, last), nil
}

// Cost returns the sum of all lengths that are trained, the baseline's among them.
func Cost(rungs []Rung) int {
	sum, before := 0, 0
	for _, r := range rungs {
		sum += (r.Candidates + 1) * (r.Length - before)
		before = r.Length
	}
	return sum
}

// Measure trains a candidate, by its index, up to a length and returns its held-out error for each
// seed, in the same order for all candidates; NaN for a seed that diverged.
type Measure func(candidate, length int) ([]float64, error)

// Standing tells how far a candidate came.
type Standing struct {
	Candidate int
	Length    int         // that it was trained
	Errors    []float64   // by seed, there
	Behind    *Difference // its errors less those of the best after that length; nil without a pair
}

// Difference is the mean of paired differences of errors over seeds.
type Difference struct {
	Mean     float64         `json:"mean"`
	Interval *stats.Interval `json:"interval"` // nil below two pairs
	Pairs    int             `json:"pairs"`
}

// Clear reports whether the interval leaves out 0.
func (d Difference) Clear() bool {
	return d.Interval != nil && (d.Interval.Low > 0 || d.Interval.High < 0)
}

// IsGain reports whether the difference is clear and above 0.
func (d Difference) IsGain() bool { return d.Clear() && d.Mean > 0 }

// Negated returns the difference the other way round.
func (d Difference) Negated() Difference {
	d.Mean = -d.Mean
	if d.Interval != nil {
		d.Interval = &stats.Interval{Low: -d.Interval.High, High: -d.Interval.Low, Level: d.Interval.Level}
	}
	return d
}

// Advice is the outcome of Choose.
type Advice struct {
	Standings []Standing // longest trained first, then least error
	Best      int        // candidate, not the baseline
	Gain      Difference // the baseline's errors less those of the best, at the end
	Slow      []int      // candidates that were left and may end better: see slow
	Plateau   bool       // no candidate was clearly better than the baseline at the end of any stage
}

// Choose trains candidates along the rungs, of which the baseline is one, and finds the best of the
// others. A candidate of which a seed has no finite error comes after those that have one for each.
func Choose(rungs []Rung, candidates, baseline int, measure Measure) (Advice, error) {
	history, best, err := halve(rungs, candidates, baseline, measure)
	if err != nil {
		return Advice{}, err
	}
	advice := Advice{Best: best, Plateau: true}
	for c := range candidates {
		length := lengths(history[c])[0]
		s := Standing{Candidate: c, Length: length, Errors: history[c][length]}
		if c != advice.Best {
			d, err := difference(s.Errors, history[advice.Best][length])
			if err != nil {
				return advice, err
			}
			if d.Pairs > 0 {
				s.Behind = &d
			}
			if c == baseline {
				advice.Gain = d
			}
		}
		advice.Standings = append(advice.Standings, s)
	}
	for c := range candidates {
		for length, errors := range history[c] {
			d, err := difference(history[baseline][length], errors)
			if err != nil {
				return advice, err
			}
			advice.Plateau = advice.Plateau && !d.IsGain()
		}
		if c == baseline || c == advice.Best {
			continue
		}
		late, err := slow(history[c], history[baseline], history[advice.Best], advice.Gain)
		if err != nil {
			return advice, err
		}
		if late {
			advice.Slow = append(advice.Slow, c)
		}
	}
	slices.SortStableFunc(advice.Standings, func(a, b Standing) int {
		return cmp.Or(cmp.Compare(b.Length, a.Length), cmp.Compare(mean(a.Errors), mean(b.Errors)))
	})
	return advice, nil
}

// halve trains candidates along the rungs, and the baseline beside them. It returns the errors of each by
// length, and the candidate that is best at the end.
func halve(rungs []Rung, candidates, baseline int, measure Measure) (
	history []map[int][]float64, best int, err error,
) {
	history = make([]map[int][]float64, candidates)
	var left []int
	for c := range candidates {
		history[c] = map[int][]float64{}
		if c != baseline {
			left = append(left, c)
		}
	}
	for _, r := range rungs {
		left = left[:min(r.Candidates, len(left))]
		for _, c := range append([]int{baseline}, left...) {
			if history[c][r.Length], err = measure(c, r.Length); err != nil {
				return nil, 0, err
			}
		}
		slices.SortStableFunc(left, func(a, b int) int {
			return cmp.Compare(mean(history[a][r.Length]), mean(history[b][r.Length]))
		})
	}
	return history, left[0], nil
}

// lengths returns after which lengths there are errors, the longest first.
func lengths(history map[int][]float64) []int {
	out := slices.Sorted(maps.Keys(history))
	slices.Reverse(out)
	return out
}

// slow reports whether a candidate was left too early to judge it: where its error, going on to fall
// with the logarithm of the length as in its last stage, would end below that of the best, or where it
// was not clearly better than the baseline yet. It was not too early, where no candidate ended
// clearly better than the baseline, for one that was clearly worse and whose error did not fall.
func slow(own, baseline, best map[int][]float64, gain Difference) (bool, error) {
	at, whole := lengths(own), lengths(best)[0]
	last, falls := mean(own[at[0]]), true // until it is seen not to
	if len(at) > 1 {
		fall := (mean(own[at[1]]) - last) / math.Log(float64(at[0])/float64(at[1]))
		if last-fall*math.Log(float64(whole)/float64(at[0])) < mean(best[whole]) {
			return true, nil
		}
		falls = fall > 0
	}
	d, err := difference(baseline[at[0]], own[at[0]])
	if math.IsInf(last, 1) || d.IsGain() {
		return false, err
	}
	return gain.IsGain() || falls || !d.Clear(), err
}

// mean returns the mean over seeds; infinity where one of them diverged.
func mean(errors []float64) float64 {
	m := stats.Mean(errors)
	if math.IsNaN(m) {
		return math.Inf(1)
	}
	return m
}

// difference returns the mean of a-b over the seeds at which both are finite.
func difference(a, b []float64) (Difference, error) {
	if len(a) != len(b) {
		return Difference{}, fmt.Errorf("errors of %d and of %d seeds cannot be paired", len(a), len(b))
	}
	var d []float64
	for i := range a {
		if x := a[i] - b[i]; !math.IsNaN(x) && !math.IsInf(x, 0) {
			d = append(d, x)
		}
	}
	out := Difference{Mean: stats.Mean(d), Pairs: len(d)}
	if len(d) < 2 {
		return out, nil
	}
	interval, err := stats.MeanInterval(d, level)
	out.Interval = &interval
	return out, err
}
