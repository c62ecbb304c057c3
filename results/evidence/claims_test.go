package evidence_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"torchpe/internal/expect"
	"torchpe/internal/number"
	"torchpe/internal/paper"
	"torchpe/internal/stats"
)

// contrastNames are the differences in validation accuracy that the page tests.
var contrastNames = [][2]string{
	{"learn-0.2", "learn-2"}, {"learn-0.2", "learn-0.01"}, {"learn-0.2", "learn-1.5"}, {"learn-0.2", "learn-1"},
	{"learn-0.5", "learn-1"}, {"learn-0.2", "learn-0.1"}, {"learn-0.5", "learn-0.1"}, {"learn-0.2", "learn-0.5"},
	{"learn-0.1", "learn-1"}, {"learn-0.2", "learn-0.7"},
	{"2d-fixed", "learn-0.2"}, {"2d-fixed", "learn-0.2, 400 epochs"}, {"learn-0.2", "relative"},
	{"learn-0.2", "random"}, {"learn-1", "random"},
	{"learn-0.2", "rope"}, {"relative", "rope"},
	{"2d-fixed", "2d-fixed without dropout"}, {"learn-0.2", "2d-fixed without dropout"},
	{"learn-0.2 with dropout", "learn-0.2"}, {"learn-0.2 with dropout", "2d-fixed"},
	{"learn-0.2, once", "learn-2, once"}, {"learn-0.2, once, probe", "learn-2, once, probe"},
	{"learn-0.2, probe", "learn-2, probe"}, {"learn-1", "learn-1, shared"},
	{decayed("learn-0.2"), "learn-0.2, 400 epochs"}, {decayed("learn-1"), "learn-1, 400 epochs"},
	{decayed("learn-2"), "learn-2, 400 epochs"}, {decayed("2d-fixed"), decayed("learn-0.2")},
	{decayed("learn-0.2"), decayed("learn-2")}, {decayed("learn-0.2"), decayed("learn-1")},
	{withSGD("learn-0.01"), "learn-0.01"}, {withSGD("learn-0.05"), "learn-0.05"},
	{withSGD("learn-0.1"), "learn-0.1"},
	{atPaperWidth("learn-0.2"), atPaperWidth("learn-2")}, {atPaperWidth("learn-0.2"), atPaperWidth("learn-1")},
	{atPaperWidth("2d-fixed"), atPaperWidth("learn-0.2")}, {atPaperWidth("learn-0.2"), atPaperWidth("random")},
	{atPaperWidth("learn-0.2, once"), atPaperWidth("learn-2, once")},
	{atPaperWidth("learn-2, once"), atPaperWidth("learn-2")},
}

// other is a test of a claim that is no contrast of two settings of puzzles.csv.
type other struct {
	ours       string
	p          float64
	isOpposite bool // its direction is the opposite of the claim's
}

// family returns Holm's p of every test on the page by the test's name, and the contrasts.
func family(m models) (holm map[string]float64, contrasts map[string]difference) {
	contrasts, holm = map[string]difference{}, map[string]float64{}
	var names []string
	var p []float64
	for _, c := range contrastNames {
		name := c[0] + " less " + c[1]
		contrasts[name] = m.less(c[0], c[1])
		names, p = append(names, name), append(p, contrasts[name].p)
	}
	for _, c := range claims {
		if c.other != nil {
			names, p = append(names, c.quote), append(p, c.other(m).p)
		}
	}
	corrected := expect.Must(stats.Holm(p))
	for i, name := range names {
		holm[name] = corrected[i]
	}
	return holm, contrasts
}

func contrastTable(holm map[string]float64, contrasts map[string]difference) string {
	var rows []string
	for _, c := range contrastNames {
		name := c[0] + " less " + c[1]
		d := contrasts[name]
		both := span(d.seedsPuzzles)
		if d.answered < d.n {
			both += fmt.Sprintf(" (%d)", d.answered)
		}
		rows = append(rows, fmt.Sprintf("| %s − %s | %d | %s | %s | %s | %s | %s |", c[0], c[1], d.n, point(d.mean),
			span(d.seeds), both, number.P(d.p), number.P(holm[name])))
	}
	return markdown("| contrast | pairs | difference | 95 %, seeds | 95 %, seeds and puzzles | p | p (Holm) |",
		rows)
}

