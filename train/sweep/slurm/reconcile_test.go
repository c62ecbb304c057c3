package slurm

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// Reconcile submits what is open and not in the queue, and nothing else, whatever the queue and the
// folders say.
func TestReconcile(t *testing.T) {
	f := &fake{t: t}
	var queue string
	id := 0
	f.hooks = map[string]func([]string) output{
		"sbatch": func([]string) output { id++; return output{Stdout: fmt.Sprintln(id)} },
		"squeue": func([]string) output { return output{Stdout: queue} },
	}
	outcomes := map[int]taskOutcome{}
	outcome := func(task int) (taskState, error) { return taskState{Outcome: outcomes[task]}, nil }
	a := array(t, 10, 11, 12, 13, 14, 15)
	a.Options.MaxSubmissions = 2
	outcomes[14] = endedTask
	r, err := f.client().Reconcile(t.Context(), a, outcome)
	if err != nil || !slices.Equal(r.Submitted, []int{10, 11, 12, 13, 15}) ||
		!slices.Equal(r.Ended, []int{14}) || over(r) {
		t.Fatalf("%+v %v", r, err)
	}
	name := r.Jobs[0].Name
	// 10 ended but is still listed, 11 runs, 12 is lost, 13 is lost for Slurm but shows life, 15 is
	// held.
	outcomes[10], outcomes[13] = endedTask, busyTask
	queue = fmt.Sprintf(
		"1|0|COMPLETING|None|vm|%[1]s\n1|1|RUNNING|None|vm|%[1]s\n"+
			"1|3|NODE_FAIL|None||%[1]s\n1|4|PENDING|JobHeldUser||%[1]s\n", name)
	r, err = f.client().Reconcile(t.Context(), a, outcome)
	if err != nil || !slices.Equal(r.Ended, []int{10, 14}) || !slices.Equal(r.Waiting, []int{11, 13}) ||
		!slices.Equal(r.Submitted, []int{12}) || !slices.Equal(r.Held, []int{15}) ||
		r.States[13].Slurm != "NODE_FAIL" {
		t.Fatalf("%+v %v", r, err)
	}
	// Nothing happens while the controller does not answer or answers nonsense.
	for _, bad := range []output{{Stderr: down, Status: 1}, {Stdout: "hello\n"}} {
		f.hooks["squeue"] = func([]string) output { return bad }
		if _, err := f.client().Reconcile(t.Context(), a, outcome); err == nil || id != 2 {
			t.Errorf("%v, %d submissions", err, id)
		}
	}
	// The controller forgot all. 12 was submitted twice.
	f.hooks["squeue"] = func([]string) output { return output{} }
	r, err = f.client().Reconcile(t.Context(), a, outcome)
	if err != nil || !slices.Equal(r.GivenUp, []int{12}) || !slices.Equal(r.Submitted, []int{11, 15}) ||
		!slices.Equal(r.Waiting, []int{13}) {
		t.Fatalf("%+v %v", r, err)
	}
	for _, task := range a.Tasks {
		outcomes[task] = endedTask
	}
	if r, err = f.client().Reconcile(t.Context(), a, outcome); err != nil || !over(r) ||
		len(r.Ended) != 6 || id != 3 {
		t.Errorf("%+v %v", r, err)
	}
	if _, err := f.client().Reconcile(t.Context(), a, func(int) (taskState, error) {
		return taskState{},
			errors.New("bad disk")
	}); err == nil || !strings.Contains(err.Error(), "bad disk") {
		t.Error(err)
	}
}

// A submission that failed does not count, and what it left is submitted the next time.
func TestReconcileAfterFailure(t *testing.T) {
	f := &fake{t: t, answers: map[string]output{"sbatch": {Stderr: down, Status: 1}, "scancel": {}, "squeue": {}}}
	a := array(t, 1, 2)
	a.Options.MaxSubmissions = 1
	outcome := func(int) (taskState, error) { return taskState{}, nil }
	for range 3 {
		r, err := f.client().Reconcile(t.Context(), a, outcome)
		if !isUnreachable(err) || !slices.Equal(r.Left, []int{1, 2}) || len(r.Submitted) != 0 || over(r) {
			t.Fatalf("%+v %v", r, err)
		}
	}
	f.answers["sbatch"] = output{Stdout: "7\n"}
	if r, err := f.client().Reconcile(t.Context(), a, outcome); err != nil ||
		!slices.Equal(r.Submitted, []int{1, 2}) {
		t.Errorf("%+v %v", r, err)
	}
	// A withdrawn job that Slurm has all the same is waited for.
	stored, err := recordedJobs(a.Dir, a.Name)
	if err != nil || len(stored) != 4 {
		t.Fatalf("%v %v", stored, err)
	}
}

// Only submissions after which a task was lost count: not those that ended in good order, were
// cancelled, or were excused.
func TestReconcileCounts(t *testing.T) {
	f := &fake{t: t}
	var queue string
	id := 0
	f.hooks = map[string]func([]string) output{
		"sbatch": func([]string) output { id++; return output{Stdout: fmt.Sprintln(id)} },
		"squeue": func([]string) output { return output{Stdout: queue} },
	}
	a := array(t, 1, 2, 3)
	a.Options.MaxSubmissions = 2
	stopped := time.Time{}
	stateOf := func(task int) (taskState, error) {
		if task == 1 {
			return taskState{Stopped: stopped}, nil
		}
		return taskState{}, nil
	}
	submit := func(submitted, givenUp []int) {
		t.Helper()
		r, err := f.client().Reconcile(t.Context(), a, stateOf)
		if err != nil || !slices.Equal(r.Submitted, submitted) || !slices.Equal(r.GivenUp, givenUp) {
			t.Fatalf("submitted %v, given up %v, %v; want %v, %v", r.Submitted, r.GivenUp, err, submitted, givenUp)
		}
		stopped = time.Now() // 1 saves and stops, 2 is cancelled, 3 is lost
		queue = ""
		for _, j := range r.Jobs {
			if i := slices.Index(j.Tasks, 2); i >= 0 {
				queue = fmt.Sprintf("%d|%d|CANCELLED|None||%s\n", j.ID, i, j.Name)
			}
		}
	}
	submit([]int{1, 2, 3}, nil)
	submit([]int{1, 2, 3}, nil)
	for range 4 {
		submit([]int{1, 2}, []int{3})
	}
	// A stop of long ago says nothing of what became of the task since.
	stopped, queue = time.Now().Add(-time.Hour), ""
	reconcileNow := func() (Report, error) { return f.client().Reconcile(t.Context(), a, stateOf) }
	if r, err := reconcileNow(); err != nil || !slices.Equal(r.Submitted, []int{1, 2}) {
		t.Fatalf("%+v, %v", r, err)
	}
	if r, err := reconcileNow(); err != nil || !slices.Equal(r.GivenUp, []int{1, 2, 3}) {
		t.Fatalf("%+v, %v", r, err)
	}
	if err := excuseAll(a.Dir, a.Name); err != nil {
		t.Fatal(err)
	}
	if r, err := reconcileNow(); err != nil || !slices.Equal(r.Submitted, []int{1, 2, 3}) {
		t.Fatalf("%+v, %v", r, err)
	}
}

// over says whether nothing is left to wait for.
func over(r Report) bool {
	return len(r.Waiting)+len(r.Held)+len(r.Submitted)+len(r.Left) == 0
}
