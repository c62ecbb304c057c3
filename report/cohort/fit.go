package cohort

// Fitted reports whether the model has met its task's criterion (see config.TaskFacts.Fitted).
func (m Model) Fitted() (reached, known bool) {
	return m.Run.Config.Facts().Fitted(m.Result.Fit, m.Result.Measures)
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
