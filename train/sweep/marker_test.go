package sweep

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"torchpe/internal/expect"
)

// put writes a file of a sweep.
func put(t *testing.T, s *Sweep, name, text string) {
	t.Helper()
	path := filepath.Join(s.Dir, name)
	expect.NoError(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o777),
		os.WriteFile(path, []byte(text), 0o666)))
}

// launched runs a sweep to its end with workers of this binary.
func launched(t *testing.T, s *Sweep) Status {
	t.Helper()
	expect.NoError(t, local(s, 2).Launch(t.Context(), s))
	return expect.Must(s.Status(nil))
}

// A done task one of whose runs was removed is done again, to the same bytes; until then it counts
// as not done.
func TestRunsGone(t *testing.T) {
	s, _ := extend(t, filepath.Join(t.TempDir(), "s"), resolved(t, 4, axis("pe", "learn")), 2)
	launched(t, s)
	name := s.Plan.Tasks[1].Runs[0]
	want := finished(t, s, name)
	expect.NoError(t, os.RemoveAll(s.RunDir(name)))
	st := expect.Must(s.Status(nil))
	if st.DoneRuns != 2 || st.Counts[StatePending] != 1 || len(st.Troubles()) != 1 ||
		!strings.HasPrefix(st.Troubles()[0].Message, "run directory gone: "+s.RunDir(name)) {
		t.Errorf("%+v, %+v", st.Counts, st.Troubles())
	}
	if st = launched(t, s); st.Counts[StateDone] != 2 || len(st.Troubles()) != 0 {
		t.Errorf("%+v, %+v", st.Counts, st.Troubles())
	}
	// Without its result alone, the rest is in the way, and is left to the user.
	expect.NoError(t, os.Remove(filepath.Join(s.RunDir(name), "result.json")))
	st = expect.Must(s.Status(nil))
	expect.Contains(t, st.Troubles()[0].Message, "result.json gone or empty: remove "+s.RunDir(name))
	expect.NoError(t, os.RemoveAll(s.RunDir(name)))
	launched(t, s)
	expect.Equal(t, name, finished(t, s, name), want)
	expect.Equal(t, "the other task", string(expect.Must(os.ReadFile(s.Log(0)))), "attempt 1\n")
}

// The markers of one plan do not count for another: not where its file is gone, and not where
// another file is in its place.
func TestMarkersOfAnotherPlan(t *testing.T) {
	dir := t.TempDir()
	s, _ := extend(t, filepath.Join(dir, "s"), resolved(t, 2, axis("pe", "learn"), axis("sigma", "0.2")), 2)
	launched(t, s)
	other, _ := extend(t, filepath.Join(dir, "other"), resolved(t, 2, axis("pe", "learn"), axis("sigma", "0.3")), 2)
	plan := filepath.Join(s.Dir, planFile)
	expect.NoError(t, os.Remove(plan))
	fails := func(*Plan) error { t.Error("a new plan was made"); return nil }
	expect.Error(t, expect.ErrorOf(Extend(s.Dir, "x", fails)), "no sweep.json")
	expect.NoError(t, os.WriteFile(plan, expect.Must(os.ReadFile(filepath.Join(other.Dir, planFile))), 0o666))
	s = expect.Must(Open(s.Dir))
	defer s.Close()
	if task := s.Task(0); task.State != StatePending || !strings.Contains(task.Note, "another plan") {
		t.Errorf("%+v", task)
	}
	expect.Equal(t, "done", launched(t, s).Counts[StateDone], 1)
	put(t, s, taskFile(0, failedFile), `{"task":"0123","reason":"oom","attempt":2}`)
	expect.NoError(t, os.Remove(filepath.Join(s.Dir, taskFile(0, doneFile))))
	if task := s.Task(0); task.State != StatePending ||
		!strings.Contains(task.Note, "failed.json belongs to another plan") {
		t.Errorf("%+v", task)
	}
}