// The verdicts on a claim.
const (
	holds        = "**holds**"
	doesNotHold  = "**does not hold**"
	inconclusive = "inconclusive"
)

// claim is a sentence of the paper. It is decided by a contrast, by another test, or in words.
type claim struct {
	quote, printed string
	contrast       string                // first less second, which the claim says is positive
	cases          []claimCase           // the contrast, and others of the claim; or nil
	other          func(m models) other  // another test
	isNone         bool                  // the claim is that there is no difference
	words          func(m models) string // the numbers of a claim without a test
	verdict        string                // of a claim that no test decides
	besides        string                // what else differs from the paper
	file           string
}

// claimCase is a case that a claim names, with the contrast that decides it.
type claimCase struct{ name, contrast string }

// verdictOf decides a claim that has a test: by Holm's p, and by the intervals where there are any. A claim of
// several cases has a verdict for each.
func (c claim) verdictOf(m models, holm map[string]float64, contrasts map[string]difference) string {
	if c.verdict != "" {
		return c.verdict
	}
	var each []string
	for _, of := range c.cases {
		one := claim{contrast: of.contrast, isNone: c.isNone}.verdictOf(m, holm, contrasts)
		each = append(each, of.name+": "+one)
	}
	if each != nil {
		return strings.Join(each, "; ")
	}
	name := c.quote
	isOpposite, isClear := false, true
	if c.contrast != "" {
		name = c.contrast
		d := contrasts[name]
		isOpposite = d.mean < 0
		isClear = d.seedsPuzzles.Low*d.seedsPuzzles.High > 0
	}
	if c.other != nil {
		isOpposite = c.other(m).isOpposite
	}
	switch {
	case holm[name] >= .05 || !isClear:
		return inconclusive
	case c.isNone || isOpposite:
		return doesNotHold
	}
	return holds
}

const (
	onSubjects = "three seeds, which share the 12 subjects and of which one was added after a look at two; two " +
		"layers, width 64, lr 1e-3; 12,000 steps"
	fourthWidth = "width 64, lr 3e-4; until .99"
	puzzlesFile = "puzzles.csv"
	paperWidth  = "width 160 and lr 1e-4, five seeds"
)

// bothWidths returns the cases of a claim at both widths.
func bothWidths(first, second string) []claimCase {
	return []claimCase{{"width 64", first + " less " + second},
		{paperWidth, atPaperWidth(first) + " less " + atPaperWidth(second)}}
}

