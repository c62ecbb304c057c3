package paper

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"torchpe/internal/stats"
	"torchpe/internal/wording"
	"torchpe/report/cohort"
	"torchpe/report/item"
	"torchpe/report/table"
)

// claim is a sentence of the paper with the result of the runs.
type claim struct {
	quote   string // the paper's words; additions are in brackets
	printed string
	finding
}

// finding holds the numbers of the runs for a claim, and the verdict.
type finding struct {
	here    string // numbers, with training and IID accuracy beside validation
	test    string // difference with its interval, or a correlation with its p
	n       string
	verdict string
	canMiss bool // of a comparison: it has too few pairs, or unfitted models
}

// The verdicts on a claim.
const (
	reproduced    = "reproduced"
	notReproduced = "not reproduced"
	inconclusive  = "inconclusive"
)

// absent is the finding without runs.
var absent = finding{here: "no runs", verdict: inconclusive}

// row returns the claim's row of the summary.
func (c claim) row() table.Row {
	return table.Row{table.Text(c.quote), table.Words(c.printed), table.Words(c.here),
		table.Words(c.test), table.Text(c.n), table.Text(c.verdict)}
}

// accuracyText returns "learn-0.2: validation .956 ± .039 (training .99, IID .98)", with a star if models have
// not fitted.
func (s *Study) accuracyText(g cohort.Group) string {
	return fmt.Sprintf("%s: validation %s (training %s, IID %s)", g.Starred(), s.meanText(g, "validation"),
		item.Text("train", s.mean(g, "train")), item.Text("iid", s.mean(g, "iid")))
}

// meanText returns ".956 ± .039", or ".956" for one model.
func (s *Study) meanText(g cohort.Group, measure string) string {
	return item.MeanText(measure, s.values(g, measure))
}

// comparison tests whether a group has a larger measure than another.
type comparison struct {
	high, low string // labels
	measure   string
	isPuzzle  bool // accuracies of unfitted models do not count
	isOfKinds bool // the groups are of two kinds of training, such as two optimizers
}

// compare compares the two groups over their common seeds.
func (s *Study) compare(c comparison, all []cohort.Group) finding {
	high, low := groupNamed(all, c.high), groupNamed(all, c.low)
	if high == nil || low == nil {
		return absent
	}
	describe := func(g cohort.Group) string {
		if c.isPuzzle {
			return s.accuracyText(g)
		}
		return g.Starred() + ": " + s.meanText(g, c.measure)
	}
	f := finding{here: describe(high[0]) + "; " + describe(low[0]), verdict: inconclusive}
	x, y := cohort.Paired(high[0], low[0], func(m cohort.Model) float64 { return s.value(m, c.measure) })
	hasUnfitted := c.isPuzzle && len(cohort.Unfitted(slices.Concat(high[0].Models, low[0].Models))) > 0
	f.n, f.canMiss = wording.Count(len(x), "pair"), len(x) < item.FewestForP || hasUnfitted
	v := item.Compare(c.measure, x, y, 1)
	if f.test = v.Text; f.test == "" {
		return f
	}
	if hasUnfitted || !c.isOfKinds && s.areUnlike(high[0], low[0]) {
		f.canMiss = true
		return f
	}
	switch {
	case v.Low > 0:
		f.verdict = reproduced
	case v.High < 0:
		f.verdict = notReproduced
	}
	return f
}

// areUnlike reports whether groups differ in more than their encodings and, for puzzles, the length of
// training.
func (s *Study) areUnlike(groups ...cohort.Group) bool {
	keys, _, err := cohort.Unlike(groups, cohort.LengthKeys...)
	if err != nil {
		panic(err) // Read has computed all identities
	}
	return keys != nil || cohort.DifferInLength(groups)
}

// claimNoDifference inverts the verdict of a comparison: the claim is that no difference was found. Too few
// models, or unfitted ones, show no difference in any case.
func claimNoDifference(f finding) finding {
	switch {
	case f.verdict != inconclusive:
		f.verdict = notReproduced
	case !f.canMiss && f.test != "":
		f.verdict = reproduced
	}
	return f
}

