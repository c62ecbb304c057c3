package cohort

import "torchpe/train/runlog"

// Model is one member of a run.
type Model struct {
	Run    *Run
	Index  int // of the member
	Member Member
	Result runlog.MemberResult
}

// Models returns the members of runs that did not diverge, and the number of those that did.
func Models(found []*Run) (models []Model, diverged int) {
	for _, r := range found {
		for i, m := range r.Result.Members {
			if m.Status == runlog.StatusDiverged {
				diverged++
				continue
			}
			models = append(models, Model{Run: r, Index: i, Member: r.Config.Members[i], Result: m})
		}
	}
	return models, diverged
}

// TrainedTogether returns the number of models that were trained at once: those of the run, or of the ensemble
// that a sweep split into runs.
func (r *Run) TrainedTogether() float64 {
	return float64(max(r.Result.TrainedTogether, len(r.Config.Members)))
}

// Label names the model's encoding like the paper: learn-0.2, 2d-fixed.
func (m Model) Label() string { return Label(m.Run.Config.PE, m.Member.Sigma) }

// Number returns the number of a key at the end of training, or NaN if it was not measured.
func (m Model) Number(key string) float64 { return m.Result.Measures.Get(key) }

// Sigma returns the initial SD of the learned PE, or -1 if there is none.
func (m Model) Sigma() float64 {
	if m.Member.Sigma == nil {
		return -1
	}
	return *m.Member.Sigma
}

// Records returns the model's records among those of its run.
func (m Model) Records(all []runlog.Record) []runlog.Record {
	var own []runlog.Record
	for _, r := range all {
		if r.Member == m.Index {
			own = append(own, r)
		}
	}
	return own
}
