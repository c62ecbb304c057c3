package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"torchpe/internal/wording"
	"torchpe/train"
	"torchpe/train/sweep"
	"torchpe/train/sweep/slurm"
)

// launchFlags hold the launcher and its options.
type launchFlags struct {
	launcher string
	workers  int
	failFast bool
	takeLost bool // set by retry --lost
	says     bool // also print messages of running tasks
	slurm    slurmFlags
}

func (f *launchFlags) add(fl *pflag.FlagSet) {
	fl.Var(choice{&f.launcher, []string{"local", "slurm", "none"}}, "launcher",
		"runs the tasks: local (worker processes here), slurm (job arrays), none (only plan; see sweep run-task)")
	f.addLocal(fl)
	fl.BoolVar(&f.failFast, "fail-fast", false, "after the first task that fails, save and stop the others (local)")
	f.slurm.add(fl)
}

// addLocal declares the flags of a launch on this machine.
func (f *launchFlags) addLocal(fl *pflag.FlagSet) {
	f.launcher = "local"
	fl.Var(bounded{&f.workers, 0, math.MaxInt}, "workers",
		"worker processes at a time (default: one per GPU, or per CPU core)")
	quietFlag(fl)
}

// check returns an error for flags of another launcher.
func (f *launchFlags) check() error {
	if f.failFast && f.launcher != "local" {
		return usagef("--fail-fast: only --launcher local stops the other tasks; here it is %s", f.launcher)
	}
	if given := slices.Sorted(maps.Keys(f.slurm.given())); given != nil && f.launcher != "slurm" {
		return usagef("--%s: only --launcher slurm submits jobs; here it is %s", strings.Join(given, ", --"),
			f.launcher)
	}
	return nil
}

// recall sets flags that were not given to their values in the last launch of the sweep in dir.
func (f *launchFlags) recall(dir string, progress io.Writer) error {
	if f.launcher != "slurm" {
		return nil
	}
	return f.slurm.recall(dir, progress)
}

// launch works through all unfinished tasks and returns the outcome, even if the launcher failed.
func (f *launchFlags) launch(c *call, s *sweep.Sweep) (r result, err error) {
	if err := s.Uncancel(); err != nil {
		return r, err
	}
	ctx, stopped := untilSignal(c.notes)
	launchErr := f.start(ctx, c, s)
	st, err := statusOf(s, c.notes)
	if err != nil {
		return r, errors.Join(launchErr, err)
	}
	r = result{value: st, print: func(w io.Writer) { printOutcome(w, s, st) }}
	switch {
	case launchErr != nil:
		r.err = launchErr
	case ctx.Err() != nil:
		r.err = interruptedError{code: stopped(), msg: "the sweep was stopped; the same command continues it"}
	case f.launcher != "none":
		r.err = s.Unfinished(st, f.launcher == "slurm")
	}
	return r, nil
}

