package slurm

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
)

// launcher starts and stops a Slurm on this machine.
const launcher = "../../../scripts/one_node_slurm.sh"

// startCluster starts a Slurm of this test's own and stops it at the end. It skips the test where
// Slurm is not installed; TORCHPE_SLURM=install lets it try apt-get.
func startCluster(t *testing.T, env ...string) (dir string) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes about a minute")
	}
	if os.Getenv("TORCHPE_SLURM") == "install" {
		if out, err := exec.Command(launcher, "install").CombinedOutput(); err != nil {
			t.Skipf("Slurm cannot be installed: %v\n%s", err, out)
		}
	}
	// Not t.TempDir: its path is too long for the name of a socket.
	dir, err := os.MkdirTemp("", "slurm")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if out, err := exec.Command(launcher, "stop", dir).CombinedOutput(); err != nil {
			t.Errorf("stopping Slurm: %v\n%s", err, out)
		}
		if t.Failed() {
			t.Logf("the logs of Slurm stay in %s", dir)
			return
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	start := exec.Command(launcher, "start", dir)
	start.Env = append(os.Environ(), env...)
	began := time.Now()
	out, err := start.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 3 {
		t.Skipf("%sTORCHPE_SLURM=install lets this test do so", out)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("Slurm is up after %v", time.Since(began).Round(time.Millisecond))
	t.Setenv("SLURM_CONF", filepath.Join(dir, "slurm.conf"))
	return dir
}

// operate does what an administrator or a power cut would.
func operate(t *testing.T, command ...string) {
	t.Helper()
	if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, out)
	}
}

// taskProgram is the program of the tasks. A task whose record exists ends at once. Each start and each
// end adds a line to a file of the task; the end comes last, by renaming. Behaviour is by the
// index:
//
//	102  fails
//	103  does not end at its first start before it is told by USR1, and then asks to be queued again
//	else takes a few seconds
const taskProgram = `#!/usr/bin/env bash
task=$2 got=''
[ ! -e "task $task.end" ] || exit 0
trap 'got=75' USR1; trap 'got=143' TERM
echo "start pid $$ restart ${SLURM_RESTART_COUNT:-0} gpu ${CUDA_VISIBLE_DEVICES-}" >>"task $task.log"
finish() { echo "$1" >"task $task.new"; echo "end $1" >>"task $task.log"; mv "task $task.new" "task $task.end"; }
rounds=${ROUNDS:-30}
[ $task != 103 ] || [ "${SLURM_RESTART_COUNT:-0}" != 0 ] || rounds=2000
for ((i = 0; i < rounds; i++)); do
  sleep 0.1
  [ -z "$got" ] || { echo "stopped $got" >>"task $task.log"; exit $got; }
done
[ $task != 102 ] || { finish "failed: on purpose"; exit 3; }
finish done
`

// twelveTasks returns an array of twelve tasks on the one node, from a folder with a hostile name.
func twelveTasks(t *testing.T, perJob int) (Array, func(task int) (taskState, error)) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), `it's a $(touch pwned) "sweep" %A é`)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "run task"), taskProgram)
	a := Array{Name: "puzzles", Program: []string{filepath.Join(dir, "run task")}, Dir: dir, Options: Options{
		Time: time.Minute, Signal: 50 * time.Second, Requeue: true, TasksPerJob: perJob,
		Throttle: 6, CPUs: 1, Extra: []string{"--comment=it's $(x)"}}}
	for i := range 12 {
		a.Tasks = append(a.Tasks, 100+i)
	}
	return a, func(task int) (taskState, error) {
		_, err := os.Stat(filepath.Join(dir, fmt.Sprintf("task %d.end", task)))
		switch {
		case errors.Is(err, os.ErrNotExist):
			return taskState{}, nil
		case err != nil:
			return taskState{}, err
		}
		return taskState{Outcome: endedTask}, nil
	}
}

