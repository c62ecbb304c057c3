package slurm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"torchpe/internal/expect"
)

// hostile are words that break scripts that do not quote them.
var hostile = []string{
	"", " ", "a b", "it's", `"`, `\`, `\\`, "$(touch pwned)", "`touch pwned`", "$HOME", "${x}", "*", "?",
	"[a]", "~", "~root", "!", "!!", "#", "#SBATCH --array=0-9", ";", "&&", "|", ">pwned", "<", "(", ")", "{a,b}",
	"%A", "%%", "--index", "-rf", "=", "é", "日本語", "🧠", "e\u0301", "\xff\xfe", "'$(touch pwned)'", `'"'"'`,
	strings.Repeat("x", 2000),
}

// A command gets its words as they are and no variable that would change what it does; its errors
// say what it said.
func TestCall(t *testing.T) {
	fake := fakeSlurm(t)
	fakeCommand(t, "squeue", `env >"$fake/env"; printf '%s\n' "$@"`)
	fakeCommand(t, "sbatch", "echo one; echo 'two ' >&2; echo three >&2; exit 4")
	fakeCommand(t, "scontrol", "sleep 30 & sleep 30")
	fakeCommand(t, "scancel", "kill -9 $$")
	for _, e := range []string{"SLURM_CONF=/x", "SLURM_RESTART_COUNT=7", "SLURM_ARRAY_TASK_ID=3",
		"SLURM_TIME_FORMAT=x", "SQUEUE_FORMAT=%i", "SQUEUE_STATES=RUNNING", "SCANCEL_STATE=RUNNING",
		"SBATCH_WAIT=1", "SBATCH_ACCOUNT=mine", "LC_ALL=de_DE.UTF-8"} {
		name, value, _ := strings.Cut(e, "=")
		t.Setenv(name, value)
	}
	expect.Equal(t, "said", expect.Must(call(t.Context(), "squeue", "a b", "$(c)")), "a b\n$(c)\n")
	env := string(expect.Must(os.ReadFile(filepath.Join(fake, "env"))))
	expect.Contains(t, env, "SLURM_CONF=/x\n", "SBATCH_ACCOUNT=mine\n", "LC_ALL=C\n")
	for _, not := range []string{"SLURM_RESTART_COUNT", "SLURM_ARRAY", "SLURM_TIME", "SQUEUE_", "SCANCEL_",
		"SBATCH_WAIT", "de_DE"} {
		if strings.Contains(env, not) {
			t.Errorf("%s stayed in the environment", not)
		}
	}
	defer func(before time.Duration) { patience = before }(patience)
	patience = 3 * time.Second
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	start := time.Now()
	for _, c := range []struct {
		ctx           context.Context
		command, want string
		is            error
	}{
		{t.Context(), "sbatch", "sbatch: exit status 4: two three one", nil},
		{t.Context(), "scancel", "killed", nil},
		{t.Context(), "scontrol", "no answer within 3s", nil},
		{t.Context(), "no-such-sbatch", "not found in $PATH: is this a machine of the cluster?", exec.ErrNotFound},
		{stopped, "squeue", "squeue", context.Canceled},
	} {
		if _, err := call(c.ctx, c.command); err == nil || !strings.Contains(err.Error(), c.want) ||
			strings.HasSuffix(err.Error(), ": ") || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: %v, want %q", c.command, err, c.want)
		}
	}
	if took := time.Since(start); took > 15*time.Second {
		t.Errorf("a hanging command kept the caller for %v", took)
	}
}

func TestLargestArray(t *testing.T) {
	fakeSlurm(t)
	for _, c := range []struct {
		config string
		want   int
	}{
		{"MaxArraySize            = 1001\nSchedulerParameters     = batch_sched_delay=0", 1001},
		{"MaxArraySize = 4000001\nSchedulerParameters = a=1,max_array_tasks=400", 400},
		{"", 0}, {"garbage", 0}, {"MaxArraySize = many", 0}, {"MaxArraySize = 0", 0},
	} {
		fakeCommand(t, "scontrol", "echo '"+c.config+"'")
		if got, err := largestArray(t.Context()); got != c.want || (err != nil) != (c.want == 0) {
			t.Errorf("%s: %d, %v", c.config, got, err)
		}
	}
}

