package runlog

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"torchpe/data/array/safetensors"
	"torchpe/internal/expect"
)

// A simulation trains nothing, but writes a run directory in the order in which training does. The
// state after a step is a function of the step, so that what a resumed run must contain is known
// without running it.
type simulation struct {
	dir    string
	steps  int
	every  int // steps between checkpoints
	size   int // float64s in a checkpoint
	opts   Options
	repeat bool // try every failed call once more

	powerLoss bool

	saved  int // step of the last checkpoint that was written
	trying int // step of the last one that was begun
	begun  func() error
}

// newSimulation returns one of 10 steps with a checkpoint every 2.
func newSimulation(dir string) *simulation {
	return &simulation{dir: dir, steps: 10, every: 2, size: 32, saved: noStep, trying: noStep}
}

// state returns the tensors after a step.
func (s *simulation) state(step int) []safetensors.Tensor {
	w := make([]float64, s.size)
	for i := range w {
		w[i] = math.Sin(float64(step*s.size + i))
	}
	rng := expect.Must(safetensors.New("rng", []int{2}, []int64{int64(step), int64(-step)}))
	return []safetensors.Tensor{expect.Must(safetensors.New("w", []int{s.size}, w)), rng}
}

// records returns the records of a step, one for each of two members.
func (s *simulation) records(step int) []Record {
	sigma := 0.2
	records := make([]Record, 2)
	for i := range records {
		records[i] = Record{Step: step, Epoch: step / 4, Member: i, Sigma: &sigma, Seed: int64(i),
			Measures: Numbers{"loss": math.Exp(-float64(step))}, WallSeconds: float64(step)}
	}
	return records
}

// try calls f, and again if it failed and the simulation is one that repeats.
func (s *simulation) try(f func() error) error {
	err := f()
	if err != nil && s.repeat {
		err = f()
	}
	return err
}

// run starts the run, or resumes it, and takes it to its end.
func (s *simulation) run() (err error) {
	s.begun = nil
	r, from, err := s.begin()
	if errors.Is(err, ErrComplete) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for step := from + 1; step <= s.steps; step++ {
		if err := s.try(func() error { return r.Append(s.records(step)...) }); err != nil {
			return err
		}
		if err := s.write(); err != nil {
			return err
		}
		if step%s.every != 0 {
			continue
		}
		s.trying = step
		if err := s.try(func() (err error) {
			s.begun, err = r.BeginCheckpoint(step, s.state(step), map[string]string{"pe": "learn"})
			return err
		}); err != nil {
			return err
		}
		// Every other checkpoint is written after the next records, as beside the steps that follow.
		if step%(2*s.every) != 0 || step == s.steps {
			if err := s.write(); err != nil {
				return err
			}
		}
	}
	if err := s.try(func() error { return r.SaveProbes(s.state(-1), nil) }); err != nil {
		return err
	}
	return s.try(func() error { return r.SaveResult(s.result()) })
}

// write writes the checkpoint that was begun, if there is one.
func (s *simulation) write() error {
	if s.begun == nil {
		return nil
	}
	if err := s.try(s.begun); err != nil {
		return err
	}
	s.begun, s.saved = nil, s.trying
	return nil
}

// result returns the final numbers.
func (s *simulation) result() Result {
	return Result{Members: []MemberResult{{PE: "learn", Status: StatusDone, Steps: s.steps}}, WallSeconds: 8}
}

// begin creates the run or resumes it, and returns the step to go on from.
func (s *simulation) begin() (r *Run, from int, err error) {
	open := func() error {
		r, err = Resume(s.dir, s.opts)
		if errors.Is(err, ErrNoRun) {
			r, err = Create(s.dir, []byte(`{"task":"lst"}`), Environment{Host: "first"}, s.opts)
			return err
		}
		if err == nil {
			if err = r.AddEnvironment(Environment{Host: "again"}); err != nil {
				err = errors.Join(err, r.Close())
			}
		}
		return err
	}
	if err := s.try(open); err != nil {
		return nil, 0, err
	}
	from, err = s.restore(r)
	if err != nil {
		return nil, 0, errors.Join(err, r.Close())
	}
	return r, from, nil
}

