package slurm

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"torchpe/internal/expect"
	"torchpe/train/sweep"
)

// launch launches all tasks of a sweep and returns the report; submitted are the tasks of its jobs.
func launch(t *testing.T, s *sweep.Sweep, o Options) (r Report, submitted []int, err error) {
	t.Helper()
	l := Launcher{Program: "/bin/torchpe", Options: o, Submitted: func(got Report) { r = got }}
	err = l.Launch(t.Context(), s)
	for _, j := range r.Jobs {
		submitted = append(submitted, j.Tasks...)
	}
	return r, submitted, err
}

// claim claims a task.
func claim(t *testing.T, s *sweep.Sweep, i int) *sweep.Claim {
	t.Helper()
	return expect.Must(s.ClaimTask(i, false))
}

// setQueue sets what the fake squeue prints; %s is the name of the sweep's first job.
func setQueue(t *testing.T, fake string, s *sweep.Sweep, lines string) {
	t.Helper()
	jobs, err := recordedJobs(s)
	if err != nil || len(jobs) == 0 {
		t.Fatal(jobs, err)
	}
	put(t, filepath.Join(fake, "queue"), strings.ReplaceAll(lines, "%s", jobs[0].Name))
}

// A launch submits what is neither done, failed, running nor in the queue, and nothing else, whatever
// the queue and the folders say.
func TestLaunch(t *testing.T) {
	fake := fakeSlurm(t)
	s := newSweep(t, "s", 6)
	expect.NoError(t, claim(t, s, 4).Fail(sweep.Failure{Reason: sweep.ReasonOOM}))
	o := Options{}
	if r, submitted, err := launch(t, s, o); err != nil || !slices.Equal(submitted, []int{0, 1, 2, 3, 5}) {
		t.Fatalf("%+v %v", r, err)
	}
	// 0 ended but is still listed, 1 runs, 2 is lost, 3 is lost for Slurm but shows life, 5 is held.
	expect.NoError(t, claim(t, s, 0).Fail(sweep.Failure{Reason: sweep.ReasonOOM}))
	alive := claim(t, s, 3)
	setQueue(t, fake, s, "0|COMPLETING|%s|None\n1|RUNNING|%s|None\n4|PENDING|%s|JobHeldUser\n")
	if r, submitted, err := launch(t, s, o); err != nil || !slices.Equal(submitted, []int{2}) ||
		!slices.Equal(r.Waiting, []int{1, 3}) || !slices.Equal(r.Held, []int{5}) {
		t.Fatalf("%+v %v", r, err)
	}
	expect.Equal(t, "queue", expect.Must(Queued(t.Context(), s)),
		map[int]Place{1: {"RUNNING", ""}, 5: {"PENDING", "JobHeldUser"}})
	// Nothing happens while the controller does not answer or answers nonsense.
	for _, body := range []string{"echo Unable to contact slurm controller >&2; exit 1", "echo hello", "exit 3"} {
		fakeCommand(t, "squeue", body)
		if r, submitted, err := launch(t, s, o); err == nil || submitted != nil {
			t.Errorf("%s: %+v %v", body, r, err)
		}
	}
	// The controller forgot all.
	fakeCommand(t, "squeue", "exit 0")
	r, submitted, err := launch(t, s, o)
	if err != nil || !slices.Equal(submitted, []int{1, 2, 5}) || !slices.Equal(r.Waiting, []int{3}) {
		t.Fatalf("%+v %v", r, err)
	}
	expect.NoError(t, alive.Release())
	for _, i := range []int{1, 2, 3, 5} {
		expect.NoError(t, claim(t, s, i).Fail(sweep.Failure{Reason: sweep.ReasonOOM}))
	}
	fakeCommand(t, "squeue", "exit 1") // where all have ended it is not asked
	if r, submitted, err := launch(t, s, o); err != nil || submitted != nil {
		t.Errorf("%+v %v", r, err)
	}
	expect.Equal(t, "submissions", len(sbatches(t, fake)), 3)
}

