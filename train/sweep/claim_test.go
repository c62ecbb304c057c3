package sweep

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"torchpe/internal/expect"
	"torchpe/train/runlog"
)

// finish makes what counts as the runs of a task, and marks it as done.
func finish(c *Claim) error {
	t := c.Plan.Tasks[c.Index]
	var d Done
	for _, name := range t.Runs {
		if err := errors.Join(os.MkdirAll(c.RunDir(name), 0o777),
			os.WriteFile(filepath.Join(c.RunDir(name), resultFile), []byte("{}"), 0o666)); err != nil {
			return err
		}
		d.Results = append(d.Results, runlog.MemberResult{PE: "a", Status: runlog.StatusDone})
	}
	return c.commit(d)
}

// Of many that claim one task at the same instant exactly one gets it, while others look at its
// state.
func TestOneClaims(t *testing.T) {
	s, _ := extend(t, filepath.Join(t.TempDir(), "s"), resolved(t, 6, axis("pe", "learn")), 1)
	for index := range 6 {
		var got, other atomic.Int32
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				c, err := s.ClaimTask(index, false)
				switch {
				case err == nil:
					got.Add(1)
					time.Sleep(300 * time.Millisecond) // longer than claims try
					if err := finish(c); err != nil {
						t.Error(err)
					}
					c.Release()
				case errors.Is(err, ErrBusy) || errors.Is(err, ErrDone):
				default:
					other.Add(1)
					t.Error(err)
				}
			})
			wg.Go(func() {
				if state := s.Task(index).State; state == StateUnknown || state == StateFailed {
					t.Error(state)
				}
			})
		}
		wg.Wait()
		expect.Equal(t, fmt.Sprint("claims of task ", index), got.Load(), 1)
	}
}

// A worker of another host is believed to be alive, unless somebody says otherwise or it is the
// same job of a scheduler.
func TestOtherHosts(t *testing.T) {
	s, _ := extend(t, filepath.Join(t.TempDir(), "s"), resolved(t, 1, axis("pe", "learn")), 1)
	put := func(b Heartbeat) {
		t.Helper()
		expect.NoError(t, errors.Join(s.root.MkdirAll(taskDir(0), 0o777), s.Write(taskFile(0, beatFile),
			expect.Must(json.Marshal(b)), false), s.Write(taskFile(0, lockFile), nil, false)))
	}
	state := func() State { return s.Task(0).State }
	put(Heartbeat{PID: 1, Host: "elsewhere", Attempt: 4, Step: 7, Job: "12_3", Time: time.Now()})
	if _, err := s.ClaimTask(0, false); !errors.Is(err, ErrBusy) || state() != StateRunning {
		t.Errorf("%v, %s", err, state())
	}
	put(Heartbeat{PID: 1, Host: "elsewhere", Attempt: 4, Step: 7, Job: "12_3", Time: time.Now().Add(-time.Hour)})
	if _, err := s.ClaimTask(0, false); !errors.Is(err, ErrBusy) || state() != StateLost {
		t.Errorf("%v, %s", err, state())
	}
	// Within an array: another task's worker is believed as long as it gives signs of life, the own
	// place is taken over at once.
	put(Heartbeat{PID: 1, Host: "elsewhere", Attempt: 4, Step: 7, Job: "12_3", Time: time.Now()})
	t.Setenv("SLURM_ARRAY_JOB_ID", "12")
	t.Setenv("SLURM_ARRAY_TASK_ID", "4")
	expect.ErrorIs(t, expect.ErrorOf(s.ClaimTask(0, false)), ErrBusy)
	t.Setenv("SLURM_ARRAY_TASK_ID", "3") // requeued on this host
	c := expect.Must(s.ClaimTask(0, false))
	expect.Equal(t, "attempt and state", fmt.Sprint(c.Attempt(), state()), fmt.Sprint(5, StateRunning))
	expect.Equal(t, "stopped", fmt.Sprint(c.Stop("test"), state()), fmt.Sprint(nil, StatePending))
	// lost with its node, and submitted anew
	put(Heartbeat{PID: 1, Host: "elsewhere", Job: "11_0", Time: time.Now().Add(-time.Hour)})
	c = expect.Must(s.ClaimTask(0, false))
	c.Release()
	put(Heartbeat{PID: 1, Host: "elsewhere", Attempt: 9, Time: time.Now()})
	expect.ErrorIs(t, expect.ErrorOf(s.ClaimTask(0, true)), ErrBusy)
	put(Heartbeat{PID: 1, Host: "elsewhere", Attempt: 9, Time: time.Now().Add(-time.Hour)})
	st, err := s.Status(nil)
	if said := fmt.Sprint(s.Unfinished(st, false)); err != nil || !strings.Contains(said,
		"1 task lost (torchpe sweep retry --lost "+s.Dir+" continues)") {
		t.Errorf("%s, %v", said, err)
	}
	c = expect.Must(s.ClaimTask(0, true))
	c.Release()
	expect.Equal(t, "state", state(), StateLost) // it said nothing as it ended
	expect.Equal(t, "pending, as a scheduler still has it",
		expect.Must(s.Status(func(int) bool { return true })).Counts[StatePending], 1)
}

