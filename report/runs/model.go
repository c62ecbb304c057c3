package runs

import (
	"slices"

	"torchpe/train/runlog"
)

// Model is one member of a run.
type Model struct {
	Run    *Run
	Index  int // of the member
	Member Member
	Result runlog.MemberResult
}

// Models returns the members of runs that did not diverge, and how many did.
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

// Label names the model's encoding as the paper does: learn-0.2, 2d-fixed.
func (m Model) Label() string { return Label(m.Run.Config.PE, m.Member.Sigma) }

// Sigma is the SD that the learned PE started with, or -1 where there is none.
func (m Model) Sigma() float64 {
	if m.Member.Sigma == nil {
		return -1
	}
	return *m.Member.Sigma
}

// Records returns the model's records of a run's.
func (m Model) Records(all []runlog.Record) []runlog.Record {
	var own []runlog.Record
	for _, r := range all {
		if r.Member == m.Index {
			own = append(own, r)
		}
	}
	return own
}

// ByRun calls f once for each run of the models, with those that are its members, in the order of the models.
func ByRun(models []Model, f func(*Run, []Model) error) error {
	var order []*Run
	groups := map[*Run][]Model{}
	for _, m := range models {
		if groups[m.Run] == nil {
			order = append(order, m.Run)
		}
		groups[m.Run] = append(groups[m.Run], m)
	}
	for _, r := range order {
		if err := f(r, groups[r]); err != nil {
			return err
		}
	}
	return nil
}

// Sorted returns the models in the order of compare, which may leave ties in their order.
func Sorted(models []Model, compare func(a, b Model) int) []Model {
	out := slices.Clone(models)
	slices.SortStableFunc(out, compare)
	return out
}
