package sweep

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"torchpe/internal/wording"
	"torchpe/train/runlog"
)

// String counts the runs added to a plan.
func (a Added) String() string {
	parts := []string{fmt.Sprintf("%d new", a.New)}
	if a.Known > 0 {
		parts = append(parts, fmt.Sprintf("%d planned before", a.Known))
	}
	if a.Identical > 0 {
		parts = append(parts, fmt.Sprintf("%d omitted as identical to others", a.Identical))
	}
	return strings.Join(parts, ", ")
}

// String counts the runs that are done, and the tasks by state.
func (st Status) String() string {
	text := fmt.Sprintf("%d of %s done", st.DoneRuns, wording.Count(st.Runs, "run"))
	if st.Diverged > 0 {
		text += fmt.Sprintf(" (%d of them diverged)", st.Diverged)
	}
	var tasks []string
	for _, state := range []State{StateDone, StateRunning, StateFailed, StateLost, StatePending, StateUnknown} {
		if state != StateUnknown || st.Counts[state] > 0 {
			tasks = append(tasks, fmt.Sprintf("%d %s", st.Counts[state], state))
		}
	}
	text += "; tasks: " + strings.Join(tasks, ", ")
	if st.ETA > 0 {
		text += fmt.Sprintf("; about %s left", wording.Seconds(st.ETA))
	}
	return text
}

// Unfinished returns an error that counts the tasks and runs that did not complete, or nil. Tasks
// in a scheduler's queue are not failures.
func (s *Sweep) Unfinished(st Status, queued bool) error {
	open := []State{StateRunning, StatePending}
	dir, lost := wording.Quote(s.Dir), "resume"
	if queued {
		dir += " --launcher slurm"
	}
	if queued || slices.ContainsFunc(st.Tasks, TaskStatus.Elsewhere) {
		lost = "retry --lost"
	}
	var parts []string
	for _, c := range []struct {
		state State
		text  string
	}{
		{StateFailed, "failed (torchpe sweep retry --failed " + dir + " tries again)"},
		{StateLost, "lost (torchpe sweep " + lost + " " + dir + " continues)"},
		{StateUnknown, "not readable"},
		{StateRunning, "still running"},
		{StatePending, "pending"},
	} {
		if n := st.Counts[c.state]; n > 0 && !(queued && slices.Contains(open, c.state)) {
			parts = append(parts, wording.Count(n, "task")+" "+c.text)
		}
	}
	if st.Diverged > 0 {
		parts = append(parts, wording.Count(st.Diverged, "run")+" diverged")
	}
	if parts == nil {
		return nil
	}
	if s.Cancelled() {
		parts = append(parts, "the sweep was cancelled")
	}
	return errors.New(s.Dir + ": " + strings.Join(parts, ", "))
}

// FirstLine returns the first line of the message.
func (t Trouble) FirstLine() string { return firstLine(t.Message) }

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// ending describes the end of a task of the sweep in dir.
func (t TaskStatus) ending(dir string) string {
	switch {
	case t.State == StateDone && t.Done.Diverged() > 0:
		return fmt.Sprintf("done, %d diverged", t.Done.Diverged())
	case t.State == StateDone:
		return "done"
	case t.State == StateFailed:
		return fmt.Sprintf("failed (%s): %s; log: %s", t.Failure.Reason, firstLine(t.Failure.Message), t.Log)
	case t.State == StatePending && t.Heartbeat == nil:
		return "not started"
	case t.State == StatePending:
		return "stopped, saved"
	case t.State == StateLost && t.Elsewhere():
		return "left alone: its worker on " + t.Heartbeat.Host +
			" is silent; torchpe sweep retry --lost " + wording.Quote(dir) + " takes it over"
	case t.State == StateLost:
		return "ended before it could save; torchpe sweep resume " + wording.Quote(dir) + " continues it"
	}
	return "left alone: " + t.Note
}

// Progress prints a line for each task that ends.
type Progress struct {
	w           io.Writer
	dir         string // of the sweep
	start       time.Time
	ended, runs int // runs of ended tasks, and all runs
	here        int // runs that ended since the start
}

// NewProgress returns the progress of a sweep that continues with this status.
func NewProgress(w io.Writer, st Status) *Progress {
	p := &Progress{w: w, dir: st.Dir, start: time.Now(), runs: st.Runs}
	for _, t := range st.Tasks {
		if t.Ended() {
			p.ended += len(t.Runs)
		}
	}
	return p
}

// Ended prints the outcome of a task, and the time left.
func (p *Progress) Ended(t TaskStatus) {
	left := ""
	if t.Ended() {
		p.ended, p.here = p.ended+len(t.Runs), p.here+len(t.Runs)
		if p.ended < p.runs {
			left = fmt.Sprintf(", %s left",
				wording.Seconds(time.Since(p.start).Seconds()/float64(p.here)*float64(p.runs-p.ended)))
		}
	}
	fmt.Fprintf(p.w, "[%d/%d%s] %s: %s\n", p.ended, p.runs, left, wording.List(1, t.Runs), t.ending(p.dir))
}

// Said prints a line from a running task.
func (p *Progress) Said(line string) { fmt.Fprintln(p.w, line) }

// ShortOfDisk returns a warning if the free space on the disk at dir is less than the rest of the sweep
// needs, or "". A negative freeMB is unknown. The need is only an estimate, so the sweep continues.
func ShortOfDisk(dir string, needMB, freeMB float64) string {
	if freeMB < 0 || needMB <= freeMB {
		return ""
	}
	return fmt.Sprintf("the disk at %s has %s free, and the remaining runs need about %s: "+
		"free some space, or give another --out", dir, wording.Megabytes(freeMB), wording.Megabytes(needMB))
}

// Trouble is a task that did not complete, or a run that diverged.
type Trouble struct {
	Task    int    `json:"task"`
	Run     string `json:"run"` // the first run of the task
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Log     string `json:"log,omitempty"`
}

// Troubles lists the tasks that did not complete and the diverged runs, in the order of the tasks.
func (st Status) Troubles() (out []Trouble) {
	for _, t := range st.Tasks {
		switch {
		case t.Failure != nil:
			out = append(out, Trouble{t.Index, t.Runs[0], t.Failure.Reason, t.Failure.Message, t.Log})
		case t.Note != "":
			out = append(out, Trouble{t.Index, t.Runs[0], string(t.State), t.Note, t.Log})
		case t.State == StateLost:
			b, next := t.Heartbeat, "torchpe sweep resume "+wording.Quote(st.Dir)+" continues"
			if t.Elsewhere() {
				next = "torchpe sweep retry --lost " + wording.Quote(st.Dir) + " takes it over"
			}
			where := "before its first step"
			if b.Total > 0 {
				where = fmt.Sprintf("at step %d of %d", b.Step, b.Total)
			}
			message := fmt.Sprintf("its worker, pid %d on %s, died %s; %s", b.PID, b.Host, where, next)
			out = append(out, Trouble{t.Index, t.Runs[0], string(StateLost), message, t.Log})
		case t.Done != nil:
			for m, r := range t.Done.Results {
				if r.Status == runlog.StatusDiverged {
					message := fmt.Sprintf(
						"its loss was not finite at step %d: lower --lr or set --clip-norm",
						r.DivergedAtStep)
					out = append(out, Trouble{t.Index, t.Runs[m], ReasonDiverged, message, ""})
				}
			}
		}
	}
	return out
}