// A lock that is no file is left alone, as are links that lead out of the sweep.
func TestPlantedFiles(t *testing.T) {
	dir := t.TempDir()
	s, _ := extend(t, filepath.Join(dir, "s"), resolved(t, 2, axis("pe", "learn")), 1)
	outside := filepath.Join(dir, "outside")
	expect.NoError(t, errors.Join(os.MkdirAll(filepath.Join(s.Dir, taskDir(0), lockFile), 0o777),
		os.Mkdir(outside, 0o777),
		os.Symlink(outside, filepath.Join(s.Dir, taskDir(1)))))
	for i := range 2 {
		if c, err := s.ClaimTask(i, false); err == nil {
			t.Errorf("task %d was claimed", i)
			c.Release()
		}
	}
	expect.Equal(t, "files outside", len(expect.Must(os.ReadDir(outside))), 0)
}

// model holds the expected state of a task.
type model struct {
	state    State
	attempts int
	step     int
}

// Any order of claims, signs of life, ends and deaths leaves every task in the state that a list of
// rules in this test gives it.
func TestStates(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir := expect.Must(os.MkdirTemp(t.TempDir(), "s"))
		const tasks = 3
		configs := resolved(t, tasks, axis("pe", "learn"))
		s := expect.Must(Extend(dir, "x", func(p *Plan) error {
			_, err := p.Add(configs, Packing{Members: 1}, nil)
			return err
		}))
		defer s.Close()
		want := make([]model, tasks)
		for i := range want {
			want[i].state = StatePending
		}
		claims := map[int]*Claim{}
		defer func() {
			for _, c := range claims {
				c.Release()
			}
		}()
		claimed := func(rt *rapid.T) int {
			var held []int
			for i := range tasks {
				if claims[i] != nil {
					held = append(held, i)
				}
			}
			if held == nil {
				rt.Skip("no task is claimed")
			}
			return rapid.SampledFrom(held).Draw(rt, "task")
		}
		end := func(i int, state State, err error) {
			if err != nil {
				rt.Fatal(err)
			}
			delete(claims, i)
			want[i].state = state
		}
		rt.Repeat(map[string]func(*rapid.T){
			"claim": func(rt *rapid.T) {
				i := rapid.IntRange(0, tasks-1).Draw(rt, "task")
				if want[i].state == StateRunning && rapid.IntRange(0, 9).Draw(rt, "rarely") > 0 {
					rt.Skip("being refused takes a while")
				}
				c, err := s.ClaimTask(i, rapid.Bool().Draw(rt, "break"))
				refusal := map[State]error{StateDone: ErrDone, StateFailed: ErrFailed,
					StateRunning: ErrBusy}[want[i].state]
				if !errors.Is(err, refusal) || (err == nil) != (refusal == nil) {
					rt.Fatalf("task %d is %s, and Claim said %v", i, want[i].state, err)
				}
				if err == nil {
					claims[i] = c
					want[i].state, want[i].attempts = StateRunning, want[i].attempts+1
					if c.Attempt() != want[i].attempts {
						rt.Fatalf("attempt %d, want %d", c.Attempt(), want[i].attempts)
					}
				}
			},
			"beat": func(rt *rapid.T) {
				i := claimed(rt)
				want[i].step++
				if err := claims[i].Beat(0, want[i].step, 100); err != nil {
					rt.Fatal(err)
				}
			},
			"die":  func(rt *rapid.T) { i := claimed(rt); end(i, StateLost, claims[i].Release()) },
			"stop": func(rt *rapid.T) { i := claimed(rt); end(i, StatePending, claims[i].Stop("signal")) },
			"fail": func(rt *rapid.T) {
				i := claimed(rt)
				end(i, StateFailed,
					claims[i].Fail(Failure{Reason: ReasonOOM}))
			},
			"commit": func(rt *rapid.T) {
				i := claimed(rt)
				end(i, StateDone, errors.Join(finish(claims[i]), claims[i].Release()))
			},
			"retry": func(rt *rapid.T) {
				i := rapid.IntRange(0, tasks-1).Draw(rt, "task")
				if want[i].state != StateFailed {
					rt.Skip("the task has not failed")
				}
				if err := s.clearFailure(i, rapid.Bool().Draw(rt, "fresh")); err != nil {
					rt.Fatal(err)
				}
				want[i].state = StatePending
			},
			"": func(rt *rapid.T) {
				st := expect.Must(s.Status(nil))
				for i, task := range st.Tasks {
					if task.State != want[i].state {
						rt.Fatalf("task %d is %s, want %s", i, task.State, want[i].state)
					}
					if task.Heartbeat != nil && task.Heartbeat.Step != want[i].step {
						rt.Fatalf("task %d is at step %d, want %d", i, task.Heartbeat.Step, want[i].step)
					}
				}
			},
		})
	})
}

