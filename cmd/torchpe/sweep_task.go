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
	ended          int // exit status of a worker that a signal ended: only record that
}

func newSweepTaskCommand() *cobra.Command {
	var f taskFlags
	cmd := &cobra.Command{
		Use:   "run-task DIR --index I",
		Short: "Train exactly one task of a sweep",
		Long: `Train exactly one task of a sweep. Launchers start this command, and other schedulers can.
A task that was stopped before continues. A task that is done, or that another process trains, is left
alone. All output goes to DIR/tasks/I/log.txt.

The exit code is 0 too if the task was done before, and 1 too if another process trains it; the others
are those of torchpe --help.`,
		Example: `  torchpe sweep run-task --index $JOB_COMPLETION_INDEX my-sweep`,
	}
	fl := cmd.Flags()
	fl.IntVar(&f.index, "index", 0, "which task, from 0")
	fl.IntVar(&f.threads, "threads", 0, "CPU threads if the sweep leaves them open; 0 = measured")
	fl.StringVar(&f.device, "device", "", "device in place of the sweep's: cpu, cuda or cuda:i")
	fl.BoolVar(&f.breakLock, "break-lock", false, "take over the task of a dead process on another host, "+
		"which was silent for three minutes")
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
			msg: fmt.Sprintf("the sweep is cancelled; torchpe sweep resume %s takes that back", wording.Quote(s.Dir))}
	}
	config, err := f.taskConfig(s)
	if err != nil {
		return r, err
	}
	ctx, stopped := untilSignal(os.Stderr) // first: a task that is claimed must be given up with a record
	claim, err := s.ClaimTask(f.index, f.breakLock)
	if errors.Is(err, sweep.ErrDone) {
		return result{print: printf("task %d is done already\n", f.index)}, nil
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

// redirectOutput makes the task's log the standard output and error of this process, for libtorch and
// crashes too.
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

// work trains a claimed task to its end or that of the context, for which stopped gives the exit
// code, and gives it up.
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
