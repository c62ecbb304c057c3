package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"torchpe/internal/expect"
	"torchpe/train/sweep"
)

// killsVariable in the environment is how many times TestSweepKilled kills: 200 by hand, few in
// ordinary runs.
const killsVariable = "TORCHPE_SWEEP_KILLS"

// six are the flags of a sweep of six tasks: each member is one.
func six(t *testing.T, dir string) string {
	return " --pe learn,random --sigma 0.2,1 --seeds 1,2 --pack 1 --epochs 4 --noise none --checkpoint-every 1ms " +
		"--workers 2 --quiet" + smallSet(t, dir)
}

// A sweep whose launcher and workers are killed at random moments, again and again, ends with the
// same bits as one that nobody disturbs, every task done, and no task done twice.
func TestSweepKilled(t *testing.T) {
	kills := 3
	if text := os.Getenv(killsVariable); text != "" {
		kills = expect.Must(strconv.Atoi(text))
	} else if testing.Short() {
		kills = 2
	}
	dir := t.TempDir()
	flags := six(t, dir)
	start := time.Now()
	says(t, dir, "sweep --out undisturbed"+flags, 0)
	whole := time.Since(start)
	want := map[string]opened{}
	names := expect.Must(os.ReadDir(filepath.Join(dir, "undisturbed", "runs")))
	expect.Equal(t, "runs", len(names), 6)
	for _, n := range names {
		want[n.Name()] = open(t, filepath.Join(dir, "undisturbed", "runs", n.Name()))
	}
	rng := rand.New(rand.NewPCG(1, 2))
	done := map[string]int{}
	for round := 0; kills > 0; round++ {
		name := fmt.Sprintf("killed%d", round)
		kills = killSweep(t, dir, name, flags, killing{rng: rng, kills: kills, whole: whole, done: done})
		for n, w := range want {
			expect.Equal(t, name+", "+n, differ(open(t, filepath.Join(dir, name, "runs", n)), w, 0), "")
		}
		expect.Equal(t, name+": runs", len(expect.Must(os.ReadDir(filepath.Join(dir, name, "runs")))), 6)
	}
	t.Logf("killed: %v", done)
}

// killing names a way to disturb a sweep.
type killing struct {
	rng   *rand.Rand
	kills int
	whole time.Duration  // of an undisturbed sweep
	done  map[string]int // how often what was killed
}

// killSweep runs a sweep to its end, killing on the way, and returns the kills that are left.
func killSweep(t *testing.T, dir, name, flags string, k killing) int {
	t.Helper()
	line := "sweep --out " + name + flags
	for {
		cmd := program(dir, line)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		expect.NoError(t, cmd.Start())
		var wg sync.WaitGroup
		ended := make(chan struct{})
		wg.Go(func() {
			for k.kills > 0 {
				what := []string{"launcher", "worker", "worker", "worker", "all"}[k.rng.IntN(5)]
				select {
				case <-ended:
					return
				case <-time.After(time.Duration(k.rng.Float64() * 0.15 * float64(k.whole))):
					if killSome(filepath.Join(dir, name), cmd.Process.Pid, what) {
						k.kills--
						k.done[what]++
					}
				}
			}
		})
		err := cmd.Wait()
		close(ended)
		wg.Wait()
		if err == nil {
			waitForWorkers(t, filepath.Join(dir, name))
			return k.kills
		}
		// What was killed is a failure to be tried again; the launcher's end leaves lost tasks.
		line = "sweep retry --failed --workers 2 --quiet " + name
		if _, err := os.Stat(filepath.Join(dir, name, "sweep.json")); err != nil {
			line = "sweep --out " + name + flags
		}
	}
}