// A job cannot claim what was lost by a worker that was none, unless that one is said to be dead.
func TestLaunchLost(t *testing.T) {
	fake := fakeSlurm(t)
	s := newSweep(t, "s", 2)
	expect.NoError(t, claim(t, s, 0).Release())
	t.Setenv("SLURM_ARRAY_JOB_ID", "12")
	t.Setenv("SLURM_ARRAY_TASK_ID", "1")
	expect.NoError(t, claim(t, s, 1).Release())
	r, submitted, err := launch(t, s, Options{})
	if err != nil || !slices.Equal(submitted, []int{1}) || !slices.Equal(r.Lost, []int{0}) ||
		!strings.Contains(r.String(), "1 task left alone") {
		t.Errorf("%+v %v", r, err)
	}
	l := Launcher{Program: "/bin/torchpe", TakeLost: true, Submitted: func(got Report) { r = got }}
	expect.NoError(t, l.Launch(t.Context(), s))
	expect.Equal(t, "tasks", r.Jobs[0].Tasks, []int{0, 1})
	calls := sbatches(t, fake)
	if slices.Contains(calls[0], "--break-lock") || !slices.Contains(calls[1], "--break-lock") {
		t.Errorf("%q", calls)
	}
}

// A sweep is submitted in arrays of at most MaxArraySize jobs, each word as it is; all that a job
// needs is on the disk when sbatch is called, the record included.
func TestSubmit(t *testing.T) {
	fake := fakeSlurm(t)
	s := newSweep(t, "50% it's", 23)
	fakeCommand(t, "scontrol", `printf 'MaxArraySize = 1001\nSchedulerParameters=x,max_array_tasks=5\n'`)
	fakeCommand(t, "sbatch", `for a; do case $a in */job.sh) script=$a;; *.tasks) list=$a;; esac; done
n=$(($(cat "$fake/n" 2>/dev/null) + 1)); echo $n >"$fake/n"; printf '%s\0' "$@" >"$fake/$n"; cp "$list" "$fake/list$n"
[ -s "$script" ] && [ -s "${list%.tasks}.json" ] && echo "notice of the site" && echo "10$n;cluster"`)
	o := Options{Time: time.Hour, Throttle: 4, TasksPerJob: 2, CPUs: 3, GPUs: 1, Requeue: true,
		Extra: []string{"--comment=a b"}}
	r, submitted, err := launch(t, s, o)
	if err != nil || len(r.Jobs) != 3 || len(submitted) != 23 || !slices.IsSorted(submitted) || r.Jobs[2].ID != 103 {
		t.Fatalf("%+v %v", r, err)
	}
	calls := sbatches(t, fake)
	for k, last := range []int{4, 4, 1} {
		for _, want := range []string{"--parsable", fmt.Sprintf("--array=0-%d%%4", last), "--comment=a b",
			"--chdir=" + s.Dir, "--output=" + strings.ReplaceAll(s.Dir, "%", "%%") + "/logs/%x_%a.out",
			"--job-name=" + r.Jobs[k].Name, "--time=60", "--requeue"} {
			if !slices.Contains(calls[k], want) {
				t.Errorf("array %d: no %s in %q", k, want, calls[k])
			}
		}
		at := slices.Index(calls[k], filepath.Join(s.Dir, folder, scriptFile))
		want := []string{filepath.Join(s.Dir, folder, r.Jobs[k].Name+".tasks"), "20", "/bin/torchpe", "sweep",
			"run-task", "--threads", "3", "--device", "cuda", s.Dir}
		if at < 0 || !slices.Equal(calls[k][at+1:], want) {
			t.Errorf("%q, want %q", calls[k], want)
		}
	}
	expect.Equal(t, "list3", string(expect.Must(os.ReadFile(filepath.Join(fake, "list3")))), "20 21\n22\n")
	for i, want := range map[int][]int{0: {20, 21}, 1: {22}, 2: {}} {
		expect.Equal(t, fmt.Sprint("array index ", i), r.Jobs[2].tasksOf(i), want)
	}
	jobs := expect.Must(recordedJobs(s))
	slices.SortFunc(jobs, func(a, b Job) int { return a.ID - b.ID })
	expect.Equal(t, "jobs", fmt.Sprint(jobs), fmt.Sprint(r.Jobs))
}