var claims = []claim{
	{quote: paper.OptimalSigma, printed: ".956 ± .039; .894 ± .043", contrast: "learn-0.2 less learn-1",
		cases: bothWidths("learn-0.2", "learn-1"), file: puzzlesFile + ", wide.csv",
		besides: fourthWidth + "; 0.2 against 0.1, 0.5 and 0.7: inconclusive"},
	{quote: paper.LargeSigma, printed: ".956 ± .039; .377 ± .171", contrast: "learn-0.2 less learn-2",
		cases: bothWidths("learn-0.2", "learn-2"), besides: fourthWidth + "; only if every block adds the PE",
		file: puzzlesFile + ", wide.csv"},
	{quote: paper.SmallerSigma, printed: ".956 ± .039; .925 ± .083", contrast: "learn-0.2 less learn-0.1",
		besides: fourthWidth, file: puzzlesFile},
	{quote: paper.Converged, printed: "training .559 ± .102; .509 ± .002", words: converged,
		verdict: inconclusive, besides: "400 epochs at most, not 4,000, so those that have not fitted still might; " +
			"width 64, lr 3e-4; as in the published code, fixed sinusoids have dropout and c-nope a temperature of .01",
		file: puzzlesFile},
	{quote: paper.TruthAlike, printed: paper.TruthTest().String(), contrast: "2d-fixed less learn-0.2",
		cases: []claimCase{{"learn-0.2 for 400 epochs", "2d-fixed less learn-0.2, 400 epochs"},
			{"both trained to .99", "2d-fixed less learn-0.2"},
			{paperWidth, atPaperWidth("2d-fixed") + " less " + atPaperWidth("learn-0.2")}},
		isNone: true, besides: fourthWidth + ", which takes 2d-fixed about eight times as many epochs; only " +
			"2d-fixed has dropout, also in the paper; with dropout in both, which differs in kind, or in neither: " +
			"inconclusive", file: puzzlesFile + ", wide.csv"},
	{quote: paper.NextBest, printed: paper.RelativeTest().String(), contrast: "learn-0.2 less relative",
		besides: fourthWidth + "; relative has a causal mask, also in the paper", file: puzzlesFile},
	{quote: paper.AttentionPredicts, printed: "ρ = 0.96, p < 0.0001", other: acrossSigma("cosine", 1),
		besides: "7 levels of σ, not 20; four seeds; agreement is lower: " +
			".557 at σ = 0.2, printed .838", file: "fig3.csv"},
	{quote: paper.DistancePredicts, printed: "ρ = −0.98, p < 0.0001", other: acrossSigma("procrustes", -1),
		besides: "7 levels of σ, not 20; four seeds; from σ = 0.2 on, the distance grows with the norm alone",
		file:    "fig3.csv"},
	{quote: paper.DecayAlike, printed: ".997 ± .008; .994 ± .008",
		contrast: decayed("2d-fixed") + " less " + decayed("learn-0.2"), isNone: true,
		besides: "width 64, lr 3e-4; 400 epochs; 2d-fixed has dropout, and two of its five models have not fitted",
		file:    puzzlesFile},
	{quote: paper.SGDBetter, printed: "σ = 0.01: .885 ± .101; .588 ± .186",
		contrast: withSGD("learn-0.01") + " less learn-0.01", cases: []claimCase{
			{"σ = 0.01", withSGD("learn-0.01") + " less learn-0.01"},
			{"0.05", withSGD("learn-0.05") + " less learn-0.05"}, {"0.1", withSGD("learn-0.1") + " less learn-0.1"}},
		besides: fourthWidth + "; learning rate .03, a hundred times Adam's, not ten times; at 0.01, ten " +
			"seeds were added, after looks at five, nine and eleven", file: puzzlesFile},
	{quote: "[two heads] overall reduce generalization performance", printed: "only in a figure", other: twoHeads,
		besides: fourthWidth + "; learn-0.2, three seeds; rope solves more with two heads in 3 of 3 pairs, and in " +
			"the paper, too; no model with four heads",
		file: "variants.csv"},
	{quote: paper.NoiseRobust,
		printed: "only in a figure", other: noise, besides: "7 levels of σ; ρ of σ and the accuracy with noise " +
			"of SD 0.1 on tokens, which depends on the accuracy without noise; by accuracy lost, a larger σ is more " +
			"robust, but models of σ = 2 have little to lose",
		file: puzzlesFile},
	{quote: "[simulated network] all models converged to the same MSE", printed: "F = .24, p = .97",
		other: networkErrors, isNone: true, besides: "the tables, which have learned the network: inconclusive; " +
			"relative, which has a causal mask, also in " +
			"the paper, and rope have learned less of it", file: "nmar.csv"},
	{quote: "[simulated network] " + paper.NetworkFound, printed: "only in a figure", other: networkModules,
		besides: "tested for learn-0.1 against learn-2: five seeds, of which two were added after a look at three; " +
			"learn-0.2 has few modules; all seeds share one simulated network; the other encodings have fewer seeds",
		file: "nmar.csv"},
	{quote: "[human fMRI] " + paper.BestErrors, printed: "only in a figure",
		other: func(models) other {
			return smallNorm("error at 90 % masked", "test_mse_90", -1, "training error", "train_mse")
		}, besides: onSubjects, file: "fmri.csv"},
	{quote: "[human fMRI] " + paper.NetworksHighest, printed: "only in a figure",
		other:   func(models) other { return smallNorm("Q", "modularity", 1, "clustering", "clustering") },
		besides: "tested for Q; " + onSubjects, file: "fmri.csv"},
}

