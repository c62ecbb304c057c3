package advice

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"torchpe/internal/stats"
	"torchpe/internal/wording"
	"torchpe/report/item"
)

// level is the confidence level of intervals; tests use 1 − level.
const level = 0.95

// The verdicts.
const (
	Best  = "best"  // one encoding is better than all others
	Tie   = "tie"   // some cannot be told apart, but are better than none
	None  = "none"  // none is better than no encoding
	Short = "short" // more training may change the answer
)

// Answer says which encoding suits the data.
type Answer struct {
	Verdict string   `json:"verdict"`
	Labels  []string `json:"candidates"` // the candidates in the verdict, by increasing error
	More    int      `json:"more"`       // about how many more steps or epochs are needed, if the verdict is Short
	Text    string   `json:"answer"`
}

// difference is the mean error of one candidate minus that of another.
type difference struct {
	Mean     float64
	Interval stats.Interval // simultaneous for all pairs of candidates
	P        float64        // of Welch's test of the two alone; NaN if neither varies
	Clear    bool
}

// comparison compares errors [candidate][seed], with the seeds of all candidates in the same order.
type comparison struct {
	errors [][]float64
	means  []float64
	spread float64 // standard deviation over seeds, pooled over candidates
	df     float64
}

func compare(all []Candidate, of func(Candidate) []float64) (c comparison, err error) {
	for _, candidate := range all {
		c.errors = append(c.errors, of(candidate))
		c.means = append(c.means, stats.Mean(last(c.errors)))
	}
	c.spread, c.df, err = stats.ResidualSD(c.errors)
	return c, err
}

// difference returns the error of a minus that of b. It is clear if two tests agree at 5 %: Student's t with
// the pooled spread, corrected for all pairs of candidates (Bonferroni), and Welch's t with the spreads of only
// the two. The first corrects for choosing the two among many, the second for spreads that differ. See
// TestFalseWinners.
func (c comparison) difference(a, b int) (difference, error) {
	k, n := float64(len(c.means)), len(c.errors[a])
	d := difference{Mean: c.means[a] - c.means[b], P: item.WelchP(c.errors[a], c.errors[b])}
	alpha := (1 - level) / (k * (k - 1) / 2)
	var err error
	d.Interval, err = stats.StudentInterval(d.Mean, c.spread*math.Sqrt(2/float64(n)), c.df, 1-alpha)
	if err != nil {
		return d, err
	}
	d.Interval.Level = level
	d.Clear = (d.Interval.Low > 0 || d.Interval.High < 0) && item.WelchTells(d.P)
	return d, nil
}

// String writes the difference with its interval.
func (d difference) String() string {
	return fmt.Sprintf("%.2g (95 %% %.2g to %.2g)", d.Mean, d.Interval.Low, d.Interval.High)
}

// falls returns how much the held-out error of a candidate fell from the first to the second third of training,
// as the mean over seeds, and from the second to the last third, for each seed.
func (s *Study) falls(c Candidate) (before float64, last []float64) {
	for _, values := range c.Errors {
		var of [3][]float64
		for i, x := range s.X {
			if third := int(math.Ceil(3*x/s.length())) - 1; third >= 0 && !math.IsNaN(values[i]) {
				of[third] = append(of[third], values[i])
			}
		}
		before += (stats.Mean(of[0]) - stats.Mean(of[1])) / float64(len(c.Errors))
		last = append(last, stats.Mean(of[1])-stats.Mean(of[2]))
	}
	return before, last
}

// length returns the steps or epochs of training.
func (s *Study) length() float64 { return last(s.X) }

// more returns how much longer each candidate should be trained, 0 if its error has stopped falling. The error
// still falls if it fell from the second to the last third of training by more than twice the standard error of
// that fall (its spread over seeds is pooled over candidates) and by more than a third of the spread of seeds
// at the end, and if at this rate it would get below the smallest error of all within the same length again.
// The falls of thirds are extrapolated as a geometric series down to that size, for at most three times the
// length.
func (s *Study) more(ends comparison) ([]float64, error) {
	before, lasts := make([]float64, len(s.Candidates)), make([][]float64, len(s.Candidates))
	for i, c := range s.Candidates {
		before[i], lasts[i] = s.falls(c)
		if slices.ContainsFunc(append(lasts[i], before[i]), math.IsNaN) {
			return nil, fmt.Errorf("%s has no record in one third of the training, so whether its error still falls "+
				"is not known: train without --until, or to a bound that takes longer", c.Label)
		}
	}
	spread, _, err := stats.ResidualSD(lasts)
	if err != nil {
		return nil, err
	}
	more := make([]float64, len(s.Candidates))
	for i, falls := range lasts {
		fall, least := stats.Mean(falls), max(2*spread/math.Sqrt(float64(len(falls))), ends.spread/3)
		if !(fall > least) || ends.means[i]-3*fall >= ends.means[0] {
			continue
		}
		ratio := min(0.9, fall/max(before[i], fall))
		thirds := math.Ceil(math.Log(least/fall) / math.Log(ratio))
		more[i] = min(9, thirds) * s.length() / 3
	}
	return more, nil
}

