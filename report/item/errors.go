package item

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"torchpe/internal/stats"
	"torchpe/report/cohort"
)

// ErrorSentences describes the errors of groups, ordered by their means: which encodings predict no better than
// a constant or a regression on the mean of the visible tokens, how certain the lowest error is, and which
// errors need no model. measure is an error at a share of tokens masked, "test_mse/0.50"; what names it in
// words. It returns "" for no groups.
func (d *Draft) ErrorSentences(ranked []cohort.Group, measure, what string) string {
	if len(ranked) == 0 {
		return ""
	}
	_, level, _ := strings.Cut(measure, "/")
	run := ranked[0].Models[0].Run
	simple, bound := simplest(run, level)
	var poor []string
	for _, g := range ranked {
		if stats.Mean(d.Known(g, measure)) >= bound {
			poor = append(poor, g.Label)
		}
	}
	after := "After " + cohort.LengthText(cohort.ModelsOf(ranked))
	var all []string
	switch best, has := ranked[0], d.errorText; {
	case len(poor) == len(ranked):
		all = append(all, fmt.Sprintf("%s, no encoding predicts better than %s (%s %s): the lowest error is %s. "+
			"Train longer before you compare them.", after, simple, what, Text(measure, bound), has(best, measure)))
	case len(ranked) == 1:
		all = append(all, fmt.Sprintf("%s, the %s is %s.", after, what, has(best, measure)))
	default:
		worst := ranked[len(ranked)-1]
		all = append(all, fmt.Sprintf("%s, the %s of %d encodings ranges from %s to %s.", after, what, len(ranked),
			has(best, measure), has(worst, measure)),
			d.Certainty(ranked, measure))
	}
	if 0 < len(poor) && len(poor) < len(ranked) {
		all = append(all, fmt.Sprintf("No better than %s (%s): %s.", simple, Text(measure, bound),
			strings.Join(poor, ", ")))
	}
	if b := Baselines[0]; !math.IsNaN(b.MSE(run, level)) {
		all = append(all, fmt.Sprintf("The %s, which needs no model, has %s.", b.Name,
			Text(measure, b.MSE(run, level))))
	}
	return strings.Join(all, " ")
}

// errorText returns ".956 ± .039 (learn-0.2, n = 3)".
func (d *Draft) errorText(g cohort.Group, measure string) string {
	values := d.Known(g, measure)
	return fmt.Sprintf("%s (%s, n = %d)", MeanText(measure, values), g.Label, len(values))
}

// simplest returns the name and error of the better of the predictions that know nothing of the tokens; the
// error is +Inf if a run has none.
func simplest(r *cohort.Run, level string) (name string, mse float64) {
	mse = math.Inf(1)
	for _, b := range Baselines[1:] {
		if v := b.MSE(r, level); v < mse {
			names := map[string]string{"zero": "zero", "mean": "a regression on the mean of the visible tokens"}
			name, mse = names[b.Key], v
		}
	}
	return name, mse
}

// PoorNote warns of a model that predicts masked tokens no better than a prediction that knows nothing of the
// tokens, so that its positions may mean nothing: "learn-0.1, seed 1 (test MSE .880, 0.50 masked): no better
// than ..."; "" for others.
func PoorNote(m cohort.Model) string {
	if m.Run.Config.Masked == nil {
		return ""
	}
	level := m.Run.Config.Masked.MainTest()
	measure := "test_mse/" + level
	name, bound := simplest(m.Run, level)
	mse := Value(m, measure)
	if math.IsNaN(mse) || mse < bound {
		return ""
	}
	return fmt.Sprintf("%s, seed %d (test MSE %s, %s masked): no better than %s (%s); train longer before you "+
		"trust its modules", m.Label(), m.Member.Seed, Text(measure, mse), level, name, Text(measure, bound))
}

// Unlike names the settings, without ignored ones, in which groups differ besides the encoding: "lr, train_length";
// "" for none.
func Unlike(groups []cohort.Group, ignored ...string) string {
	keys, _, err := cohort.Unlike(groups, ignored...)
	if err != nil {
		return "" // Found.NoteUnlike returns it
	}
	for i, key := range keys {
		keys[i] = cohort.NameOf(key)
	}
	return strings.Join(keys, ", ")
}

// Certainty says whether the best of groups ranked by a measure differs from the worst, and from the next one.
// It corrects for choosing them out of all pairs. The spread over seeds is pooled over all groups that have the
// seeds of the two; as it may be too small for some, Welch's test of only the two must agree.
func (d *Draft) Certainty(ranked []cohort.Group, measure string) string {
	if cohort.DifferInLength(ranked) {
		return "They were trained for different lengths, so this does not compare encodings."
	}
	if names := Unlike(ranked, cohort.LengthKeys...); names != "" {
		return fmt.Sprintf("They differ in more than the encoding (%s), so this does not compare encodings.", names)
	}
	best, next, worst := ranked[0], ranked[1], ranked[len(ranked)-1]
	pairs := len(ranked) * (len(ranked) - 1) / 2
	between := func(g cohort.Group) Difference {
		of := func(m cohort.Model) float64 { return d.Of(m, measure) }
		x, y := cohort.Paired(best, g, of)
		var others [][]float64
		paired := cohort.Group{Models: slices.DeleteFunc(slices.Clone(best.Models), func(m cohort.Model) bool {
			own, _ := cohort.Paired(cohort.Group{Models: []cohort.Model{m}}, g, of)
			return own == nil
		})}
		for _, o := range ranked {
			isOther := o.Label != best.Label && o.Label != g.Label
			if _, own := cohort.Paired(paired, o, of); isOther && len(own) == len(x) {
				others = append(others, own)
			}
		}
		if stats.Mean(d.Known(best, measure)) < stats.Mean(d.Known(g, measure)) {
			x, y = y, x
		}
		v := Compare(measure, x, y, pairs, others...)
		if v.Text != "" && len(x) < max(len(best.Models), len(g.Models)) {
			v.Text += fmt.Sprintf(", over the %d seeds that both have", len(x))
		}
		return v
	}
	differ := func(v Difference) bool { return v.Low > 0 && WelchTells(v.P) }
	all := between(worst)
	switch {
	case all.Text == "":
		return fmt.Sprintf("With fewer than %d seeds in common this is no test: train more.", FewestForInterval)
	case !differ(all):
		return "The two cannot be told apart: " + all.Text + "."
	}
	text := "The two differ: " + all.Text + "."
	if next.Label == worst.Label {
		return text
	}
	what := "cannot be told apart"
	switch closest := between(next); {
	case closest.Text == "":
		what = fmt.Sprintf("were not compared: they share fewer than %d seeds", FewestForInterval)
	case differ(closest):
		return text
	}
	return text + fmt.Sprintf(" %s and the next, %s, %s.", best.Label, next.Label, what)
}
