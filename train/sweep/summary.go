package sweep

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

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

// summaryColumns are the columns of summary.csv after run, task and settings.
var summaryColumns = []string{
	"status", "steps", "train_accuracy", "iid_accuracy", "validation_accuracy", "train_mse", "test_mse",
	"modularity", "fitted_epoch",
}

// WriteSummary writes summary.csv: a row for each run that has ended, with the final numbers. A
// file with the same text is not touched.
func (s *Sweep) WriteSummary(st Status) error {
	var text bytes.Buffer
	w := csv.NewWriter(&text)
	w.Write(append([]string{"run", "task", "pe", "sigma", "seed", "lr", "weight_decay"},
		summaryColumns...))
	for _, t := range st.Tasks {
		if t.Done == nil {
			continue
		}
		task := s.Plan.Tasks[t.Index]
		for m, r := range t.Done.Results {
			var member struct {
				LR    json.Number `json:"lr"`
				Decay json.Number `json:"weight_decay"`
			}
			if err := json.Unmarshal(task.Members[m], &member); err != nil {
				return fmt.Errorf("task %d: %w", t.Index, err)
			}
			row := []string{
				task.Runs[m], strconv.Itoa(t.Index), r.PE, cell(r.Sigma), strconv.FormatInt(r.Seed, 10),
				member.LR.String(), member.Decay.String(), r.Status, strconv.Itoa(r.Steps),
			}
			fitted := ""
			if r.Fit != nil && r.Fit.Reached {
				fitted = strconv.Itoa(r.Fit.Epoch)
			}
			w.Write(append(append(row, measures(r.Measures)...), fitted))
		}
	}
	w.Flush()
	if err := w.Error(); err != nil {
		return err
	}
	if old, err := s.root.ReadFile(summaryFile); err == nil && bytes.Equal(old, text.Bytes()) {
		return nil
	}
	return s.Write(summaryFile, text.Bytes(), false)
}

// SummaryOfLast writes summary.csv if all tasks have ended, for launchers that do not wait.
func (s *Sweep) SummaryOfLast(index int) error {
	n := len(s.Plan.Tasks)
	for k := range n { // tasks mostly end in their order: those that follow are mostly open
		if !s.outcome((index + k) % n).Ended() {
			return nil
		}
	}
	return s.Exclusive(func() error { // others may find that they were the last too
		st, err := s.Status(nil)
		if err != nil {
			return err
		}
		return s.WriteSummary(st)
	})
}

// measures returns the cells of the final numbers; test_mse is that of the highest mask level.
func measures(m runlog.Numbers) (cells []string) {
	test := math.NaN()
	if levels := slices.Sorted(maps.Keys(m.Of("test_mse"))); levels != nil {
		test = m.Get("test_mse/" + levels[len(levels)-1])
	}
	for _, v := range []float64{m.Get("train"), m.Get("iid"), m.Get("validation"), m.Get("train_mse"), test,
		m.Get("modularity")} {
		cells = append(cells, cell(&v))
	}
	return cells
}

// cell formats a number; it is empty where there is none.
func cell(v *float64) string {
	if v == nil || math.IsNaN(*v) {
		return ""
	}
	return strconv.FormatFloat(*v, 'g', -1, 64)
}
