package main

import (
	"fmt"
	"io"
	"time"

	"torchpe/train/sweep"
)

// sweepProgress prints a line for each task that ends.
type sweepProgress struct {
	w           io.Writer
	quiet       bool
	start       time.Time
	ended, runs int // runs of tasks that have ended, and all
	here        int // of these, ended since the start
}

func newSweepProgress(w io.Writer, s *sweep.Sweep, quiet bool) (*sweepProgress, error) {
	st, err := s.Status(nil)
	if err != nil {
		return nil, err
	}
	p := &sweepProgress{w: w, quiet: quiet, start: time.Now(), runs: st.Runs, ended: st.DoneRuns}
	for _, t := range st.Tasks {
		if t.State == sweep.StateFailed {
			p.ended += len(t.Runs)
		}
	}
	return p, nil
}

func (p *sweepProgress) event(e sweep.Event) {
	t := e.Task
	name := t.Runs[0] + moreText(len(t.Runs)-1)
	text := ""
	switch t.State {
	case sweep.StateRunning:
		return
	case sweep.StateDone:
		text = "done"
		if n := t.Done.Diverged(); n > 0 {
			text += fmt.Sprintf(", %d diverged", n)
		}
	case sweep.StateFailed:
		text = fmt.Sprintf("failed (%s): %s; log: %s", t.Failure.Reason, firstLine(t.Failure.Message), t.Log)
	case sweep.StatePending:
		text = "stopped, saved"
	case sweep.StateLost:
		text = "ended before it could save; torchpe sweep resume goes on"
		if t.Elsewhere() {
			text = "left alone: its worker on " + t.Heartbeat.Host +
				" fell silent; torchpe sweep retry --lost takes it"
		}
	case sweep.StateUnknown:
		text = "left alone: " + t.Note
	}
	left := ""
	if t.State == sweep.StateDone || t.State == sweep.StateFailed {
		p.ended, p.here = p.ended+len(t.Runs), p.here+len(t.Runs)
		if p.ended < p.runs {
			left = fmt.Sprintf(", %s left",
				timeText(time.Since(p.start).Seconds()/float64(p.here)*float64(p.runs-p.ended)))
		}
	}
	if !p.quiet {
		fmt.Fprintf(p.w, "[%d/%d%s] %s: %s\n", p.ended, p.runs, left, name, text)
	}
}
