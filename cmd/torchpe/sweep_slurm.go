package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"torchpe/train/sweep"
	"torchpe/train/sweep/slurm"
)

// slurmFlags holds the options of sbatch.
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
	fl.IntVar(&o.GPUs, "gpus", 0, "GPUs per job"+own)
	fl.StringVar(&o.GPUType, "gpu-type", "", "GPU as the site names it, such as a100"+own)
	fl.IntVar(&o.CPUs, "cpus", 0, "cores per job; 0 = the site's default"+own)
	fl.StringVar(&o.Memory, "memory", "", "memory per node, such as 16G"+own)
	fl.IntVar(&o.Throttle, "throttle", 0, "jobs that run at the same time; 0 = no limit"+own)
	fl.IntVar(&o.TasksPerJob, "tasks-per-job", 1, "tasks that a job runs in turn"+own)
	fl.DurationVar(&o.Signal, "signal", 2*time.Minute,
		"how long before the limit a job saves and asks to be queued again"+own)
	fl.BoolVar(&f.noRequeue, "no-requeue", false, "do not requeue jobs"+own)
	fl.StringArrayVar(&o.Extra, "sbatch", nil,
		"any other option of sbatch, such as --sbatch=--constraint=a100; may be given several times"+own)
	to.AddFlagSet(fl) // the same flags: what is given there is known here
	f.own = fl
}

func (f *slurmFlags) asked() slurm.Options {
	o := f.options
	o.Requeue = !f.noRequeue
	return o.FitSignal()
}

// given returns the flags that were given, now or at an earlier submission.
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

// recall sets the flags that were not given to what they were at the last submission, and says so. It
// fails where they do not fit those that were given.
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
		fmt.Fprintf(progress, "torchpe: as in the last submission: %s\n", strings.Join(said, " "))
	}
	if err != nil {
		return err
	}
	if err := errors.Join(f.asked().Validate(), slurm.CheckDir(dir)); err != nil {
		return usageError{err}
	}
	return nil
}

// statusOf returns the state of a sweep by its folders, and by Slurm's queue where tasks of it were
// submitted. Where the queue cannot be asked it says so; the tasks in it count as lost then.
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
