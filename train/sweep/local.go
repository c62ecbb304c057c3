package sweep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// Launcher starts work on the tasks of a sweep.
type Launcher interface {
	// Launch works on the tasks that are neither done nor failed, or submits them to a queue, and
	// returns when nothing is left to do or ctx has ended. The outcomes of tasks are in their
	// folders: an error is one of the launcher itself.
	Launch(ctx context.Context, s *Sweep) error
}

// Local is the Launcher of this machine: worker processes, each on one task at a time.
type Local struct {
	Workers int
	// Command returns the process that claims a task and ends when it is done, failed or stopped,
	// such as TaskCommand.Command. worker counts from 0 to Workers-1.
	Command func(ctx context.Context, index, worker int) *exec.Cmd
	// TakeLost declares silent workers on other hosts dead.
	TakeLost bool
	// FailFast ends the work after the first failed task. Launch then returns that as its error.
	FailFast bool
	// Ended, which may be nil, is called with the state of each task that a worker has finished
	// with or that is left alone, by one goroutine at a time.
	Ended func(TaskStatus)
	// Said, which may be nil, is called every few seconds with the last line of each running task's
	// log if it has changed; never at the same time as Ended.
	Said func(line string)
}

var _ Launcher = Local{}

// TaskCommand makes the commands "PROGRAM sweep run-task" of worker processes.
type TaskCommand struct {
	Program   string
	Dir       string // of the sweep
	Threads   int
	BreakLock bool
	GPUs      []string // names from VisibleGPUs, assigned to workers in turn, one each; nil = the CPU
}

// Command returns the command of a worker on a task. The process has its own process group, so that
// Ctrl-C reaches it only through the launcher, once.
func (c TaskCommand) Command(ctx context.Context, index, worker int) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c.Program, "sweep", "run-task", "--index", strconv.Itoa(index),
		"--threads", strconv.Itoa(c.Threads))
	if c.BreakLock {
		cmd.Args = append(cmd.Args, "--break-lock")
	}
	if c.GPUs != nil {
		cmd.Args = append(cmd.Args, "--device", "cuda:0") // the only one that it sees
		cmd.Env = append(os.Environ(), cudaDevices+"="+c.GPUs[worker%len(c.GPUs)])
	}
	cmd.Args = append(cmd.Args, "--", c.Dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

const (
	pollEvery = 300 * time.Millisecond // for tasks that other processes work on
	saidEvery = 3 * time.Second
	tailBytes = 4 << 10 // of a worker's output before it opened its log
)

// Launch works through the tasks. It waits for tasks that other processes work on, and takes them
// over if these die. When ctx ends it stops the workers, which save, and waits for them.
func (l Local) Launch(ctx context.Context, s *Sweep) error {
	open := make(chan int, len(s.Plan.Tasks)) // each task is in the channel once, or with a worker
	for i := range s.Plan.Tasks {
		// A worker died while it cleaned up.
		if s.exists(taskFile(i, ensembleDir)) && s.outcome(i).Done != nil {
			(&Claim{Sweep: s, Index: i}).cleanUp()
		}
		open <- i
	}
	var reporting sync.Mutex
	report := func(t TaskStatus) {
		if l.Ended != nil {
			reporting.Lock()
			defer reporting.Unlock()
			l.Ended(t)
		}
	}
	if l.Said != nil {
		done := make(chan struct{})
		var said sync.WaitGroup
		said.Go(func() { l.listen(s, done, &reporting) })
		defer said.Wait()
		defer close(done)
	}
	workers, ctx := errgroup.WithContext(ctx)
	for worker := range max(1, l.Workers) {
		workers.Go(func() error {
			for ctx.Err() == nil && !s.Cancelled() {
				select {
				case index := <-open:
					again, err := l.work(ctx, s, index, worker, report)
					if err != nil {
						return err
					}
					if again {
						open <- index
						time.Sleep(pollEvery)
					}
				default:
					return nil
				}
			}
			return nil
		})
	}
	return workers.Wait()
}

// listen calls Said until done is closed.
func (l Local) listen(s *Sweep, done <-chan struct{}, reporting *sync.Mutex) {
	last := map[int]string{}
	tick := time.NewTicker(saidEvery)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		for index := range s.Plan.Tasks {
			line := ""
			if lines := s.tail(index); len(lines) > 0 && s.Task(index).State == StateRunning {
				line = lines[len(lines)-1]
			}
			if line == "" || line == last[index] {
				continue
			}
			last[index] = line
			reporting.Lock()
			l.Said(line)
			reporting.Unlock()
		}
	}
}

