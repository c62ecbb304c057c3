package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"torchpe/train/sweep"
	"torchpe/train/sweep/slurm"
)

// slurmFlags are what sbatch is asked for.
type slurmFlags struct {
	options   slurm.Options
	noRequeue bool
	own       *pflag.FlagSet // these flags alone, as they were given
}

func (f *slurmFlags) add(to *pflag.FlagSet) {
	const own = " [slurm]"
	fl := pflag.NewFlagSet("", pflag.ContinueOnError)
	fl.SortFlags = false
	o := &f.options
	fl.StringVar(&o.Partition, "partition", "", "partition"+own)
	fl.StringVar(&o.Account, "account", "", "account"+own)
	fl.StringVar(&o.QOS, "qos", "", "quality of service"+own)
	fl.DurationVar(&o.Time, "time", 0, "limit of a job, such as 4h0m; 0 = the partition's default"+own)
	fl.IntVar(&o.GPUs, "gpus", 0, "GPUs a job"+own)
	fl.StringVar(&o.GPUType, "gpu-type", "", "GPU as the site names it, such as a100"+own)
	fl.IntVar(&o.CPUs, "cpus", 0, "cores a job; 0 = the site's default"+own)
	fl.StringVar(&o.Memory, "memory", "", "memory a node, such as 16G"+own)
	fl.IntVar(&o.Throttle, "throttle", 0, "jobs that run at the same time; 0 = no bound"+own)
	fl.IntVar(&o.TasksPerJob, "tasks-per-job", 1, "tasks that a job runs in turn"+own)
	fl.DurationVar(&o.Signal, "signal", 2*time.Minute, "how long before the limit a job saves and asks to be queued again"+own)
	fl.BoolVar(&f.noRequeue, "no-requeue", false, "never queue a job again by itself"+own)
	fl.IntVar(&o.MaxSubmissions, "max-submissions", slurm.DefaultSubmissions, "how often a task is submitted that is lost each time"+own)
	fl.StringArrayVar(&o.Extra, "sbatch", nil, "any other option of sbatch, such as --sbatch=--constraint=a100; may be given several times"+own)
	to.AddFlagSet(fl) // the same flags: what is given there is known here
	f.own = fl
}

// assumedJobs is how many jobs are taken to run at a time where --throttle does not say.
const assumedJobs = 16

// machine is what packing takes a job of Slurm for: its node cannot be asked now.
func (f *slurmFlags) machine() sweep.Machine {
	const (
		perMB = 4 << 10 // memory of a job without a GPU
		gpuMB = 16 << 10
	)
	m := sweep.Machine{Workers: f.options.Throttle, GPU: f.options.GPUs > 0}
	if m.Workers == 0 {
		m.Workers = assumedJobs
	}
	m.MemoryMB = float64(perMB * m.Workers)
	if m.GPU {
		m.MemoryMB = gpuMB
	}
	return m
}

// onSlurm is the Launcher that hands tasks to Slurm's queue.
type onSlurm struct {
	flags    slurmFlags
	progress io.Writer
}

var _ sweep.Launcher = onSlurm{}

// slurmName begins the names of all jobs of a sweep: it has the hash of the plan as first made, which no other sweep has.
func slurmName(s *sweep.Sweep) string { return "torchpe-" + s.Plan.Generations[0].SHA256[:12] }

// array are tasks as a job array.
func (l onSlurm) array(s *sweep.Sweep, indexes []int) (slurm.Array, error) {
	self, err := os.Executable()
	if err != nil {
		return slurm.Array{}, err
	}
	program := []string{self, "sweep", "run-task"}
	if n := l.flags.options.CPUs; n > 0 {
		program = append(program, "--threads", fmt.Sprint(n))
	}
	return slurm.Array{Name: slurmName(s), Tasks: indexes, Program: append(program, s.Dir), Dir: s.Dir, Options: l.flags.asked()}, nil
}

// asked are the options as sbatch gets them: a job that is shorter than --signal saves at its half.
func (f *slurmFlags) asked() slurm.Options {
	o := f.options
	o.Requeue = !f.noRequeue
	if o.Time > 0 && o.Signal >= o.Time {
		o.Signal = o.Time / 2 / time.Second * time.Second
	}
	return o
}

