package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"torchpe/data/lst"
	"torchpe/internal/expect"
	"torchpe/models/pe/petest"
	"torchpe/train/runlog"
)

// asProgram in the environment makes the test binary the program itself.
const asProgram = "TORCHPE_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	code := petest.Main(m)
	os.RemoveAll(learned())
	os.Exit(code)
}

// program returns a command that runs torchpe in dir with the words of a line.
func program(dir, line string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], strings.Fields(line)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), asProgram+"=1")
	return cmd
}

// torchpeIn runs torchpe in dir as a process of its own, and returns what it printed and its exit code.
func torchpeIn(t *testing.T, dir, line string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := program(dir, line)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// here does the same in this process, which saves the start of a program; processes that it starts are
// the program, too. It is for all but "sweep run-task", whose output becomes the process's.
func here(t *testing.T, dir string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	t.Chdir(dir)
	t.Setenv(asProgram, "1")
	var out, errs bytes.Buffer
	root := newRootCommand()
	root.SetArgs(args)
	root.SetOut(&out)
	root.SetErr(&errs)
	message, err := execute(root)
	if err != nil {
		errs.WriteString("torchpe: " + message)
	}
	return out.String(), errs.String(), exitCode(err)
}

// says runs torchpe with the words of a line, which blanks separate, and checks its exit code and that it
// prints each text: on standard output, or on standard error where it fails. A text after "1>" or "2>" is on
// that of both, and one after "!>" is not on standard output, which says returns.
func says(t *testing.T, dir, line string, code int, texts ...string) string {
	t.Helper()
	out, errs, got := here(t, dir, strings.Fields(line)...)
	expect.Equal(t, fmt.Sprintf("%s: %s%s\nexit code", line, out, errs), got, code)
	for _, text := range texts {
		in, absent := out, strings.HasPrefix(text, "!>")
		if strings.HasPrefix(text, "2>") || code != 0 && !absent && !strings.HasPrefix(text, "1>") {
			in = errs
		}
		want := strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(text, "!>"), "1>"), "2>")
		if strings.Contains(in, want) == absent {
			t.Errorf("%s: want %q of %s", line, text, in)
		}
	}
	return out
}

// saysJSON runs torchpe with the words of a line and --json, which must succeed, and decodes what it prints.
// It returns what is on standard error.
func saysJSON(t *testing.T, dir, line string, into any) string {
	t.Helper()
	out, errs, code := here(t, dir, append(strings.Fields(line), "--json")...)
	if err := json.Unmarshal([]byte(out), into); err != nil || code != 0 {
		t.Fatalf("%s: exit code %d, %v: %s%s", line, code, err, out, errs)
	}
	return errs
}

// smallSet writes a few hundred puzzles to dir and returns the flags that name them and a model
// that trains in a second.
func smallSet(t *testing.T, dir string) string {
	t.Helper()
	train, validation, err := lst.Generate(lst.Options{Train: 300, Validation: 12}, 3)
	expect.NoError(t, err)
	files := []lst.File{{Path: filepath.Join(dir, "train.csv"), Puzzles: train},
		{Path: filepath.Join(dir, "validation.csv"), Puzzles: validation}}
	expect.NoError(t, lst.WriteFiles(files...))
	return " --preset quick --d-model 16 --layers 1 --batch 32 --threads 1 --lst-train " + files[0].Path +
		" --lst-validation " + files[1].Path + " "
}

// keys checks that a JSON object has all of the keys.
func keys(t *testing.T, text string, names ...string) map[string]any {
	t.Helper()
	var object map[string]any
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	for _, name := range names {
		if _, ok := object[name]; !ok {
			t.Errorf("no key %q in %s", name, text)
		}
	}
	return object
}

