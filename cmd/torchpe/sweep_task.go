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
		Use:   "run-task --index I DIR",
		Short: "Train exactly one task of a sweep",
		Long: `Train exactly one task of a sweep: what launchers start, and what other schedulers can.
Where it was stopped before, it goes on. A task that is done, or that somebody works on, is left
alone. Everything it says goes to DIR/tasks/I/log.txt.

Exit code 0 also where the task was done before, 1 also where it cannot be had now; the others are
those of torchpe --help.`,
		Example: `  torchpe sweep run-task --index $JOB_COMPLETION_INDEX my-sweep`,
		Args:    oneFolder("a sweep"),
		RunE:    f.run,
	}
	fl := cmd.Flags()
	fl.IntVar(&f.index, "index", -1, "which task, from 0")
	fl.IntVar(&f.threads, "threads", 0, "CPU threads where the sweep leaves them open; 0 = measured")
	fl.StringVar(&f.device, "device", "", "device in place of the sweep's: cpu, cuda or cuda:i")
	fl.BoolVar(&f.breakLock, "break-lock", false, "take over the task of a dead process on another host")
	fl.IntVar(&f.ended, "ended", 0, "train nothing: record that the worker of this job was ended "+
		"by a signal, by its exit status above 128")
	return cmd
}

func (f *taskFlags) run(cmd *cobra.Command, args []string) error {
	dir := args[0]
	s, err := openSweep(dir)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.Check(f.index); err != nil {
		return usageError{err}
	}
	if f.ended != 0 {
		if f.ended <= 128 || f.ended > 192 {
			return usagef("--ended: %d is no exit status of a program that a signal ended: those "+
				"are 129 to 192", f.ended)
		}
		return errors.Join(s.RecordKilled(f.index, f.ended), s.SummaryOfLast(f.index))
	}
	if s.Cancelled() {
		return interruptedError{code: exitTerminated,
			msg: fmt.Sprintf("the sweep is cancelled; torchpe sweep resume %s takes that back", dir)}
	}
	config, err := f.taskConfig(s)
	if err != nil {
		return err
	}
	ctx, stopped := untilSignal(os.Stderr) // first: a task that is claimed must be given up in words
	claim, err := s.ClaimTask(f.index, f.breakLock)
	if errors.Is(err, sweep.ErrDone) {
		fmt.Fprintf(cmd.OutOrStdout(), "task %d is done already\n", f.index)
		return nil
	}
	if err != nil {
		return err
	}
	if err := redirectOutput(claim); err != nil {
		return errors.Join(err, claim.Stop("no log"))
	}
	return work(ctx, claim, config, stopped)
}

// taskConfig returns the configuration that this process trains.
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
	case !errors.As(err, &stop):
		return err
	case stop.Cancelled:
		return interruptedError{code: exitTerminated, msg: err.Error()}
	}
	return interruptedError{code: stopped(), msg: err.Error()}
}
