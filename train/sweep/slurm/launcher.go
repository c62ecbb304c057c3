package slurm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"torchpe/internal/wording"
	"torchpe/train/sweep"
)

// Launcher is the sweep.Launcher that submits tasks to Slurm's queue.
type Launcher struct {
	Program string // the path of torchpe
	Options Options
	Flags   Flags // stored for the next submission, unless nil
	// Submitted, which may be nil, is called with the state of the tasks, also when Launch fails.
	Submitted func(a Array, r Report)
}

var _ sweep.Launcher = Launcher{}

// InvalidError says that options or names are none that Slurm takes; nothing was submitted.
type InvalidError struct{ err error }

func (e *InvalidError) Error() string { return e.err.Error() }

// Unwrap returns all faults.
func (e *InvalidError) Unwrap() error { return e.err }

// Launch submits the tasks that are neither done, failed, nor in the queue.
func (l Launcher) Launch(ctx context.Context, s *sweep.Sweep, indexes []int) error {
	open := slices.DeleteFunc(slices.Clone(indexes), func(i int) bool {
		state := s.Task(i).State
		return state == sweep.StateDone || state == sweep.StateFailed || state == sweep.StateUnknown
	})
	if len(open) == 0 {
		return nil
	}
	a := l.array(s, open)
	if err := a.Validate(); err != nil {
		return &InvalidError{err}
	}
	return s.Exclusive(func() error {
		if err := l.Flags.write(s.Dir); err != nil {
			return err
		}
		var c client
		r, err := c.Reconcile(ctx, a, taskStateOf(s))
		if l.Submitted != nil {
			l.Submitted(a, r)
		}
		if n := len(r.GivenUp); n > 0 {
			err = errors.Join(err,
				fmt.Errorf("gave up %s, the first %d: each was lost after "+
					"--max-submissions %d; %s says more, and torchpe sweep retry %s --lost --launcher slurm "+
					"submits them again",
					wording.Count(n, "task"), r.GivenUp[0], l.Options.MaxSubmissions, filepath.Join(s.Dir, "logs"),
					s.Dir))
		}
		return err
	})
}

// array returns the job array of tasks.
func (l Launcher) array(s *sweep.Sweep, indexes []int) Array {
	program := []string{l.Program, "sweep", "run-task"}
	if n := l.Options.CPUs; n > 0 {
		program = append(program, "--threads", fmt.Sprint(n))
	}
	return Array{Name: arrayName(s), Tasks: indexes, Program: append(program, s.Dir), Dir: s.Dir,
		Options: l.Options.FitSignal()}
}

// FitSignal returns the options with a Signal that fits into Time: in a job that is shorter, the
// program saves after half of it.
func (o Options) FitSignal() Options {
	if o.Time > 0 && o.Signal >= o.Time {
		o.Signal = o.Time / 2 / time.Second * time.Second
	}
	return o
}

// Packing assumes these of jobs, whose nodes cannot be asked before.
const (
	assumedJobs  = 16      // that run at a time where Throttle does not say
	assumedMB    = 4 << 10 // memory of a job without a GPU
	assumedGPUMB = 16 << 10
)

// Machine returns what packing assumes of the nodes.
func (o Options) Machine() sweep.Machine {
	m := sweep.Machine{Workers: o.Throttle, GPU: o.GPUs > 0}
	if m.Workers == 0 {
		m.Workers = assumedJobs
	}
	m.MemoryMB = float64(assumedMB * m.Workers)
	if m.GPU {
		m.MemoryMB = assumedGPUMB
	}
	return m
}

// taskStateOf returns a function that reads the state of a task from its folder.
func taskStateOf(s *sweep.Sweep) func(int) (taskState, error) {
	return func(i int) (st taskState, err error) {
		t := s.Task(i)
		switch t.State {
		case sweep.StateDone, sweep.StateFailed:
			st.Outcome = endedTask
		case sweep.StateRunning, sweep.StateUnknown: // unknown only since Launch looked
			st.Outcome = busyTask
		case sweep.StatePending:
			if t.Heartbeat != nil {
				st.Stopped = t.Heartbeat.Time
			}
		}
		return st, nil
	}
}

// arrayName returns the beginning of the names of all jobs of a sweep. It has the hash of the first
// generation of the plan, which no other sweep has.
func arrayName(s *sweep.Sweep) string { return "torchpe-" + s.Plan.Generations[0].SHA256[:12] }

// JobsOf returns the jobs of a sweep that were ever submitted.
func JobsOf(s *sweep.Sweep) ([]Job, error) {
	if !submittedBefore(s) {
		return nil, nil
	}
	return recordedJobs(s.Dir, arrayName(s))
}

func submittedBefore(s *sweep.Sweep) bool {
	_, err := os.Stat(filepath.Join(s.Dir, folder))
	return err == nil
}

// Queued asks Slurm which tasks of a sweep are in its queue, of those that have not ended. Slurm may
// still have the job of a task that has, such as one that is held after its requeueing failed.
func Queued(ctx context.Context, s *sweep.Sweep, jobs []Job) (map[int]State, error) {
	var c client
	states, err := c.States(ctx, jobs)
	if err != nil {
		return nil, err
	}
	queued := map[int]State{}
	for i, state := range states {
		if state.Phase == Gone || s.Check(i) != nil {
			continue
		}
		if at := s.Task(i).State; at != sweep.StateDone && at != sweep.StateFailed {
			queued[i] = state
		}
	}
	return queued, nil
}

// CancelSweep takes a sweep's tasks out of Slurm's queue. That is no failure of theirs: their
// submissions so far do not count.
func CancelSweep(ctx context.Context, s *sweep.Sweep) error {
	if !submittedBefore(s) {
		return nil
	}
	return s.Exclusive(func() error {
		jobs, err := JobsOf(s)
		if err != nil || len(jobs) == 0 {
			return err
		}
		var c client
		return errors.Join(c.Cancel(ctx, jobs), excuseAll(s.Dir, arrayName(s)))
	})
}

// ExcuseSweep resets the count of submissions of all tasks of a sweep, to try them again.
func ExcuseSweep(s *sweep.Sweep) error {
	if !submittedBefore(s) {
		return nil
	}
	return s.Exclusive(func() error { return excuseAll(s.Dir, arrayName(s)) })
}
