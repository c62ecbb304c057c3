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
		case t.State == StateLost:
			out = append(out, Trouble{t.Index, t.Runs[0], string(StateLost), fmt.Sprintf("its worker, pid %d on %s, died at step %d of %d; torchpe sweep resume goes on",
				t.Heartbeat.PID, t.Heartbeat.Host, t.Heartbeat.Step, t.Heartbeat.Total), t.Log})
		case t.Done != nil:
			for m, r := range t.Done.Results {
				if r.Status == runlog.StatusDiverged {
					out = append(out, Trouble{t.Index, t.Runs[m], ReasonDiverged, fmt.Sprintf("its loss was not finite at step %d: lower --lr or set --clip-norm", r.DivergedAtStep), ""})
				}
			}
		}
	}
	return out
}

// summaryColumns are the columns of summary.csv after run, task and settings.
var summaryColumns = []string{"status", "steps", "train_accuracy", "iid_accuracy", "validation_accuracy", "train_mse", "test_mse", "modularity"}

// WriteSummary writes summary.csv: a row for each run that has ended, with the final numbers.
func (s *Sweep) WriteSummary(st Status) error {
	var text bytes.Buffer
	w := csv.NewWriter(&text)
	w.Write(append([]string{"run", "task", "pe", "sigma", "seed", "lr", "weight_decay"}, summaryColumns...))
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
			row := []string{task.Runs[m], strconv.Itoa(t.Index), r.PE, cell(r.Sigma), strconv.FormatInt(r.Seed, 10), member.LR.String(), member.Decay.String(), r.Status, strconv.Itoa(r.Steps)}
			w.Write(append(row, measures(r)...))
		}
	}
	w.Flush()
	if err := w.Error(); err != nil {
		return err
	}
	return s.write(summaryFile, text.Bytes(), false)
}

// measures are the cells of the final numbers; test_mse is that of the highest mask level.
func measures(r runlog.MemberResult) []string {
	if m := r.MaskedMeasures; m != nil {
		test := math.NaN()
		if levels := slices.Sorted(maps.Keys(m.TestMSEByMask)); levels != nil {
			test = m.TestMSEByMask[levels[len(levels)-1]]
		}
		return []string{"", "", "", cell(m.TrainMSE), cell(&test), cell(m.Modularity)}
	}
	return []string{cell(&r.TrainAccuracy), cell(&r.IIDAccuracy), cell(&r.ValidationAccuracy), "", "", ""}
}

// cell is empty where there is no number.
func cell(v *float64) string {
	if v == nil || math.IsNaN(*v) {
		return ""
	}
	return strconv.FormatFloat(*v, 'g', -1, 64)
}
