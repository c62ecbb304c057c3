package sweep

import (
	"fmt"

	"torchpe/internal/wording"
	"torchpe/train/runlog"
)

// Trouble is a task that did not end well, or a run that diverged.
type Trouble struct {
	Task    int    `json:"task"`
	Run     string `json:"run"` // of a task of several, the first
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Log     string `json:"log,omitempty"`
}

// Troubles lists what did not end well, in the order of the tasks.
func (st Status) Troubles() (out []Trouble) {
	for _, t := range st.Tasks {
		switch {
		case t.Failure != nil:
			out = append(out, Trouble{t.Index, t.Runs[0], t.Failure.Reason, t.Failure.Message, t.Log})
		case t.Note != "":
			out = append(out, Trouble{t.Index, t.Runs[0], string(t.State), t.Note, t.Log})
		case t.State == StateLost:
			b, next := t.Heartbeat, "torchpe sweep resume "+wording.Quote(st.Dir)+" goes on"
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
