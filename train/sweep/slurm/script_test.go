package slurm

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"torchpe/internal/expect"
)

// script is a call of the job script with its list of tasks: 5 17 400, and 7.
type script struct {
	dir  string
	args []string // LIST MAX_RESTARTS PROGRAM...
	fake string   // folder of the scontrol that records how it was called
}

// newScript returns a call of job.sh in a folder, where scontrol ends with a status.
func newScript(t *testing.T, dir string, restarts, scontrol int, program ...string) script {
	t.Helper()
	s := script{dir: dir, fake: fakeSlurm(t), args: []string{filepath.Join(dir, "list"), fmt.Sprint(restarts)}}
	fakeCommand(t, "scontrol", fmt.Sprintf(`echo "$*" >>"$fake/calls"; exit %d`, scontrol))
	put(t, filepath.Join(dir, "job.sh"), string(jobScript))
	put(t, s.args[0], "5 17 400\n7\n")
	s.args = append(s.args, program...)
	return s
}

// command returns the command that runs the script as array index i at its nth restart.
func (s script) command(i, restarts int) *exec.Cmd {
	cmd := exec.Command("bash", append([]string{filepath.Join(s.dir, "job.sh")}, s.args...)...)
	cmd.Dir = s.dir // as of --chdir
	cmd.Env = append(os.Environ(), "SLURM_ARRAY_JOB_ID=12", fmt.Sprintf("SLURM_ARRAY_TASK_ID=%d", i))
	if restarts > 0 {
		cmd.Env = append(cmd.Env, fmt.Sprintf("SLURM_RESTART_COUNT=%d", restarts))
	}
	return cmd
}

// calls returns how scontrol was called, and ran what the program wrote.
func (s script) calls() string {
	text, _ := os.ReadFile(filepath.Join(s.fake, "calls"))
	return string(text)
}

func (s script) ran() string {
	text, _ := os.ReadFile(filepath.Join(s.dir, "ran"))
	return strings.Join(strings.Fields(string(text)), " ")
}

// program writes a program of bash that records its task in the file "ran".
func program(t *testing.T, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	put(t, path, "#!/usr/bin/env bash\necho \"$2\" >>ran\n"+body)
	return path
}

// status returns the exit status of a command that ran.
func status(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if exit != nil {
		return exit.ExitCode()
	}
	return 0
}

// Every word reaches the program as it is, from folders with hostile names.
func TestScriptKeepsEveryWord(t *testing.T) {
	base := t.TempDir()
	for n, bad := range hostile {
		if len(bad) > 200 {
			bad = "x"
		}
		name := strings.ReplaceAll(bad, "/", "_")
		dir := filepath.Join(base, fmt.Sprintf("%d%s", n, name))
		expect.NoError(t, os.MkdirAll(dir, 0o777))
		own := filepath.Join(dir, "say it's "+name)
		put(t, own, "#!/bin/sh\nprintf '%s\\0' \"$PWD\" \"$@\" >>words\n")
		s := newScript(t, dir, 0, 0, append([]string{own}, hostile...)...)
		if out, err := s.command(1, 0).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", bad, err, out)
		}
		var want bytes.Buffer
		for _, word := range append(append([]string{dir}, hostile...), "--index", "7") {
			want.WriteString(word + "\x00")
		}
		got, err := os.ReadFile(filepath.Join(dir, "words"))
		if err != nil || !bytes.Equal(got, want.Bytes()) {
			t.Fatalf("%q: the program got\n%q, want\n%q", dir, got, want.Bytes())
		}
	}
	if found, _ := filepath.Glob(filepath.Join(base, "*", "pwned")); found != nil {
		t.Errorf("%v was executed", found)
	}
}

