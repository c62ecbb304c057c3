package sweep

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"torchpe/internal/atomicfile"
	"torchpe/internal/expect"
)

// doTask claims a task, trains it and completes it.
func doTask(s *Sweep, index int) error {
	c, err := s.ClaimTask(index, false)
	if err != nil {
		return err
	}
	defer c.Release()
	if err := trainFake(c, 1, 0); err != nil {
		return err
	}
	return c.Complete()
}

// sweepLife makes a sweep of one task of two members, fails it and tries it again, and completes it.
// completed becomes true with the task.
func sweepLife(dir string, extend func(dir string) (*Sweep, error), completed *bool) error {
	s, err := extend(dir)
	if err != nil {
		return err
	}
	defer s.Close()
	c, err := s.ClaimTask(0, false)
	if err != nil {
		return err
	}
	defer c.Release()
	if err := errors.Join(c.Fail(Failure{Reason: ReasonError, LastLog: []string{}}),
		s.ClearFailures(true), s.Cancel(), s.Uncancel(), doTask(s, 0)); err != nil {
		return err
	}
	*completed = true
	// Who comes later must not take it for undone.
	switch c, err := s.ClaimTask(0, false); {
	case err == nil:
		return errors.Join(errors.New("a task that is done was claimed"), c.Release())
	case !errors.Is(err, ErrDone):
		return err
	}
	return nil
}

// checkSweep checks that the task, if it was completed, is done with the bytes of a sweep that was
// left alone, and that if it was not, the next process does it.
func checkSweep(t *testing.T, what string, s, alone *Sweep, completed bool) {
	t.Helper()
	for {
		task := expect.Must(s.Status(nil)).Tasks[0]
		switch {
		case task.State == StateDone:
			for _, run := range task.Runs {
				expect.Equal(t, fmt.Sprintf("%s: %s differs", what, run),
					!maps.Equal(finished(t, s, run), finished(t, alone, run)), false)
			}
			return
		case completed:
			t.Errorf("%s: the task was completed and is %s: %s", what, task.State, task.Note)
		}
		if err := errors.Join(s.ClearFailures(false), doTask(s, 0)); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		completed = true
	}
}

// A sweep whose process dies at its n-th operation on files, or of which the n-th operation or read
// fails or is short, n = 1, 2, ...: what was completed is done, the rest is done by the next
// process, to the bytes of a sweep that was left alone.
func TestFaultAtEveryOperation(t *testing.T) {
	base, err := os.MkdirTemp("/dev/shm", "sweep")
	if err != nil {
		base = t.TempDir()
	}
	defer os.RemoveAll(base)
	grid := resolved(t, 2, axis("pe", "learn"))
	extend := func(dir string) (*Sweep, error) {
		return Extend(dir, "x", func(p *Plan) error {
			_, err := p.Add(grid, Packing{Members: 2}, nil)
			return err
		})
	}
	completed := false
	expect.NoError(t, sweepLife(filepath.Join(base, "alone"), extend, &completed))
	alone := expect.Must(Open(filepath.Join(base, "alone")))
	defer alone.Close()
	for _, fault := range []error{expect.ErrCrash, syscall.EIO, atomicfile.ErrShort} {
		for n, more := 1, true; more; n++ {
			dir := filepath.Join(base, "sweep")
			completed, x := false, &expect.Faults{N: n, Err: fault}
			err := x.During(func() error { return sweepLife(dir, extend, &completed) })
			if more = x.Done >= n; !more {
				t.Logf("%v: %d operations", fault, x.Done)
			}
			what := fmt.Sprintf("%v at operation %d (%s), which gave %v", fault, n, x.First, err)
			// A failure whose record could not be read is left alone: the next process clears it.
			if err != nil && !errors.Is(err, fault) && !errors.Is(err, ErrFailed) {
				t.Error(what)
			}
			s, err := extend(dir)
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			checkSweep(t, what, s, alone, completed)
			expect.NoError(t, errors.Join(s.Close(), os.RemoveAll(dir)))
		}
	}
}

// What cannot be read is not taken for gone: a task is not done again because a file server does not
// answer, and not taken from a worker on another host.
func TestUnreadableIsNotGone(t *testing.T) {
	s, _ := extend(t, filepath.Join(t.TempDir(), "s"), resolved(t, 2, axis("pe", "learn")), 1)
	expect.NoError(t, doTask(s, 0))
	put(t, s, taskFile(1, beatFile),
		string(expect.Must(json.Marshal(Heartbeat{PID: 1, Host: "elsewhere", Attempt: 1, Time: time.Now()}))))
	result := filepath.Join(runsDir, s.Plan.Tasks[0].Runs[0], resultFile)
	for task, file := range []string{result, taskFile(1, beatFile)} {
		atomicfile.Fault = func(_, name string) error {
			if name == file {
				return syscall.ESTALE
			}
			return nil
		}
		c, err := s.ClaimTask(task, false)
		state := s.Task(task).State
		atomicfile.Fault = nil
		if err == nil {
			err = errors.Join(errors.New("claimed"), c.Release())
		}
		if !errors.Is(err, syscall.ESTALE) || task == 0 && state != StateUnknown {
			t.Errorf("task %d: %v, %s", task, err, state)
		}
	}
	expect.Equal(t, "task 0", s.Task(0).State, StateDone)
}
