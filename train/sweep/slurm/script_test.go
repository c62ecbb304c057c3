package slurm

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"torchpe/internal/wording"
)

var update = flag.Bool("update", false, "rewrite the job scripts in testdata instead of comparing with them")

func TestScriptGolden(t *testing.T) {
	a := Array{Name: "puzzles", Tasks: []int{5, 17, 4000, 4001, 4002},
		Program: []string{"/opt/torch pe/torchpe", "sweep", "run-task",
			"/data/it's a $(sweep)"}, Dir: "/data/it's a $(sweep)",
		Options: Options{Partition: "gpu", Time: 2 * time.Hour, Throttle: 8, GPUs: 1, CPUs: 4,
			Memory: "16G", Signal: 5 * time.Minute, Requeue: true, Extra: []string{
				"--constraint=a100&ib"}}}
	several := a
	several.Options.TasksPerJob = 2
	for name, c := range map[string]struct {
		a    Array
		site bool
	}{"one.sh": {a, true}, "several.sh": {several, false}} {
		got, err := jobScript(c.a, c.a.chunks("0123abcd", 1001, c.site)[0])
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s differs; if that is meant, go test ./train/sweep/slurm -update:\n%s", path, got)
		}
	}
}

func TestChunks(t *testing.T) {
	a := Array{Name: "x", Options: Options{TasksPerJob: 3}}
	for i := range 20 {
		a.Tasks = append(a.Tasks, 4000+i)
	}
	a.Tasks[0] = 17
	chunks := a.chunks("0123abcd", 4, true)
	if len(chunks) != 2 || chunks[1].Name != "x.0123abcd.1" || len(chunks[0].Lines) != 4 ||
		len(chunks[1].Lines) != 3 {
		t.Fatalf("%v", chunks)
	}
	if got := slices.Concat(chunks[0].tasks(), chunks[1].tasks()); !slices.Equal(got, a.Tasks) {
		t.Errorf("tasks %v", got)
	}
	if got := chunks[1].list(); got != "4012 4013 4014\n4015 4016 4017\n4018 4019\n" {
		t.Errorf("list %q", got)
	}
	// The job maps an array index to the same tasks as the list does.
	j := Job{Tasks: chunks[1].tasks(), TasksPerJob: 3}
	for i, line := range chunks[1].Lines {
		if !slices.Equal(j.line(i), line) {
			t.Errorf("line %d: %v", i, j.line(i))
		}
	}
	if j.line(3) != nil && len(j.line(3)) > 0 {
		t.Errorf("line 3: %v", j.line(3))
	}
}

// variants are the kinds of job scripts.
var variants = map[string]struct {
	perJob        int
	site, requeue bool
}{
	"one, site": {1, true, true}, "one, never": {1, false, false}, "one, self": {1, false, true},
	"several, site": {3, true, true}, "several, self": {3, false, true}, "several, never": {3, true, false},
}

// script is a job script on the disk with what it needs.
type script struct {
	array Array
	chunk Chunk
	path  string
	env   []string
}

// write writes a job script as Submit does, and a scontrol that records how it was called.
func write(t *testing.T, a Array, site bool) script {
	t.Helper()
	c := a.chunks("0123abcd", 1001, site)[0]
	text, err := jobScript(a, c)
	if err != nil {
		t.Fatal(err)
	}
	s := script{array: a, chunk: c, path: a.path(c.Name, ".sh")}
	bin := t.TempDir()
	put(t, filepath.Join(bin, "scontrol"), "#!/bin/sh\necho \"$@\" >>"+wording.Quote(filepath.Join(bin, "calls"))+"\n")
	if err := os.MkdirAll(filepath.Dir(s.path), 0o777); err != nil {
		t.Fatal(err)
	}
	put(t, s.path, text)
	put(t, a.path(c.Name, ".tasks"), c.list())
	s.env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "SLURM_ARRAY_JOB_ID=12",
		"CALLS="+filepath.Join(bin, "calls"))
	return s
}

// put writes an executable file.
func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o777); err != nil {
		t.Fatal(err)
	}
}

// command returns the command that runs the script as array index i at its nth restart.
func (s script) command(i, restarts int) *exec.Cmd {
	cmd := exec.Command("bash", s.path)
	cmd.Env = append(slices.Clone(s.env), fmt.Sprintf("SLURM_ARRAY_TASK_ID=%d", i))
	if restarts > 0 {
		cmd.Env = append(cmd.Env, fmt.Sprintf("SLURM_RESTART_COUNT=%d", restarts))
	}
	return cmd
}

// calls returns how scontrol was called.
func (s script) calls() string {
	text, _ := os.ReadFile(strings.TrimPrefix(s.env[len(s.env)-1], "CALLS="))
	return string(text)
}