// claimTable sets each claim of the paper beside what was measured here.
func claimTable(m models, holm map[string]float64, contrasts map[string]difference) string {
	var rows []string
	for _, c := range claims {
		ours, p := "", number.Dash
		switch {
		case c.contrast != "":
			d := contrasts[c.contrast]
			first, second, _ := strings.Cut(c.contrast, " less ")
			ours = fmt.Sprintf("%s; %s; ", accuracies(first, m[first].in(m[second])),
				accuracies(second, m[second].in(m[first])))
			if c.cases == nil {
				ours, p = ours+differenceWords(d), number.P(holm[c.contrast])
				break
			}
			var differences, ps []string
			for _, of := range c.cases {
				differences = append(differences, of.name+": "+differenceWords(contrasts[of.contrast]))
				ps = append(ps, of.name+": "+number.P(holm[of.contrast]))
			}
			ours, p = ours+strings.Join(differences, "; "), strings.Join(ps, "; ")
		case c.other != nil:
			ours, p = c.other(m).ours, number.P(holm[c.quote])
		case c.words != nil:
			ours = c.words(m)
		}
		rows = append(rows, fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s |", c.quote, c.printed, ours, p,
			c.verdictOf(m, holm, contrasts), c.besides, c.file))
	}
	return markdown("| the paper says | printed | measured here | p (Holm) | verdict | what else differs | "+
		"file |", rows)
}

// differenceWords writes a difference with its interval and the number of pairs.
func differenceWords(d difference) string {
	return fmt.Sprintf("difference %s, %s (%d pairs)", point(d.mean), span(d.seeds), d.n)
}

// accuracies writes the mean validation accuracy of a setting, with those of training and IID test.
func accuracies(name string, of seeds) string {
	return fmt.Sprintf("%s %s (training %s, IID %s)", name, point(of.mean("validation")), point(of.mean("train")),
		point(of.mean("iid")))
}

// converged lists how many models of each encoding have fitted.
func converged(m models) string {
	var parts []string
	for _, name := range paper.Encodings() {
		fitted := 0
		for _, r := range m[name] {
			if r["fitted"] != "no" {
				fitted++
			}
		}
		parts = append(parts, fmt.Sprintf("%s %d of %d (training %s)", name, fitted, len(m[name]),
			point(m[name].mean("train"))))
	}
	return "reached .99: " + strings.Join(parts, ", ")
}

// acrossSigma correlates a measure of fig3.csv with validation accuracy over levels of σ. The sign is the
// claim's.
func acrossSigma(measure string, sign float64) func(m models) other {
	return func(_ models) other {
		by := map[string][2][]float64{}
		for _, r := range records("fig3.csv") {
			of := by[r["sigma"]]
			by[r["sigma"]] = [2][]float64{append(of[0], r.number(measure)), append(of[1], r.number("validation"))}
		}
		var x, y []float64
		for _, sigma := range sigmas {
			x, y = append(x, stats.Mean(by[sigma][0])), append(y, stats.Mean(by[sigma][1]))
		}
		of := spearman(x[1:], y[1:], sign) // the paper's grid begins at 0.1
		of.ours += "; with σ = 0.01 ρ = " + number.Bare(expect.Must(stats.Spearman(x, y)).Statistic, 2)
		return of
	}
}

// noise correlates σ with the accuracy that is left with noise on the tokens, over levels of σ.
func noise(m models) other {
	var x, y, lost []float64
	for _, sigma := range sigmas[1:] { // the paper's grid begins at 0.1
		known := m["learn-"+sigma].withRatio() // rows that have it have the ratios, too
		x = append(x, known.column("sigma")[0])
		y = append(y, known.mean("noise_0.1"))
		lost = append(lost, known.mean("validation")-y[len(y)-1])
	}
	of := spearman(x, y, -1)
	of.ours += fmt.Sprintf("; noise lowers accuracy by %s at σ = 0.1, %s at 0.2, %s at 1, %s at 2", point(lost[0]),
		point(lost[1]), point(lost[4]), point(lost[6]))
	return of
}

func spearman(x, y []float64, sign float64) other {
	of := expect.Must(stats.Spearman(x, y))
	return other{fmt.Sprintf("Spearman ρ = %s over %d levels of σ", number.Bare(of.Statistic, 2), len(x)), of.P,
		of.Statistic*sign < 0}
}

// decayed names the models of an encoding with weight decay .1, after 400 epochs.
func decayed(name string) string { return name + ", decay, 400 epochs" }

// withSGD names the models of an encoding that SGD trained.
func withSGD(name string) string { return name + ", lr 0.03, SGD" }

// twoHeads compares learn-0.2 with one head and with two, over the same seeds.
func twoHeads(m models) other {
	two := seeds{}
	for _, r := range records("variants.csv") {
		if r["heads"] == "2" && r["pe"] == "learn" && r["sigma"] == "0.2" {
			two[r["seed"]] = r
		}
	}
	d := less(m["learn-0.2"], two)
	return other{fmt.Sprintf("one head − two heads: %s, %s (%d pairs)", point(d.mean), span(d.seeds), d.n), d.p,
		d.mean < 0}
}