// A task whose marker is damaged is named and done again, one whose marker cannot be read is named
// and left alone; the others go on.
func TestDamagedMarkers(t *testing.T) {
	s, _ := extend(t, filepath.Join(t.TempDir(), "s"), resolved(t, 4, axis("pe", "learn")), 1)
	put(t, s, taskFile(0, doneFile), "")
	put(t, s, taskFile(1, failedFile), `{"reason":`)
	// of the attempt that failed
	beat := expect.Must(json.Marshal(Heartbeat{PID: 1, Host: "elsewhere", Attempt: 1}))
	put(t, s, taskFile(1, beatFile), string(beat))
	expect.NoError(t, os.MkdirAll(filepath.Join(s.Dir, taskFile(2, doneFile)), 0o777))
	st := expect.Must(s.Status(nil))
	expect.Equal(t, fmt.Sprintf("%+v: pending and unknown", st.Counts),
		[2]int{st.Counts[StatePending], st.Counts[StateUnknown]}, [2]int{3, 1})
	for i, file := range []string{doneFile, failedFile, doneFile} {
		if text := st.Troubles()[i].Message; !strings.HasPrefix(text, filepath.Join(s.Dir, taskFile(i, file))) {
			t.Errorf("%s: %s", file, text)
		}
	}
	if st = launched(t, s); st.Counts[StateDone] != 3 || st.Counts[StateUnknown] != 1 {
		t.Errorf("%+v, %+v", st.Counts, st.Troubles())
	}
	expect.ErrorIs(t, expect.ErrorOf(s.ClaimTask(2, false)), syscall.EISDIR)
}

// A failure that cannot be recorded stops the launcher in good order: it says why, and what it had
// not begun is pending.
func TestFailureNotRecorded(t *testing.T) {
	s, _ := extend(t, filepath.Join(t.TempDir(), "s"), resolved(t, 1, axis("lr", "0.1", "3", "0.2"),
		axis("pe", "learn")), 1)
	// In the place of a full disk: no file can be made under this name.
	expect.NoError(t, os.MkdirAll(filepath.Join(s.Dir, taskFile(1, failedFile+tempSuffix)), 0o777))
	err := local(s, 1).Launch(t.Context(), s)
	want := "task 1: the worker ended with exit code 7; that could not be recorded: write " +
		filepath.Join(s.Dir, taskFile(1, failedFile)) + ": is a directory"
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if st := expect.Must(s.Status(nil)); st.Counts[StateDone] != 1 || st.Counts[StateLost] != 1 ||
		st.Counts[StatePending] != 1 {
		t.Errorf("%+v", st.Counts)
	}
}

// A task to be tried again is pending; fresh removes its run, but only while nobody works on it and
// it has failed.
func TestForgive(t *testing.T) {
	s, _ := extend(t, filepath.Join(t.TempDir(), "s"), resolved(t, 1, axis("pe", "learn")), 1)
	c := expect.Must(s.ClaimTask(0, false))
	put(t, s, taskFile(0, ensembleDir+"/x"), "kept")
	if err := s.clearFailure(0, true); !errors.Is(err, ErrBusy) || !s.exists(taskFile(0, ensembleDir)) {
		t.Errorf("a task that somebody works on: %v", err)
	}
	expect.NoError(t, c.Release())
	expect.Equal(t, "a task that has not failed keeps its run",
		fmt.Sprint(s.clearFailure(0, true), s.exists(taskFile(0, ensembleDir))), "<nil> true")
	c = expect.Must(s.ClaimTask(0, false))
	if err := errors.Join(c.Fail(Failure{Reason: ReasonOOM}), s.clearFailure(0, true)); err != nil ||
		s.Task(0).State != StatePending || s.exists(taskFile(0, ensembleDir)) {
		t.Errorf("%v, %s", err, s.Task(0).State)
	}
}

