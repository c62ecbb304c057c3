package advise

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"torchpe/train"
	"torchpe/train/runlog"
)

// Without is the encoding that all others are held against.
const Without = "nope"

// Candidate is a configuration that is compared: an ensemble of seeds.
type Candidate struct {
	Name   string   // of its run directory
	Args   []string // of "torchpe train"
	Config train.Config
}

// Length returns how long a candidate is trained that is not left out, in its unit.
func (c Candidate) Length() int {
	if c.Config.HasPuzzles() {
		return c.Config.Epochs
	}
	return c.Config.Steps
}

// Unit returns what Length counts: "epochs", or "steps" of masked prediction.
func (c Candidate) Unit() string {
	if c.Config.HasPuzzles() {
		return "epochs"
	}
	return "steps"
}

// Error returns what is compared: the share of validation puzzles that are answered wrongly, or the
// mean squared error of held-out samples at the share of masked tokens nearest to that of training.
func (c Candidate) Error(r runlog.Record) float64 {
	if c.Config.Masked == nil { // of sequences, on longer ones
		return 1 - r.ValidationAccuracy
	}
	if r.MaskedMeasures != nil {
		if v, ok := r.TestMSEByMask[c.Config.Masked.MainTest()]; ok {
			return v
		}
	}
	return math.NaN()
}

// Study compares candidates in a directory, where it keeps their runs.
type Study struct {
	Dir        string
	Candidates []Candidate
	Rungs      []Rung
	Baseline   int // of Candidates
}

// NewStudy returns the study of candidates, of which one must have no encoding and all the same
// length.
func NewStudy(dir string, candidates []Candidate) (*Study, error) {
	s := &Study{Dir: dir, Candidates: candidates}
	s.Baseline = slices.IndexFunc(candidates, func(c Candidate) bool { return c.Config.PE == Without })
	if s.Baseline < 0 {
		return nil, fmt.Errorf("no candidate is %s, against which all others are held", Without)
	}
	if len(candidates) < 2 {
		return nil, fmt.Errorf("%s is the only candidate: name others with --pe", Without)
	}
	length, unit := candidates[0].Length(), candidates[0].Unit()
	for _, c := range candidates {
		if err := runlog.ValidateName(c.Name); err != nil {
			return nil, err
		}
		if c.Length() != length || c.Unit() != unit {
			return nil, fmt.Errorf("%s is trained for %d %s and %s for %d %s: candidates are compared after the "+
				"same length", candidates[0].Name, length, unit, c.Name, c.Length(), c.Unit())
		}
	}
	var err error
	if s.Rungs, err = Rungs(len(candidates)-1, length); err != nil {
		return nil, fmt.Errorf("--%s: %w", unit, err)
	}
	for i := range candidates { // each rung ends with a record
		if c := &candidates[i].Config; s.Rungs[0].Length%c.LogEvery != 0 {
			c.LogEvery = s.Rungs[0].Length
		}
	}
	return s, nil
}

// RunDir returns the directory of a candidate's run in that of a study.
func RunDir(dir, name string) string { return filepath.Join(dir, "runs", name) }

// Watch follows the training of a candidate. Ended is told its errors at the end of a rung.
type Watch struct {
	Observer train.Observer
	Ended    func(length int, errors []float64, took time.Duration)
}

// Run trains the candidates and returns which one is best. What an earlier call has trained is not
// trained again. When ctx ends, it returns a *train.Interrupted.
func (s *Study) Run(ctx context.Context, watch func(Candidate) Watch) (Advice, error) {
	return Choose(s.Rungs, len(s.Candidates), s.Baseline, func(i, length int) ([]float64, error) {
		c := s.Candidates[i]
		dir := RunDir(s.Dir, c.Name)
		if errs, done, err := readErrors(dir, c, length); done || err != nil {
			return errs, err
		}
		w, start := watch(c), time.Now()
		_, err := train.Run(ctx, c.Config, dir, train.Options{Resume: true, StopAfter: length, Command: os.Args,
			Observer: w.Observer})
		var stopped *train.Interrupted
		if err != nil && !(errors.As(err, &stopped) && ctx.Err() == nil) {
			return nil, err
		}
		errs, done, err := readErrors(dir, c, length)
		if err == nil && !done {
			err = fmt.Errorf("%s: it has no record after %d %s: give another --out", dir, length, c.Unit())
		}
		if err == nil {
			w.Ended(length, errs, time.Since(start))
		}
		return errs, err
	})
}

// readErrors returns the errors of a run by seed after a length; done is false where it is not there
// or not so far.
func readErrors(dir string, c Candidate, length int) (errs []float64, done bool, err error) {
	r, err := runlog.Open(dir)
	if errors.Is(err, runlog.ErrNoRun) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	defer r.Close()
	records, err := runlog.ReadMetrics[runlog.Record](r)
	if err != nil {
		return nil, false, err
	}
	result, unfinished := r.Result()
	if unfinished != nil && !errors.Is(unfinished, runlog.ErrNoResult) {
		return nil, false, unfinished
	}
	errs = make([]float64, len(c.Config.Members))
	for i := range errs {
		errs[i] = math.NaN()
	}
	for _, record := range records {
		at := record.Epoch
		if !c.Config.HasPuzzles() {
			at = record.Step
		}
		if at <= length && record.Member < len(errs) {
			errs[record.Member] = c.Error(record)
		}
		done = done || at == length
	}
	for m, end := range result.Members { // where all diverged, nothing was recorded after that
		at := end.Epochs
		if !c.Config.HasPuzzles() {
			at = end.Steps
		}
		if end.Status == runlog.StatusDiverged && at < length && m < len(errs) {
			errs[m] = math.NaN()
		}
	}
	return errs, done || unfinished == nil, nil
}
