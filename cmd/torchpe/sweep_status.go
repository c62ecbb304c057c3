package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"torchpe/internal/wording"
	"torchpe/train/sweep"
)

// unfinished returns an error that counts the tasks and runs that did not end well, or nil. Tasks in a
// queue are no failure.
func unfinished(s *sweep.Sweep, st sweep.Status, queued bool) error {
	var parts []string
	for _, c := range []struct {
		n          int
		noun, text string
	}{
		{st.Counts[sweep.StateFailed], "task",
			"failed (torchpe sweep retry --failed " + wording.Quote(s.Dir) + " tries again)"},
		{st.Counts[sweep.StateLost], "task", "lost (torchpe sweep resume " + wording.Quote(s.Dir) + " continues)"},
		{st.Counts[sweep.StateUnknown], "task", "not readable"},
		{st.Counts[sweep.StateRunning], "task", "still running"},
		{st.Counts[sweep.StatePending], "task", "pending"},
		{st.Diverged, "run", "diverged"},
	} {
		if c.n > 0 && !(queued && slices.Contains([]string{"still running", "pending"}, c.text)) {
			parts = append(parts, wording.Count(c.n, c.noun)+" "+c.text)
		}
	}
	if parts == nil {
		return nil
	}
	if s.Cancelled() {
		parts = append(parts, "the sweep was cancelled")
	}
	return errors.New(s.Dir + ": " + strings.Join(parts, ", "))
}

// printOutcome prints the counts, and the tasks and runs that did not end well.
func printOutcome(out io.Writer, s *sweep.Sweep, st sweep.Status) {
	fmt.Fprintln(out, countsLine(st))
	printTroubles(out, st)
	if st.DoneRuns > 0 {
		fmt.Fprintf(out, "Runs: %s. Table: %s. torchpe report %s makes the figures.\n",
			s.RunDir(""), filepath.Join(s.Dir, "summary.csv"), wording.Quote(s.Dir))
	}
}

// printStatus prints the counts, the running tasks, and those that did not end well.
func printStatus(out io.Writer, st sweep.Status) {
	fmt.Fprintln(out, countsLine(st))
	var rows [][]string
	for _, t := range st.Tasks {
		b := t.Heartbeat
		if t.State != sweep.StateRunning || b == nil {
			continue
		}
		row := []string{fmt.Sprint(t.Index), runsText(t.Runs, 1), fmt.Sprintf("pid %d on %s", b.PID, b.Host),
			"starting", "", max(0, time.Since(b.Time)).Round(time.Second).String() + " ago"}
		if b.Total > 0 {
			row[3] = fmt.Sprintf("%d/%d", b.Step, b.Total)
		}
		if left, ok := b.Left(); ok {
			row[4] = timeText(left)
		}
		rows = append(rows, row)
	}
	if rows != nil {
		printTable(out, []string{"task", "running", "worker", "step", "left", "last sign"}, rows)
	}
	printTroubles(out, st)
}

// countsLine counts the runs and the tasks by state.
func countsLine(st sweep.Status) string {
	text := fmt.Sprintf("%d of %s done", st.DoneRuns, wording.Count(st.Runs, "run"))
	if st.Diverged > 0 {
		text += fmt.Sprintf(" (%d of them diverged)", st.Diverged)
	}
	var tasks []string
	for _, state := range []sweep.State{sweep.StateDone, sweep.StateRunning, sweep.StateFailed,
		sweep.StateLost, sweep.StatePending, sweep.StateUnknown} {
		if state != sweep.StateUnknown || st.Counts[state] > 0 {
			tasks = append(tasks, fmt.Sprintf("%d %s", st.Counts[state], state))
		}
	}
	text += "; tasks: " + strings.Join(tasks, ", ")
	if st.ETA > 0 {
		text += fmt.Sprintf("; about %s left", timeText(st.ETA))
	}
	return text
}

// printTroubles prints the tasks and runs that did not end well.
func printTroubles(out io.Writer, st sweep.Status) {
	troubles := st.Troubles()
	if len(troubles) == 0 {
		return
	}
	const most = 20
	var rows [][]string
	for _, t := range troubles[:min(most, len(troubles))] {
		rows = append(rows, []string{fmt.Sprint(t.Task), t.Run, t.Reason, firstLine(t.Message), t.Log})
	}
	printTable(out, []string{"task", "run", "reason", "what happened", "log"}, rows)
	if n := len(troubles); n > most {
		fmt.Fprintf(out, "and %d more: torchpe sweep status --json %s lists all\n", n-most, wording.Quote(st.Dir))
	}
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// runsText lists the first runs of a task: "a and 3 more".
func runsText(runs []string, most int) string {
	text := strings.Join(runs[:min(most, len(runs))], ", ")
	if n := len(runs) - most; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

// sweepProgress prints a line for each task that ends.
type sweepProgress struct {
	w           io.Writer
	dir         string // of the sweep
	start       time.Time
	ended, runs int // runs of tasks that have ended, and all
	here        int // of these, ended since the start
}

func newSweepProgress(w io.Writer, s *sweep.Sweep) (*sweepProgress, error) {
	st, err := s.Status(nil)
	if err != nil {
		return nil, err
	}
	p := &sweepProgress{w: w, dir: s.Dir, start: time.Now(), runs: st.Runs, ended: st.DoneRuns}
	for _, t := range st.Tasks {
		if t.State == sweep.StateFailed {
			p.ended += len(t.Runs)
		}
	}
	return p, nil
}

// taskEnded prints what became of a task, and the time left.
func (p *sweepProgress) taskEnded(t sweep.TaskStatus) {
	left := ""
	if t.State == sweep.StateDone || t.State == sweep.StateFailed {
		p.ended, p.here = p.ended+len(t.Runs), p.here+len(t.Runs)
		if p.ended < p.runs {
			left = fmt.Sprintf(", %s left",
				timeText(time.Since(p.start).Seconds()/float64(p.here)*float64(p.runs-p.ended)))
		}
	}
	fmt.Fprintf(p.w, "[%d/%d%s] %s: %s\n", p.ended, p.runs, left, runsText(t.Runs, 1), endText(p.dir, t))
}

// endText says how a task of the sweep in dir ended.
func endText(dir string, t sweep.TaskStatus) string {
	switch {
	case t.State == sweep.StateDone && t.Done.Diverged() > 0:
		return fmt.Sprintf("done, %d diverged", t.Done.Diverged())
	case t.State == sweep.StateDone:
		return "done"
	case t.State == sweep.StateFailed:
		return fmt.Sprintf("failed (%s): %s; log: %s", t.Failure.Reason, firstLine(t.Failure.Message), t.Log)
	case t.State == sweep.StatePending:
		return "stopped, saved"
	case t.State == sweep.StateLost && t.Elsewhere():
		return "left alone: its worker on " + t.Heartbeat.Host +
			" fell silent; torchpe sweep retry --lost " + wording.Quote(dir) + " takes it"
	case t.State == sweep.StateLost:
		return "ended before it could save; torchpe sweep resume " + wording.Quote(dir) + " continues it"
	}
	return "left alone: " + t.Note
}