// masked returns a measure of a CSV file of masked prediction, by encoding, of runs of equal length.
func masked(file, measure, steps string) map[string][]float64 {
	by := map[string][]float64{}
	for _, r := range records(file) {
		if r["steps"] == steps && r[measure] != "" {
			name := nameOfVariant(r)
			by[name] = append(by[name], r.number(measure))
		}
	}
	return by
}

// networkErrors tests whether the encodings' errors differ on the simulated network after the paper's steps: of all
// but nope, which cannot tell nodes apart, and of those that add a table of positions.
func networkErrors(_ models) other {
	by := masked("nmar.csv", "test_mse_50", "50000")
	test := func(names []string) stats.Test {
		var groups [][]float64
		for _, name := range names {
			groups = append(groups, by[name])
		}
		return expect.Must(stats.ANOVA(groups...))
	}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(by)), func(name string) bool { return name == "nope" })
	all, tables := test(names), test(tableNames)
	var means []string
	for _, name := range append(names, "nope") {
		means = append(means, fmt.Sprintf("%s %s (%d)", name, number.Bare(stats.Mean(by[name]), 4), len(by[name])))
	}
	return other{fmt.Sprintf("F = %s, %d encodings without nope; the %d tables alone: F = %s, %s; means (seeds): %s",
		number.Fixed(all.Statistic, 0), len(names), len(tableNames), number.Fixed(tables.Statistic, 2),
		number.PText(tables.P), strings.Join(means, ", ")), all.P, false}
}

// networkModules compares the modularity of a small and a large σ on the simulated network, after the paper's steps.
func networkModules(_ models) other {
	means := func(steps string) string {
		by := masked("nmar.csv", "modularity", steps)
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(by)) {
			parts = append(parts, fmt.Sprintf("%s %s (%d)", name, point(stats.Mean(by[name])), len(by[name])))
		}
		return strings.Join(parts, ", ")
	}
	by := masked("nmar.csv", "modularity", "50000")
	of := expect.Must(stats.PairedT(by["learn-0.1"], by["learn-2"]))
	return other{fmt.Sprintf("Q (seeds): %s; after 10,000 steps: %s", means("50000"), means("10000")), of.P,
		of.Statistic < 0}
}

// smallNorm compares the mean of σ = 0.1 and 0.2 with that of 1 and 2 on human fMRI, over the same seeds. The claim is
// that the difference has the sign. It lists a second measure, which is not tested.
func smallNorm(name, measure string, sign float64, second, secondMeasure string) other {
	by := masked("fmri.csv", measure, "12000")
	var small, large, each []float64
	for i := range by["learn-2"] {
		small = append(small, (by["learn-0.1"][i]+by["learn-0.2"][i])/2)
		large = append(large, (by["learn-1"][i]+by["learn-2"][i])/2)
		each = append(each, small[i]-large[i])
	}
	mean := stats.Mean(each)
	return other{fmt.Sprintf("%s, σ = 0.1 and 0.2 less 1 and 2: %s, %s (%d pairs); %s; %s: %s; after 50,000 steps, "+
		"one seed: %s; %s", name, point(mean), span(expect.Must(stats.MeanInterval(each, .95))), len(each),
		eachSeed(by), second, eachSeed(masked("fmri.csv", secondMeasure, "12000")),
		eachSeed(masked("fmri.csv", measure, "50000")),
		second+": "+eachSeed(masked("fmri.csv", secondMeasure, "50000"))),
		expect.Must(stats.PairedT(small, large)).P, mean*sign < 0}
}

// tableNames are the encodings of masked prediction that add a table of positions.
var tableNames = []string{"learn-0.1", "learn-0.2", "learn-1", "learn-2", "random", "1d-fixed"}

// eachSeed writes the values of each table of positions that has any.
func eachSeed(by map[string][]float64) string {
	var parts []string
	for _, name := range tableNames {
		var values []string
		for _, v := range by[name] {
			values = append(values, point(v))
		}
		if values == nil {
			continue
		}
		parts = append(parts, name+" "+strings.Join(values, ", "))
	}
	return strings.Join(parts, "; ")
}