// A task is in the queue as long as squeue lists it. An id that another job has now says nothing
// about this one, and a line that cannot be read is an error: taken as an empty queue it would start
// everything again.
func TestQueue(t *testing.T) {
	fake := fakeSlurm(t)
	jobs := []Job{{ID: 15, Name: "x.0123abcd.0", Tasks: []int{5, 17, 40, 41, 42}, TasksPerJob: 2},
		{ID: 16, Name: "x.89abcdef.0", Tasks: []int{5}, TasksPerJob: 1}}
	put(t, filepath.Join(fake, "queue"), `1|RUNNING|x.0123abcd.0|None
2|PENDING|x.0123abcd.0|BeginTime

0|PENDING|x.89abcdef.0|JobHeldUser
0|RUNNING|x.ffffffff.0|None
N/A|RUNNING|interactive|None
`)
	got, err := queueOf(t.Context(), jobs)
	for task, want := range map[int]Place{40: {"RUNNING", ""}, 41: {"RUNNING", ""}, 42: {"PENDING", "BeginTime"},
		5: {"PENDING", "JobHeldUser"}} {
		if len(got) != 4 || got[task] != want || err != nil {
			t.Errorf("task %d: %+v, want %+v, %v", task, got[task], want, err)
		}
	}
	expect.Equal(t, "waiting", strings.Join(Waits(got), ", "), "1 BeginTime, 1 JobHeldUser")
	for _, bad := range []string{"0|RUNNING", "0...|PENDING|x.0123abcd.0|x", "N/A|RUNNING|x.0123abcd.0|None",
		"|RUNNING|x.0123abcd.0|None", "0||x.0123abcd.0|None", "slurm is down for maintenance", "\x01\xff|"} {
		put(t, filepath.Join(fake, "queue"), bad+"\n")
		expect.Refused(t, fmt.Sprintf("%q", bad), expect.ErrorOf(queueOf(t.Context(), jobs)))
	}
	expect.Equal(t, "no jobs", len(expect.Must(queueOf(t.Context(), nil))), 0)
}

func TestHeld(t *testing.T) {
	for place, want := range map[Place]bool{
		{"PENDING", "JobHeldAdmin"}: true, {"PENDING", "Nodes required for job are DOWN, DRAINED or reserved for " +
			"jobs in higher priority partitions,JobHeldUser"}: true, {"PENDING", "JobArrayTaskLimit"}: false,
		{"PENDING", "launch failed requeued held"}: true, {"PENDING", "launch_failed_requeued_held"}: true,
		{"PENDING", "job requeued in held state"}: false, {"REQUEUE_HOLD", "x"}: true, {"SPECIAL_EXIT", "x"}: true,
		{"REQUEUED", "x"}: false, {"SUSPENDED", "x"}: false, {"SOMETHING_NEW", "x"}: false,
	} {
		expect.Equal(t, place, place.Held(), want)
	}
}

// Every fault that Slurm would not find is named at once.
func TestOptions(t *testing.T) {
	good := Options{Partition: "gpu,long", Time: 90 * time.Minute, Throttle: 2, TasksPerJob: 3, GPUs: 1,
		GPUType: "a100", Memory: "16G", Signal: 5 * time.Minute, Requeue: true, Extra: []string{
			"--constraint=a100&ib", "--mail-type=FAIL", "--comment=it's $(x)", "-x", "--mem-per-cpu=1G",
			"--time-min=10", "--wait-all-nodes=1"}}
	expect.NoError(t, good.Validate())
	err := Options{GPUType: "a100", Time: 90 * time.Second, Signal: 10 * time.Minute, Throttle: -1,
		Extra: []string{"--array=0-9", "--arr=0-9", "-a0-9", "constraint=x", "--wrap=rm", "--requeue", "-W",
			"--clusters=all", "--part=gpu", "--"}}.Validate()
	expect.Error(t, err, "GPU type a100 without", "whole minutes", "signal 10m0s before", "-1: the numbers",
		"torchpe sets --array", "torchpe sets --arr ", "torchpe sets -a", "--sbatch=constraint=x: give each",
		"torchpe sets --wrap",
		"torchpe sets --requeue", "torchpe sets -W", "torchpe sets --clusters",
		"torchpe sets --part ", "torchpe sets -- ")
	for dir, want := range map[string]bool{"/a b/it's": true, `/a\x`: false, "/a\nb": false, "/日本語": true} {
		expect.Equal(t, dir, CheckDir(dir) == nil, want)
	}
	t.Chdir(expect.Must(os.MkdirTemp(t.TempDir(), `a\b`)))
	expect.Refused(t, "a relative path in a folder with a backslash", CheckDir("s"))
	for _, c := range []struct{ limit, signal, want time.Duration }{
		{time.Hour, 2 * time.Minute, 2 * time.Minute}, {0, time.Minute, time.Minute},
		{time.Minute, 2 * time.Minute, 30 * time.Second}, {time.Minute, time.Minute, 30 * time.Second},
	} {
		o := Options{Time: c.limit, Signal: c.signal}.FitSignal()
		if err := o.Validate(); o.Signal != c.want || err != nil {
			t.Errorf("%v of %v: %v, want %v, %v", c.signal, c.limit, o.Signal, c.want, err)
		}
	}
}
