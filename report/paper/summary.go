package paper

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"torchpe/internal/paper"
	"torchpe/internal/wording"
	"torchpe/report/cohort"
	"torchpe/report/document"
	"torchpe/report/item"
	"torchpe/report/page"
	"torchpe/report/table"
)

// claims lists the paper's claims with the results of the runs.
func (s *Study) claims() []claim {
	return slices.Concat(s.puzzleClaims(), s.likenessClaims(), s.variantClaims(), s.maskedClaims())
}

// addAbsent lists the claims for which there are no runs, collapsed.
func (s *Study) addAbsent(d *document.Document) {
	list := page.Missing{}
	for _, c := range s.claims() {
		if c.finding == absent {
			list.Results = append(list.Results, page.Result{What: fmt.Sprintf("%s (printed: %s)", c.quote, c.printed)})
		}
	}
	if list.Results != nil {
		list.Title = wording.Count(len(list.Results), "claim") + " without runs"
		to := d.Section(claims)
		to.Items = append(to.Items, list)
	}
}

// summary adds a table of the paper's claims, in its words, that have runs, with the results of the runs.
func (d *draft) summary() error {
	s := d.study
	t := table.Table{Title: d.Title, Columns: table.Columns("claim", "printed", "here", "test", "n", "verdict")}
	for _, c := range s.claims() {
		if c.finding != absent {
			t.Rows = append(t.Rows, c.row())
		}
	}
	if t.Rows == nil {
		return nil
	}
	fidelity := ""
	if s.Fidelity != "" {
		fidelity = fmt.Sprintf(" Puzzles in the reading of the paper's %s.", s.Fidelity)
	}
	t.Note = fmt.Sprintf("Mean ± SD over models. A difference is \"%s\" if the 95 %% "+
		"interval of the difference, paired by seed, excludes 0 in the claimed direction, "+
		"\"%s\" if it does so in the other; a number if at least %d models have it in their "+
		"interval; a correlation by its sign, with p < .05. \"%s\": too few models, or some that "+
		"have not fitted their training puzzles (*).", reproduced, notReproduced, item.FewestForP,
		wording.Capital(inconclusive))
	d.Caption = fmt.Sprintf("From %s: %s on puzzles, %d on the simulated network, %d on fMRI.%s%s",
		wording.Count(s.ShownRuns(), "run"), wording.Count(len(s.LST), "model"), len(s.NMAR), len(s.FMRI),
		fidelity, s.fitNote(s.LST))
	d.AddTable("", t)
	return nil
}

// printed formats a printed mean with its encoding: "learn-0.2: .956 ± .039".
func printed(table, pe, quantity string) string {
	numbers, _ := paper.Table(table)
	n := numbers[[2]string{pe, quantity}]
	return pe + ": " + item.Text("validation", n.Mean) + " ± " + item.Text("validation", n.SD)
}

// puzzleClaims returns the claims of sections 3.1 and 3.2.
func (s *Study) puzzleClaims() []claim {
	all := mainGroups(s)
	over := func(high, low string) finding {
		return s.compare(comparison{high: high, low: low, measure: "validation", isPuzzle: true}, all)
	}
	both := func(table, a, b string) string {
		return printed(table, a, "validation") + "; " + printed(table, b, "validation")
	}
	return []claim{
		{paper.OptimalSigma, both("A2", "learn-0.2", "learn-1.0"), over("learn-0.2", "learn-1.0")},
		{paper.LargeSigma, both("A2", "learn-0.2", "learn-2.0"), over("learn-0.2", "learn-2.0")},
		{paper.SmallerSigma, both("A2", "learn-0.2", "learn-0.1"), over("learn-0.2", "learn-0.1")},
		{paper.Converged, printed("1", "c-nope", "train") + "; " +
			printed("1", "nope", "train"), s.converged(common(all))},
		{paper.TruthAlike,
			paper.TruthTest().String() + " [15 pairs have 14 degrees of freedom]",
			claimNoDifference(over(reference, "learn-0.2"))},
		{paper.NextBest, paper.RelativeTest().String(), over("learn-0.2", "relative")},
	}
}

// converged lists which encodings have fitted.
func (s *Study) converged(all []cohort.Group) finding {
	if len(all) == 0 {
		return absent
	}
	f := finding{verdict: reproduced}
	var parts []string
	for _, g := range all {
		parts = append(parts, fmt.Sprintf("%s %s (training %s)", g.Label, g.FittedText(),
			item.Text("train", s.mean(g, "train"))))
		if isExcepted := g.Label == "nope" ||
			g.Label == "c-nope"; isExcepted == (len(cohort.Unfitted(g.Models)) == 0) {
			f.verdict = inconclusive // more training may still change it
		}
	}
	for _, label := range paper.Encodings() {
		if groupNamed(all, label) == nil { // the claim is about all of them
			f.verdict = inconclusive
		}
	}
	f.here = "fitted: " + strings.Join(parts, ", ")
	return f
}