// Accuracies by condition are by the labels of the file, so a user is told where these are not the rules'.
func TestWrongConditionsAreNoted(t *testing.T) {
	dir := t.TempDir()
	line := "train" + smallSet(t, dir) + "--pe nope --epochs 1 --out "
	says(t, dir, line+"right", 0, "!>conditions:")
	path := filepath.Join(dir, "validation.csv")
	swapped := strings.NewReplacer("Binary", "Ternary", "Ternary", "Binary").Replace(readText(t, path))
	expect.NoError(t, os.WriteFile(path, []byte(swapped), 0o666))
	says(t, dir, line+"wrong", 0, "2>conditions: 8 of 12 validation puzzles state another one than the rules give")
}

func TestTrainWritesARun(t *testing.T) {
	dir := t.TempDir()
	line := "train" + smallSet(t, dir) + "--pe learn-1.0 --members 2 --seed 7 --epochs 2 --json --out run"
	stdout := says(t, dir, line, 0)
	onDisk := readText(t, filepath.Join(dir, "run", "result.json"))
	for _, text := range []string{stdout, onDisk} {
		members := keys(t, text, "members", "wall_seconds", "steps_per_second", "peak_rss_mb")["members"].([]any)
		if len(members) != 2 {
			t.Fatalf("%d members in %s", len(members), text)
		}
		for i, m := range members {
			part, _ := json.Marshal(m)
			member := keys(t, string(part), "pe", "sigma", "seed", "epochs", "steps", "measures")
			part, _ = json.Marshal(member["measures"])
			keys(t, string(part), "train", "iid", "validation", "validation/1-vector")
			if member["pe"] != "learn" || member["sigma"] != 1.0 ||
				member["seed"] != float64(7+i) || member["epochs"] != 2.0 || member["steps"] != 18.0 {
				t.Errorf("member %d: %s", i, part)
			}
		}
	}
	for _, name := range []string{"config.json", "environment.json", "metrics.jsonl",
		"checkpoint.safetensors", "probes.safetensors"} {
		expect.NoError(t, expect.ErrorOf(os.Stat(filepath.Join(dir, "run", name))))
	}
	// The stored configuration repeats the run, and a finished run is not done again.
	again := keys(t, says(t, dir, "train --config run/config.json --json --out again", 0), "members")
	expect.Equal(t, "repeated", fmt.Sprint(again["members"]), fmt.Sprint(keys(t, onDisk)["members"]))
	says(t, dir, line, exitUsage, "--resume")
	says(t, dir, "train --resume --out run --json", 0, "members", "2>nothing was trained")
}

// waitFor waits until a file or a folder is there, for a minute at most.
func waitFor(path string) {
	for start := time.Now(); time.Since(start) < time.Minute; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
	}
}

// SIGINT and SIGTERM save and say so in the exit code; --resume then finishes, and refuses another
// configuration.
func TestSignalsSave(t *testing.T) {
	for signal, want := range map[syscall.Signal]int{syscall.SIGINT: exitInterrupted,
		syscall.SIGTERM: exitTerminated, syscall.SIGUSR1: exitRequeue} {
		dir := t.TempDir()
		cmd := program(dir, "train --epochs 100000 --out run"+smallSet(t, dir))
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		expect.NoError(t, cmd.Start())
		waitFor(filepath.Join(dir, "run", "checkpoint.safetensors"))
		time.Sleep(200 * time.Millisecond)
		cmd.Process.Signal(signal)
		cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != want || !strings.Contains(stderr.String(), "--resume") {
			t.Errorf("%v: exit code %d, want %d: %s", signal, code, want, stderr.String())
		}
		if signal != syscall.SIGINT {
			continue
		}
		says(t, dir, "train --resume --out run --lr 0.5", exitUsage, "members.lr was")
		line := "train --resume --out run --lr 0.5 --epochs 100001 --allow-changed members.lr,epochs,limit_steps "
		says(t, dir, line+"--limit-steps 1", exitUsage, "and would end at step 1: ")
		var step int
		_, after, _ := strings.Cut(stderr.String(), "interrupted after step ")
		expect.Must(fmt.Sscan(after, &step))
		says(t, dir, fmt.Sprintf("%s--limit-steps %d", line, step+1), 0)
		expect.Contains(t, readText(t, filepath.Join(dir, "run", "config.json")), `"epochs": 100001`)
		says(t, dir, "train --resume --out rum", exitUsage, "there is no run")
		expect.ErrorIs(t, expect.ErrorOf(os.Stat(filepath.Join(dir, "rum"))), os.ErrNotExist)
	}
}

