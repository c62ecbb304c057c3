package sweep

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"torchpe/internal/expect"
)

// All failed tasks are tried again, also after one that another process works on.
func TestAllFailuresAreCleared(t *testing.T) {
	s, _ := extend(t, filepath.Join(t.TempDir(), "s"), resolved(t, 3, axis("pe", "learn")), 1)
	for i := range 3 {
		expect.NoError(t, expect.Must(s.ClaimTask(i, false)).Fail(Failure{Reason: ReasonOOM}))
	}
	busy := expect.Must(s.lockTask(1))
	expect.NoError(t, s.ClearFailures(false))
	expect.NoError(t, busy.Release())
	for i, want := range []State{StatePending, StateFailed, StatePending} {
		expect.Equal(t, fmt.Sprint("task ", i), s.Task(i).State, want)
	}
}

// What was not cancelled is not changed: whoever may only read the sweep sees no error.
func TestUncancelNothing(t *testing.T) {
	s, _ := extend(t, filepath.Join(t.TempDir(), "s"), resolved(t, 1, axis("pe", "learn")), 1)
	uncancel := func() error {
		x := expect.Faults{N: 1, Err: syscall.EROFS,
			Of: func(operation, _ string) bool { return operation == "remove" }}
		return x.During(s.Uncancel)
	}
	expect.NoError(t, uncancel())
	expect.Equal(t, "cancelled", fmt.Sprint(s.Cancel(), s.Cancelled()), "<nil> true")
	expect.ErrorIs(t, uncancel(), syscall.EROFS, cancelFile)
	expect.Equal(t, "cancelled", fmt.Sprint(s.Uncancel(), s.Cancelled()), "<nil> false")
}

// The number of tokens that a member's size rests on is that of its data: an encoding per token and
// block is layers x d x tokens numbers.
func TestSizesFollowTheTokens(t *testing.T) {
	size := func(data string) float64 {
		text := `{"layers":2,"d_model":8,"heads":1,"ff_multiple":4` + data + `}`
		return sizeOf(expect.Must(readConfig([]byte(text)))).Parameters
	}
	base := size(`,"masked":{"nmar":{"nodes":10}}`)
	for data, tokens := range map[string]float64{
		`,"masked":{"nmar":{"nodes":25}}`: 25, `,"masked":{"surrogate":{"subjects":2,"frames":9}}`: 360,
		`,"masked":{"files":{"tokens":50}}`: 50, `,"masked":{"files":{}}`: 360,
	} {
		expect.Equal(t, data, size(data)-base, 2*8*(tokens-10))
	}
}

// Where there is no sweep its plan is empty; a sweep that cannot be read is an error.
func TestPlanIn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "s")
	if p, st, err := PlanIn(dir); err != nil || len(p.Tasks) != 0 || st.Runs != 0 {
		t.Errorf("%+v, %+v, %v", p, st, err)
	}
	s, _ := extend(t, dir, resolved(t, 2, axis("pe", "learn")), 1)
	if p, st, err := PlanIn(dir); err != nil || len(p.Tasks) != 2 || st.Runs != 2 {
		t.Errorf("%+v, %+v, %v", p, st, err)
	}
	put(t, s, planFile, "{")
	if _, _, err := PlanIn(dir); err == nil || !strings.Contains(err.Error(), planFile) {
		t.Error(err)
	}
}

// A task that a worker never claimed has saved nothing.
func TestEndingOfPending(t *testing.T) {
	for want, beat := range map[string]*Heartbeat{"a: not started\n": nil, "a: stopped, saved\n": {Attempt: 1}} {
		var said strings.Builder
		NewProgress(&said, Status{}).Ended(TaskStatus{State: StatePending, Runs: []string{"a"}, Heartbeat: beat})
		if !strings.HasSuffix(said.String(), want) {
			t.Errorf("%q, want %q", said.String(), want)
		}
	}
}

func TestShortOfDisk(t *testing.T) {
	for free, want := range map[float64]string{100: "/data has 100 MB free", 0: "/data has 0 kB free"} {
		if text := ShortOfDisk("/data", 2048, free); !strings.Contains(text, want) ||
			!strings.Contains(text, "about 2.0 GB") {
			t.Error(text)
		}
	}
	expect.Equal(t, "enough", ShortOfDisk("/data", 2048, 4096)+ShortOfDisk("/data", 2048, -1), "")
}