// Launch submits what is neither done, failed, nor in the queue.
func (l onSlurm) Launch(ctx context.Context, s *sweep.Sweep, indexes []int) error {
	open := slices.DeleteFunc(slices.Clone(indexes), func(i int) bool {
		state := s.Task(i).State
		return state == sweep.StateDone || state == sweep.StateFailed || state == sweep.StateUnknown
	})
	if len(open) == 0 {
		return nil
	}
	a, err := l.array(s, open)
	if err != nil {
		return err
	}
	if err := a.Validate(); err != nil {
		return usageError{err}
	}
	return s.Exclusive(func() error {
		if err := l.flags.remember(s.Dir); err != nil {
			return err
		}
		var c slurm.Client
		r, err := c.Reconcile(ctx, a, standingOf(s))
		var ids []string
		for _, j := range r.Jobs {
			ids = append(ids, fmt.Sprint(j.ID))
		}
		if len(r.Submitted) > 0 {
			fmt.Fprintf(l.progress, "submitted %d tasks to Slurm, job %s (%s)\n", len(r.Submitted), strings.Join(ids, ", "), a.Name)
		}
		say := func(tasks []int, text string) {
			if len(tasks) > 0 {
				fmt.Fprintf(l.progress, "%d tasks %s\n", len(tasks), text)
			}
		}
		say(r.Waiting, "are in the queue or running already")
		say(r.Held, "are held in the queue: scontrol release lets them start")
		say(r.Left, "could not be submitted")
		if n := len(r.GivenUp); n > 0 {
			err = errors.Join(err, fmt.Errorf("%d tasks, the first %d, are given up: each was lost after --max-submissions %d; %s says more, and torchpe sweep retry %s --lost --launcher slurm submits them again",
				n, r.GivenUp[0], l.flags.options.MaxSubmissions, filepath.Join(s.Dir, "logs"), s.Dir))
		}
		return err
	})
}

// standingOf says to Slurm's client what the folder of a task says.
func standingOf(s *sweep.Sweep) func(int) (slurm.Standing, error) {
	return func(i int) (st slurm.Standing, err error) {
		t := s.Task(i)
		switch t.State {
		case sweep.StateDone, sweep.StateFailed:
			st.Outcome = slurm.Ended
		case sweep.StateRunning, sweep.StateUnknown: // unknown only since Launch looked
			st.Outcome = slurm.Busy
		case sweep.StatePending:
			if t.Heartbeat != nil {
				st.Stopped = t.Heartbeat.Time
			}
		}
		return st, nil
	}
}

// hasQueue says whether a sweep ever had to do with Slurm.
func hasQueue(s *sweep.Sweep) bool {
	_, err := os.Stat(filepath.Join(s.Dir, "slurm"))
	return err == nil
}

// queueOf asks Slurm which tasks of a sweep are in its queue; nil where it never had any. A queue that cannot be asked is said to
// be so, and what is in it counts as lost then.
func queueOf(s *sweep.Sweep, progress io.Writer) (func(int) bool, error) {
	if !hasQueue(s) {
		return nil, nil
	}
	jobs, err := slurm.Recorded(s.Dir, slurmName(s))
	if err != nil || len(jobs) == 0 {
		return nil, err
	}
	var c slurm.Client
	states, err := c.States(context.Background(), jobs)
	if err != nil {
		fmt.Fprintf(progress, "torchpe: the queue is not known: %v\n", err)
		return nil, nil
	}
	queued := map[int]slurm.State{}
	for i, state := range states {
		if state.Phase == slurm.Gone || s.Check(i) != nil {
			continue
		}
		// Slurm may still have the job of a task that has ended, such as one that is held after its requeueing failed.
		if at := s.Task(i).State; at != sweep.StateDone && at != sweep.StateFailed {
			queued[i] = state
		}
	}
	if waits := slurm.Waits(queued); waits != nil {
		fmt.Fprintf(progress, "in Slurm's queue: %s\n", strings.Join(waits, "; "))
	}
	return func(i int) bool {
		_, there := queued[i]
		return there
	}, nil
}

// cancelQueue takes a sweep's tasks out of Slurm's queue. That is no failure of theirs: their submissions so far do not count.
func cancelQueue(s *sweep.Sweep) error {
	if !hasQueue(s) {
		return nil
	}
	return s.Exclusive(func() error {
		jobs, err := slurm.Recorded(s.Dir, slurmName(s))
		if err != nil || len(jobs) == 0 {
			return err
		}
		var c slurm.Client
		return errors.Join(c.Cancel(context.Background(), jobs), slurm.Excuse(s.Dir, slurmName(s), nil))
	})
}

// excuse makes the submissions so far not count: a person asks for another try.
func excuse(s *sweep.Sweep) error {
	if !hasQueue(s) {
		return nil
	}
	return s.Exclusive(func() error { return slurm.Excuse(s.Dir, slurmName(s), nil) })
}
