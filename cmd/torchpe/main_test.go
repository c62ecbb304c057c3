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
	"torchpe/torchpe"
	"torchpe/train/runlog"
)

// asProgram in the environment makes the test binary the program itself.
const asProgram = "TORCHPE_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	code := m.Run()
	if err := torchpe.CheckNoLiveTensors(); err != nil && code == 0 {
		fmt.Println(err)
		code = 1
	}
	os.Exit(code)
}

// program returns a command that runs torchpe in dir.
func program(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), asProgram+"=1")
	return cmd
}

// torchpeIn runs torchpe in dir as a process of its own, and returns what it printed and its exit code.
func torchpeIn(t *testing.T, dir string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := program(dir, args...)
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

// smallSet writes a few hundred puzzles to dir and returns the flags that name them and a model
// that trains in a second.
func smallSet(t *testing.T, dir string) []string {
	t.Helper()
	train, validation, err := lst.Generate(lst.Options{Train: 300, Validation: 12}, 3)
	if err != nil {
		t.Fatal(err)
	}
	files := []lst.File{{Path: filepath.Join(dir, "train.csv"), Puzzles: train},
		{Path: filepath.Join(dir, "validation.csv"), Puzzles: validation}}
	if err := lst.WriteFiles(files...); err != nil {
		t.Fatal(err)
	}
	return []string{"--preset", "quick", "--d-model", "16", "--layers", "1", "--batch", "32", "--threads", "1",
		"--lst-train", files[0].Path, "--lst-validation", files[1].Path}
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

func TestTrainWritesARun(t *testing.T) {
	dir := t.TempDir()
	args := append([]string{"train"}, append(smallSet(t, dir), "--pe", "learn-1.0", "--members",
		"2", "--seed", "7", "--epochs", "2", "--json", "--out", "run")...)
	stdout, stderr, code := here(t, dir, args...)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	onDisk, err := os.ReadFile(filepath.Join(dir, "run", "result.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{stdout, string(onDisk)} {
		result := keys(t, text, "members", "wall_seconds", "steps_per_second", "peak_rss_mb")
		members := result["members"].([]any)
		if len(members) != 2 {
			t.Fatalf("%d members in %s", len(members), text)
		}
		for i, m := range members {
			part, _ := json.Marshal(m)
			member := keys(t, string(part), "pe", "sigma", "seed", "epochs", "steps",
				"measures")
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
		if _, err := os.Stat(filepath.Join(dir, "run", name)); err != nil {
			t.Error(err)
		}
	}
	// The stored configuration repeats the run, and a finished run is not done again.
	stdout, stderr, code = here(t, dir, "train", "--config", "run/config.json", "--json", "--out", "again")
	if again := keys(t, stdout, "members"); code != 0 ||
		fmt.Sprint(again["members"]) != fmt.Sprint(keys(t, string(onDisk))["members"]) {
		t.Errorf("exit code %d, repeated run: %s%s, first: %s", code, stdout, stderr, onDisk)
	}
	if _, stderr, code = here(t, dir, args...); code != exitUsage || !strings.Contains(stderr, "--resume") {
		t.Errorf("training into a run that is there: exit code %d, %s", code, stderr)
	}
	if stdout, stderr, code = here(t, dir, "train", "--resume", "--out", "run",
		"--json"); code != 0 || !strings.Contains(stdout, "members") ||
		!strings.Contains(stderr, "nothing was trained") {
		t.Errorf("resuming a complete run: exit code %d, %s%s", code, stdout, stderr)
	}
}

// SIGINT and SIGTERM save and say so in the exit code; --resume then finishes, and refuses another
// configuration.
func TestSignalsSave(t *testing.T) {
	for signal, want := range map[syscall.Signal]int{syscall.SIGINT: exitInterrupted,
		syscall.SIGTERM: exitTerminated, syscall.SIGUSR1: exitRequeue} {
		dir := t.TempDir()
		args := append([]string{"train", "--epochs", "100000", "--out", "run"}, smallSet(t, dir)...)
		cmd := program(dir, args...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		metrics := filepath.Join(dir, "run", "checkpoint.safetensors")
		for start := time.Now(); time.Since(start) < time.Minute; time.Sleep(20 * time.Millisecond) {
			if _, err := os.Stat(metrics); err == nil {
				break
			}
		}
		time.Sleep(200 * time.Millisecond)
		cmd.Process.Signal(signal)
		cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != want || !strings.Contains(stderr.String(), "--resume") {
			t.Errorf("%v: exit code %d, want %d: %s", signal, code, want, stderr.String())
		}
		if signal != syscall.SIGINT {
			continue
		}
		_, errs, code := here(t, dir, "train", "--resume", "--out", "run", "--lr", "0.5")
		if code != exitUsage || !strings.Contains(errs, "members.lr was") {
			t.Errorf("resuming with another learning rate: exit code %d, %s", code, errs)
		}
		_, errs, code = here(t, dir, "train", "--resume", "--out", "run", "--lr", "0.5", "--epochs", "101",
			"--limit-steps", "1", "--allow-changed", "members.lr,epochs,limit_steps")
		if stored, err := os.ReadFile(filepath.Join(dir, "run", "config.json")); code != 0 || err != nil ||
			!strings.Contains(string(stored), `"epochs": 101`) {
			t.Errorf("resuming with settings that may change: exit code %d, %s, %v", code, errs, err)
		}
		_, errs, code = here(t, dir, "train", "--resume", "--out", "rum")
		if _, err := os.Stat(filepath.Join(dir, "rum")); code != exitUsage || err == nil ||
			!strings.Contains(errs, "there is no run") {
			t.Errorf("resuming what is not there: exit code %d, %s", code, errs)
		}
	}
}

// Signals that were ignored when the program started, as nohup ignores SIGHUP, end neither training
// nor a sweep nor its workers.
func TestIgnoredSignals(t *testing.T) {
	dir := t.TempDir()
	small := append(smallSet(t, dir), "--epochs", "40", "--quiet", "--out")
	for name, args := range map[string][]string{
		"train": append(append([]string{"train"}, small...), "run"),
		"sweep": append(append([]string{"sweep", "--workers", "1"}, small...), "sweep"),
	} {
		cmd := program(dir, args...)
		cmd.Args = append([]string{"sh", "-c", `trap "" HUP INT; exec "$0" "$@"`, cmd.Path}, cmd.Args[1:]...)
		cmd.Path = "/bin/sh"
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
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
	for i, args := range [][]string{
		append(append([]string{"train"}, smallSet(t, dir)...), "--epochs", "2", "--out", "run"),
		{"pe", "list"},
	} {
		cmd := program(dir, args...)
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stdout, cmd.Stderr = w, w
		if err := errors.Join(cmd.Start(), w.Close(), r.Close()); err != nil {
			t.Fatal(err)
		}
		cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != exitBrokenPipe {
			t.Errorf("%q: %v", args, cmd.ProcessState)
		}
		if _, err := os.Stat(filepath.Join(dir, "run", "result.json")); err != nil && i == 0 {
			t.Error(err)
		}
	}
}

func TestDoctorJSON(t *testing.T) {
	stdout, stderr, code := here(t, t.TempDir(), "doctor", "--json")
	if code != 0 {
		t.Fatal(stderr)
	}
	keys(t, stdout, "libtorch_built", "libtorch_running", "cuda", "gpus", "blas", "blas_kernel",
		"threads", "problems")
	if stdout, _, code = here(t, t.TempDir(), "--version"); code != 0 ||
		!strings.HasPrefix(stdout, "torchpe "+runlog.Version) {
		t.Errorf("--version: exit %d, %q", code, stdout)
	}
	if stdout, _, code = here(t, t.TempDir(), "doctor"); code != 0 || !strings.Contains(stdout, "libtorch") {
		t.Errorf("exit code %d: %s", code, stdout)
	}
}

func TestBenchStepJSON(t *testing.T) {
	dir := t.TempDir()
	args := append([]string{"bench", "step"}, append(smallSet(t, dir), "--steps", "3", "--warmup",
		"1", "--members", "2", "--layers", "3", "--json")...)
	stdout, stderr, code := here(t, dir, args...)
	if code != 0 {
		t.Fatal(stderr)
	}
	b := keys(t, stdout, "preset", "device", "threads", "members", "batch", "step_ms_median",
		"step_ms_min", "peak_rss_mb", "limit")
	if b["preset"] != "quick" || b["members"] != 2.0 || b["batch"] != 32.0 ||
		b["step_ms_min"].(float64) <= 0 || b["peak_rss_mb"].(float64) < 10 {
		t.Errorf("%s", stdout)
	}
	if limit := b["limit"].(map[string]any); limit["gflop"].(float64) <= 0 || limit["ms"].(float64) <= 0 {
		t.Errorf("%v", limit) // TestStepWork has the numbers
	}
}

// Each encoding of --pe is timed in the order given; one that cannot be trained is named after the rows of
// those before it.
func TestBenchStepSchemes(t *testing.T) {
	dir := t.TempDir()
	args := append([]string{"bench", "step"}, append(smallSet(t, dir), "--steps", "1", "--warmup", "0")...)
	stdout, stderr, code := here(t, dir, append(args, "--pe", "learn-0.2,nope,rope", "--json")...)
	var rows []struct {
		PE     string  `json:"pe"`
		Median float64 `json:"step_ms_median"`
	}
	if err := json.Unmarshal([]byte(stdout), &rows); err != nil || code != 0 || len(rows) != 3 {
		t.Fatalf("exit code %d, %v: %s%s", code, err, stdout, stderr)
	}
	for i, want := range []string{"learn", "nope", "rope"} {
		if rows[i].PE != want || rows[i].Median <= 0 {
			t.Errorf("row %d: %+v, want %s", i, rows[i], want)
		}
	}
	stdout, stderr, code = here(t, dir, "bench", "step", "--preset", "nmar", "--nmar-frames", "400",
		"--steps", "1", "--warmup", "0", "--pe", "nope,swin") // whose tokens lie on no grid
	if code != exitUsage || strings.Count(stdout, "\n") != 1 || !strings.Contains(stderr, "swin: it needs") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
}

// bench step --trace writes a file, or says first that this libtorch cannot.
func TestBenchStepTrace(t *testing.T) {
	dir := t.TempDir()
	stdout, stderr, code := here(t, dir, append([]string{"bench", "step"}, append(smallSet(t, dir),
		"--steps", "1", "--warmup", "0", "--trace", "trace.json")...)...)
	if code == exitFailed && strings.Contains(stderr, "Kineto") && stdout == "" {
		return
	}
	data, err := os.ReadFile(filepath.Join(dir, "trace.json"))
	if code != 0 || err != nil || !json.Valid(data) || !strings.Contains(string(data), "aten::ones_like") {
		t.Errorf("exit code %d, %v: %s%s", code, err, stdout, stderr)
	}
}

// The demo draws its figure and prints a row a model, from worker processes.
func TestDemo(t *testing.T) {
	if testing.Short() {
		t.Skip("the demo trains four models on the default puzzles")
	}
	dir := t.TempDir()
	stdout, stderr, code := here(t, dir, "demo", "--epochs", "1", "--out", "shown")
	if code != 0 {
		t.Fatal(stderr)
	}
	for _, want := range []string{"learn", "0.2", "2", "IID test", "fitted", "until train=0.95, for 1 epoch at most",
		"4 of 4 models have not fitted", "without --epochs, which is 300 then, and with another --out", "accuracy.pdf"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in %s", want, stdout)
		}
	}
	for name, magic := range map[string]string{"accuracy.pdf": "%PDF", "accuracy.png": "\x89PNG"} {
		text, err := os.ReadFile(filepath.Join(dir, "shown", name))
		if err != nil || !strings.HasPrefix(string(text), magic) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Without --out another model gets a directory of its own; the same one again is refused, and
// resumed where that is asked for.
func TestDefaultDirectory(t *testing.T) {
	dir := t.TempDir()
	small := append([]string{"train", "--quiet", "--epochs", "1"}, smallSet(t, dir)...)
	for _, more := range [][]string{{}, {"--heads", "2"}, {"--heads", "4"}} {
		if _, stderr, code := here(t, dir, append(small, more...)...); code != 0 {
			t.Fatal(stderr)
		}
	}
	if _, stderr, code := here(t, dir, append(small, "--heads", "2")...); code != exitUsage ||
		!strings.Contains(stderr, "seed1_2: holds a run already") || strings.Count(stderr, "--force") != 1 ||
		strings.Contains(stderr, "use") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if stdout, stderr, code := here(t, dir, append(small, "--heads", "2", "--resume")...); code != 0 ||
		!strings.Contains(stdout, "seed1_2") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	for _, name := range []string{"lst_learn-0.2_code_seed1", "lst_learn-0.2_code_seed1_2",
		"lst_learn-0.2_code_seed1_3"} {
		if _, err := os.Stat(filepath.Join(dir, "runs", name, "result.json")); err != nil {
			t.Error(err)
		}
	}
	// Where there is none to resume, a stopped run is named.
	if err := os.Remove(filepath.Join(dir, "runs/lst_learn-0.2_code_seed1_2/result.json")); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := here(t, dir, "train", "--resume", "--pe", "rope"); code != exitUsage ||
		!strings.HasSuffix(stderr, "one: torchpe train --resume --out runs/lst_learn-0.2_code_seed1_2") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}
