package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"torchpe/internal/expect"
	"torchpe/train/sweep"
)

// oneNodeSlurm is the script's path wherever a test has gone since.
var oneNodeSlurm, _ = filepath.Abs("../../scripts/one_node_slurm.sh")

// onNode runs scripts/one_node_slurm.sh, or skips the test where Slurm is not installed.
func onNode(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(oneNodeSlurm, args...)
	cmd.Env = append(os.Environ(), "CPUS=8", "GPUS=2")
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == 3 {
		t.Skip("Slurm is not installed: scripts/one_node_slurm.sh install")
	}
	if err != nil {
		t.Fatalf("one_node_slurm %v: %v\n%s", args, err, said.String())
	}
	return strings.TrimSpace(string(out))
}

// epochsOf returns how many epochs of the small set take so long on this machine.
func epochsOf(t *testing.T, dir, small string, long time.Duration) int {
	t.Helper()
	stdout := says(t, dir, "train --pe rope --noise none --epochs 200 --json --quiet --out timed"+small, 0)
	result := keys(t, stdout, "members", "steps_per_second")
	steps := result["members"].([]any)[0].(map[string]any)["steps"].(float64)
	return int(long.Seconds() * result["steps_per_second"].(float64) / (steps / 200))
}

// A real Slurm: 12 tasks, one of which fails, one that needs longer than its job may take and is
// queued again; the controller is killed two seconds after the submission, the node's daemon in the
// middle. Every task ends done or failed with a reason, each once, and the runs are those of the
// same sweep run here.
func TestSweepOnSlurm(t *testing.T) {
	if testing.Short() {
		t.Skip("takes minutes")
	}
	node := expect.Must(os.MkdirTemp("", "node"))
	conf, ok := strings.CutPrefix(onNode(t, "start", node), "SLURM_CONF=")
	if !ok {
		t.Fatal("no SLURM_CONF")
	}
	t.Cleanup(func() {
		onNode(t, "stop", node)
		os.RemoveAll(node)
	})
	t.Setenv("SLURM_CONF", conf)
	t.Setenv("CUDA_VISIBLE_DEVICES", "")
	dir := t.TempDir()
	small := smallSet(t, dir)
	gone := filepath.Join(dir, "gone.csv")
	long := epochsOf(t, dir, small, 15*time.Second) // the limit comes after 10
	copyFile(t, filepath.Join(dir, "train.csv"), gone)
	expect.NoError(t, os.WriteFile(filepath.Join(dir, "twelve.yaml"), []byte(`
set: {preset: quick, d-model: 16, layers: 1, batch: 32, noise: [none], epochs: 60, lst-validation: `+filepath.Join(dir, "validation.csv")+`, lst-train: [`+filepath.Join(dir, "train.csv")+`]}
parts:
  - {grid: {pe: rope, epochs: `+fmt.Sprint(long)+`}}
  - {grid: {pe: [nope, learn]}, members: 5}
  - {grid: {pe: 2d-fixed}, set: {lst-train: [`+gone+`]}}
`), 0o666))
	run := func(args ...string) (string, int) {
		t.Helper()
		stdout, stderr, code := here(t, dir, append([]string{"sweep"}, args...)...)
		return stdout + stderr, code
	}
	for _, out := range []string{"here", "there"} {
		if said, code := run("twelve.yaml", "--out", out, "--pack", "1", "--launcher", "none"); code != 0 {
			t.Fatal(said)
		}
	}
	expect.NoError(t, os.Remove(gone))
	flags := []string{"resume", "there", "--launcher", "slurm", "--cpus", "1", "--throttle", "4",
		"--time", "1m", "--signal", "50s"}
	if said, code := run(flags...); code != 0 || !strings.Contains(said, "submitted 12 tasks") {
		t.Fatalf("exit code %d: %s", code, said)
	}
	time.Sleep(2 * time.Second)
	onNode(t, "crash", node, "slurmctld")
	time.Sleep(time.Second)
	onNode(t, "launch", node, "slurmctld")
	st := waitForSweep(t, run, flags, func(st sweep.Status, tick int) {
		if tick == 3 {
			onNode(t, "crash", node, "slurmd")
			time.Sleep(time.Second)
			onNode(t, "launch", node, "slurmd")
		}
		if tick%10 == 9 {
			onNode(t, "attend", node)
		}
	})
	if st.Counts[sweep.StateDone] != 11 || st.Counts[sweep.StateFailed] != 1 ||
		st.Tasks[11].Failure == nil || st.Tasks[11].Failure.Reason != sweep.ReasonData {
		t.Fatalf("%+v", st.Counts)
	}
	if log := readText(t, filepath.Join(dir, "there/tasks/000000/log.txt")); strings.Count(log, "attempt") < 2 {
		t.Errorf("the long task was not stopped by its limit: %s", log)
	}
	if said, code := run("resume", "here", "--workers", "2", "--quiet"); code != exitFailed ||
		!strings.Contains(said, "1 task failed") {
		t.Fatalf("exit code %d: %s", code, said)
	}
	names := expect.Must(os.ReadDir(filepath.Join(dir, "here/runs")))
	expect.Equal(t, "runs", len(names), 11)
	for _, n := range names {
		expect.Equal(t, n.Name(), differ(open(t, filepath.Join(dir, "there/runs", n.Name())),
			open(t, filepath.Join(dir, "here/runs", n.Name())), 0), "")
	}
	// The reports are the same but for the names of the folders.
	var reports []string
	for _, out := range []string{"here", "there"} {
		stdout, stderr, code := here(t, dir, "report", out, "--json")
		expect.Equal(t, stderr, code, 0)
		reports = append(reports, strings.ReplaceAll(stdout, filepath.Join(dir, out), "DIR"))
	}
	expect.Equal(t, "the reports differ", strings.ReplaceAll(reports[1], "there", "here"), reports[0])
}

// waitForSweep asks for the status until all is settled, and submits again what was lost.
func waitForSweep(t *testing.T, run func(...string) (string, int), flags []string,
	tick func(sweep.Status, int)) (st sweep.Status) {
	t.Helper()
	for i := range 200 {
		st = sweep.Status{}
		stdout, code := run("status", "there", "--json")
		if at := strings.Index(stdout, "{"); code != 0 || at < 0 {
			t.Fatalf("exit code %d: %s", code, stdout)
		} else if err := json.NewDecoder(strings.NewReader(stdout[at:])).Decode(&st); err != nil {
			t.Fatalf("%v in %s", err, stdout)
		}
		if st.Counts[sweep.StateDone]+st.Counts[sweep.StateFailed] == len(st.Tasks) {
			return st
		}
		tick(st, i)
		if i%4 == 3 {
			said, code := run(flags...) // the controller may not answer yet
			t.Logf("%v: exit code %d: %s", st.Counts, code, strings.ReplaceAll(said, "\n", " | "))
		}
		time.Sleep(2 * time.Second)
	}
	for _, ask := range []string{"squeue -a", "sinfo -R"} {
		answer, err := exec.Command("sh", "-c", ask).CombinedOutput()
		t.Logf("%s: %v\n%s", ask, err, answer)
	}
	t.Fatalf("not settled: %s", fmt.Sprint(st.Counts))
	return st
}