// Signals that were ignored when the program started, as nohup ignores SIGHUP, end neither training
// nor a sweep nor its workers.
func TestIgnoredSignals(t *testing.T) {
	dir := t.TempDir()
	small := smallSet(t, dir) + "--epochs 40 --quiet --out "
	for name, line := range map[string]string{"train": "train" + small + "run",
		"sweep": "sweep --workers 1" + small + "sweep"} {
		cmd := program(dir, line)
		cmd.Args = append([]string{"sh", "-c", `trap "" HUP INT; exec "$0" "$@"`, cmd.Path}, cmd.Args[1:]...)
		cmd.Path = "/bin/sh"
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		expect.NoError(t, cmd.Start())
		done := make(chan error)
		go func() { done <- cmd.Wait() }()
		sent := 0
		for ended := false; !ended; {
			select {
			case err := <-done:
				if err != nil {
					t.Errorf("%s: %v: %s", name, err, &stderr)
				}
				ended = true
			case <-time.After(50 * time.Millisecond):
				for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT} {
					if err := syscall.Kill(-cmd.Process.Pid, s); err == nil {
						sent++
					}
				}
			}
		}
		if sent < 10 {
			t.Errorf("%s: only %d signals were sent", name, sent)
		}
	}
}

// A reader that goes away, as head does, silences the output; training goes on to its end.
func TestClosedOutput(t *testing.T) {
	dir := t.TempDir()
	for i, line := range []string{"train" + smallSet(t, dir) + "--epochs 2 --out run", "pe list"} {
		cmd := program(dir, line)
		r, w, err := os.Pipe()
		expect.NoError(t, err)
		cmd.Stdout, cmd.Stderr = w, w
		expect.NoError(t, errors.Join(cmd.Start(), w.Close(), r.Close()))
		cmd.Wait()
		expect.Equal(t, line, cmd.ProcessState.ExitCode(), exitBrokenPipe)
		if _, err := os.Stat(filepath.Join(dir, "run", "result.json")); err != nil && i == 0 {
			t.Error(err)
		}
	}
}

func TestDoctorJSON(t *testing.T) {
	dir := t.TempDir()
	keys(t, says(t, dir, "doctor --json", 0), "libtorch_built", "libtorch_running", "cuda", "gpus", "blas",
		"blas_kernel", "threads", "problems")
	says(t, dir, "doctor", 0, "libtorch")
	says(t, dir, "--version", 0, "torchpe "+runlog.Version)
}

func TestBenchStepJSON(t *testing.T) {
	dir := t.TempDir()
	stdout := says(t, dir, "bench step"+smallSet(t, dir)+"--steps 3 --warmup 1 --members 2 --layers 3 --json", 0)
	b := keys(t, stdout, "preset", "device", "threads", "members", "batch", "step_ms_median", "step_ms_min",
		"peak_rss_mb")
	if b["preset"] != "quick" || b["members"] != 2.0 || b["batch"] != 32.0 ||
		b["step_ms_min"].(float64) <= 0 || b["peak_rss_mb"].(float64) < 10 {
		t.Errorf("%s", stdout)
	}
}

