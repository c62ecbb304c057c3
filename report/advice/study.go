// Package advice says which encoding suits a set of data, from the runs of one sweep over encodings and
// seeds: one is better than the rest, some cannot be told apart, none is better than none, or training
// was too short. It writes the answer, a table with the errors that need no model, and the curves.
package advice

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"torchpe/internal/stats"
	"torchpe/internal/wording"
	"torchpe/report/cohort"
	"torchpe/report/figure"
	"torchpe/report/item"
	"torchpe/train/runlog"
)

// without is the encoding that all others are held against: none.
const without = "nope"

// Study holds the candidates of a sweep, the least error first.
type Study struct {
	Candidates []Candidate
	X          []float64 // steps or epochs of the records
	Notes      []string  // what was left out, and why

	none        int          // candidate without an encoding
	differences []Difference // of each candidate's error from the least; of answer
	unit        string       // of X: "step" or "epoch"
	measure     string       // the error in words
	baselines   []figure.Reference
}

// Candidate is an encoding that is compared.
type Candidate struct {
	Label   string
	Learned bool // it has a table that starts with σ
	Seeds   []uint64
	Errors  [][]float64 // on held-out data [seed][record]
	Train   []float64   // at the end, in training [seed]
}

// final returns the held-out error at the end for each seed.
func (c Candidate) final() (ends []float64) {
	for _, values := range c.Errors {
		ends = append(ends, last(values))
	}
	return ends
}

func last[T any](values []T) T { return values[len(values)-1] }

// Read reads the runs of a sweep in dir, which differ in their encodings and seeds alone. It leaves out
// encodings of which a seed diverged.
func Read(dir string) (*Study, error) {
	found, skipped, err := cohort.Find(dir)
	if err != nil {
		return nil, err
	}
	s := &Study{unit: "step"}
	for _, r := range skipped {
		s.Notes = append(s.Notes, r.Reason)
	}
	models, diverged := cohort.Models(found)
	if diverged > 0 {
		s.Notes = append(s.Notes, wording.Count(diverged, "model")+" diverged: a lower --lr or --clip-norm may help")
	}
	groups, err := cohort.Groups(models)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(groups, func(g cohort.Group) bool { return g.Label == without })
	if at < 0 {
		return nil, fmt.Errorf("%s: no run of %s is left, against which the others are held", dir, without)
	}
	want, kept := seeds(groups[at]), []cohort.Model(nil)
	for _, g := range groups {
		if slices.Equal(seeds(g), want) {
			kept = append(kept, g.Models...)
		} else {
			s.Notes = append(s.Notes, g.Label+" is not compared: it lacks seeds")
		}
	}
	s.describe(groups[at].Models[0].Run)
	if err := s.add(kept); err != nil {
		return nil, err
	}
	s.sort()
	return s, nil
}

// seeds sorts the models of a group by their seeds, and returns these.
func seeds(g cohort.Group) (all []uint64) {
	slices.SortFunc(g.Models, func(a, b cohort.Model) int { return cmp.Compare(a.Member.Seed, b.Member.Seed) })
	for _, m := range g.Models {
		all = append(all, m.Member.Seed)
	}
	return all
}

// add adds the curves of models, sorted by encoding and seed.
func (s *Study) add(models []cohort.Model) error {
	at := func(r runlog.Record) int { return r.Step }
	if s.unit == "epoch" {
		at = func(r runlog.Record) int { return r.Epoch }
	}
	read, x, err := cohort.RecordsBy(models, at)
	if err != nil {
		return err
	}
	s.X = x
	for i, m := range models {
		if n := len(s.Candidates); n == 0 || s.Candidates[n-1].Label != m.Label() {
			s.Candidates = append(s.Candidates, Candidate{Label: m.Label(), Learned: m.Member.Sigma != nil})
		}
		c := &s.Candidates[len(s.Candidates)-1]
		held := func(r runlog.Record) float64 { e, _ := errorsOf(m.Run.Config, r); return e }
		train := func(r runlog.Record) float64 { _, e := errorsOf(m.Run.Config, r); return e }
		c.Seeds = append(c.Seeds, m.Member.Seed)
		c.Errors = append(c.Errors, cohort.Curve(x, cohort.Measured(read[i], held), m.HasStopped()))
		c.Train = append(c.Train, last(cohort.Curve(x, cohort.Measured(read[i], train), m.HasStopped())))
	}
	return nil
}

// sort puts the least error first.
func (s *Study) sort() {
	slices.SortStableFunc(s.Candidates, func(a, b Candidate) int {
		return cmp.Compare(stats.Mean(a.final()), stats.Mean(b.final()))
	})
	s.none = slices.IndexFunc(s.Candidates, func(c Candidate) bool { return c.Label == without })
}

// errorsOf returns the errors of a record on held-out data and in training: mean squared errors, the
// former with the share of masked tokens nearest to that of training, or shares of wrong answers.
func errorsOf(c cohort.Config, r runlog.Record) (held, train float64) {
	if c.Masked == nil {
		return 1 - r.Measures.Get("validation"), 1 - r.Measures.Get("train")
	}
	return r.Measures.Get("test_mse/" + c.Masked.MainTest()), r.Measures.Get("train_mse")
}

// describe finds out what is measured, and what error needs no model.
func (s *Study) describe(r *cohort.Run) {
	switch c := r.Config; {
	case c.Masked != nil:
		level := c.Masked.MainTest()
		s.measure = "mean squared error of held-out samples, a share of " + level + " of their tokens masked"
		for _, b := range item.Baselines {
			if v := b.MSE(r, level); !math.IsNaN(v) {
				s.baselines = append(s.baselines, figure.Reference{Label: b.Label, Y: v})
			}
		}
		slices.SortStableFunc(s.baselines, func(a, b figure.Reference) int { return cmp.Compare(a.Y, b.Y) })
	case c.HasPuzzles():
		s.unit = "epoch"
		s.measure = "share of validation puzzles answered wrongly"
		s.baselines = []figure.Reference{{Label: "chance", Y: 1 - 1/float64(c.Side())}}
	case c.Sequence.Text != nil:
		s.measure = "share of wrong next characters in windows longer than in training"
	default:
		s.measure = "share of wrong symbols in outputs to inputs longer than in training"
	}
}
