package main

import (
	"context"
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
}

func (f *slurmFlags) add(fl *pflag.FlagSet) {
	const own = " [slurm]"
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
	fl.StringArrayVar(&o.Extra, "sbatch", nil, "any other option of sbatch, such as --sbatch=--constraint=a100; may be given several times"+own)
}

// machine is what packing takes a job of Slurm for: its node cannot be asked now.
func (f *slurmFlags) machine() sweep.Machine {
	const (
		jobs  = 16      // at a time, where no throttle says
		perMB = 4 << 10 // memory of a job without a GPU
		gpuMB = 16 << 10
	)
	m := sweep.Machine{Workers: f.options.Throttle, GPU: f.options.GPUs > 0}
	if m.Workers == 0 {
		m.Workers = jobs
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
	o := l.flags.options
	o.Requeue = !l.flags.noRequeue
	if o.Time > 0 && o.Signal >= o.Time {
		o.Signal = o.Time / 2 / time.Second * time.Second
	}
	return slurm.Array{Name: slurmName(s), Tasks: indexes, Program: append(program, s.Dir), Dir: s.Dir, Options: o}, nil
}

// Launch submits what is neither done, failed, nor in the queue.
func (l onSlurm) Launch(ctx context.Context, s *sweep.Sweep, indexes []int) error {
	open := slices.DeleteFunc(slices.Clone(indexes), func(i int) bool {
		t, err := s.Task(i)
		return err == nil && (t.State == sweep.StateDone || t.State == sweep.StateFailed)
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
		var c slurm.Client
		r, err := c.Reconcile(ctx, a, outcomeOf(s))
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
		say(r.GivenUp, "were submitted too often without reaching an end and are left alone; their logs say more")
		say(r.Left, "could not be submitted")
		return err
	})
}

// outcomeOf says to Slurm's client what the folder of a task says.
func outcomeOf(s *sweep.Sweep) func(int) (slurm.Outcome, error) {
	return func(i int) (slurm.Outcome, error) {
		t, err := s.Task(i)
		switch {
		case err != nil:
			return slurm.Open, err
		case t.State == sweep.StateDone || t.State == sweep.StateFailed:
			return slurm.Ended, nil
		case t.State == sweep.StateRunning:
			return slurm.Busy, nil
		}
		return slurm.Open, nil
	}
}

// queueOf asks Slurm which tasks of a sweep are in its queue; nil where it never had any. A queue that cannot be asked is said to
// be so, and what is in it counts as lost then.
func queueOf(s *sweep.Sweep, progress io.Writer) (func(int) bool, error) {
	if _, err := os.Stat(filepath.Join(s.Dir, "slurm")); err != nil {
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
	if waits := slurm.Waits(states); waits != nil {
		fmt.Fprintf(progress, "in Slurm's queue: %s\n", strings.Join(waits, "; "))
	}
	return func(i int) bool {
		state, known := states[i]
		return known && state.Phase != slurm.Gone
	}, nil
}

// cancelQueue takes a sweep's tasks out of Slurm's queue.
func cancelQueue(s *sweep.Sweep) error {
	if _, err := os.Stat(filepath.Join(s.Dir, "slurm")); err != nil {
		return nil
	}
	jobs, err := slurm.Recorded(s.Dir, slurmName(s))
	if err != nil || len(jobs) == 0 {
		return err
	}
	var c slurm.Client
	return c.Cancel(context.Background(), jobs)
}
