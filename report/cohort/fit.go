package cohort

import "torchpe/train/runlog"

// Fitted reports whether the model has met its task's criterion: at a record, if the criterion of its run is at
// least as strict, or with its final number. If the task has no criterion, that of its run counts. known is
// false if the run has none either.
func (m Model) Fitted() (reached, known bool) {
	fit := m.Result.Fit
	reached = fit != nil && fit.Reached
	of, err := runlog.ParseCriterion(m.Run.Config.Facts().Criterion)
	if err != nil {
		return reached, fit != nil
	}
	if reached {
		own, err := runlog.ParseCriterion(fit.Criterion)
		reached = err == nil && own.Key == of.Key && of.Met(own.Bound)
	}
	return reached || of.Met(m.Number(of.Key)), true
}

// FitText returns "yes" or "no", or "" if it is not known whether the model has fitted.
func (m Model) FitText() string {
	reached, known := m.Fitted()
	switch {
	case !known:
		return ""
	case reached:
		return "yes"
	}
	return "no"
}
