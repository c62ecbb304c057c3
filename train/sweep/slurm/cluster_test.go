package slurm

import (
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
	"torchpe/train/sweep"
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
	dir = expect.Must(os.MkdirTemp("", "slurm"))
	t.Cleanup(func() {
		if out, err := exec.Command(launcher, "stop", dir).CombinedOutput(); err != nil {
			t.Errorf("stopping Slurm: %v\n%s", err, out)
		}
		if t.Failed() {
			t.Logf("the logs of Slurm stay in %s", dir)
			return
		}
		expect.NoError(t, os.RemoveAll(dir))
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

// twelveTasks returns a sweep of twelve tasks in a folder with a hostile name, and its launcher.
func twelveTasks(t *testing.T) (*sweep.Sweep, Launcher) {
	t.Helper()
	self := expect.Must(os.Executable())
	return newSweep(t, `it's a $(touch pwned) "sweep" %A é`, 12), Launcher{Program: self, Options: Options{
		Time: time.Minute, Signal: 50 * time.Second, Requeue: true, Throttle: 6, CPUs: 1,
		Extra: []string{"--comment=it's $(x)"}}}
}

// watch launches a sweep again and again until nothing is left, and calls at after the seconds that
// are its keys.
func watch(t *testing.T, s *sweep.Sweep, l Launcher, at map[int]func()) {
	t.Helper()
	last, began := "", time.Now()
	over := false
	l.Submitted = func(r Report) { over = len(r.Jobs)+len(r.Waiting)+len(r.Held)+len(r.Left) == 0 }
	for !over {
		over = true // where all have ended, Launch reports nothing
		err := l.Launch(t.Context(), s)
		st, statusErr := s.Status(nil)
		if statusErr != nil {
			t.Fatal(statusErr)
		}
		if now := fmt.Sprint(st.Counts, err); now != last {
			t.Logf("%5.1f s: %s", time.Since(began).Seconds(), now)
			last = now
		}
		over = over && err == nil // the controller may not answer yet
		for second, do := range at {
			if time.Since(began) >= time.Duration(second)*time.Second {
				delete(at, second)
				do()
			}
		}
		if time.Since(began) > 6*time.Minute {
			out, _ := exec.Command("squeue", "-a").CombinedOutput()
			nodes, _ := exec.Command("sinfo", "-R").CombinedOutput()
			t.Fatalf("not over: %s%s", out, nodes)
		}
		time.Sleep(500 * time.Millisecond)
	}
}

// history returns the lines that a task wrote.
func history(t *testing.T, s *sweep.Sweep, task int) []string {
	t.Helper()
	text := expect.Must(os.ReadFile(filepath.Join(s.Dir, fmt.Sprintf("task %d.log", task))))
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// checkEnds checks that every task ended once, and returns how often each started.
func checkEnds(t *testing.T, s *sweep.Sweep) map[int]int {
	t.Helper()
	starts := map[int]int{}
	for i := range s.Plan.Tasks {
		h := history(t, s, i)
		starts[i] = len(slices.DeleteFunc(slices.Clone(h),
			func(l string) bool { return !strings.HasPrefix(l, "start") }))
		if slices.Index(h, "end") != len(h)-1 || s.Task(i).State != sweep.StateFailed {
			t.Errorf("task %d is %s: %q", i, s.Task(i).State, h)
		}
	}
	if found, _ := filepath.Glob(filepath.Join(filepath.Dir(s.Dir), "*", "pwned")); found != nil {
		t.Errorf("%v was executed", found)
	}
	return starts
}

// One task is stopped by its time limit, queued again once, and ends at its second start; all others
// run once. Once with a task a job at a site that also requeues by exit status, once with three a job.
func TestClusterRequeue(t *testing.T) {
	for site, perJob := range map[string]int{"75": 1, "none": 3} {
		t.Run(site, func(t *testing.T) {
			startCluster(t, "REQUEUE_EXIT="+site)
			t.Setenv("TENTHS", "10")
			s, l := twelveTasks(t)
			l.Options.TasksPerJob = perJob
			if perJob == 1 {
				l.Options.GPUs = 1
			}
			watch(t, s, l, nil)
			for task, n := range checkEnds(t, s) {
				if task == long && n != 2 || task != long && n != 1 {
					t.Errorf("task %d started %d times: %q", task, n, history(t, s, task))
				}
			}
			h := history(t, s, long)
			if !slices.Contains(h, "stopped by user defined signal 1") || !strings.HasPrefix(h[2], "start 1 ") {
				t.Errorf("task %d: %q", long, h)
			}
			if perJob == 1 && strings.HasSuffix(h[0], "gpu ") {
				t.Errorf("no GPU was given: %q", h[0])
			}
			jobs, err := recordedJobs(s)
			if err != nil || len(jobs) != 1 {
				t.Fatalf("%v %v", jobs, err)
			}
			log, err := os.ReadFile(filepath.Join(s.Dir, logsFolder,
				fmt.Sprintf("%s_%d.out", jobs[0].Name, long/perJob)))
			if err != nil || strings.Count(string(log), "start 2") != 1 {
				t.Errorf("%v\n%s", err, log)
			}
			expect.NoError(t, Cancel(t.Context(), s))
		})
	}
}

// The controller is killed two seconds after the submission, before it saved what is pending, and
// the node's daemon later, with all that it runs. In the end every task has ended once.
func TestClusterCrashes(t *testing.T) {
	dir := startCluster(t)
	s, l := twelveTasks(t)
	l.Options.Throttle = 3
	watch(t, s, l, map[int]func(){
		2: func() { operate(t, launcher, "crash", dir, "slurmctld") },
		// Meanwhile commands fail, which must not be taken for an empty queue.
		4:  func() { operate(t, launcher, "launch", dir, "slurmctld") },
		9:  func() { operate(t, launcher, "attend", dir) },
		13: func() { operate(t, launcher, "crash-node", dir) },
		15: func() { operate(t, launcher, "launch", dir, "slurmd") },
		45: func() { operate(t, launcher, "attend", dir) },
		75: func() { operate(t, launcher, "attend", dir) },
	})
	again := 0
	starts := checkEnds(t, s)
	for _, n := range starts {
		if n > 1 {
			again++
		}
	}
	if t.Logf("starts: %v", starts); again == 0 {
		t.Error("the crashes hit nothing")
	}
}

// Cancel ends what runs, removes what waits, and nothing of it comes back.
func TestClusterCancel(t *testing.T) {
	startCluster(t)
	s, l := twelveTasks(t)
	l.Options.Throttle = 2
	expect.NoError(t, l.Launch(t.Context(), s))
	until := func(what string, want int, is func(Place) bool) {
		t.Helper()
		n := -1
		for deadline := time.Now().Add(60 * time.Second); n != want; time.Sleep(100 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%d tasks are %s, want %d", n, what, want)
			}
			queue := expect.Must(Queued(t.Context(), s))
			n = 0
			for _, p := range queue {
				if is(p) {
					n++
				}
			}
		}
	}
	until("running", 2, func(p Place) bool { return p.State == "RUNNING" })
	until("pending", 10, func(p Place) bool { return p.State == "PENDING" })
	jobs := expect.Must(recordedJobs(s))
	operate(t, "scontrol", "hold", fmt.Sprint(jobs[0].ID))
	until("held", 10, Place.Held)
	for range 300 { // what runs for Slurm may not listen yet
		if text, err := os.ReadFile(filepath.Join(s.Dir, "task 0.log")); err == nil && len(text) > 0 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	operate(t, "scontrol", "suspend", fmt.Sprintf("%d_1", jobs[0].ID))
	until("suspended", 1, func(p Place) bool { return p.State == "SUSPENDED" })
	operate(t, "scontrol", "resume", fmt.Sprintf("%d_1", jobs[0].ID))
	for range 2 { // also where nothing is left
		expect.NoError(t, Cancel(t.Context(), s))
	}
	until("in the queue", 0, func(Place) bool { return true })
	if h := history(t, s, 0); h[len(h)-1] != "stopped by terminated" && h[len(h)-1] != "end" {
		t.Errorf("task 0: %q", h)
	}
}