// killSome kills with SIGKILL the launcher, one worker or all, and says whether there was one.
func killSome(dir string, launcher int, what string) bool {
	var pids []int
	if what != "worker" {
		pids = append(pids, launcher)
	}
	if what != "launcher" {
		workers := workersOf(dir)
		if what == "worker" && len(workers) > 0 {
			workers = workers[:1]
		}
		pids = append(pids, workers...)
	}
	for _, pid := range pids {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	return len(pids) > 0
}

// workersOf lists the processes that work on tasks of a sweep.
func workersOf(dir string) (pids []int) {
	all, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, entry := range all {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		text, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "cmdline"))
		if args := strings.Split(string(text), "\x00"); err == nil &&
			slices.Contains(args, "run-task") && slices.Contains(args, dir) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// waitForWorkers waits for workers whose launcher was killed, which may just be cleaning up, and
// checks that all is done.
func waitForWorkers(t *testing.T, dir string) {
	t.Helper()
	for range 100 {
		if len(workersOf(dir)) == 0 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	s := expect.Must(sweep.Open(dir))
	defer s.Close()
	st := expect.Must(s.Status(nil))
	expect.Equal(t, fmt.Sprintf("the sweep said that it is done: %+v", st.Counts), st.Counts[sweep.StateDone], 6)
}

// Two sweeps on one directory at the same instant: each task is trained once.
func TestTwoSweepsAtOnce(t *testing.T) {
	dir := t.TempDir()
	line := "sweep --out s --pe nope,rope --seeds 1,2 --pack 1 --epochs 1 --workers 2" + smallSet(t, dir)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			if out, err := program(dir, line).CombinedOutput(); err != nil ||
				!strings.Contains(string(out), "4 of 4 runs done") {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	wg.Wait()
	for i := range 4 {
		log := readText(t, filepath.Join(dir, "s", "tasks", fmt.Sprintf("%06d", i), "log.txt"))
		expect.Equal(t, log, strings.Count(log, "attempt"), 1)
	}
}

// Ctrl-C reaches the workers once: they save, and the sweep goes on later.
func TestSweepInterrupted(t *testing.T) {
	dir := t.TempDir()
	status := func() (st sweep.Status) {
		s, err := sweep.Open(filepath.Join(dir, "s"))
		if err != nil {
			return st // not yet planned
		}
		defer s.Close()
		st = expect.Must(s.Status(nil))
		return st
	}
	var said strings.Builder // on standard error
	// begin starts a command in a shell, after what the shell does first, and waits until both tasks have made a step.
	begin := func(line, first string) *exec.Cmd {
		cmd := program(dir, line)
		cmd.Args = append([]string{"sh", "-c", first + `exec "$0" "$@"`, cmd.Path}, cmd.Args[1:]...)
		cmd.Path, cmd.Stderr = "/bin/sh", &said
		expect.NoError(t, cmd.Start())
		for range 600 {
			steps := 0
			for _, task := range status().Tasks {
				if task.State == sweep.StateRunning && task.Heartbeat != nil && task.Heartbeat.Step > 0 {
					steps++
				}
			}
			if steps == 2 {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		return cmd
	}
	ends := func(cmd *exec.Cmd, want int) {
		t.Helper()
		_ = cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != want || status().Counts[sweep.StatePending] != 2 {
			t.Fatalf("exit code %d, want %d; %+v", code, want, status().Counts)
		}
	}
	cmd := begin("sweep --out s --pe nope,rope --epochs 4000 --pack 1 --workers 2"+smallSet(t, dir), "")
	expect.NoError(t, cmd.Process.Signal(os.Interrupt))
	ends(cmd, exitInterrupted)
	expect.Contains(t, said.String(), "the sweep was stopped; the same command continues it")
	for _, task := range status().Tasks {
		if task.Heartbeat == nil || task.Heartbeat.Stopped != "signal" || task.Heartbeat.Step == 0 {
			t.Errorf("%+v", task.Heartbeat)
		}
	}
	// Cancelling from elsewhere does the same.
	cmd = begin("sweep resume s --workers 2", "")
	says(t, dir, "sweep cancel s", 0)
	ends(cmd, exitFailed)
	// SIGTERM reaches the workers of a job in a shell's background, which ignore SIGINT.
	cmd = begin("sweep resume s --workers 2", `trap "" INT; `)
	expect.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	ends(cmd, exitTerminated)
}