// Every word reaches the program as it is, from folders with hostile names, in every kind of
// script.
func TestScriptKeepsEveryWord(t *testing.T) {
	for name, v := range variants {
		t.Run(name, func(t *testing.T) {
			base := t.TempDir()
			for n, bad := range hostile {
				if bad == "" || len(bad) > 200 {
					bad = "x"
				}
				name := strings.NewReplacer("/", "_", `\`, "_").Replace(bad) // Dir takes no backslash
				dir := filepath.Join(base, fmt.Sprintf("%d%s", n, name))
				if err := os.MkdirAll(dir, 0o777); err != nil {
					t.Fatal(err)
				}
				program := filepath.Join(dir, "say it's "+strings.ReplaceAll(bad, "/", "_"))
				put(t, program, "#!/bin/sh\nprintf '%s\\0' \"$PWD\" \"$@\" >>words\n")
				a := Array{Name: "x", Tasks: []int{5, 17, 4000, 4001}, Program: append([]string{program},
					hostile...), Dir: dir, Options: Options{TasksPerJob: v.perJob, Requeue: v.requeue}}
				s := write(t, a, v.site)
				if out, err := exec.Command("bash", "-n", s.path).CombinedOutput(); err != nil {
					t.Fatalf("%q: bash -n: %s", bad, out)
				}
				if out, err := s.command(1, 0).CombinedOutput(); err != nil {
					t.Fatalf("%q: %v\n%s", bad, err, out)
				}
				var want bytes.Buffer
				for _, task := range s.chunk.Lines[1] {
					for _, word := range append(append([]string{dir}, hostile...), "--index", fmt.Sprint(task)) {
						want.WriteString(word + "\x00")
					}
				}
				got, err := os.ReadFile(filepath.Join(dir, "words"))
				if err != nil || !bytes.Equal(got, want.Bytes()) {
					t.Fatalf("%q: the program got\n%q, want\n%q", dir, got, want.Bytes())
				}
				if n == 0 && testing.Short() {
					break
				}
			}
			if found, _ := filepath.Glob(filepath.Join(base, "*", "pwned")); found != nil {
				t.Errorf("%v was executed", found)
			}
		})
	}
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

// program writes a program of bash that records its task in the file "ran".
func program(t *testing.T, body string) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	put(t, path, "#!/usr/bin/env bash\necho \"$2\" >>ran\n"+body)
	return []string{path}
}

// ran returns the tasks that ran.
func (s script) ran() string {
	text, _ := os.ReadFile(filepath.Join(s.array.Dir, "ran"))
	return strings.Join(strings.Fields(string(text)), " ")
}

func TestScriptEnds(t *testing.T) {
	for _, c := range []struct {
		name, body, variant string
		restarts            int
		want                int
		ran, calls          string
	}{
		{"all well", "exit 0", "several, self", 0, 0, "5 17 4000", ""},
		{"one fails, the others run", "[ $2 != 17 ] || exit 3", "several, self", 0, 3, "5 17 4000", ""},
		{"75, the site requeues", "[ $2 != 17 ] || exit 75", "several, site", 0, 75, "5 17", ""},
		{"75, the script requeues", "[ $2 != 17 ] || exit 75", "several, self", 1, 75, "5 17", "requeue 12_0\n"},
		{"75, last start", "exit 75", "several, self", maxRestarts, 1, "5", ""},
		{"75, one task, the script requeues", "exit 75", "one, self", 0, 75, "5", "requeue 12_0\n"},
		{"75, one task, the site requeues", "exit 75", "one, site", 0, 75, "5", ""},
		{"75, never", "exit 75", "several, never", 0, 1, "5", ""},
		{"too many starts", "exit 0", "several, site", maxRestarts + 1, 1, "", ""},
		{"too many starts of one", "exit 0", "one, site", maxRestarts + 1, 1, "", ""},
		{"requeued where it should never be", "exit 0", "one, never", 1, 1, "", ""},
		{"one is killed, the others run", "[ $2 != 17 ] || [ $# -gt 2 ] || kill -KILL $$; [ $# = 2 ] || " +
			"echo $3 $4 >>ran", "several, self", 0, 137, "5 17 17 --ended 137 4000", ""},
		{"a task alone is killed", "[ $# -gt 2 ] || kill -SEGV $$; echo $3 $4 >>ran", "one, never", 0, 139,
			"5 5 --ended 139", ""},
		// Slurm's TERM reached the program first: the task goes on later, and no other starts.
		{"TERM, the script not yet", "exit 143", "several, self", 0, 143, "5", ""},
		{"TERM, the script not yet, one task", "kill -TERM $$", "one, site", 0, 143, "5", ""},
		{"no such program", "", "missing", 0, 127, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := variants[c.variant]
			a := array(t, 5, 17, 4000)
			a.Options = Options{TasksPerJob: v.perJob, Requeue: v.requeue}
			a.Program = program(t, c.body)
			if c.variant == "missing" {
				a.Program = []string{"/no/such program"}
			}
			s := write(t, a, v.site)
			out, err := s.command(0, c.restarts).CombinedOutput()
			if got := status(t, err); got != c.want || s.ran() != c.ran || s.calls() != c.calls {
				t.Errorf("exit status %d, ran %q, scontrol %q; want %d, %q, %q\n%s", got, s.ran(),
					s.calls(), c.want, c.ran, c.calls, out)
			}
		})
	}
}

// A script without its list does nothing, one beyond the list fails.
func TestScriptWithdrawn(t *testing.T) {
	a := array(t, 5)
	a.Program = program(t, "")
	s := write(t, a, true)
	if out, err := s.command(1, 0).CombinedOutput(); err == nil || !strings.Contains(string(out), "no line 2") {
		t.Errorf("beyond the list: %v %s", err, out)
	}
	if err := os.Remove(a.path(s.chunk.Name, ".tasks")); err != nil {
		t.Fatal(err)
	}
	if out, err := s.command(0, 0).CombinedOutput(); err != nil || !strings.Contains(string(out), "withdrawn") {
		t.Errorf("withdrawn: %v %s", err, out)
	}
	if s.ran() != "" {
		t.Errorf("ran %s", s.ran())
	}
}

// Signals sent to the script alone: USR1 reaches the program once and ends in requeueing before the
// next task; TERM, which Slurm itself sends to every process, is not sent on, the running task
// ends, and no other starts.
func TestScriptSignals(t *testing.T) {
	const body = `got='' ; trap 'echo USR1 >>ran; got=75' USR1; trap 'echo TERM >>ran; got=9' TERM
echo ready >>ran
for i in $(seq 100); do sleep 0.05; [ -z "$got" ] || exit $got; [ ! -e go ] || exit 0; done; exit 1`
	for _, c := range []struct {
		name, variant string
		signal        syscall.Signal
		release       bool // lets the program end by itself after the signal
		want          int
		ran, calls    string
	}{
		{"USR1, one, site", "one, site", syscall.SIGUSR1, false, 75, "5 ready USR1", ""},
		{"USR1, site", "several, site", syscall.SIGUSR1, false, 75, "5 ready USR1", ""},
		{"USR1, self", "several, self", syscall.SIGUSR1, false, 75, "5 ready USR1", "requeue 12_0\n"},
		{"TERM, one, site", "one, site", syscall.SIGTERM, true, 0, "5 ready", ""},
		{"TERM, several", "several, self", syscall.SIGTERM, true, 143, "5 ready", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := variants[c.variant]
			a := array(t, 5, 17, 4000)
			a.Options = Options{TasksPerJob: v.perJob, Requeue: true}
			a.Program = program(t, body)
			s := write(t, a, v.site)
			cmd := s.command(0, 0)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			for deadline := time.Now().Add(20 * time.Second); s.ran() != "5 ready"; time.Sleep(
				20 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("not ready: %q", s.ran())
				}
			}
			if err := cmd.Process.Signal(c.signal); err != nil {
				t.Fatal(err)
			}
			if c.release {
				time.Sleep(200 * time.Millisecond)
				put(t, filepath.Join(a.Dir, "go"), "")
			}
			if got := status(t, cmd.Wait()); got != c.want || s.ran() != c.ran || s.calls() != c.calls {
				t.Errorf("exit status %d, %q, scontrol %q; want %d, %q, %q", got, s.ran(), s.calls(),
					c.want, c.ran, c.calls)
			}
		})
	}
}

// However the two race, a program that ends around the signal has its own exit status in the end.
func TestScriptSignalRace(t *testing.T) {
	a := array(t, 5)
	a.Options.Requeue = true
	a.Program = program(t, "trap '' USR1; sleep 0.02; exit 7")
	s := write(t, a, false)
	rounds := 40
	if testing.Short() {
		rounds = 5
	}
	for n := range rounds {
		cmd := s.command(0, 0)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20*time.Millisecond + time.Duration(n)*time.Millisecond)
		signalled := cmd.Process.Signal(syscall.SIGUSR1) == nil
		// 75: the signal came before the program could ignore it, or bash lost its exit status. -1:
		// before the script's trap.
		if got := status(t, cmd.Wait()); got != 7 && (!signalled || got != 75 && got != -1) {
			t.Errorf("round %d: exit status %d", n, got)
		}
	}
}