// answer decides the verdict.
func (s *Study) answer() (Answer, error) {
	ends, err := compare(s.Candidates, Candidate.final)
	if err != nil {
		return Answer{}, err
	}
	more, err := s.more(ends)
	if err != nil {
		return Answer{}, err
	}
	var falling, tied, unfitted, counts []string
	s.differences = make([]difference, len(s.Candidates))
	for i, c := range s.Candidates {
		if s.differences[i], err = ends.difference(i, 0); err != nil {
			return Answer{}, err
		}
		if !s.differences[i].Clear {
			tied = append(tied, c.Label)
		}
	}
	if len(tied) == 1 || s.none == 0 {
		more[0] = 0 // more training would not change the verdict
	}
	for i, c := range s.Candidates {
		if more[i] > 0 {
			falling = append(falling, c.Label)
		}
		if c.Unfitted > 0 && i != s.none { // without positions a model may never fit
			unfitted = append(unfitted, c.Label)
			counts = append(counts, fmt.Sprintf("%d of %d of %s", c.Unfitted, len(c.Errors), c.Label))
		}
	}
	idle, err := s.idle()
	switch {
	case err != nil:
		return Answer{}, err
	case s.zero > 0 && ends.means[0] >= s.zero:
		return s.nothingLearned(ends.means[0]), nil
	case falling != nil:
		return s.tooShort(falling, slices.Max(more), errorOf(falling)+"still falls"), nil
	case unfitted != nil:
		return s.tooShort(unfitted, s.length(), "Some models have not fitted their training data, and say nothing "+
			"about other data: "+strings.Join(counts, ", ")+"; if an encoding never fits, leave it out"), nil
	case !s.differences[s.none].Clear:
		return s.noneIsBetter(idle), nil
	case idle != nil:
		return s.tooShort(idle, s.length(), errorOf(idle)+"in training is not yet below that of none"), nil
	case len(tied) > 1:
		return Answer{Verdict: Tie, Labels: tied, Text: fmt.Sprintf("These cannot be told apart: %s. The error of "+
			"the first is below that of none (%s) by %v.", strings.Join(tied, ", "), without,
			s.differences[s.none])}, nil
	}
	return Answer{Verdict: Best, Labels: tied, Text: fmt.Sprintf("%s is better than the rest: its error is below "+
		"that of the next, %s, by %v.", tied[0], s.Candidates[1].Label, s.differences[1])}, nil
}

// nothingLearned answers that no candidate predicts better than zero, so that nothing can be compared.
func (s *Study) nothingLearned(least float64) Answer {
	n := int(s.length())
	a := Answer{Verdict: Short, More: n, Text: fmt.Sprintf("Nothing can be compared: the smallest error, %.3g, is not "+
		"below that of predicting zero, %.3g. If errors rise, give a smaller --lr; else train longer, at least %s "+
		"more, with another --out.", least, s.zero, wording.Count(n, s.unit))}
	for _, c := range s.Candidates {
		a.Labels = append(a.Labels, c.Label)
	}
	return a
}

// errorOf begins a sentence on the error of encodings.
func errorOf(labels []string) string { return "The error of " + strings.Join(labels, ", ") + " " }

// tooShort answers that training was too short, as the labelled candidates show (why).
func (s *Study) tooShort(labels []string, more float64, why string) Answer {
	size := math.Pow(10, math.Floor(math.Log10(more)))
	n := int(math.Ceil(more/size) * size)
	return Answer{Verdict: Short, Labels: labels, More: n,
		Text: fmt.Sprintf("Not trained long enough: at least %s more (--%ss %.0f, with another --out). "+
			"%s.", wording.Count(n, s.unit), s.unit, s.length()+float64(n), why)}
}

// noneIsBetter answers that no encoding is better than none.
func (s *Study) noneIsBetter(idle []string) Answer {
	other, more, d := 0, "less", s.differences[s.none]
	if s.none == 0 {
		other, more, d = 1, "greater", s.differences[1]
	}
	text := fmt.Sprintf("None is better than none (%s): the error of %s, the best of them, is %s by %v.", without,
		s.Candidates[other].Label, more, d)
	if idle != nil {
		text += fmt.Sprintf(" In training too, %s did no better than none: either positions tell nothing here, "+
			"or learning has not begun, and a larger --lr or more training helps.", strings.Join(idle, ", "))
	}
	return Answer{Verdict: None, Labels: []string{without}, Text: text}
}

// idle returns the learned encodings whose error in training is not below that of none by more than the spread
// of seeds: their tables may not have begun to learn.
func (s *Study) idle() (labels []string, err error) {
	train, err := compare(s.Candidates, func(c Candidate) []float64 { return c.Train })
	if err != nil {
		return nil, err
	}
	for i, c := range s.Candidates {
		if c.Learned && train.means[i] > train.means[s.none]-train.spread {
			labels = append(labels, c.Label)
		}
	}
	return labels, nil
}