// Whatever sbatch does, what was submitted is reported, and the rest is submitted the next time unless
// Slurm has it all the same.
func TestSbatchFails(t *testing.T) {
	for name, body := range map[string]string{
		"refused": "echo 'sbatch: error: Job violates accounting/QOS policy' >&2; exit 1",
		"no id":   "echo Submitted batch job", "empty": "exit 0", "two ids": `printf '12\n13\n'`,
		"an id of 0": "echo 0", "id with an error": "echo 12; exit 1", "id in a sentence": "echo job 12 was submitted",
	} {
		t.Run(name, func(t *testing.T) {
			fake := fakeSlurm(t)
			s := newSweep(t, "s", 3)
			fakeCommand(t, "scontrol", "echo MaxArraySize = 1")
			fakeCommand(t, "sbatch", `n=$(($(cat "$fake/n" 2>/dev/null) + 1)); echo $n >"$fake/n"
if [ $n = 2 ]; then `+body+`; else echo $n; fi`)
			r, submitted, err := launch(t, s, Options{})
			if err == nil || !slices.Equal(submitted, []int{0}) || !slices.Equal(r.Left, []int{1, 2}) {
				t.Fatalf("%+v %v", r, err)
			}
			jobs := expect.Must(recordedJobs(s))
			taken := jobs[slices.IndexFunc(jobs, func(j Job) bool { return j.ID == 0 })]
			put(t, filepath.Join(fake, "queue"), "0|PENDING|"+taken.Name+"|Priority\n")
			if r, submitted, err := launch(t, s, Options{}); err != nil || !slices.Equal(submitted, []int{0, 2}) ||
				!slices.Equal(r.Waiting, []int{1}) {
				t.Errorf("%+v %v", r, err)
			}
		})
	}
	fakeSlurm(t)
	fakeCommand(t, "scontrol", "echo MaxArraySize = 0")
	if r, _, err := launch(t, newSweep(t, "s", 1), Options{}); err == nil ||
		!strings.Contains(err.Error(), "does not allow job arrays") || len(r.Left) != 1 {
		t.Errorf("%+v %v", r, err)
	}
}

// A link planted in the place of the folder leads nothing out of it.
func TestSubmitStaysInside(t *testing.T) {
	fake := fakeSlurm(t)
	s, outside := newSweep(t, "s", 1), t.TempDir()
	expect.NoError(t, os.Symlink(outside, filepath.Join(s.Dir, folder)))
	if _, _, err := launch(t, s, Options{}); err == nil {
		t.Error("wrote through a link")
	}
	if left := expect.Must(os.ReadDir(outside)); len(left) > 0 || sbatches(t, fake) != nil {
		t.Errorf("%v was written outside", left)
	}
}

// Records that cannot be read stop a launch; files of others are left alone. The records of earlier
// versions have more keys.
func TestRecords(t *testing.T) {
	s := newSweep(t, "s", 1)
	expect.Equal(t, "jobs", expect.Must(recordedJobs(s)), nil)
	name := arrayName(s) + ".0123abcd.0"
	for _, text := range []string{"", "{", `{"name": "` + arrayName(s) + `.ffffffff.0"}`, "null"} {
		expect.NoError(t, write(s, name+".json", []byte(text)))
		expect.Error(t, expect.ErrorOf(recordedJobs(s)), name+".json")
	}
	old := `{"id": 7, "name": "` + name + `", "chunk": 0, "tasks": [0], "tasks_per_job": 1, "submitted":
		"2026-11-22T12:36:18Z", "logs": "/x", "withdrawn": true, "excused": [0]}`
	expect.NoError(t, errors.Join(write(s, name+".json", []byte(old)),
		write(s, "other.0123abcd.0.json", nil),
		write(s, arrayName(s)+".0123abcd.0.0123abcd.0.json", nil)))
	if jobs, err := recordedJobs(s); err != nil || len(jobs) != 1 || jobs[0].ID != 7 {
		t.Errorf("%v %v", jobs, err)
	}
}

// Flags come back as they were stored, which they are once sbatch took them; those that cannot be read are an
// error that says what to do.
func TestFlags(t *testing.T) {
	fakeSlurm(t)
	s := newSweep(t, "s", 1)
	for _, dir := range []string{s.Dir, t.TempDir(), filepath.Join(s.Dir, "absent")} {
		if got, _, err := ReadFlags(dir); got != nil || err != nil {
			t.Errorf("%v, %v", got, err)
		}
	}
	want := Flags{"time": {"2h0m0s"}, "sbatch": {"--a=1,2", "--b"}, "partition": {""}}
	for _, sbatch := range []string{"exit 1", "echo 7"} {
		got, _, err := ReadFlags(s.Dir)
		if got != nil || err != nil {
			t.Errorf("%v were stored though sbatch refused them, %v", got, err)
		}
		fakeCommand(t, "sbatch", sbatch)
		_ = Launcher{Flags: want}.Launch(t.Context(), s)
	}
	got, path, err := ReadFlags(s.Dir)
	if err != nil || !maps.EqualFunc(got, want, slices.Equal[[]string]) {
		t.Errorf("%v, want %v, %v", got, want, err)
	}
	put(t, path, "{")
	if _, _, err := ReadFlags(s.Dir); err == nil || !strings.Contains(err.Error(), "remove it") {
		t.Error(err)
	}
}