func TestScriptEnds(t *testing.T) {
	for _, c := range []struct {
		name, body       string
		restarts, most   int
		scontrol         int
		want             int
		ran, calls, said string
	}{
		{"all well", "exit 0", 0, 20, 0, 0, "5 17 400", "", "tasks 5 17 400, start 1"},
		{"one fails, the others run", "[ $2 != 17 ] || exit 3", 0, 20, 0, 3, "5 17 400", "",
			"task 17 ended with exit status 3"},
		{"75", "[ $2 != 17 ] || exit 75", 1, 20, 0, 0, "5 17", "requeue 12_0\n", "asks to be queued again"},
		{"75, scontrol fails", "[ $2 != 17 ] || exit 75", 0, 20, 1, 75, "5 17", "requeue 12_0\n", "RequeueExit"},
		{"75, last start", "exit 75", 20, 20, 0, 1, "5", "", "start 21 was the last"},
		{"75, never", "exit 75", 0, 0, 0, 1, "5", "", "given up"},
		{"too many starts", "exit 0", 21, 20, 0, 1, "", "", "start 22 is one too many"},
		{"requeued where it should never be", "exit 0", 1, 0, 0, 1, "", "", "one too many"},
		{"one is killed, the others run", "[ $2 != 17 ] || [ $# -gt 2 ] || kill -KILL $$; [ $# = 2 ] || " +
			"echo $3 $4 >>ran", 0, 20, 0, 137, "5 17 17 --ended 137 400", "", ""},
		// Slurm's TERM reached the program first: the task goes on later, and no other starts.
		{"TERM, the script not yet", "exit 143", 0, 20, 0, 143, "5", "", ""},
		{"TERM kills the program", "kill -TERM $$", 0, 20, 0, 143, "5", "", ""},
		{"no such program", "", 0, 20, 0, 127, "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			own := program(t, c.body)
			if c.body == "" {
				own = "/no/such program"
			}
			s := newScript(t, t.TempDir(), c.most, c.scontrol, own)
			out, err := s.command(0, c.restarts).CombinedOutput()
			if got := status(t, err); got != c.want || s.ran() != c.ran || s.calls() != c.calls ||
				!strings.Contains(string(out), c.said) {
				t.Errorf("exit status %d, ran %q, scontrol %q; want %d, %q, %q, %q\n%s", got, s.ran(),
					s.calls(), c.want, c.ran, c.calls, c.said, out)
			}
		})
	}
	s := newScript(t, t.TempDir(), 20, 0, program(t, ""))
	if out, err := s.command(2, 0).CombinedOutput(); err == nil || !strings.Contains(string(out), "no line 3") {
		t.Errorf("beyond the list: %v %s", err, out)
	}
	expect.NoError(t, os.Remove(s.args[0]))
	if out, err := s.command(0, 0).CombinedOutput(); err == nil || !strings.Contains(string(out), "cannot be read") {
		t.Errorf("without a list: %v %s", err, out)
	}
	expect.Equal(t, "ran", s.ran(), "")
}

// Signals sent to the script alone: USR1 reaches the program once and ends in requeueing before the
// next task; TERM, which Slurm itself sends to every process, is not sent on, the running task
// ends, and no other starts.
func TestScriptSignals(t *testing.T) {
	const body = `got='' ; trap 'echo USR1 >>ran; got=75' USR1; trap 'echo TERM >>ran; got=9' TERM
echo ready >>ran
for i in $(seq 100); do sleep 0.05; [ -z "$got" ] || exit $got; [ ! -e go ] || exit 0; done; exit 1`
	for _, c := range []struct {
		signal     syscall.Signal
		want       int
		ran, calls string
	}{
		{syscall.SIGUSR1, 0, "5 ready USR1", "requeue 12_0\n"},
		{syscall.SIGTERM, 143, "5 ready", ""},
	} {
		s := newScript(t, t.TempDir(), 20, 0, program(t, body))
		cmd := s.command(0, 0)
		expect.NoError(t, cmd.Start())
		for deadline := time.Now().Add(20 * time.Second); s.ran() != "5 ready"; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("not ready: %q", s.ran())
			}
		}
		expect.NoError(t, cmd.Process.Signal(c.signal))
		if c.signal == syscall.SIGTERM { // the program ends by itself after the signal
			time.Sleep(200 * time.Millisecond)
			put(t, filepath.Join(s.dir, "go"), "")
		}
		if got := status(t, cmd.Wait()); got != c.want || s.ran() != c.ran || s.calls() != c.calls {
			t.Errorf("%v: exit status %d, %q, scontrol %q; want %d, %q, %q", c.signal, got, s.ran(), s.calls(),
				c.want, c.ran, c.calls)
		}
	}
}

// However the two race, a program that ends around the signal has its own exit status in the end.
func TestScriptSignalRace(t *testing.T) {
	s := newScript(t, t.TempDir(), 20, 1, program(t, "trap '' USR1; sleep 0.02; exit 7"))
	rounds := 20
	if testing.Short() {
		rounds = 5
	}
	for n := range rounds {
		cmd := s.command(1, 0)
		expect.NoError(t, cmd.Start())
		time.Sleep(20*time.Millisecond + 2*time.Duration(n)*time.Millisecond)
		signalled := cmd.Process.Signal(syscall.SIGUSR1) == nil
		// 75: the signal came before the program could ignore it, or bash lost its exit status. -1:
		// before the script's trap.
		if got := status(t, cmd.Wait()); got != 7 && (!signalled || got != 75 && got != -1) {
			t.Errorf("round %d: exit status %d", n, got)
		}
	}
}
