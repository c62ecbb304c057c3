package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"torchpe/internal/wording"
	"torchpe/train"
	"torchpe/train/sweep"
)

// taskFlags holds the flags of "torchpe sweep run-task".
type taskFlags struct {
	index, threads int
	device         string
	breakLock      bool
	ended          int // exit status of a worker that a signal ended, to be recorded only
}

func newSweepTaskCommand() *cobra.Command {
	var f taskFlags
	cmd := &cobra.Command{
		Use:   "run-task DIR --index I",
		Short: "Train one task of a sweep",
		Long: `Train one task of a sweep. Launchers start this command, and other schedulers can. A task that was
stopped continues. A task that is done, or that another process trains, is left alone. All output goes
to DIR/tasks/I/log.txt.

The exit codes are those of torchpe --help. A task that was done before gives 0, one that another process
trains gives 1.`,
		Example: `  torchpe sweep run-task --index $JOB_COMPLETION_INDEX my-sweep`,
	}
	fl := cmd.Flags()
	fl.IntVar(&f.index, "index", 0, "index of the task, from 0")
	fl.IntVar(&f.threads, "threads", 0, "CPU threads if the sweep does not set them; 0 = measured")
	fl.StringVar(&f.device, "device", "", "device instead of the sweep's: cpu, cuda or cuda:i")
	fl.BoolVar(&f.breakLock, "break-lock", false, "take over the task of a dead process on another host, "+
		"which had no heartbeat for three minutes")
	fl.Var(bounded{&f.ended, 129, 192}, "ended", "train nothing: record that a signal ended the worker of this job, "+
		"by its exit status above 128")
	require(cmd, "index")
	return action(cmd, onSweep(f.run))
}

func (f *taskFlags) run(_ *call, s *sweep.Sweep) (r result, err error) {
	if err := s.Check(f.index); err != nil {
		return r, usageError{err}
	}
	if f.ended != 0 {
		return r, s.RecordKilled(f.index, f.ended)
	}
	if s.Cancelled() {
		return r, interruptedError{code: exitTerminated,
			msg: fmt.Sprintf("the sweep is cancelled; torchpe sweep resume %s undoes this", wording.Quote(s.Dir))}
	}
	config, err := f.taskConfig(s)
	if err != nil {
		return r, err
	}
	ctx, stopped := untilSignal(os.Stderr) // first: a claimed task must be released with a record
	claim, err := s.ClaimTask(f.index, f.breakLock)
	if errors.Is(err, sweep.ErrDone) {
		return result{print: printf("task %d is already done\n", f.index)}, nil
	}
	if err != nil {
		return r, err
	}
	if err := redirectOutput(claim); err != nil {
		return r, errors.Join(err, claim.Stop("no log"))
	}
	return r, work(ctx, claim, config, stopped)
}

func (f *taskFlags) taskConfig(s *sweep.Sweep) (train.Config, error) {
	c, err := s.Plan.TaskConfig(f.index)
	if err != nil {
		return train.Config{}, fmt.Errorf("task %d: %w", f.index, err)
	}
	if c.Threads == 0 {
		c.Threads = f.threads
	}
	if f.device != "" && c.Device != "cpu" {
		c.Device = f.device
	}
	return train.Config{Config: c}, nil
}

// redirectOutput sends standard output and error of this process to the task's log, also those of libtorch and
// of crashes.
func redirectOutput(claim *sweep.Claim) error {
	log, err := claim.OpenLog()
	if err != nil {
		return err
	}
	defer log.Close()
	for _, fd := range []int{syscall.Stdout, syscall.Stderr} {
		if err := unix.Dup2(int(log.Fd()), fd); err != nil {
			return fmt.Errorf("log: %w", err)
		}
	}
	return nil
}

// work trains a claimed task until it ends or the context does, and releases it. stopped returns the exit code
// if the context ended.
func work(ctx context.Context, claim *sweep.Claim, c train.Config, stopped func() int) error {
	watch := newProgress(os.Stderr, c, false)
	fmt.Fprintf(os.Stderr, "task %d, attempt %d, pid %d, %s\n", claim.Index, claim.Attempt(),
		os.Getpid(), time.Now().Format(time.RFC3339))
	err := train.RunTask(ctx, claim, c, train.Options{Command: os.Args, Observer: watch, StallAfter: stallAfter,
		Stalled: func(*train.StalledError) { os.Exit(exitFailed) }})
	watch.Close()
	var stop *train.TaskStoppedError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &stop):
		return taskError{err}
	case stop.Cancelled:
		return interruptedError{code: exitTerminated, msg: err.Error()}
	}
	return interruptedError{code: stopped(), msg: err.Error()}
}