// work lets a worker train an open task and reports the outcome. If another process works on the
// task, again is true: check the task later.
func (l Local) work(ctx context.Context, s *Sweep, index, worker int,
	report func(TaskStatus)) (again bool, err error) {
	t := s.Task(index)
	switch {
	case t.Ended() || t.State == StateUnknown:
		return false, nil
	case t.State == StateRunning:
		return true, nil
	case t.Elsewhere() && !l.TakeLost:
		report(t)
		return false, nil
	}
	if t, err = l.run(ctx, s, index, worker); err != nil {
		return false, err
	}
	if t.State == StateRunning {
		return true, nil
	}
	report(t)
	if l.FailFast && t.State == StateFailed {
		err = fmt.Errorf("task %d failed: the others were stopped", index)
	}
	return false, err
}

// run starts a worker process on a task, waits for it, and returns the state of the task.
func (l Local) run(ctx context.Context, s *Sweep, index, worker int) (TaskStatus, error) {
	cmd := l.Command(ctx, index, worker)
	var output bytes.Buffer // until it opens its log
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // shells' background jobs ignore INT
	oomBefore := oomKills()
	if err := cmd.Start(); err != nil && ctx.Err() == nil {
		return TaskStatus{}, fmt.Errorf("start a worker: %w", err)
	}
	waitErr := cmd.Wait()
	t := s.Task(index)
	if t.State != StatePending && t.State != StateLost || ctx.Err() != nil {
		return t, nil
	}
	b := t.Heartbeat
	if t.State == StatePending && b != nil && b.PID == cmd.Process.Pid && b.Stopped != "" {
		return t, nil // the worker was stopped
	}
	f := workerFailure(waitErr, output.String(), oomKills() > oomBefore)
	err := s.recordFailure(index, f, func(*Claim, Heartbeat, bool) bool { return true })
	if err != nil {
		return t, fmt.Errorf("task %d: %s; that could not be recorded: %w", index, f.Message, err)
	}
	return s.Task(index), nil
}

// workerFailure describes the end of a worker that recorded none. oom says that the system killed a
// process meanwhile because memory ran out.
func workerFailure(err error, output string, oom bool) Failure {
	f := Failure{Reason: ReasonError, Message: "the worker ended without a message"}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		f.ExitCode = exit.ExitCode()
		f.Message = fmt.Sprintf("the worker ended with exit code %d", f.ExitCode)
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			f = killed(status.Signal())
			if status.Signal() == syscall.SIGKILL && oom {
				f.Reason = ReasonOOM
				f.Message = "the system killed the worker because memory ran out: give fewer --workers, " +
					"or a smaller --pack with another --out"
			}
		}
	}
	if output = strings.TrimSpace(output); output != "" {
		f.Message += ": " + output[max(0, len(output)-tailBytes):]
	}
	return f
}

// oomKills returns the number of processes that Linux has killed because memory ran out; 0 if unknown.
func oomKills() int {
	text, _ := os.ReadFile("/proc/vmstat")
	_, after, _ := strings.Cut(string(text), "\noom_kill ")
	count, _, _ := strings.Cut(after, "\n")
	n, _ := strconv.Atoi(count)
	return n
}
