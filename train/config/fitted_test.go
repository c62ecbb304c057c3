package config

import (
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/train/runlog"
)

// The table of members says when they fitted where --until, or the task, has a bound; not elsewhere.
func TestResultTableHasFits(t *testing.T) {
	met := &runlog.Fit{Criterion: "loss=0.5", Reached: true, Step: 40}
	for _, c := range []struct {
		task string
		fit  *runlog.Fit
		last string
	}{{"nmar", met, "fitted"}, {"nmar", nil, "status"}, {"lst", met, "loss=0.5"}, {"lst", nil, "fitted"}} {
		member := runlog.MemberResult{PE: "nope", Status: runlog.StatusDone, Fit: c.fit}
		result := runlog.Result{Members: []runlog.MemberResult{member}}
		head, rows, _ := FindTask(c.task).ResultTable(result)
		expect.Equal(t, c.task+" ends with", head[len(head)-1], c.last)
		expect.Equal(t, c.task+" has columns", len(rows[0]), len(head))
		if last := rows[0][len(rows[0])-1]; c.task == "nmar" && c.fit != nil && !strings.Contains(last, "40") {
			t.Errorf("fitted at step 40: %q", last)
		}
	}
}
