package sweep

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"torchpe/internal/atomicfile"
	"torchpe/internal/expect"
)

// asHistorian in the environment makes the test binary a process that works on a sweep and writes a
// history: its value is the sweep's directory; the arguments are the history's file and a seed.
const asHistorian = "TORCHPE_TEST_SWEEP_HISTORY"

// asHost in the environment names the host on which such a process runs. Hosts share no locks.
const asHost = "TORCHPE_TEST_SWEEP_HOST"

// onHost makes this process one on another host, until the returned function is called. "" is this host.
func onHost(name string) (back func()) {
	host, lock := hostname, lockFile
	if name != "" {
		hostname = func() (string, error) { return name, nil }
		lockFile = "lock." + name
	}
	return func() { hostname, lockFile = host, lock }
}

// history is a file to which processes append events in the order in which they happen.
type history struct{ *os.File }

func openHistory(path string) (history, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666)
	return history{f}, err
}

// add writes an event of a process and a task in one call, which O_APPEND keeps whole.
func (h history) add(pid int, event string, task int) {
	fmt.Fprintf(h, "%d %s %d\n", pid, event, task)
}

// misfortune sets the wall clock to another day at every call, lets one in a hundred writes find the
// disk full, and has attempts wait for the file server between a look at a task and its claim.
func misfortune(seed uint64) {
	r := rand.New(rand.NewPCG(seed, 3))
	now = func() time.Time { return time.Now().Add(time.Duration(r.IntN(20)-10) * 24 * time.Hour) }
	atomicfile.Fault = func(operation, name string) error {
		if (operation == "write" || operation == "mkdir") && r.IntN(100) == 0 {
			return syscall.ENOSPC
		}
		if strings.Contains(name, "attempt-") && r.IntN(3) == 0 {
			time.Sleep(time.Duration(r.IntN(50)) * time.Millisecond)
		}
		return nil
	}
}

