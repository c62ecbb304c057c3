package train

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"torchpe/internal/expect"
	"torchpe/train/config"
	"torchpe/train/runlog"
	"torchpe/train/sweep"
)

// A step is timed with the whole ensemble where it runs on a GPU, and with two members on a CPU.
func TestCalibrated(t *testing.T) {
	for _, c := range []struct {
		device        string
		gpus, members int
	}{{"auto", 1, 8}, {"cpu", 1, 2}, {"auto", 0, 2}, {"cuda", 2, 8}} {
		var given config.Config
		given.Device, given.Members = c.device, make([]Member, 8)
		if got := calibrated(given, c.gpus); len(got.Members) != c.members || got.Threads != 1 {
			t.Errorf("%s with %d GPUs: %d members, %d threads; want %d members", c.device, c.gpus,
				len(got.Members), got.Threads, c.members)
		}
	}
}

// runTask claims a task of a sweep and works on it.
func runTask(t *testing.T, ctx context.Context, s *sweep.Sweep, index int, o Observer) error {
	t.Helper()
	return RunTask(ctx, expect.Must(s.ClaimTask(index, false)), Config{expect.Must(s.Plan.TaskConfig(index))},
		Options{Observer: o})
}

// A task is stopped and goes on to its end, whose runs are those of each seed alone. Data that have
// changed since, or are gone, are a failure that says so.
func TestRunTask(t *testing.T) {
	c := tiny(t, "learn")
	c.Epochs, c.Noise = 1, nil
	c.Members = append(c.Members, Member{Seed: 11, Sigma: c.Members[0].Sigma, LR: 1e-3})
	expect.NoError(t, c.Resolve())
	text := expect.Must(c.JSON())
	s := expect.Must(sweep.Extend(t.TempDir()+"/s", "s", func(p *sweep.Plan) error {
		_, err := p.Add([][]byte{text}, sweep.Packing{Members: 2}, nil)
		return err
	}))
	defer s.Close()
	expect.Equal(t, "tasks", len(s.Plan.Tasks), 2) // three members in tasks of at most two
	both := 0
	if len(s.Plan.Tasks[0].Members) != 2 {
		both = 1
	}
	for _, want := range []string{"signal", "cancelled"} { // a sweep stays cancelled
		cancelled := want == "cancelled"
		if cancelled {
			expect.NoError(t, s.Cancel())
		}
		ctx, cancel := context.WithCancel(t.Context())
		err := runTask(t, ctx, s, both, &stopper{after: 2, cancel: cancel})
		cancel()
		var stopped *TaskStoppedError
		if !errors.As(err, &stopped) || stopped.Cancelled != cancelled || !errors.As(err, new(*Interrupted)) ||
			!strings.Contains(err.Error(), "saved, torchpe sweep resume "+s.Dir+" continues") {
			t.Errorf("%s: %v", want, err)
		}
		if task := s.Task(both); task.State != sweep.StatePending || task.Heartbeat.Stopped != want ||
			task.Heartbeat.Total != 9 {
			t.Errorf("%s: %+v", want, task.Heartbeat)
		}
	}
	expect.NoError(t, s.Uncancel())
	expect.NoError(t, runTask(t, t.Context(), s, both, noopObserver{}))
	task := s.Task(both)
	if task.State != sweep.StateDone || len(task.Done.Results) != 2 || task.Done.Steps != 9 {
		t.Errorf("%+v", task)
	}
	for m, name := range task.Runs {
		alone := c
		alone.Members = []Member{expect.Must(s.Plan.TaskConfig(both)).Members[m]}
		dir, _ := runTiny(t, alone)
		got, want := checkpointOf(t, s.RunDir(name)), checkpointOf(t, dir)
		for _, tensor := range want.Names() {
			if a, b := floats(t, got, tensor), floats(t, want, tensor); fmt.Sprint(a) != fmt.Sprint(b) {
				t.Errorf("%s: %s is not that of the seed alone", name, tensor)
			}
		}
	}
	rows := strings.SplitAfter(string(expect.Must(os.ReadFile(c.LSTTrain[0]))), "\n")
	for _, change := range []struct {
		do     func() error
		reason string
	}{
		{func() error {
			return os.WriteFile(c.LSTTrain[0], []byte(strings.Join(rows[:len(rows)-20], "")), 0o600)
		}, "the data have changed since " + s.RunDir(task.Runs[0])},
		{func() error { return os.Remove(c.LSTTrain[0]) }, "no such file"},
	} {
		expect.NoError(t, change.do())
		heard := &listener{}
		err := runTask(t, t.Context(), s, 1-both, heard)
		failed := s.Task(1 - both).Failure
		if err == nil || failed == nil || failed.Reason != sweep.ReasonData ||
			!strings.Contains(failed.Message, change.reason) ||
			!strings.Contains(strings.Join(heard.notices, "\n"), change.reason) {
			t.Errorf("%v, %+v, notices %q; want %s", err, failed, heard.notices, change.reason)
		}
		expect.NoError(t, s.ClearFailures(false))
	}
}

// Errors are sorted by what would help.
func TestFailureReason(t *testing.T) {
	for want, err := range map[string]error{
		sweep.ReasonData:   &DataError{syscall.ENOENT},
		sweep.ReasonDisk:   fmt.Errorf("write x: %w", syscall.EDQUOT),
		sweep.ReasonOOM:    errors.New("CUDA out of memory"),
		sweep.ReasonDevice: errors.New("CUDA error: unspecified launch failure"),
		sweep.ReasonError:  runlog.ErrDamaged,
	} {
		expect.Equal(t, err, failureReason(err), want)
	}
}