func TestComplete(t *testing.T) {
	dir := t.TempDir()
	configs := resolved(t, 3, axis("pe", "learn"))
	packed, _ := extend(t, filepath.Join(dir, "packed"), configs, 3)
	single, _ := extend(t, filepath.Join(dir, "single"), configs, 1)
	for _, s := range []*Sweep{packed, single} {
		for i := range s.Plan.Tasks {
			c := expect.Must(s.ClaimTask(i, false))
			expect.ErrorIs(t, c.Complete(), runlog.ErrNoRun)
			expect.NoError(t, errors.Join(trainFake(c, 6, 0), c.Complete()))
			expect.ErrorIs(t, expect.ErrorOf(os.Stat(s.EnsembleDir(i))), os.ErrNotExist)
		}
	}
	names := packed.Plan.Tasks[0].Runs
	for _, name := range names {
		a, b := finished(t, packed, name), finished(t, single, name)
		a["result.json"] = strings.Replace(a["result.json"], "  \"trained_together\": 3,\n", "", 1)
		for _, files := range []map[string]string{a, b} {
			files["result.json"], _, _ = strings.Cut(files["result.json"], `"crc32c"`)
		}
		for file := range a {
			if a[file] != b[file] {
				t.Errorf("%s/%s: packed\n%q\nalone\n%q", name, file, a[file], b[file])
			}
		}
	}
	expect.Equal(t, "names", names, []string{"learn-0.2_seed=1", "learn-0.2_seed=2", "learn-0.2_seed=3"})
}

// An ensemble whose newest checkpoint is gone is not split: its runs would hold older weights than
// those that their numbers are of.
func TestCompleteRefusesAnOlderCheckpoint(t *testing.T) {
	s, _ := extend(t, filepath.Join(t.TempDir(), "s"), resolved(t, 2, axis("pe", "learn")), 2)
	c := expect.Must(s.ClaimTask(0, false))
	defer c.Release()
	dir := s.EnsembleDir(0)
	expect.NoError(t, errors.Join(trainFake(c, 6, 0), os.Remove(filepath.Join(dir, "checkpoint.safetensors"))))
	expect.Error(t, c.Complete(), "training ended after step 6; remove result.json in "+dir)
	expect.ErrorIs(t, expect.ErrorOf(os.Stat(filepath.Join(s.Dir, runsDir))), os.ErrNotExist)
}

// What is in the way of a run is named, not overwritten.
func TestCompleteOverwritesNothing(t *testing.T) {
	s, _ := extend(t, filepath.Join(t.TempDir(), "s"), resolved(t, 2, axis("pe", "learn")), 2)
	c := expect.Must(s.ClaimTask(0, false))
	mine := filepath.Join(s.RunDir(s.Plan.Tasks[0].Runs[1]), "mine.txt")
	expect.NoError(t, errors.Join(trainFake(c, 6, 0), os.MkdirAll(filepath.Dir(mine), 0o777),
		os.WriteFile(mine, []byte("x"), 0o666)))
	expect.Error(t, c.Complete(), "in the way")
	c.Release()
	if text, err := os.ReadFile(mine); string(text) != "x" || s.Task(0).State != StateLost {
		t.Errorf("%q, %v", text, err)
	}
}
