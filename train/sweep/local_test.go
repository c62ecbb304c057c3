package sweep

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"torchpe/internal/expect"
)

// local is a launcher whose workers are this test binary.
func local(s *Sweep, workers int) Local {
	return Local{Workers: workers, Command: func(ctx context.Context, index, _ int) *exec.Cmd {
		cmd := exec.CommandContext(ctx, os.Args[0], fmt.Sprint(index))
		cmd.Env = append(os.Environ(), asWorker+"="+s.Dir)
		return cmd
	}}
}

// Failed tasks stop nothing, and each says why; what is tried again is what failed.
func TestLocal(t *testing.T) {
	s, _ := extend(t, filepath.Join(t.TempDir(), "s"),
		resolved(t, 2, axis("lr", "0.1", "1", "0.2", "2", "3", "0.3"), axis("pe", "learn")), 2)
	var ended []string
	l := local(s, 2)
	l.Ended = func(t TaskStatus) { ended = append(ended, fmt.Sprint(t.Index, t.State)) }
	expect.NoError(t, l.Launch(t.Context(), s))
	slices.Sort(ended)
	expect.Equal(t, "ended", ended, []string{"0done", "1failed", "2done", "3failed", "4failed", "5done"})
	st := expect.Must(s.Status(nil))
	expect.Equal(t, fmt.Sprintf("runs done, and tasks done and failed, of %+v", st.Counts),
		[3]int{st.DoneRuns, st.Counts[StateDone], st.Counts[StateFailed]}, [3]int{6, 3, 3})
	var troubles []string
	for _, x := range st.Troubles() {
		troubles = append(troubles, fmt.Sprintf("%d %s %s: %s", x.Task, x.Run, x.Reason, x.Message))
	}
	want := []string{
		"1 learn-0.2_lr=1_seed=1 bad data: no such file",
		"3 learn-0.2_lr=2_seed=1 killed: the worker was killed by signal 9 (killed)",
		"4 learn-0.2_lr=3_seed=1 error: the worker ended with exit code 7",
	}
	expect.Equal(t, "troubles", troubles, want)
	if f := st.Tasks[3].Failure; f.ExitCode != 137 || !slices.Equal(f.LastLog, []string{"attempt 1"}) ||
		f.Attempt != 1 {
		t.Errorf("%+v", f)
	}
	// Nothing to do the second time.
	l.Ended = func(task TaskStatus) { t.Errorf("task %d was touched", task.Index) }
	expect.NoError(t, l.Launch(t.Context(), s))
	expect.NoError(t, s.clearFailure(1, true))
	l.Ended = func(task TaskStatus) {
		expect.Equal(t, "the task that was touched", task.Index, 1)
	}
	expect.NoError(t, l.Launch(t.Context(), s))
	if f := s.Task(1).Failure; f == nil || f.Attempt != 2 {
		t.Errorf("%+v", f)
	}
}

// A launcher that is told to stop tells its workers, and returns.
func TestStopAndCancel(t *testing.T) {
	s, _ := extend(t, filepath.Join(t.TempDir(), "s"), resolved(t, 3, axis("lr", "4"), axis("pe", "learn")), 1)
	ctx, stop := context.WithCancel(t.Context())
	l := local(s, 1)
	var said []string
	l.Said = func(line string) { said = append(said, line); stop() }
	time.AfterFunc(20*time.Second, stop) // where nothing is said
	start := time.Now()
	if err := l.Launch(ctx, s); err != nil || time.Since(start) > 30*time.Second {
		t.Errorf("%v after %v", err, time.Since(start))
	}
	expect.Equal(t, "the running task said", said, []string{"attempt 1"})
	st, err := s.Status(nil)
	if err != nil || st.Counts[StatePending] < 2 || st.Counts[StateFailed]+st.Counts[StateDone] > 0 {
		t.Errorf("%+v, %v", st.Counts, err)
	}
	expect.NoError(t, s.Cancel())
	l.Ended = func(task TaskStatus) { t.Errorf("task %d was begun though the sweep is cancelled", task.Index) }
	expect.NoError(t, l.Launch(t.Context(), s))
	expect.Equal(t, "cancelled", fmt.Sprint(errors.Join(s.Uncancel(), s.Uncancel()), s.Cancelled()), "<nil> false")
}