// trend tests whether two measures correlate over groups with a given sign.
type trend struct {
	sign float64
	of   string // what the groups are, in the plural
	x, y string
}

// onePerLevel returns one group for each level of σ, if the groups are such levels.
func onePerLevel(all []cohort.Group, of string) []cohort.Group {
	if of == perSigma {
		return largestBySigma(all)
	}
	return all
}

// correlate tests the correlation over the means of groups.
func (s *Study) correlate(c trend, all []cohort.Group) finding {
	var xs, ys []float64
	all = onePerLevel(all, c.of)
	for _, g := range all {
		if a, b := s.mean(g, c.x), s.mean(g, c.y); !math.IsNaN(a) && !math.IsNaN(b) {
			xs, ys = append(xs, a), append(ys, b)
		}
	}
	test, err := stats.Spearman(xs, ys)
	if err != nil {
		return absent
	}
	text, rho := correlation(xs, ys, c.of)
	f := finding{here: "ρ = " + item.Decimals(rho, 2), test: text, n: fmt.Sprintf("%d %s", len(xs),
		c.of), verdict: inconclusive}
	switch {
	case len(cohort.Unfitted(cohort.ModelsOf(all))) > 0 || test.P >= 0.05 || s.areUnlike(all...):
	case rho*c.sign > 0:
		f.verdict = reproduced
	default:
		f.verdict = notReproduced
	}
	return f
}

// meanAgainst compares a mean with a printed one: reproduced if our interval contains it.
func (s *Study) meanAgainst(g []cohort.Group, printed float64, measure, here string) finding {
	if g == nil || len(s.values(g[0], measure)) == 0 {
		return absent
	}
	values := s.values(g[0], measure)
	f := finding{here: here, n: wording.Count(len(values), "model"), verdict: inconclusive}
	v, ok := item.Interval(values)
	if !ok {
		return f
	}
	f.test = "95 % " + item.IntervalText(measure, v)
	if len(values) < item.FewestForP {
		return f
	}
	f.verdict = notReproduced
	if v.Low <= printed && printed <= v.High {
		f.verdict = reproduced
	}
	return f
}

// ranking lists groups with the mean of a measure, in order of the mean.
func (s *Study) ranking(all []cohort.Group, measure string, rising bool) string {
	var parts []string
	for _, g := range s.measured().ByMean(all, measure, rising) {
		if len(s.values(g, measure)) > 0 {
			parts = append(parts, g.Starred()+" "+s.meanText(g, measure))
		}
	}
	return strings.Join(parts, ", ")
}

// ranksFirst tests whether the first groups of a ranking are the claimed ones.
func (s *Study) ranksFirst(all []cohort.Group, measure string, rising bool, first ...string) finding {
	all = pick(all, func(g cohort.Group) bool { return len(s.values(g, measure)) > 0 })
	f := finding{here: s.ranking(all, measure, rising), verdict: inconclusive}
	if len(all) <= len(first) {
		if f.here == "" {
			return absent
		}
		return f
	}
	var counts []int
	for _, g := range all {
		counts = append(counts, len(s.values(g, measure)))
	}
	f.n = wording.Range(counts) + " each"
	isFirst := func(g cohort.Group) bool { return slices.Contains(first, g.Label) }
	ordered := s.measured().ByMean(all, measure, rising)
	worst := slices.IndexFunc(ordered, func(g cohort.Group) bool { return !isFirst(g) }) // the best of the others
	last := len(ordered) - 1                                                             // the worst of those claimed
	for ; last >= 0 && !isFirst(ordered[last]); last-- {
	}
	if last < 0 {
		return f
	}
	between := comparison{high: ordered[last].Label, low: ordered[worst].Label, measure: measure}
	if rising { // the others have larger values
		between.high, between.low = between.low, between.high
	}
	own := s.compare(between, ordered)
	if own.test != "" {
		f.test = fmt.Sprintf("%s minus %s: %s", between.high, between.low, own.test)
	}
	f.verdict = own.verdict
	return f
}