// Each encoding of --pe is timed in the order given; one that cannot be trained is named after the rows of
// those before it.
func TestBenchStepSchemes(t *testing.T) {
	dir := t.TempDir()
	var rows []struct {
		PE     string  `json:"pe"`
		Median float64 `json:"step_ms_median"`
	}
	saysJSON(t, dir, "bench step"+smallSet(t, dir)+"--steps 1 --warmup 0 --pe learn-0.2,nope,rope", &rows)
	for i, want := range []string{"learn", "nope", "rope"} {
		if len(rows) != 3 || rows[i].PE != want || rows[i].Median <= 0 {
			t.Errorf("row %d of %+v, want %s", i, rows, want)
		}
	}
	out := says(t, dir, "bench step --task nmar --nmar-frames 400 --threads 1 --steps 1 --warmup 0 --pe nope,swin",
		exitUsage, "1>nmar nope: ", "swin: it needs") // whose tokens lie on no grid
	expect.Equal(t, out, strings.Count(out, "\n"), 1)
}

// bench step --trace writes a file, or says first that this libtorch cannot.
func TestBenchStepTrace(t *testing.T) {
	dir := t.TempDir()
	line := "bench step" + smallSet(t, dir) + "--steps 1 --warmup 0 --trace trace.json"
	stdout, stderr, code := here(t, dir, strings.Fields(line)...)
	if code == exitFailed && strings.Contains(stderr, "Kineto") && stdout == "" {
		return
	}
	data := readText(t, filepath.Join(dir, "trace.json"))
	if code != 0 || !json.Valid([]byte(data)) || !strings.Contains(data, "aten::ones_like") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
}

// The demo draws its figure and prints a row a model, from worker processes, here on few puzzles. It is a sweep of
// its preset, also where a folder has the preset's name; the same command continues it, another is refused.
func TestDemo(t *testing.T) {
	dir := t.TempDir()
	smallSet(t, dir)
	says(t, dir, "demo --epochs 1 --lst . --out shown", 0, "puzzles of .", "learn", "0.2", "2", "IID test", "fitted",
		"until train=0.95, for at most 1 epoch", "4 of 4 models have not fitted",
		"without --epochs (default 300) and with another --out",
		"accuracy.pdf")
	says(t, dir, "sweep demo --epochs 1 --lst . --out shown --dry-run", 0, "4 runs (0 new, 4 done) in 4 tasks")
	says(t, dir, "demo --epochs 1 --lst . --out shown", 0, "2>4 runs in 4 tasks (0 new, 4 planned before)", "!>pending")
	says(t, dir, "demo --epochs 2 --lst . --out shown", exitUsage, "shown has runs of other settings")
	for name, magic := range map[string]string{"accuracy.pdf": "%PDF", "accuracy.png": "\x89PNG"} {
		if text := readText(t, filepath.Join(dir, "shown", name)); !strings.HasPrefix(text, magic) {
			t.Errorf("%s begins with %.4q", name, text)
		}
	}
}

// Without --out another model gets a directory of its own; the same one again is refused, and
// resumed where that is asked for.
func TestDefaultDirectory(t *testing.T) {
	dir := t.TempDir()
	small := "train --quiet --epochs 1" + smallSet(t, dir)
	for _, more := range []string{"", "--heads 2", "--heads 4"} {
		says(t, dir, small+more, 0)
	}
	says(t, dir, small+"--heads 2", exitUsage, "seed1_2: holds a run already")
	says(t, dir, small+"--heads 2 --resume", 0, "seed1_2")
	for _, name := range []string{"lst_learn-0.2_code_seed1", "lst_learn-0.2_code_seed1_2",
		"lst_learn-0.2_code_seed1_3"} {
		expect.NoError(t, expect.ErrorOf(os.Stat(filepath.Join(dir, "runs", name, "result.json"))))
	}
	// Where there is none to resume, a stopped run is named.
	expect.NoError(t, os.Remove(filepath.Join(dir, "runs/lst_learn-0.2_code_seed1_2/result.json")))
	if _, stderr, code := here(t, dir, "train", "--resume", "--pe", "rope"); code != exitUsage ||
		!strings.HasSuffix(stderr, "one: torchpe train --resume --out runs/lst_learn-0.2_code_seed1_2") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}
