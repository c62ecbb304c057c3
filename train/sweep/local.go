package sweep

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Launcher gets tasks of a sweep worked on.
type Launcher interface {
	// Launch works on the tasks that are neither done nor failed, or hands them to a queue, and
	// returns when it has nothing left to do, or ctx has ended. The outcomes of tasks are in their
	// folders: an error is of the launcher itself.
	Launch(ctx context.Context, s *Sweep, indexes []int) error
}

// Local is the Launcher of this machine: worker processes, each on one task at a time.
type Local struct {
	Workers int
	// Command returns the process that claims a task and ends with it done, failed or stopped, such
	// as that of TaskCommand. worker counts from 0 to Workers-1.
	Command func(index, worker int) *exec.Cmd
	// TakeLost says that silent workers of other hosts are dead.
	TakeLost bool
	// FailFast ends the work after the first task that fails, which is then Launch's error.
	FailFast bool
	// Event, which may be nil, is called by one goroutine at a time.
	Event func(Event)
}

var _ Launcher = Local{}

// TaskCommand makes the commands "PROGRAM sweep run-task" of worker processes.
type TaskCommand struct {
	Program   string
	Dir       string // of the sweep
	Threads   int
	BreakLock bool
	GPUs      []string // as VisibleGPUs names them: each worker sees one, in turn; nil = the CPU
}

// Command returns the command of a worker on a task. The process has a group of its own, so that
// Ctrl-C reaches it through the launcher alone, once.
func (c TaskCommand) Command(index, worker int) *exec.Cmd {
	cmd := exec.Command(c.Program, "sweep", "run-task", "--index", strconv.Itoa(index),
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

// Event says that a worker began a task (state running), or how the task ended.
type Event struct {
	Worker int
	Task   TaskStatus
}

const (
	pollEvery = 300 * time.Millisecond // for tasks that others work on
	tailBytes = 4 << 10                // of a worker's output before it has a log
)

// Launch works through the tasks. It waits for tasks that other processes work on, and takes them
// when those die. When ctx ends it interrupts the workers, which save, and waits for them.
func (l Local) Launch(ctx context.Context, s *Sweep, indexes []int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	q := &queue{todo: slices.Clone(indexes), busy: map[int]bool{}, event: l.Event}
	for _, i := range indexes {
		// a worker died as it cleaned up
		if s.exists(taskFile(i, ensembleDir)) && s.outcome(i).done != nil {
			(&Claim{Sweep: s, Index: i}).cleanUp()
		}
	}
	var wg sync.WaitGroup
	for worker := range max(1, l.Workers) {
		wg.Go(func() {
			if err := l.work(ctx, s, q, worker); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil && !errors.Is(err, context.Canceled) &&
		!errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// queue holds the tasks that are left, and which of them others work on.
type queue struct {
	mu   sync.Mutex
	todo []int
	busy map[int]bool

	reporting sync.Mutex
	event     func(Event) // may be nil
}

// report calls event, for one worker at a time.
func (q *queue) report(e Event) {
	if q.event != nil {
		q.reporting.Lock()
		defer q.reporting.Unlock()
		q.event(e)
	}
}

// take returns the next task.
func (q *queue) take() (index int, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.todo) == 0 {
		return 0, false
	}
	index, q.todo = q.todo[0], q.todo[1:]
	return index, true
}

// putBack appends a task that another process works on, and says whether it was put back before.
func (q *queue) putBack(index int) (again bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	again, q.busy[index] = q.busy[index], true
	q.todo = append(q.todo, index)
	return again
}

// work takes tasks from the queue for one worker.
func (l Local) work(ctx context.Context, s *Sweep, q *queue, worker int) error {
	for ctx.Err() == nil && !s.Cancelled() {
		index, ok := q.take()
		if !ok {
			return nil
		}
		t := s.Task(index)
		switch {
		case t.State == StateDone || t.State == StateFailed || t.State == StateUnknown:
			continue
		case t.Elsewhere() && !l.TakeLost:
			q.report(Event{worker, t})
			continue
		case t.State != StateRunning:
			running := TaskStatus{Index: index, State: StateRunning, Runs: t.Runs, Log: s.Log(index)}
			q.report(Event{worker, running})
			var err error
			if t, err = l.run(ctx, s, index, worker); err != nil {
				return err
			}
		}
		if t.State != StateRunning {
			q.report(Event{worker, t})
			if l.FailFast && t.State == StateFailed {
				return fmt.Errorf("task %d failed: the others were stopped", index)
			}
			continue
		}
		if q.putBack(index) {
			select {
			case <-ctx.Done():
			case <-time.After(pollEvery):
			}
		}
	}
	return nil
}

// run starts a worker process on a task, waits for it, and returns the state of the task.
func (l Local) run(ctx context.Context, s *Sweep, index, worker int) (TaskStatus, error) {
	cmd := l.Command(index, worker)
	output := &tailWriter{}
	cmd.Stdout, cmd.Stderr = output, output
	oomBefore := oomKills()
	if err := cmd.Start(); err != nil {
		return TaskStatus{}, fmt.Errorf("start a worker: %w", err)
	}
	ended := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-ended:
		case <-ctx.Done():
			_ = cmd.Process.Signal(os.Interrupt) // an error means that it has ended
		}
	})
	waitErr := cmd.Wait()
	close(ended)
	wg.Wait()
	t := s.Task(index)
	if t.State != StatePending && t.State != StateLost || ctx.Err() != nil {
		return t, nil
	}
	b := t.Heartbeat
	if t.State == StatePending && b != nil && b.PID == cmd.Process.Pid && b.Stopped != "" {
		return t, nil // the worker was stopped
	}
	c, err := s.lockOpenTask(index)
	if errors.Is(err, ErrBusy) || errors.Is(err, ErrDone) || errors.Is(err, ErrFailed) {
		return s.Task(index), nil
	}
	f := workerFailure(waitErr, output.String(), oomKills() > oomBefore)
	f.LastLog = s.tail(index)
	if err == nil {
		c.beat, _ = c.heartbeat(index)
		err = c.Fail(f)
	}
	if err != nil {
		return t, fmt.Errorf("task %d: %s; that could not be recorded: %w", index, f.Message, err)
	}
	return s.Task(index), nil
}

// workerFailure describes the end of a worker that recorded none itself. oom says that the system
// killed a process for lack of memory meanwhile.
func workerFailure(err error, output string, oom bool) Failure {
	f := Failure{Reason: ReasonError, Message: "the worker ended without a word"}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		f.ExitCode = exit.ExitCode()
		f.Message = fmt.Sprintf("the worker ended with exit code %d", f.ExitCode)
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			f = killed(status.Signal())
			if status.Signal() == syscall.SIGKILL && oom {
				f.Reason = ReasonOOM
				f.Message = "the system killed the worker as its memory ran out: fewer --workers, or a smaller --pack"
			}
		}
	}
	if output = strings.TrimSpace(output); output != "" {
		f.Message += ": " + output
	}
	return f
}

// oomKills counts the processes that Linux has killed for lack of memory; 0 where unknown.
func oomKills() int {
	text, err := os.ReadFile("/proc/vmstat")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "oom_kill "); ok {
			n, err := strconv.Atoi(strings.TrimSpace(value))
			if err != nil {
				return 0
			}
			return n
		}
	}
	return 0
}

// tailWriter keeps the end of what is written.
type tailWriter struct {
	mu   sync.Mutex
	kept []byte
}

func (w *tailWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kept = append(w.kept, p...)
	w.kept = w.kept[max(0, len(w.kept)-tailBytes):]
	return len(p), nil
}

func (w *tailWriter) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(w.kept)
}
