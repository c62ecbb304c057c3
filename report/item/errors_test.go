package item

import (
	"slices"
	"strings"
	"testing"

	"torchpe/data/series"
	"torchpe/internal/expect"
	"torchpe/report/cohort"
	"torchpe/train/config"
	"torchpe/train/runlog"
)

// What errors show is said with what predicts without a model, and no encoding is the best that cannot be
// told from the others. Intervals of two are those of scipy.stats.ttest_rel(a, b).confidence_interval(1 - 0.05 /
// pairs). That of three is by hand: residuals of SD .01155 with 4 degrees of freedom, so .407 ± 3.961 x .01155 x
// sqrt(2/3).
func TestErrorSentences(t *testing.T) {
	run := &cohort.Run{Result: runlog.Result{Baselines: map[string]runlog.Numbers{"gaussian": {"0.90": .3},
		"mean": {"0.90": .6}, "zero": {"0.90": 1}}}}
	run.Config.Task, run.Config.Masked = "masked", &config.MaskedConfig{Files: &series.Source{}}
	group := func(label string, errors ...float64) cohort.Group {
		g := cohort.Group{Label: label}
		for i, v := range errors {
			g.Models = append(g.Models, cohort.Model{Run: run, Member: cohort.Member{Seed: uint64(i)},
				Result: runlog.MemberResult{Steps: 40, Measures: runlog.Numbers{"test_mse/0.90": v}}})
		}
		return g
	}
	a, b, c := group("a", .40, .41, .42), group("b", .41, .40, .43), group("c", .80, .83, .82)
	longer := func(g cohort.Group) cohort.Group {
		g.Models = slices.Clone(g.Models)
		for i := range g.Models {
			g.Models[i].Result.Steps = 1200
		}
		return g
	}
	for _, x := range []struct {
		groups []cohort.Group
		want   []string
		never  string
	}{
		{[]cohort.Group{group("d", 1.1, 1.2, 1.3), group("e", 1.2, 1.3, 1.5)},
			[]string{"After 40 steps, no encoding predicts better than a regression on the mean of the visible " +
				"tokens (test error .600): " +
				"the lowest error is 1.200 ± .100 (d, n = 3). Train longer before you compare them. The conditional " +
				"Gaussian, which needs no model, has .300."}, "differ"},
		{[]cohort.Group{a, b}, []string{
			"from .410 ± .010 (a, n = 3) to .413 ± .015 (b, n = 3). The two cannot be told " +
				"apart: difference .003, 95 % −.025 to .032."}, "No better"},
		{[]cohort.Group{a, b, c}, []string{"The two differ: difference .407, .369 to .444 (95 % for all 3 pairs of " +
			"encodings at once). a and the next, b, cannot be told apart.",
			" No better than a regression on the mean of the visible tokens (.600): c."}, "no test"},
		{[]cohort.Group{a, c}, []string{"The two differ: difference .407"}, "next"},
		{[]cohort.Group{a, group("m", .5, .51), c}, []string{
			"a and the next, m, were not compared: they share fewer than 3 seeds."}, "told apart"},
		// Over the seeds that both have, the order is the other way round.
		{[]cohort.Group{group("g", .50, .50, .51, .10, .10), group("h", .40, .42, .40)}, []string{
			"from .342 ± .221 (g, n = 5) to .407 ± .012 (h, n = 3). The two cannot be told apart: difference −.097, " +
				"95 % −.135 to −.059, over the 3 seeds that both have."}, "two differ"},
		{[]cohort.Group{a, group("i", .45, .46, .47)}, []string{
			"The two cannot be told apart: difference .050 in each of 3 pairs, which is no test."}, "two differ"},
		// One that varies more than the others is told apart by Welch's test alone, others by the spread of all.
		{[]cohort.Group{a, b, group("j", .41, .43, .42), group("k", .42, .41, .43), group("l", .35, .70, .55)},
			[]string{"The two cannot be told apart: difference "}, "two differ"},
		{[]cohort.Group{longer(a), c}, []string{"They were trained for different lengths, so this does not compare"},
			"differ:"},
		{[]cohort.Group{group("f", .4, .5), c}, []string{"fewer than 3 seeds in common"}, "differ"},
		{[]cohort.Group{a}, []string{"After 40 steps, the test error is .410 ± .010 (a, n = 3)."}, "ranges"},
	} {
		got := (&Draft{}).ErrorSentences(x.groups, "test_mse/0.90", "test error")
		for _, want := range x.want {
			if !strings.Contains(got, want) || strings.Contains(got, x.never) {
				t.Errorf("%q has no %q, or %q", got, want, x.never)
			}
		}
	}
	expect.Equal(t, "of no groups", (&Draft{}).ErrorSentences(nil, "test_mse/0.90", "test error"), "")
}