// A worker program that is not there is the launcher's error, not that of each task.
func TestNoWorker(t *testing.T) {
	s, _ := extend(t, filepath.Join(t.TempDir(), "s"), resolved(t, 3, axis("pe", "learn")), 1)
	l := Local{Workers: 2, Command: func(ctx context.Context, _, _ int) *exec.Cmd {
		return exec.CommandContext(ctx, filepath.Join(s.Dir, "absent"))
	}}
	expect.Refused(t, "launching", l.Launch(t.Context(), s))
	expect.Equal(t, "pending", expect.Must(s.Status(nil)).Counts[StatePending], 3)
}

// TestETA: two members took 100 s; one runs at a third of its steps after 20 s, one of two members
// waits.
func TestETA(t *testing.T) {
	s, _ := extend(t, filepath.Join(t.TempDir(), "s"), resolved(t, 6, axis("pe", "learn")), 2)
	tasks := []TaskStatus{
		{Index: 0, State: StateDone, Runs: []string{"a", "b"}, Done: &Done{Seconds: 100}},
		{Index: 1, State: StateRunning, Runs: []string{"a", "b"}, Heartbeat: &Heartbeat{First: 10, Step: 20,
			Total: 40, Seconds: 20}},
		{Index: 2, State: StatePending, Runs: []string{"a", "b"}},
	}
	expect.Equal(t, "time left", s.eta(tasks), 40+100)
	// What has done no step, lasted no time, or knows no end is as if it had not begun.
	begun := *tasks[1].Heartbeat
	for _, b := range []*Heartbeat{nil, {First: 10, Step: 10, Total: 40, Seconds: 20}, {First: 10, Step: 20, Total: 40},
		{First: 10, Step: 20, Seconds: 20}} {
		tasks[1].Heartbeat = b
		expect.Equal(t, fmt.Sprintf("time left with %+v", b), s.eta(tasks), 100+100)
	}
	tasks[1].Heartbeat = &begun
	// Before the first task is done, one that runs says how long they take: 2 s a step.
	early := slices.Clone(tasks)
	early[0] = TaskStatus{Index: 0, State: StatePending, Runs: []string{"a", "b"}}
	expect.Equal(t, "time left early", s.eta(early), 80+40+80)
	early[1].Heartbeat = nil
	expect.Equal(t, "time left of what has not begun", s.eta(early), 0)
	for i, want := range map[int]string{-1: "from 0 to 2", 3: "from 0 to 2", 0: "", 2: ""} {
		if err := s.Check(i); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("task %d: %v", i, err)
		}
	}
	tasks[1].State = StateLost
	expect.Equal(t, "time left of what is lost", s.eta(tasks), 0)
}

// With FailFast nothing is begun after a task that failed, and what others work on is stopped.
func TestFailFast(t *testing.T) {
	s, _ := extend(t, filepath.Join(t.TempDir(), "s"),
		resolved(t, 1, axis("lr", "0.1", "4", "1", "0.2"), axis("pe", "learn")), 1) // 4 never ends, 1 fails
	l := local(s, 2)
	l.FailFast = true
	err := l.Launch(t.Context(), s)
	expect.Error(t, err, "task 2 failed")
	var states []string
	for i := range s.Plan.Tasks {
		states = append(states, string(s.Task(i).State))
	}
	stopped := states[1] == string(StatePending) || states[1] == string(StateLost) // before it could say so
	if states[1] = ""; !stopped || !slices.Equal(states, []string{"done", "", "failed", "pending"}) {
		t.Errorf("%q", states)
	}
}
