package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"torchpe/train"
	"torchpe/train/runlog"
	"torchpe/train/sweep"
)

// taskFlags are the flags of "torchpe sweep run-task".
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
		Long: `Train exactly one task of a sweep: what launchers start, and what other schedulers can. Where it was stopped before, it goes on.
A task that is done, or that somebody works on, is left alone. Everything it says goes to DIR/tasks/I/log.txt.

Exit codes: 0 the task is done (now, or before); 1 it failed, or cannot be had now; 130, 143, 75 it was stopped by SIGINT, SIGTERM,
SIGUSR1 and has saved.`,
		Example: `  torchpe sweep run-task --index $JOB_COMPLETION_INDEX my-sweep`,
		Args:    oneArgument("DIR", "a sweep"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runTask(cmd.OutOrStdout(), args[0], f)
		},
	}
	fl := cmd.Flags()
	fl.IntVar(&f.index, "index", -1, "which task, from 0")
	fl.IntVar(&f.threads, "threads", 0, "CPU threads where the sweep leaves them open; 0 = measured")
	fl.StringVar(&f.device, "device", "", "device in place of the sweep's: cpu, cuda or cuda:i")
	fl.BoolVar(&f.breakLock, "break-lock", false, "take over the task of a dead process on another host")
	fl.IntVar(&f.ended, "ended", 0, "train nothing: record that the worker of this job was ended by a signal, by its exit status above 128")
	return cmd
}

func runTask(out io.Writer, dir string, f taskFlags) error {
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
			return usagef("--ended: %d is no exit status of a program that a signal ended: those are 129 to 192", f.ended)
		}
		return errors.Join(s.Died(f.index, f.ended), s.SummaryOfLast(f.index))
	}
	if s.Cancelled() {
		return interruptedError{code: exitTerminated, msg: fmt.Sprintf("the sweep is cancelled; torchpe sweep resume %s takes that back", dir)}
	}
	config, err := taskConfig(s, f)
	if err != nil {
		return err
	}
	claim, err := s.Claim(f.index, f.breakLock)
	if errors.Is(err, sweep.ErrDone) {
		_, err = fmt.Fprintf(out, "task %d is done already\n", f.index)
		return err
	}
	if err != nil {
		return err
	}
	if err := logInstead(claim); err != nil {
		return errors.Join(err, claim.Stop("no log"))
	}
	return work(claim, config)
}

// taskConfig is the configuration that this process trains.
func taskConfig(s *sweep.Sweep, f taskFlags) (train.Config, error) {
	text, err := s.Plan.Config(f.index)
	if err != nil {
		return train.Config{}, err
	}
	c, err := train.ParseConfig(text)
	if err != nil {
		return c, fmt.Errorf("task %d: %w", f.index, err)
	}
	if c.Threads == 0 {
		c.Threads = f.threads
	}
	if f.device != "" && c.Device != "cpu" {
		c.Device = f.device
	}
	return c, nil
}

// logInstead makes the task's log the standard output and error of this process, for libtorch and crashes too.
func logInstead(claim *sweep.Claim) error {
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

// work trains a claimed task to its end, and gives it up.
func work(claim *sweep.Claim, c train.Config) error {
	ctx, stopped := untilSignal(os.Stderr)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	beat := &heartbeats{progress: newProgress(os.Stderr, c, false), claim: claim}
	fmt.Fprintf(os.Stderr, "task %d, attempt %d, pid %d, %s\n", claim.Index, claim.Attempt(), os.Getpid(), time.Now().Format(time.RFC3339))
	stopBeating := beat.start(cancel)
	_, err := train.Run(ctx, c, claim.EnsembleDir(claim.Index), train.Options{
		Resume: true, BreakLock: true, Command: os.Args, Observer: beat, StallAfter: stallAfter,
		Stalled: func(err *train.StalledError) {
			fmt.Fprintln(os.Stderr, "torchpe: "+err.Error())
			if failed := claim.Fail(sweep.Failure{Reason: sweep.ReasonDevice, ExitCode: exitFailed, Message: err.Error()}); failed != nil {
				fmt.Fprintln(os.Stderr, "torchpe: "+failed.Error())
			}
			os.Exit(exitFailed)
		},
	})
	stopBeating()
	var interrupted *train.Interrupted
	if errors.As(err, &interrupted) {
		code, why := exitTerminated, "cancelled"
		if !claim.Cancelled() {
			code, why = stopped(), "signal"
		}
		return errors.Join(claim.Stop(why), interruptedError{code: code, msg: err.Error()})
	}
	if err == nil || errors.Is(err, runlog.ErrComplete) { // complete: a worker died between training and splitting
		if err = claim.Complete(); err == nil {
			return claim.SummaryOfLast(claim.Index)
		}
	}
	fmt.Fprintln(os.Stderr, "torchpe: "+err.Error())
	return errors.Join(err, claim.Fail(sweep.Failure{Reason: reason(err), ExitCode: exitFailed, Message: err.Error()}), claim.SummaryOfLast(claim.Index))
}

// reason sorts an error into the classes of sweep.Failure.
func reason(err error) string {
	var data *train.DataError
	switch {
	case errors.As(err, &data):
		return sweep.ReasonData
	case errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT):
		return sweep.ReasonDisk
	case train.OutOfMemory(err):
		return sweep.ReasonOOM
	case train.DeviceLost(err):
		return sweep.ReasonDevice
	}
	return sweep.ReasonError
}

// beatEvery is the time between heartbeats.
const beatEvery = 2 * time.Second

// heartbeats is an Observer that also says where the task is, every few seconds.
type heartbeats struct {
	*progress
	claim              *sweep.Claim
	first, step, total atomic.Int64
}

// Started notes where the attempt begins.
func (h *heartbeats) Started(done, total int) {
	h.first.Store(int64(done))
	h.step.Store(int64(done))
	h.total.Store(int64(total))
	h.progress.Started(done, total)
}

// Stepped notes a step.
func (h *heartbeats) Stepped(done int) {
	h.step.Store(int64(done))
	h.progress.Stepped(done)
}

// start beats until the returned function is called, and calls cancel when the sweep is cancelled.
func (h *heartbeats) start(cancel func()) (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	beat := func() {
		// A heartbeat that cannot be written is no reason to stop training.
		_ = h.claim.Beat(int(h.first.Load()), int(h.step.Load()), int(h.total.Load()))
	}
	wg.Go(func() {
		ticker := time.NewTicker(beatEvery)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				beat()
				if h.claim.Cancelled() {
					cancel()
				}
			}
		}
	})
	return func() {
		close(done)
		wg.Wait()
		beat()
		h.Close()
	}
}