// start runs the tasks with the launcher that the flags select.
func (f *launchFlags) start(ctx context.Context, c *call, s *sweep.Sweep) error {
	if f.launcher == "none" {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	st, err := s.Status(nil)
	if err != nil {
		return err
	}
	var launcher sweep.Launcher
	if f.launcher == "local" {
		if queue, _ := slurm.Queued(ctx, s); len(queue) > 0 { // the status after the launch reports the error
			c.note("Slurm's queue has " + wording.Count(len(queue), "task") + ": torchpe sweep cancel removes them")
		}
		launcher, err = f.local(s, self, sweep.NewProgress(c.progress(), st))
	} else {
		launcher = slurm.Launcher{Program: self, Options: f.slurm.asked(), Flags: f.slurm.given(),
			TakeLost: f.takeLost, Submitted: func(r slurm.Report) { fmt.Fprint(c.notes, r) }}
	}
	if err != nil {
		return err
	}
	left, err := s.Plan.Estimate(st)
	if err != nil {
		return err
	}
	if short := sweep.ShortOfDisk(s.Dir, left.DiskMB, sweep.FreeMB(s.Dir)); short != "" {
		c.note(short)
	}
	return launcher.Launch(ctx, s)
}

func (f *launchFlags) machine(configs [][]byte) (sweep.Machine, error) {
	if f.launcher == "slurm" {
		return f.slurm.options.Machine(), nil
	}
	return train.Hardware().Machine(configs, f.workers)
}

func (f *launchFlags) local(s *sweep.Sweep, program string, watch *sweep.Progress) (sweep.Launcher, error) {
	configs := make([][]byte, len(s.Plan.Configurations))
	for i, c := range s.Plan.Configurations {
		configs[i] = c
	}
	m, err := f.machine(configs)
	if err != nil {
		return nil, err
	}
	task := sweep.TaskCommand{Program: program, Dir: s.Dir, BreakLock: f.takeLost,
		Threads: max(1, runtime.NumCPU()/m.Workers)}
	if m.GPU {
		task.GPUs = sweep.VisibleGPUs(len(train.Hardware().GPUsMB))
	}
	l := sweep.Local{Workers: min(m.Workers, len(s.Plan.Tasks)), Command: task.Command,
		TakeLost: f.takeLost, FailFast: f.failFast, Ended: watch.Ended}
	if f.says {
		l.Said = watch.Said
	}
	return l, nil
}

// slurmFlags holds the options of sbatch.
type slurmFlags struct {
	options   slurm.Options
	noRequeue bool
	own       *pflag.FlagSet // only these flags, as given
}

func (f *slurmFlags) add(to *pflag.FlagSet) {
	const own = " [slurm]"
	fl := pflag.NewFlagSet("", pflag.ContinueOnError)
	fl.SortFlags = false
	o := &f.options
	fl.StringVar(&o.Partition, "partition", "", "partition"+own)
	fl.StringVar(&o.Account, "account", "", "account"+own)
	fl.StringVar(&o.QOS, "qos", "", "quality of service"+own)
	fl.DurationVar(&o.Time, "time", 0, "time limit of a job, such as 4h0m; 0 = the partition's default"+own)
	fl.IntVar(&o.GPUs, "gpus", 0, "GPUs per job"+own)
	fl.StringVar(&o.GPUType, "gpu-type", "", "GPU type as named by the site, such as a100"+own)
	fl.IntVar(&o.CPUs, "cpus", 0, "cores per job; 0 = the site's default"+own)
	fl.StringVar(&o.Memory, "memory", "", "memory per node, such as 16G"+own)
	fl.IntVar(&o.Throttle, "throttle", 0, "jobs of an array that run at once; 0 = no limit"+own)
	fl.IntVar(&o.TasksPerJob, "tasks-per-job", 1, "tasks that a job runs one after the other"+own)
	fl.DurationVar(&o.Signal, "signal", 2*time.Minute,
		"time before the limit at which a job saves and requeues itself"+own)
	fl.BoolVar(&f.noRequeue, "no-requeue", false, "do not requeue jobs"+own)
	fl.StringArrayVar(&o.Extra, "sbatch", nil,
		"any other option of sbatch, such as --sbatch=--constraint=a100; may be given several times"+own)
	to.AddFlagSet(fl) // shared flags: own knows which were given
	f.own = fl
}

func (f *slurmFlags) asked() slurm.Options {
	o := f.options
	o.Requeue = !f.noRequeue
	return o.FitSignal()
}

// given returns the flags given now or in an earlier submission.
func (f *slurmFlags) given() slurm.Flags {
	given := slurm.Flags{}
	f.own.VisitAll(func(flag *pflag.Flag) {
		if !flag.Changed {
			return
		}
		if list, several := flag.Value.(pflag.SliceValue); several {
			given[flag.Name] = list.GetSlice()
		} else {
			given[flag.Name] = []string{flag.Value.String()}
		}
	})
	return given
}

// recall sets flags that were not given to their values in the last submission, and says so. It returns an
// error if these conflict with the given ones.
func (f *slurmFlags) recall(dir string, progress io.Writer) error {
	before, path, err := slurm.ReadFlags(dir)
	if err != nil {
		return err
	}
	var said []string
	f.own.VisitAll(func(flag *pflag.Flag) {
		values, stored := before[flag.Name]
		if !stored || flag.Changed {
			return
		}
		for _, v := range values {
			if setErr := f.own.Set(flag.Name, v); setErr != nil {
				err = errors.Join(err, fmt.Errorf("%s: %w", path, setErr))
			}
			said = append(said, "--"+flag.Name+"="+v)
		}
	})
	if said != nil {
		fmt.Fprintf(progress, "torchpe: as in the last submission: %s; remove %s to drop them\n",
			strings.Join(said, " "), path)
	}
	if err != nil {
		return err
	}
	if err := errors.Join(f.asked().Validate(), slurm.CheckDir(dir)); err != nil {
		return usageError{err}
	}
	return nil
}

// statusOf returns the state of a sweep by its folders, and by Slurm's queue if tasks of it were submitted. If
// the queue cannot be read it says so; its tasks then count as lost.
func statusOf(s *sweep.Sweep, progress io.Writer) (sweep.Status, error) {
	queue, err := slurm.Queued(context.Background(), s)
	if err != nil {
		fmt.Fprintf(progress, "torchpe: the queue cannot be read: %v\n", err)
		return s.Status(nil)
	}
	if waits := slurm.Waits(queue); waits != nil {
		fmt.Fprintf(progress, "in Slurm's queue: %s\n", strings.Join(waits, "; "))
	}
	return s.Status(func(i int) bool {
		_, queued := queue[i]
		return queued
	})
}