// likenessClaims returns the claims of section 3.3 and of figure A9.
func (s *Study) likenessClaims() []claim {
	all := mainGroups(s)
	grid := onGrid(learned(all))
	return []claim{
		{paper.AttentionPredicts, "ρ = 0.96, p < 0.0001",
			s.correlate(trend{1, perSigma, "cosine", "validation"}, grid)},
		{paper.DistancePredicts, "ρ = −0.98, p < 0.0001",
			s.correlate(trend{-1, perSigma, "procrustes", "validation"}, grid)},
		{"[the same independent of norms: Procrustes disparity]", "–",
			s.correlate(trend{-1, perSigma, "disparity", "validation"}, grid)},
		{"the 2d-fixed and 1d-fixed PEs are highly similar by design (the baseline cosine similarity between " +
			"the two schemes is 0.72)", fmt.Sprintf("%.2f", paper.FixedCosine),
			s.fixedCosine(groupNamed(all, "1d-fixed"))},
		{"despite having no similarity to the 2d-fixed PE scheme at initialization [learn-0.2] (cosine at " +
			"initialization = 0.00)", fmt.Sprintf("%.2f", paper.StartCosine),
			s.startCosine(groupNamed(all, "learn-0.2"))},
	}
}

// fixedCosine returns the cosine of the tables of 1d-fixed and 2d-fixed, which depends only on the width of the
// model.
func (s *Study) fixedCosine(g []cohort.Group) finding {
	if g == nil || math.IsNaN(s.mean(g[0], "table_cosine")) {
		return absent
	}
	v := s.mean(g[0], "table_cosine")
	width := g[0].Models[0].Run.Config.DModel
	f := finding{here: fmt.Sprintf("%s at width %d", item.Decimals(v, 2), width), verdict: notReproduced}
	switch {
	case width != paper.Width:
		f.verdict = inconclusive
	case math.Abs(v-paper.FixedCosine) < 0.005:
		f.verdict = reproduced
	}
	return f
}

// startCosine returns the cosine of a learned table with that of 2d-fixed before training.
func (s *Study) startCosine(g []cohort.Group) finding {
	if g == nil {
		return absent
	}
	return s.meanAgainst(g, paper.StartCosine, "pe_start_cosine", s.meanText(g[0], "pe_start_cosine"))
}

// variantClaims returns the claims about optimizers, weight decay and noise.
func (s *Study) variantClaims() []claim {
	indistinct := s.compare(comparison{high: reference, low: "learn-0.2", measure: "validation", isPuzzle: true},
		withDecay(s))
	out := []claim{{paper.DecayAlike,
		printed("A6", reference, "validation") + "; " + printed("A6", "learn-0.2", "validation"),
		claimNoDifference(indistinct)}}
	for _, sigma := range []string{"learn-0.01", "learn-0.05", "learn-0.1"} {
		both := slices.Concat(labelled(groupNamed(bySGD(s), sigma), "SGD"),
			labelled(groupNamed(mainGroups(s), sigma), "Adam"))
		out = append(out,
			claim{paper.SGDBetter + " [" + sigma + "]",
				"SGD " + printed("A4", sigma, "sgd") + "; Adam " + printed("A4", sigma, "adam"),
				s.compare(comparison{high: "SGD", low: "Adam", measure: "validation", isPuzzle: true,
					isOfKinds: true}, both)})
	}
	return append(out, claim{paper.NoiseRobust, "–",
		s.correlate(trend{-1, perSigma, "sigma", "noise"}, onGrid(learned(mainGroups(s))))})
}

// labelled gives groups another label.
func labelled(g []cohort.Group, label string) []cohort.Group {
	g = slices.Clone(g)
	for i := range g {
		g[i].Label = label
	}
	return g
}

// maskedClaims returns the claims of section 3.4 and appendix A.4. They are about the paper's encodings; others
// do not count.
func (s *Study) maskedClaims() []claim {
	isOfPaper := func(g cohort.Group) bool { return slices.Contains(paper.MaskedEncodings(), g.Label) }
	network, brain := pick(nmarGroups(s), isOfPaper), pick(fmriAt(0.5)(s), isOfPaper)
	const trainMSE, testMSE = "train_mse", "test_mse/" + paper.TestLevel
	small := []string{"learn-0.1", "learn-0.2"}
	onBrain := func(all []cohort.Group, measure string, rising bool, first ...string) finding {
		f := s.ranksFirst(all, measure, rising, first...)
		isMadeUp := func(m cohort.Model) bool { return isSurrogate(m.Run) }
		if slices.ContainsFunc(cohort.ModelsOf(all), isMadeUp) { // the claims are about brains
			f.here, f.verdict = "surrogate: "+f.here, inconclusive
		}
		return f
	}
	return []claim{
		{"[simulated network] " + paper.NetworkFound, "modularity Q, only in a figure",
			s.ranksFirst(learned(network), "modularity", false, small...)},
		{"[human fMRI] " + paper.BestErrors + " [validation: MSE, 90 % masked]", "only in a figure",
			onBrain(brain, testMSE, true, small...)},
		{"[the same in training]", "only in a figure", onBrain(brain, trainMSE, true, small...)},
		{"relative PEs fared the worst, followed by absolute 1d-fixed and random PEs",
			"only in a figure", onBrain(brain, testMSE, false, "relative")},
		{paper.NetworksHighest + " [modularity]", "only in a figure",
			onBrain(learned(brain), "modularity", false, small...)},
		{"[segregation]", "only in a figure", onBrain(learned(brain), "clustering", false, small...)},
	}
}
