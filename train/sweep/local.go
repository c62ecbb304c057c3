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
	// Launch works on the tasks that are neither done nor failed, or hands them to a queue, and returns when there is nothing left for
	// it to do, or ctx has ended. What became of the tasks is in their folders: an error is of the launcher itself.
	Launch(ctx context.Context, s *Sweep, indexes []int) error
}

// Local is the Launcher of this machine: worker processes, each on one task at a time.
type Local struct {
	Workers int
	// Command returns what works on a task: a process that claims it, and ends with the task done, failed or stopped. worker counts
	// from 0 to Workers-1.
	Command func(index, worker int) *exec.Cmd
	// TakeLost says that workers of other hosts that fell silent are dead.
	TakeLost bool
	// Event, which may be nil, is told what happens, by one goroutine at a time.
	Event func(Event)
}

var _ Launcher = Local{}

// Event says that a worker began a task (state running), or what became of it.
type Event struct {
	Worker int
	Task   TaskStatus
}

const (
	pollEvery = 300 * time.Millisecond // for tasks that others work on
	tailBytes = 4 << 10                // of what a worker says before it has a log
)

// Launch works through the tasks. Tasks that other processes work on are waited for, and taken where those die. When ctx ends the
// workers are told to save and stop, and waited for.
func (l Local) Launch(ctx context.Context, s *Sweep, indexes []int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	q := &queue{todo: slices.Clone(indexes), busy: map[int]bool{}}
	for _, i := range indexes {
		if s.exists(in(i, ensembleDir)) && s.outcome(i).done != nil { // a worker died as it cleaned up
			(&Claim{Sweep: s, Index: i}).cleanUp()
		}
	}
	var mu sync.Mutex
	tell := func(e Event) {
		if l.Event != nil {
			mu.Lock()
			defer mu.Unlock()
			l.Event(e)
		}
	}
	var wg sync.WaitGroup
	for worker := range max(1, l.Workers) {
		wg.Go(func() {
			if err := l.work(ctx, s, q, worker, tell); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// queue are the tasks that are left, and which of them others work on.
type queue struct {
	mu   sync.Mutex
	todo []int
	busy map[int]bool
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

// later puts back a task that another process works on, and says whether it was put back before.
func (q *queue) later(index int) (again bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	again, q.busy[index] = q.busy[index], true
	q.todo = append(q.todo, index)
	return again
}

// work is one worker.
func (l Local) work(ctx context.Context, s *Sweep, q *queue, worker int, tell func(Event)) error {
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
			tell(Event{worker, t})
			continue
		case t.State != StateRunning:
			tell(Event{worker, TaskStatus{Index: index, State: StateRunning, Runs: t.Runs, Log: s.Log(index)}})
			var err error
			if t, err = l.run(ctx, s, index, worker); err != nil {
				return err
			}
		}
		if t.State != StateRunning {
			tell(Event{worker, t})
			continue
		}
		if q.later(index) {
			select {
			case <-ctx.Done():
			case <-time.After(pollEvery):
			}
		}
	}
	return nil
}

// run starts a worker process on a task, waits for it, and returns what became of the task.
func (l Local) run(ctx context.Context, s *Sweep, index, worker int) (TaskStatus, error) {
	cmd := l.Command(index, worker)
	said := &tailWriter{}
	cmd.Stdout, cmd.Stderr = said, said
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
	if t.State == StateDone || t.State == StateFailed || t.State == StateRunning || t.State == StateUnknown || ctx.Err() != nil {
		return t, nil
	}
	if t.State == StatePending && t.Heartbeat != nil && t.Heartbeat.PID == cmd.Process.Pid && t.Heartbeat.Stopped != "" {
		return t, nil // somebody stopped the worker
	}
	c, err := s.lockTask(index)
	if errors.Is(err, ErrBusy) || errors.Is(err, ErrDone) || errors.Is(err, ErrFailed) {
		return s.Task(index), nil
	}
	f := died(waitErr, said.String(), s.tail(index), oomKills() > oomBefore)
	if err == nil {
		c.beat, _ = c.heartbeat(index)
		err = c.Fail(f)
	}
	if err != nil {
		return t, fmt.Errorf("task %d: %s; that could not be recorded: %w", index, f.Message, err)
	}
	return s.Task(index), nil
}

// died describes the end of a worker that could not do so itself.
func died(err error, said string, log []string, oom bool) Failure {
	f := Failure{Reason: ReasonError, Message: "the worker ended without a word", LastLog: log}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		f.ExitCode = exit.ExitCode()
		f.Message = fmt.Sprintf("the worker ended with exit code %d", f.ExitCode)
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			f = killed(status.Signal())
			f.LastLog = log
			if status.Signal() == syscall.SIGKILL && oom {
				f.Reason = ReasonOOM
				f.Message = "the system killed the worker as its memory ran out: fewer --workers, or a smaller --pack"
			}
		}
	}
	if said = strings.TrimSpace(said); said != "" {
		f.Message += ": " + said
	}
	return f
}

// oomKills counts the processes that Linux has killed for lack of memory; 0 where it does not say.
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
