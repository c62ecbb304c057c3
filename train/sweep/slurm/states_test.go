package slurm

import (
	"slices"
	"strings"
	"testing"
)

// jobs are two submissions: ten tasks in five jobs, and two of them again.
func jobs() []Job {
	return []Job{
		{ID: 15, Name: "x.0123abcd.0", Tasks: []int{5, 17, 4000, 4001, 4002, 4003, 4004, 4005, 4006, 4007},
			TasksPerJob: 2},
		{ID: 16, Name: "x.89abcdef.0", Tasks: []int{5, 4007}, TasksPerJob: 1},
	}
}

func TestStates(t *testing.T) {
	f := &fake{t: t, answers: map[string]output{"squeue": {Stdout: `15|0|FAILED|NonZeroExitCode|vm|x.0123abcd.0
15|1|RUNNING|None|vm|x.0123abcd.0
15|2|COMPLETING|None|vm|x.0123abcd.0
15|3-4%2|PENDING|BeginTime||x.0123abcd.0

16|0|PENDING|JobHeldUser||x.89abcdef.0
16|1|COMPLETED|None|vm|x.89abcdef.0
15|N/A|CANCELLED|JobHeldAdmin||x.0123abcd.0
15|0|RUNNING|None|vm|another|name
15|1|RUNNING|None|vm|x.0123abcd.00
`}}}
	got, err := f.client().States(t.Context(), jobs())
	if err != nil {
		t.Fatal(err)
	}
	want := map[int]State{
		5:    {Held, "PENDING", "JobHeldUser", "16_0", "", "x.89abcdef.0"},
		17:   {Gone, "FAILED", "NonZeroExitCode", "15_0", "vm", "x.0123abcd.0"},
		4000: {Running, "RUNNING", "", "15_1", "vm", "x.0123abcd.0"},
		4001: {Running, "RUNNING", "", "15_1", "vm", "x.0123abcd.0"},
		4002: {Running, "COMPLETING", "", "15_2", "vm", "x.0123abcd.0"},
		4003: {Running, "COMPLETING", "", "15_2", "vm", "x.0123abcd.0"},
		4004: {Pending, "PENDING", "BeginTime", "15_3", "", "x.0123abcd.0"},
		4005: {Pending, "PENDING", "BeginTime", "15_3", "", "x.0123abcd.0"},
		4006: {Pending, "PENDING", "BeginTime", "15_4", "", "x.0123abcd.0"},
		// the older is in the queue, the newer is not
		4007: {Pending, "PENDING", "BeginTime", "15_4", "", "x.0123abcd.0"},
	}
	if len(got) != len(want) {
		t.Errorf("%d states", len(got))
	}
	for task, w := range want {
		if got[task] != w {
			t.Errorf("task %d: %+v, want %+v", task, got[task], w)
		}
	}
	if w := strings.Join(Waits(got), ", "); w != "4 BeginTime, 1 JobHeldUser" {
		t.Errorf("waiting: %s", w)
	}
	if c := f.calls[0]; !slices.Contains(c, "--name=x.0123abcd.0,x.89abcdef.0") ||
		!slices.Contains(c, "--states=all") {
		t.Errorf("%q", c)
	}
}

// An id that another job has now says nothing about this one.
func TestStatesOfReusedIDs(t *testing.T) {
	f := &fake{t: t, answers: map[string]output{
		"squeue": {Stdout: "15|0-4|RUNNING|None|vm|x.ffffffff.0\n16|N/A|RUNNING|None|vm|interactive\n"}}}
	_, err := f.client().States(t.Context(), jobs())
	if err == nil || !strings.Contains(err.Error(), "N/A") {
		t.Errorf("a job that is no array under a name that was asked for: %v", err)
	}
	f.answers["squeue"] = output{Stdout: "15|0-4|RUNNING|None|vm|x.ffffffff.0\n"}
	got, err := f.client().States(t.Context(), jobs())
	if err != nil {
		t.Fatal(err)
	}
	for task, s := range got {
		if s.Phase != Gone || s.Slurm != "" {
			t.Errorf("task %d: %+v", task, s)
		}
	}
}

func TestPhases(t *testing.T) {
	for line, want := range map[string]Phase{
		"PENDING|JobHeldAdmin": Held, "PENDING|Nodes required for job are DOWN, DRAINED or reserved for " +
			"jobs in higher priority partitions,JobHeldUser": Held, "PENDING|JobArrayTaskLimit": Pending,
		"PENDING|launch failed requeued held": Held, "PENDING|launch_failed_requeued_held": Held,
		"PENDING|job requeued in held state": Pending,
		"REQUEUE_HOLD|x":                     Held, "SPECIAL_EXIT|x": Held, "REQUEUED|x": Pending,
		"SUSPENDED|x": Running,
		"STAGE_OUT|x": Running, "SOMETHING_NEW|x": Running,
		"OUT_OF_MEMORY|x": Gone, "TIMEOUT|TimeLimit": Gone, "NODE_FAIL|x": Gone, "PREEMPTED|x": Gone,
		"CANCELLED|x": Gone,
	} {
		r, err := parseRow("15|0|" + line + "|vm|x.0123abcd.0")
		if err != nil || r.phase() != want {
			t.Errorf("%s: %s %v", line, r.phase(), err)
		}
	}
}

// What cannot be read is an error: taken as an empty queue it would start everything again.
func TestStatesOfGarbage(t *testing.T) {
	for _, bad := range []string{"15|0|RUNNING", "15|0...|PENDING|x||x.0123abcd.0",
		"x|0|RUNNING|None|vm|x.0123abcd.0", "15||RUNNING|None|vm|x.0123abcd.0",
		"15|0||None|vm|x.0123abcd.0", "slurm is down for maintenance", "\x00\xff|"} {
		f := &fake{t: t, answers: map[string]output{"squeue": {Stdout: bad + "\n"}}}
		if got, err := f.client().States(t.Context(), jobs()); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
	for _, name := range []string{"", "x", "x.0123abcd.0,y", "-x.0123abcd.0", "x\n.0123abcd.0", ".0123abcd.0"} {
		if _, err := (&fake{t: t}).client().States(t.Context(),
			[]Job{{ID: 1, Name: name, Tasks: []int{1}}}); err == nil {
			t.Errorf("asked for a job of the name %q", name)
		}
		if err := (&fake{t: t}).client().Cancel(t.Context(),
			[]Job{{ID: 1, Name: name, Tasks: []int{1}}}); err == nil {
			t.Errorf("cancelled a job of the name %q", name)
		}
	}
	if got, err := (&fake{t: t}).client().States(t.Context(), nil); err != nil || len(got) != 0 {
		t.Errorf("no jobs: %v %v", got, err)
	}
}

func TestCancel(t *testing.T) {
	f := &fake{t: t, answers: map[string]output{"scancel": {}}}
	if err := f.client().Cancel(t.Context(), jobs()); err != nil || len(f.calls) != 2 ||
		!slices.Contains(f.calls[1], "--name=x.89abcdef.0") {
		t.Errorf("%v %q", err, f.calls)
	}
	f.answers["scancel"] = output{
		Stderr: "scancel: error: Kill job error on job id 15: Invalid job id specified\n", Status: 1}
	if err := f.client().Cancel(t.Context(), jobs()); err != nil {
		t.Error(err)
	}
	f = &fake{t: t, answers: map[string]output{"scancel": {Stderr: down, Status: 1}}}
	if err := f.client().Cancel(t.Context(), jobs()); !isUnreachable(err) || len(f.calls) != 1 {
		t.Errorf("%v, %d calls", err, len(f.calls))
	}
}