// historian claims open tasks until none is left, or others keep them, often in the order of all, so that many want the
// same one. Of those it claims it completes most, fails some, stops some in good order and leaves
// some without a word.
func historian(dir, path, seed string) int {
	h, err := openHistory(path)
	if err != nil {
		return 2
	}
	s, err := Open(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	var n uint64
	fmt.Sscan(seed, &n)
	r := rand.New(rand.NewPCG(n, 1))
	pid := os.Getpid()
	idle := 0 // rounds: workers of another host may have died, which this one cannot see
	for open := true; open && idle < 20; idle++ {
		open = false
		order := r.Perm(len(s.Plan.Tasks))
		if r.IntN(3) > 0 {
			slices.Sort(order)
		}
		for _, i := range order {
			c, err := s.ClaimTask(i, false)
			switch {
			case errors.Is(err, ErrDone) || errors.Is(err, ErrFailed):
				continue
			case errors.Is(err, ErrBusy):
				open = true
				h.add(pid, "waits", i)
				continue
			case errors.Is(err, syscall.ENOSPC):
				open = true
				h.add(pid, "full", i)
				continue
			case err != nil:
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
			h.add(pid, "claims", i)
			idle = 0
			err = work(h, c, r)
			if errors.Is(err, syscall.ENOSPC) { // its lock is still held, or given up with the error
				open = true
				h.add(pid, "full", i)
				h.add(pid, "leaves", i)
				err = c.Release()
			}
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
		}
		time.Sleep(time.Duration(r.IntN(20)) * time.Millisecond)
	}
	return 0
}

// work does with a claimed task what the draw says. Events come before the call that gives it up.
func work(h history, c *Claim, r *rand.Rand) error {
	pause := time.Duration(r.IntN(30)) * time.Millisecond
	if r.IntN(4) == 0 {
		pause = 200 * time.Millisecond // the task stays taken for longer than others try
	}
	if err := trainFake(c, 4, pause); err != nil {
		return err
	}
	i, pid := c.Index, os.Getpid()
	switch draw := r.IntN(10); draw {
	case 0:
		h.add(pid, "leaves", i)
		return c.Fail(Failure{Reason: ReasonError, Message: "drawn"})
	case 1:
		h.add(pid, "leaves", i)
		return c.Stop("drawn")
	case 2:
		h.add(pid, "leaves", i)
		return c.Release()
	}
	h.add(pid, "leaves", i)
	if err := c.Complete(); err != nil {
		return err
	}
	h.add(pid, "completed", i)
	return nil
}

// oneHost is where processes share locks: this one.
var oneHost = []string{""}

// schedule disturbs processes that work on one sweep, on these hosts, as the draws of a seed say, for
// two seconds, and then lets them end.
func schedule(t *testing.T, s *Sweep, path string, seed uint64, hosts []string) {
	t.Helper()
	h := expect.Must(openHistory(path))
	defer h.Close()
	r := rand.New(rand.NewPCG(seed, 2))
	var running []*exec.Cmd
	var ends sync.WaitGroup
	start := func() {
		cmd := exec.Command(os.Args[0], path, fmt.Sprint(r.Uint64()))
		cmd.Env = append(os.Environ(), asHistorian+"="+s.Dir, asHost+"="+hosts[r.IntN(len(hosts))])
		cmd.Stderr = os.Stderr
		expect.NoError(t, cmd.Start())
		running = append(running, cmd)
		ends.Go(func() { cmd.Wait() })
	}
	signal := func(cmd *exec.Cmd, sig syscall.Signal) {
		if err := cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Error(err)
		}
	}
	for begin := time.Now(); time.Since(begin) < 2*time.Second; {
		time.Sleep(time.Duration(r.IntN(150)) * time.Millisecond)
		if len(running) < 4 {
			start()
			continue
		}
		n := r.IntN(len(running))
		cmd := running[n]
		switch r.IntN(4) {
		case 0, 1:
			h.add(cmd.Process.Pid, "killed", 0)
			signal(cmd, syscall.SIGKILL)
			running = append(running[:n], running[n+1:]...)
		case 2: // for longer than a task takes
			h.add(cmd.Process.Pid, "stopped", 0)
			signal(cmd, syscall.SIGSTOP)
			time.Sleep(time.Duration(r.IntN(200)) * time.Millisecond)
			signal(cmd, syscall.SIGCONT)
		case 3:
			back := onHost(hosts[r.IntN(len(hosts))])
			expect.Equal(t, "clearing failures", s.ClearFailures(r.IntN(2) == 0), nil)
			back()
		}
	}
	for _, cmd := range running {
		signal(cmd, syscall.SIGCONT)
	}
	ends.Wait()
}

// finishSweep works undisturbed until every task is done, on each host in turn: a worker that died is
// known to be dead on its own alone.
func finishSweep(t *testing.T, s *Sweep, path string, seed uint64, hosts []string) {
	t.Helper()
	for n := range 200 {
		done := finishOnHost(t, s, path, fmt.Sprint(seed+uint64(n)), hosts[n%len(hosts)])
		if done {
			return
		}
	}
	t.Error("tasks are lost")
}

// finishOnHost claims what a host can, and says whether all tasks are done.
func finishOnHost(t *testing.T, s *Sweep, path, seed, host string) (done bool) {
	t.Helper()
	defer onHost(host)()
	expect.NoError(t, s.ClearFailures(false))
	if code := historian(s.Dir, path, seed); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	st := expect.Must(s.Status(nil))
	return st.Counts[StateDone] == len(s.Plan.Tasks)
}

// checkHistory reports each task that two processes owned at once, or that was worked on after it
// was completed, and counts the events.
func checkHistory(t *testing.T, text string, tasks int, count map[string]int) {
	t.Helper()
	owner, completed := map[int]int{}, map[int]int{}
	for n, line := range strings.Split(strings.TrimSpace(text), "\n") {
		var pid, task int
		var event string
		if _, err := fmt.Sscan(line, &pid, &event, &task); err != nil {
			t.Fatalf("line %d: %q", n+1, line)
		}
		count[event]++
		switch event {
		case "claims":
			expect.Equal(t, fmt.Sprintf("line %d: task %d is claimed by %d and held by", n+1, task, pid),
				owner[task], 0)
			if completed[task] > 0 {
				t.Errorf("line %d: task %d is claimed after it was completed", n+1, task)
			}
			owner[task] = pid
		case "leaves":
			if owner[task] == pid {
				delete(owner, task)
			}
		case "completed":
			if completed[task]++; completed[task] > 1 {
				t.Errorf("line %d: task %d is completed again", n+1, task)
			}
		case "killed":
			for task, holder := range owner {
				if holder == pid {
					delete(owner, task)
				}
			}
		}
	}
}

// Whatever happens to the processes that work on a sweep - SIGKILL at any moment, SIGSTOP for longer
// than a task takes, failures tried again meanwhile, clocks that jump by days, writes that find the
// disk full, a slow file server, hosts that share no locks - no task ever has two owners, none is lost,
// and the results are those of a sweep that was left alone. TORCHPE_SWEEP_HISTORY gives the time, such
// as 10m.
func TestHistories(t *testing.T) {
	total := 10 * time.Second
	if given := os.Getenv("TORCHPE_SWEEP_HISTORY"); given != "" {
		total = expect.Must(time.ParseDuration(given))
	}
	if testing.Short() {
		total = 2 * time.Second
	}
	base := t.TempDir()
	grid := resolved(t, 24, axis("pe", "learn"))
	alone, _ := extend(t, filepath.Join(base, "alone"), grid, 1)
	finishSweep(t, alone, filepath.Join(base, "alone.txt"), 1, oneHost)

	seed := uint64(time.Now().UnixNano())
	schedules, count := 0, map[string]int{}
	for began := time.Now(); time.Since(began) < total && !t.Failed(); schedules++ {
		seed++
		dir := filepath.Join(base, fmt.Sprint(schedules))
		s, _ := extend(t, dir, grid, 1)
		hosts := oneHost
		if schedules%2 == 1 {
			hosts = []string{"a", "b"}
		}
		schedule(t, s, dir+".txt", seed, hosts)
		finishSweep(t, s, dir+".txt", seed, hosts)
		text := expect.Must(os.ReadFile(dir + ".txt"))
		checkHistory(t, string(text), len(s.Plan.Tasks), count)
		for _, task := range s.Plan.Tasks {
			for _, name := range task.Runs {
				expect.Equal(t, name+" differs", !maps.Equal(finished(t, s, name), finished(t, alone, name)),
					false)
			}
		}
		if t.Failed() {
			t.Logf("seed %d on %q:\n%s", seed, hosts, text)
		}
	}
	if count["waits"] < schedules || count["claims"] < schedules*len(grid) {
		t.Errorf("the processes did not get in each other's way: %v", count)
	}
	t.Logf("%d schedules, every other on hosts without shared locks: %v, the last with seed %d",
		schedules, count, seed)
}