// restore loads the checkpoint, checks its content and truncates the metrics.
func (s *simulation) restore(r *Run) (int, error) {
	c, err := r.LoadCheckpoint()
	from := noStep
	switch {
	case errors.Is(err, ErrNoCheckpoint):
	case err != nil:
		return 0, err
	default:
		if err := s.checkState(c); err != nil {
			return 0, err
		}
		from = c.Step
	}
	if err := s.try(func() error { _, err := r.TruncateMetrics(from); return err }); err != nil {
		return 0, err
	}
	return max(from, 0), nil
}

// checkState compares a checkpoint with the state that its step must have.
func (s *simulation) checkState(c *Checkpoint) error {
	for _, want := range s.state(c.Step) {
		got, ok := c.Tensor(want.Name)
		if !ok || !slices.Equal(got.Data, want.Data) {
			return fmt.Errorf("checkpoint of step %d: tensor %q has another state", c.Step, want.Name)
		}
	}
	if len(c.Metadata) != 1 || c.Metadata["pe"] != "learn" {
		return fmt.Errorf("checkpoint of step %d: metadata %v", c.Step, c.Metadata)
	}
	return nil
}

// finalFiles are the files that a run that was stopped and resumed must share with one that was
// not.
var finalFiles = []string{configFile, metricsFile, checkpointFile, previousFile, probesFile, resultFile}

// content returns the final files of a run.
func content(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, name := range finalFiles {
		files[name] = string(expect.Must(os.ReadFile(filepath.Join(dir, name))))
	}
	return files
}

// fastDir returns a directory in memory where there is one: for tests that make thousands of files
// and need no disk.
func fastDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "runlog")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// uninterrupted returns the final files of a simulation that nothing stops.
func uninterrupted(t *testing.T) map[string]string {
	t.Helper()
	s := newSimulation(filepath.Join(fastDir(t), "whole"))
	expect.NoError(t, s.run())
	return content(t, s.dir)
}

// checkPrevious checks that the checkpoint before the last one is good.
func (s *simulation) checkPrevious(t *testing.T, fault string) {
	t.Helper()
	r := expect.Must(Open(s.dir))
	defer r.Close()
	c, err := r.readCheckpoint(previousFile)
	if err == nil {
		err = s.checkState(c)
	}
	if err != nil || c.Step >= s.steps {
		t.Errorf("%s: the previous checkpoint is %v (%v)", fault, c, err)
	}
}

// finish takes a run that was stopped to its end, after checking that it kept what it had promised,
// and compares it with the uninterrupted one.
func (s *simulation) finish(t *testing.T, want map[string]string, fault string) {
	t.Helper()
	again := newSimulation(s.dir)
	if r, err := Open(s.dir); err == nil {
		c, err := r.LoadCheckpoint()
		switch {
		case errors.Is(err, ErrNoCheckpoint) && s.saved == noStep:
		case err != nil:
			t.Errorf("%s: after step %d was saved: %v", fault, s.saved, err)
			return
		case c.Step != s.saved && c.Step != s.trying:
			t.Errorf("%s: loaded step %d, saved was %d and tried %d", fault, c.Step, s.saved, s.trying)
		case c.Warning != "":
			t.Errorf("%s: %s", fault, c.Warning)
		}
		expect.NoError(t, r.Close())
	}
	if err := again.run(); err != nil {
		t.Errorf("%s: cannot go on: %v", fault, err)
		return
	}
	for name, text := range content(t, s.dir) {
		// After a power loss between two renames the previous checkpoint may be an older one.
		if text != want[name] && (name != previousFile || !s.powerLoss) {
			t.Errorf("%s: %s differs from the uninterrupted run's:\n%.300q\nwant\n%.300q", fault, name,
				text, want[name])
		}
	}
	s.checkPrevious(t, fault)
	temps, err := filepath.Glob(filepath.Join(s.dir, "*"+tempSuffix))
	if err != nil || len(temps) > 0 {
		t.Errorf("%s: left %v (%v)", fault, temps, err)
	}
}