// Died records what a signal did to the worker of this job, and touches nothing else.
func TestDied(t *testing.T) {
	s, _ := extend(t, filepath.Join(t.TempDir(), "s"), resolved(t, 1, axis("pe", "learn")), 1)
	t.Setenv("SLURM_ARRAY_JOB_ID", "12")
	t.Setenv("SLURM_ARRAY_TASK_ID", "3")
	state := func() State { return s.Task(0).State }
	expect.Equal(t, "a task that was never begun", fmt.Sprint(s.RecordKilled(0, 137), state()),
		fmt.Sprint(nil, StatePending))
	c := expect.Must(s.ClaimTask(0, false))
	expect.Equal(t, "a task at work", fmt.Sprint(s.RecordKilled(0, 137), state()), fmt.Sprint(nil, StateRunning))
	expect.Equal(t, "a task that was stopped",
		fmt.Sprint(errors.Join(c.Stop("signal"), s.RecordKilled(0, 137)), state()), fmt.Sprint(nil, StatePending))
	expect.NoError(t, expect.Must(s.ClaimTask(0, false)).Release())
	t.Setenv("SLURM_ARRAY_TASK_ID", "4")
	expect.Equal(t, "a task of another job", fmt.Sprint(s.RecordKilled(0, 137), state()),
		fmt.Sprint(nil, StateLost))
	t.Setenv("SLURM_ARRAY_TASK_ID", "3")
	expect.NoError(t, s.RecordKilled(0, 137))
	// 137 is 128 and SIGKILL, 9.
	if f := s.Task(0).Failure; f == nil || f.Reason != ReasonKilled || f.ExitCode != 137 ||
		!strings.Contains(f.Message, "signal 9 (killed), probably because its job") || f.Attempt != 2 {
		t.Errorf("%+v", f)
	}
	expect.Equal(t, "a task that has failed", fmt.Sprint(s.RecordKilled(0, 139), s.Task(0).Failure.ExitCode),
		"<nil> 137")
}

// What changes no number makes no run another one; a plan of an older torchpe keeps its hash and is
// recognised. Its hash was computed with Python: hashlib.sha256 of "torchpe sweep 1", "old" in
// quotes, an empty line, the configuration and the task, each with a line's end.
func TestOlderPlan(t *testing.T) {
	const config = `{"task":"lst","pe":"learn","members":[],"tensorboard":true,"log_every":1,"device":"cpu"}`
	const task = `{"configuration":0,"members":[{"seed":1,"sigma":0.2}],"runs":["learn-0.2_seed=1"]}`
	text := `{"schema":1,"name":"old","generations":[{"tasks":1,"configurations":1,"sha256":"bd2ab52f8883935546a51acb28ca4fee98e9e6b1fcbadf6143286a925f35d742","created":"2026-01-02T03:04:05Z"}],
"configurations":[
` + config + `],
"tasks":[
` + task + `]}
`
	for asked, known := range map[string]int{
		`"tensorboard":true,"log_every":1,"device":"cpu"`:             1,
		`"tensorboard":false,"log_every":1,"device":"cuda"`:           1,
		`"tensorboard":true,"log_every":2,"device":"cpu"`:             0,
		`"tensorboard":true,"log_every":1,"device":"cpu","threads":4`: 1,
	} {
		p := expect.Must(decode([]byte(text)))
		added, err := p.Add(
			[][]byte{[]byte(`{"task":"lst","pe":"learn","members":[{"seed":1,"sigma":0.2}],` + asked +
				`}`)}, Packing{Members: 1}, nil)
		if err != nil || added.Known != known || added.New != 1-known {
			t.Errorf("%s: %+v, %v", asked, added, err)
		}
	}
}

// Words for what is lost: here the next launch goes on, elsewhere a person must say that the worker
// is dead.
func TestLostWords(t *testing.T) {
	s, _ := extend(t, filepath.Join(t.TempDir(), "s"), resolved(t, 2, axis("pe", "learn")), 1)
	expect.NoError(t, expect.Must(s.ClaimTask(0, false)).Release())
	put(t, s, taskFile(1, beatFile),
		string(expect.Must(json.Marshal(Heartbeat{PID: 1, Host: "elsewhere", Attempt: 1, Step: 3, Total: 9,
			Time: time.Now().Add(-time.Hour)}))))
	st := expect.Must(s.Status(nil))
	var said []string
	for _, x := range st.Troubles() {
		said = append(said, x.Message)
	}
	host := expect.Must(os.Hostname())
	want := []string{"died before its first step; torchpe sweep resume " + s.Dir + " continues",
		"died at step 3 of 9; torchpe sweep retry --lost " + s.Dir + " takes it over"}
	if len(said) != 2 || !strings.Contains(said[0], host) ||
		!slices.Equal([]string{said[0][strings.Index(said[0], "died"):],
			said[1][strings.Index(said[1], "died"):]}, want) {
		t.Errorf("%q", said)
	}
}
