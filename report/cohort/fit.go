package cohort

import "torchpe/train/runlog"

// defaultCriterion holds for runs that name none.
var defaultCriterion = func() runlog.Criterion {
	c, err := runlog.ParseCriterion(runlog.DefaultCriterion)
	if err != nil {
		panic(err) // a constant of this program
	}
	return c
}()

// Fitted reports whether the model has reached its criterion or, in runs from before there were criteria,
// ends with the accuracy of the default one. known is false for masked prediction without a criterion.
func (m Model) Fitted() (reached, known bool) {
	if m.Result.Fit != nil {
		return m.Result.Fit.Reached, true
	}
	if m.Run.Config.Masked != nil {
		return false, false
	}
	return defaultCriterion.Met(m.Number(defaultCriterion.Key)), true
}

// FitText returns "yes" or "no"; empty where it is not known whether the model has fitted.
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
