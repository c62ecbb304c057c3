// Package advice says which encoding suits a set of data, from the runs of one sweep over encodings and
// seeds: one is better than the rest, some cannot be told apart, none is better than none, or training
// was too short. It writes the answer, a table with the errors that need no model, and the curves. It
// also draws and answers "torchpe demo".
package advice

import (
	"cmp"
	"errors"
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

// without is the encoding that all others are compared with: none.
const without = "nope"

// Study holds the candidates of a sweep by increasing error.
type Study struct {
	Candidates []Candidate
	X          []float64 // steps or epochs of the records
	Notes      []string  // what was left out, and why

	none        int          // candidate without an encoding
	differences []difference // of each candidate's error from the smallest; set by answer
	unit        string       // of X: "step" or "epoch"
	measure     string       // the error in words
	baselines   []figure.Reference
	zero        float64 // error of predicting zero; 0 if it does not apply
}

// Candidate is an encoding that is compared.
type Candidate struct {
	Label   string
	Learned bool // it has a table with an initial σ
	Seeds   []uint64
	Errors  [][]float64 // on held-out data [seed][record]
	Train   []float64   // training error at the end [seed]

	Unfitted int // models that have not fitted their training data
}

// final returns the held-out error at the end for each seed.
func (c Candidate) final() (ends []float64) {
	for _, values := range c.Errors {
		ends = append(ends, last(values))
	}
	return ends
}

func last[T any](values []T) T { return values[len(values)-1] }

// Read reads the runs of a sweep in dir, which differ only in their encodings and seeds. It leaves out
// encodings with a seed that diverged.
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
	models, notes, err := cohort.Distinct(models)
	if err != nil {
		return nil, err
	}
	s.Notes = append(s.Notes, notes...)
	groups, err := cohort.Groups(models)
	if err != nil {
		return nil, err
	}
	kept, err := s.comparable(groups)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	s.describe(kept[0].Models[0].Run)
	if err := s.add(kept); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	s.sort()
	return s, nil
}

// comparable returns the groups that differ only in their encoding from the largest group without an encoding,
// and have its seeds; models of other seeds are left out. That group is one of them.
func (s *Study) comparable(groups []cohort.Group) ([]cohort.Group, error) {
	var none cohort.Group
	for _, g := range groups {
		if g.Models[0].Label() == without && len(g.Models) > len(none.Models) {
			none = g
		}
	}
	if none.Models == nil {
		return nil, fmt.Errorf("no run of %s is left, with which the others are compared", without)
	}
	var models []cohort.Model
	own := seeds(none)
	beyond := 0
	for _, g := range groups {
		all := len(g.Models)
		g.Models = slices.DeleteFunc(slices.Clone(g.Models), func(m cohort.Model) bool {
			return !slices.Contains(own, m.Member.Seed)
		})
		var unlike []string
		var err error
		if len(g.Models) > 0 {
			unlike, _, err = cohort.Unlike([]cohort.Group{none, g})
		}
		switch {
		case err != nil:
			return nil, err
		case len(g.Models) == 0:
			s.Notes = append(s.Notes, g.Label+" is not compared: it lacks seeds")
		case unlike != nil, g.Models[0].Label() == without && g.Label != none.Label:
			s.Notes = append(s.Notes, g.Label+" is not compared: settings or data differ from those of "+none.Label)
		case !slices.Equal(seeds(g), own):
			s.Notes = append(s.Notes, g.Label+" is not compared: it lacks seeds")
		default:
			models = append(models, g.Models...)
			beyond += all - len(g.Models)
		}
	}
	if beyond > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("%s of seeds that %s lacks: left out", wording.Count(beyond, "model"),
			none.Label))
	}
	return cohort.Groups(models) // with labels for the remaining models
}

// seeds returns the seeds of the models of a group.
func seeds(g cohort.Group) (all []uint64) {
	for _, m := range g.Models {
		all = append(all, m.Member.Seed)
	}
	return all
}

// add adds a candidate for each group, with its curves.
func (s *Study) add(groups []cohort.Group) error {
	at := func(r runlog.Record) int { return r.Step }
	if s.unit == "epoch" {
		at = func(r runlog.Record) int { return r.Epoch }
	}
	models := cohort.ModelsOf(groups)
	read, err := cohort.RecordsBy(models, at)
	if err != nil {
		return err
	}
	c := models[0].Run.Config
	x, held := cohort.Course(models, read, "", func(r runlog.Record) float64 { e, _ := errorsOf(c, r); return e })
	trainedAt, train := cohort.Course(models, read, "",
		func(r runlog.Record) float64 { _, e := errorsOf(c, r); return e })
	if x == nil || trainedAt == nil {
		return errors.New("the runs have no record at the same " + s.unit)
	}
	s.X = x
	for _, g := range groups {
		n := len(g.Models)
		candidate := Candidate{Label: g.Label, Learned: g.Models[0].Member.Sigma != nil, Seeds: seeds(g),
			Errors: held[:n], Unfitted: len(cohort.Unfitted(g.Models))}
		for _, values := range train[:n] {
			candidate.Train = append(candidate.Train, last(values))
		}
		held, train = held[n:], train[n:]
		s.Candidates = append(s.Candidates, candidate)
	}
	return nil
}

// sort sorts the candidates by increasing error.
func (s *Study) sort() {
	slices.SortStableFunc(s.Candidates, func(a, b Candidate) int {
		return cmp.Compare(stats.Mean(a.final()), stats.Mean(b.final()))
	})
	s.none = slices.IndexFunc(s.Candidates, func(c Candidate) bool { return c.Label == without })
}

// errorsOf returns the errors of a record on held-out data and in training: mean squared errors, the former
// with the share of masked tokens closest to that of training, or shares of wrong answers.
func errorsOf(c cohort.Config, r runlog.Record) (held, train float64) {
	if c.Masked == nil {
		return 1 - r.Measures.Get("validation"), 1 - r.Measures.Get("train")
	}
	return r.Measures.Get("test_mse/" + c.Masked.MainTest()), r.Measures.Get("train_mse")
}

// describe finds out what is measured, and which errors need no model.
func (s *Study) describe(r *cohort.Run) {
	switch c := r.Config; {
	case c.Masked != nil:
		level := c.Masked.MainTest()
		s.measure = "mean squared error of held-out samples, a share of " + level + " of their tokens masked"
		for _, b := range item.Baselines {
			if v := b.MSE(r, level); !math.IsNaN(v) {
				if b.Key == "zero" {
					s.zero = v
				}
				s.baselines = append(s.baselines, figure.Reference{Label: b.Label, Y: v})
			}
		}
		slices.SortStableFunc(s.baselines, func(a, b figure.Reference) int { return cmp.Compare(a.Y, b.Y) })
	case c.HasPuzzles():
		s.unit = "epoch"
		s.measure = "share of wrong answers to validation puzzles"
		s.baselines = []figure.Reference{{Label: "chance", Y: 1 - c.Chance()}}
	case c.Sequence.Text != nil:
		s.measure = "share of wrong next characters in windows longer than in training"
	default:
		s.measure = "share of wrong symbols in outputs to inputs longer than in training"
	}
}