// watch reconciles until nothing is left, and calls at after the seconds that are its keys.
func watch(t *testing.T, a Array, outcome func(int) (taskState, error), at map[int]func()) Report {
	t.Helper()
	var c client
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	began := time.Now()
	last := ""
	for {
		r, err := c.Reconcile(ctx, a, outcome)
		now := fmt.Sprintf("ended %d, in the queue or running %d, held %d, submitted %d, left %d, "+
			"given up %v", len(r.Ended), len(r.Waiting), len(r.Held), len(r.Submitted), len(r.Left), r.GivenUp)
		if err != nil {
			now = err.Error()
		}
		if now != last {
			t.Logf("%5.1f s: %s", time.Since(began).Seconds(), now)
			last = now
		}
		if err != nil && !isUnreachable(err) {
			t.Fatal(err)
		}
		if err == nil && over(r) {
			return r
		}
		for second, do := range at {
			if time.Since(began) >= time.Duration(second)*time.Second {
				delete(at, second)
				do()
			}
		}
		select {
		case <-ctx.Done():
			out, _ := exec.Command("squeue", "-a").CombinedOutput()
			nodes, _ := exec.Command("sinfo", "-R").CombinedOutput()
			t.Fatalf("not over: %+v\n%s%s", r, out, nodes)
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// history returns the lines that a task wrote.
func history(t *testing.T, a Array, task int) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(a.Dir, fmt.Sprintf("task %d.log", task)))
	if err != nil {
		t.Error(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// checkEnds checks that every task has one end, and returns how often each started.
func checkEnds(t *testing.T, a Array) map[int]int {
	t.Helper()
	starts := map[int]int{}
	for _, task := range a.Tasks {
		h := history(t, a, task)
		want := "end done"
		if task == 102 {
			want = "end failed: on purpose"
		}
		ends := 0
		for _, line := range h {
			if strings.HasPrefix(line, "start") {
				starts[task]++
			}
			if strings.HasPrefix(line, "end") {
				ends++
			}
		}
		if ends != 1 || h[len(h)-1] != want {
			t.Errorf("task %d: %q", task, h)
		}
	}
	return starts
}

// One task fails; one is stopped by its time limit, queued again, and ends at its second start; all
// others run once. Once with a task a job at a site that requeues by exit status, once with three a
// job, requeueing by themselves.
func TestClusterRequeue(t *testing.T) {
	for _, c := range []struct {
		name, site string
		perJob     int
	}{{"site", "75", 1}, {"self", "none", 3}} {
		t.Run(c.name, func(t *testing.T) {
			startCluster(t, "REQUEUE_EXIT="+c.site)
			a, outcome := twelveTasks(t, c.perJob)
			t.Setenv("ROUNDS", "10")
			if c.perJob == 1 {
				a.Options.GPUs = 1
			}
			limits, err := new(client).limits(t.Context())
			if err != nil || limits.maxTasks != 1001 || limits.requeues != (c.site == "75") {
				t.Fatalf("%+v %v", limits, err)
			}
			watch(t, a, outcome, nil)
			starts := checkEnds(t, a)
			for task, n := range starts {
				if task == 103 && n != 2 || task != 103 && n != 1 {
					t.Errorf("task %d started %d times: %q", task, n, history(t, a, task))
				}
			}
			h := history(t, a, 103)
			if !slices.Contains(h, "stopped 75") || !strings.Contains(h[len(h)-2], "restart 1") {
				t.Errorf("task 103: %q", h)
			}
			if gpu := strings.Fields(h[0])[5:]; c.perJob == 1 && strings.Join(gpu, "")[3:] == "" {
				t.Errorf("no GPU was given: %q", h[0])
			}
			checkRecords(t, a)
		})
	}
}

// checkRecords checks what is known after all tasks ended.
func checkRecords(t *testing.T, a Array) {
	t.Helper()
	stored, err := recordedJobs(a.Dir, a.Name)
	if err != nil || len(stored) != 1 {
		t.Fatalf("%v %v", stored, err)
	}
	log, err := os.ReadFile(stored[0].Log(103))
	if err != nil || strings.Count(string(log), "start 2") != 1 {
		t.Errorf("%v\n%s", err, log)
	}
	if found, _ := filepath.Glob(filepath.Join(filepath.Dir(a.Dir), "*", "pwned")); found != nil {
		t.Errorf("%v was executed", found)
	}
	if err := new(client).Cancel(t.Context(), stored); err != nil {
		t.Error(err)
	}
}

// The controller is killed two seconds after the submission, before it saved what is pending, and
// the node's daemon later, with all that it runs. In the end every task has ended once.
func TestClusterCrashes(t *testing.T) {
	dir := startCluster(t)
	a, outcome := twelveTasks(t, 1)
	a.Options.Throttle = 3
	watch(t, a, outcome, map[int]func(){
		2: func() { operate(t, launcher, "crash", dir, "slurmctld") },
		// Meanwhile commands fail, and Reconcile must not take that for an empty queue.
		4:  func() { operate(t, launcher, "launch", dir, "slurmctld") },
		9:  func() { operate(t, launcher, "attend", dir) },
		13: func() { operate(t, launcher, "crash-node", dir) },
		15: func() { operate(t, launcher, "launch", dir, "slurmd") },
		45: func() { operate(t, launcher, "attend", dir) },
		75: func() { operate(t, launcher, "attend", dir) },
	})
	starts := checkEnds(t, a)
	again := 0
	for _, n := range starts {
		if n > 1 {
			again++
		}
	}
	stored, err := recordedJobs(a.Dir, a.Name)
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range stored {
		t.Logf("job %d %s: tasks %v", j.ID, j.Name, j.Tasks)
	}
	t.Logf("%d tasks started more than once: %v", again, starts)
	if again == 0 {
		t.Error("the crashes hit nothing")
	}
}

// Cancel ends what runs, removes what waits, and nothing of it comes back.
func TestClusterCancel(t *testing.T) {
	startCluster(t)
	a, _ := twelveTasks(t, 1)
	a.Options.Throttle = 2
	var c client
	jobs, err := c.Submit(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	count := func(p Phase) int {
		states, err := c.States(t.Context(), jobs)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, s := range states {
			if s.Phase == p {
				n++
			}
		}
		return n
	}
	until := func(p Phase, want int) {
		t.Helper()
		for deadline := time.Now().Add(30 * time.Second); count(p) != want; time.Sleep(100 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%d tasks are %s, want %d", count(p), p, want)
			}
		}
	}
	until(Running, 2)
	until(Pending, 10)
	operate(t, "scontrol", "hold", fmt.Sprint(jobs[0].ID))
	until(Held, 10)
	for range 300 { // what runs for Slurm may not listen yet
		if text, err := os.ReadFile(filepath.Join(a.Dir, "task 100.log")); err == nil && len(text) > 0 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if err := c.Cancel(t.Context(), jobs); err != nil {
		t.Fatal(err)
	}
	until(Gone, 12)
	h := history(t, a, 100)
	if h[len(h)-1] != "stopped 143" {
		t.Errorf("task 100: %q", h)
	}
	if err := c.Cancel(t.Context(), jobs); err != nil {
		t.Errorf("cancelling twice: %v", err)
	}
}
