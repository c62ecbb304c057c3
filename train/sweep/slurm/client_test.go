package slurm

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// fake answers commands in the place of Slurm and records them.
type fake struct {
	t       *testing.T
	config  string            // of scontrol show config
	answers map[string]output // by command
	hooks   map[string]func(args []string) output
	calls   [][]string
}

// config is a part of what Slurm 22.05 prints.
const config = `Configuration data as of 2026-11-21T09:49:01
AccountingStorageType   = accounting_storage/none
ClusterName             = onenode
KillWait                = 30 sec
MaxArraySize            = 1001
MaxJobCount             = 10000
PreemptMode             = REQUEUE
RequeueExit             = 75,100-102
SchedulerParameters     = batch_sched_delay=0,sched_interval=1
SLURM_VERSION           = 22.05.8

Slurmctld(primary) at vm is UP
`

// client returns a client of the fake.
func (f *fake) client() *client {
	return &client{run: func(_ context.Context, argv []string) (output, error) {
		f.calls = append(f.calls, argv)
		if hook := f.hooks[argv[0]]; hook != nil {
			return hook(argv[1:]), nil
		}
		if argv[0] == "scontrol" {
			if f.config == "" {
				f.config = config
			}
			return output{Stdout: f.config}, nil
		}
		out, ok := f.answers[argv[0]]
		if !ok {
			f.t.Errorf("unexpected call of %q", argv)
		}
		return out, nil
	}}
}

// of returns the calls of one command.
func (f *fake) of(command string) [][]string {
	return slices.DeleteFunc(slices.Clone(f.calls), func(c []string) bool { return c[0] != command })
}

// down holds the message of Slurm 22.05 when its controller is dead.
const down = "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n"

