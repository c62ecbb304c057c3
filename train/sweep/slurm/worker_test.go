package slurm

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"torchpe/internal/expect"
	"torchpe/train/sweep"
)

// TestMain makes this binary, called as "... sweep run-task DIR --index I", a worker of a test.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "sweep" && os.Args[2] == "run-task" {
		os.Exit(worker(os.Args[3:]))
	}
	os.Exit(m.Run())
}

// long is the task that does not end at its first start before USR1 tells it to save.
const long = 3

// worker works on a task for some seconds, and ends it as failed. Each start and end adds a line to
// a file of the task.
func worker(args []string) int {
	n := slices.Index(args, "--index")
	index, err := strconv.Atoi(args[n+1])
	if err != nil {
		return 2
	}
	s, err := sweep.Open(args[n-1])
	if err != nil {
		return 2
	}
	c, err := s.ClaimTask(index, false)
	if errors.Is(err, sweep.ErrFailed) {
		return 0
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGUSR1, syscall.SIGTERM)
	log, err := os.OpenFile(filepath.Join(s.Dir, fmt.Sprintf("task %d.log", index)),
		os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666)
	if err != nil {
		return 2
	}
	restarts, gpu := os.Getenv("SLURM_RESTART_COUNT"), os.Getenv("CUDA_VISIBLE_DEVICES")
	fmt.Fprintf(log, "start %s gpu %s\n", restarts, gpu)
	tenths, err := strconv.Atoi(os.Getenv("TENTHS"))
	if err != nil {
		tenths = 30
	}
	if index == long && restarts == "" {
		tenths = 2000
	}
	select {
	case got := <-signals:
		fmt.Fprintf(log, "stopped by %v\n", got)
		if err := c.Stop("signal"); err != nil {
			return 2
		}
		if got == syscall.SIGUSR1 {
			return ExitRequeue
		}
		return 143
	case <-time.After(time.Duration(tenths) * 100 * time.Millisecond):
	}
	fmt.Fprintln(log, "end")
	if err := c.Fail(sweep.Failure{Reason: sweep.ReasonError, Message: "on purpose"}); err != nil {
		return 2
	}
	return 3
}

// newSweep returns a sweep of n tasks in a folder of this name.
func newSweep(t *testing.T, name string, n int) *sweep.Sweep {
	t.Helper()
	members := make([]string, n)
	for i := range members {
		members[i] = fmt.Sprintf(`{"seed":%d}`, i+1)
	}
	config := `{"task":"lst","pe":"nope","members":[` + strings.Join(members, ",") + `]}`
	s := expect.Must(sweep.Extend(filepath.Join(t.TempDir(), name), "x", func(p *sweep.Plan) error {
		_, err := p.Add([][]byte{[]byte(config)}, sweep.Packing{Members: 1}, nil)
		return err
	}))
	t.Cleanup(func() { s.Close() })
	return s
}

// put writes an executable file.
func put(t *testing.T, path, text string) {
	t.Helper()
	expect.NoError(t, os.WriteFile(path, []byte(text), 0o777))
}

// fakeCommand puts a command of bash on PATH, in the place of Slurm's. $fake is the folder that it is in.
func fakeCommand(t *testing.T, name, body string) {
	t.Helper()
	dir := filepath.Dir(expect.Must(exec.LookPath("squeue")))
	put(t, filepath.Join(dir, name), "#!/usr/bin/env bash\nfake='"+dir+"'\n"+body+"\n")
}

// fakeSlurm puts a Slurm on PATH that takes every job, whose queue is the file queue, and that
// writes the arguments of each call of sbatch to a file by number. It returns its folder.
func fakeSlurm(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	put(t, filepath.Join(dir, "squeue"), "")
	put(t, filepath.Join(dir, "queue"), "")
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	fakeCommand(t, "sbatch", `n=$(($(cat "$fake/n" 2>/dev/null) + 1)); echo $n >"$fake/n"
printf '%s\0' "$@" >"$fake/$n"; echo $n`)
	fakeCommand(t, "squeue", `cat "$fake/queue"`)
	fakeCommand(t, "scancel", `echo "$*" >>"$fake/cancelled"`)
	fakeCommand(t, "scontrol", `printf 'MaxArraySize   = 1001\nSchedulerParameters     = sched_interval=1\n'`)
	return dir
}

// sbatches returns the arguments of each call of the fake sbatch.
func sbatches(t *testing.T, fake string) (calls [][]string) {
	t.Helper()
	for n := 1; ; n++ {
		text, err := os.ReadFile(filepath.Join(fake, strconv.Itoa(n)))
		if errors.Is(err, os.ErrNotExist) {
			return calls
		}
		expect.NoError(t, err)
		calls = append(calls, strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00"))
	}
}
