package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"torchpe/internal/wording"
	"torchpe/train/runlog"
)

// ExpandMeasures returns the keys of the measures that a task's list names. A family, whose name
// ends with a slash, stands for the keys of all its measured numbers.
func ExpandMeasures(names []string, measured runlog.Numbers) (keys []string) {
	for _, name := range names {
		if !strings.HasSuffix(name, "/") {
			keys = append(keys, name)
			continue
		}
		for _, key := range measured.Keys() {
			if part, ok := strings.CutPrefix(key, name); ok && !strings.Contains(part, "/") {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// columns returns the keys of the columns with measures, in order. A diverged member has no
// numbers, but baselines have each level of test_mse.
func (t *TaskFacts) columns(r runlog.Result) []string {
	measured := runlog.Numbers{}
	for _, m := range r.Members {
		maps.Copy(measured, m.Measures)
	}
	for _, baseline := range r.Baselines {
		if len(t.Baselines) > 0 {
			runlog.SetFamily(measured, "test_mse", baseline)
		}
	}
	return ExpandMeasures(t.Columns, measured)
}

// ResultTable returns the headings and rows of a table of a result, one row per member and one per
// baseline, and the headings of the columns that a narrow terminal may drop.
func (t *TaskFacts) ResultTable(r runlog.Result) (head []string, rows [][]string, narrow []string) {
	keys, length := t.columns(r), "steps"
	if t.InEpochs {
		length = "epochs"
	}
	head = []string{"PE", "sigma", "seed", length}
	for _, key := range keys {
		head = append(head, runlog.HeadingIn(t.Measures, key))
	}
	head = append(head, "status")
	isFitKnown := func(m runlog.MemberResult) bool { return m.Fit != nil }
	hasFit := t.IsAccuracy || slices.ContainsFunc(r.Members, isFitKnown)
	fitHeading := t.FitHeading(r.Members[0].Fit)
	if hasFit {
		head = append(head, fitHeading)
	}
	for _, m := range r.Members {
		row := []string{m.PE, NumberText(m.Sigma), fmt.Sprint(m.Seed), fmt.Sprint(m.Steps)}
		if t.InEpochs {
			row[3] = epochsText(m)
		}
		for _, key := range keys {
			row = append(row, runlog.FormatMeasure(key, m.Measures.Get(key)))
		}
		row = append(row, m.Status)
		switch {
		case !hasFit:
		case fitHeading == fitted:
			row = append(row, cmp.Or(t.FitText(m.Fit, m.Measures), "–"))
		case m.Fit == nil || !m.Fit.Reached:
			row = append(row, "no")
		default:
			row = append(row, t.fitTime(m.Fit))
		}
		rows = append(rows, row)
	}
	for _, name := range t.Baselines {
		row := []string{"baseline: " + name, "", "", ""}
		for _, key := range keys {
			text := ""
			if level, ok := strings.CutPrefix(key, "test_mse/"); ok {
				text = runlog.FormatMeasure(key, r.Baselines[name].Get(level))
			}
			row = append(row, text)
		}
		rows = append(rows, append(row, ""))
	}
	for _, name := range t.Narrow {
		narrow = append(narrow, runlog.HeadingIn(t.Measures, name))
	}
	return head, rows, narrow
}

// epochsText writes the length of training: "12", or "24 steps" if it ended within the first epoch.
func epochsText(m runlog.MemberResult) string {
	if m.Epochs == 0 && m.Steps > 0 {
		return wording.Count(m.Steps, "step")
	}
	return fmt.Sprint(m.Epochs)
}

// Fitted reports whether a model has met the task's criterion: at a record, if the criterion of its
// run is at least as strict, or with its final number. If the task has no criterion, that of its
// run counts. known is false if the run has none either.
func (t *TaskFacts) Fitted(fit *runlog.Fit, final runlog.Numbers) (reached, known bool) {
	of, err := runlog.ParseCriterion(t.Criterion)
	if err != nil {
		return fit != nil && fit.Reached, fit != nil
	}
	return t.hasFitTime(fit) || of.Met(final.Get(of.Key)), true
}

// hasFitTime reports whether fit says when a model met the task's criterion, or that of its run if
// the task has none.
func (t *TaskFacts) hasFitTime(fit *runlog.Fit) bool {
	if fit == nil || !fit.Reached {
		return false
	}
	of, err := runlog.ParseCriterion(t.Criterion)
	if err != nil {
		return true
	}
	own, err := runlog.ParseCriterion(fit.Criterion)
	return err == nil && own.Key == of.Key && of.Met(own.Bound)
}

// FitText writes when a model fitted: "epoch 87" or "step 5568"; "yes" if that is not known; "no";
// or "" if the task and the run have no criterion.
func (t *TaskFacts) FitText(fit *runlog.Fit, final runlog.Numbers) string {
	reached, known := t.Fitted(fit, final)
	switch {
	case !known:
		return ""
	case !reached:
		return "no"
	case !t.hasFitTime(fit):
		return "yes"
	}
	return t.fitTime(fit)
}

// fitTime writes when a model met the criterion of its run.
func (t *TaskFacts) fitTime(fit *runlog.Fit) string {
	if t.InEpochs {
		return fmt.Sprintf("epoch %d", fit.Epoch)
	}
	return fmt.Sprintf("step %d", fit.Step)
}

// fitted is the heading of the column that says whether models met the task's criterion.
const fitted = "fitted"

// FitHeading returns "fitted", or the criterion of a run if it is another than its task's.
func (t *TaskFacts) FitHeading(fit *runlog.Fit) string {
	if fit == nil || t.Criterion == "" || fit.Criterion == t.Criterion {
		return fitted
	}
	return fit.Criterion
}

// NumberText writes a number, or a dash for nil.
func NumberText(v *float64) string {
	if v == nil {
		return "–"
	}
	return fmt.Sprintf("%g", *v)
}