func TestProcess(t *testing.T) {
	bin := t.TempDir()
	put(t, filepath.Join(bin, "squeue"), "#!/bin/sh\nenv >"+filepath.Join(bin, "env")+"\nprintf '%s\\n' \"$@\"\n")
	put(t, filepath.Join(bin, "sbatch"), "#!/bin/sh\necho one; echo 'two ' >&2; echo three >&2; exit 4\n")
	put(t, filepath.Join(bin, "scontrol"), "#!/bin/sh\nsleep 30 & sleep 30\n")
	put(t, filepath.Join(bin, "scancel"), "#!/bin/sh\nkill -9 $$\n")
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	for _, e := range []string{"SLURM_CONF=/x", "SLURM_RESTART_COUNT=7", "SLURM_ARRAY_TASK_ID=3",
		"SLURM_TIME_FORMAT=x", "SQUEUE_FORMAT=%i", "SQUEUE_STATES=RUNNING", "SCANCEL_STATE=RUNNING",
		"SBATCH_WAIT=1", "SBATCH_ACCOUNT=mine", "LC_ALL=de_DE.UTF-8"} {
		name, value, _ := strings.Cut(e, "=")
		t.Setenv(name, value)
	}
	var c client
	out, err := c.call(t.Context(), "squeue", "a b", "$(c)")
	if err != nil || out != "a b\n$(c)\n" {
		t.Errorf("%q %v", out, err)
	}
	text, err := os.ReadFile(filepath.Join(bin, "env"))
	if err != nil {
		t.Fatal(err)
	}
	for _, has := range []string{"SLURM_CONF=/x\n", "SBATCH_ACCOUNT=mine\n", "SLURM_BITSTR_LEN=0\n", "LC_ALL=C\n"} {
		if !strings.Contains(string(text), has) {
			t.Errorf("no %q in the environment", has)
		}
	}
	for _, not := range []string{"SLURM_RESTART_COUNT", "SLURM_ARRAY", "SLURM_TIME", "SQUEUE_", "SCANCEL_",
		"SBATCH_WAIT", "de_DE"} {
		if strings.Contains(string(text), not) {
			t.Errorf("%s stayed in the environment", not)
		}
	}

	var failed *commandError
	if _, err := c.call(t.Context(), "sbatch"); !errors.As(err, &failed) || failed.Status != 4 ||
		err.Error() != "sbatch: two; three; one (exit status 4)" || isUnreachable(err) {
		t.Errorf("exit status 4: %v", err)
	}
	if _, err := c.call(t.Context(), "scancel"); !errors.As(err, &failed) || failed.Status != -1 ||
		!strings.Contains(err.Error(), "killed") {
		t.Errorf("killed: %v", err)
	}
	c.timeout = 200 * time.Millisecond
	start := time.Now()
	if _, err := c.call(t.Context(), "scontrol"); !isUnreachable(err) ||
		!strings.Contains(err.Error(), "no answer within 200ms") {
		t.Errorf("hanging: %v", err)
	}
	if took := time.Since(start); took > 15*time.Second {
		t.Errorf("a hanging command kept the caller for %v", took)
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.call(stopped, "squeue"); !errors.Is(err, context.Canceled) || isUnreachable(err) {
		t.Errorf("interrupted: %v", err)
	}
	if _, err := c.call(t.Context(), "/no/such/sbatch"); err == nil ||
		!strings.Contains(err.Error(), "/no/such/sbatch") {
		t.Errorf("missing: %v", err)
	}
	if _, err := c.call(t.Context(), "no-such-sbatch"); !errors.Is(err, exec.ErrNotFound) ||
		!strings.Contains(err.Error(), "not on PATH") {
		t.Errorf("missing: %v", err)
	}
}

func TestUnreachable(t *testing.T) {
	for message, want := range map[string]bool{
		down: true,
		"sbatch: error: " +
			"Batch job submission failed: Socket timed out on send/recv operation": true,
		"sbatch: error: " +
			"Batch job submission failed: Unable to contact slurm controller (connect failure)": true,
		"slurm_load_jobs error: Slurm backup controller in standby mode": true,
		"sbatch: error: " +
			"Batch job submission failed: Invalid partition name specified": false,
		"sbatch: error: " +
			"QOSMaxSubmitJobPerUserLimit": false,
		"squeue: error: " +
			"Munge encode failed: Failed to access \"/run/munge/munge.socket.2\": No such file or " +
			"directory (retrying ...)": false,
		"sbatch: error: " +
			"Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user's " +
			"size and/or time limits)": false,
		"": false,
	} {
		f := &fake{t: t, answers: map[string]output{"squeue": {Stderr: message, Status: 1}}}
		_, err := f.client().States(t.Context(), []Job{{ID: 1, Name: "x.0123abcd.0", Tasks: []int{1}}})
		if err == nil || isUnreachable(err) != want {
			t.Errorf("%q: %v", message, err)
		}
	}
}

func TestLimits(t *testing.T) {
	f := &fake{t: t}
	l, err := f.client().limits(t.Context())
	if err != nil || l != (limits{maxTasks: 1001, requeues: true}) {
		t.Errorf("%+v %v", l, err)
	}
	f.config = strings.NewReplacer("75,100-102", "(null)", "batch_sched_delay=0", "max_array_tasks=400",
		"MaxArraySize            = 1001", "MaxArraySize            = 4000001").Replace(config)
	if l, err = f.client().limits(t.Context()); err != nil || l != (limits{maxTasks: 400}) {
		t.Errorf("%+v %v", l, err)
	}
	for _, bad := range []string{"", "garbage", strings.Replace(config, "1001", "many", 1)} {
		f := &fake{t: t, hooks: map[string]func([]string) output{
			"scontrol": func([]string) output { return output{Stdout: bad} }}}
		if _, err := f.client().limits(t.Context()); err == nil {
			t.Errorf("took %q", bad)
		}
	}
}

func TestParseRanges(t *testing.T) {
	for s, want := range map[string][]int{"3": {3}, "0-3%2": {0, 1, 2, 3}, "3,5,7-9": {3, 5, 7, 8, 9},
		"[0-1,4%1]": {0, 1, 4}, "0-8:4": {0, 4, 8}, "0-6:4": {0, 4}} {
		if got, err := parseRanges(s); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v %v", s, got, err)
		}
	}
	for _, s := range []string{"", "N/A", "0-", "-3", "3-1", "0-9...", "0,...", "1,,2", "0-3:0",
		"99999999999", "0-2000000000", "a-b"} {
		if got, err := parseRanges(s); err == nil {
			t.Errorf("%q: took it as %v", s, got)
		}
	}
}
