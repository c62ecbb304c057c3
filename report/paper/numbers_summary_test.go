package paper

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// claimRow is a row of the summary but for the quote, of which it has some words.
type claimRow struct{ words, printed, here, test, n, verdict string }

func summaryNumbers(t *testing.T, w *world) {
	w.checkCaption(t, "summary", []string{"From 66 runs: 124 models on puzzles, 29 on the " +
		"simulated network, 47 on fMRI.",
		fitSentences(w.on("lst"))})
	got := w.csvOf(t, "summary")
	want := slices.Concat(w.puzzleRows(), w.likenessRows(), w.variantRows(), w.maskedRows())
	if len(got) != 1+len(want) {
		t.Fatalf("%d claims, want %d", len(got)-1, len(want))
	}
	for i, c := range want {
		if row := got[i+1]; !strings.Contains(row[0], c.words) {
			t.Errorf("claim %d is %q, want one with %q", i, row[0], c.words)
		} else if own := []string{hyphens(c.printed), hyphens(c.here), hyphens(c.test), c.n,
			c.verdict}; !slices.Equal(row[1:],
			own) {
			t.Errorf("%q:\n%q, want\n%q", row[0], row[1:], own)
		}
	}
}

// hyphens are the minus signs of CSV.
func hyphens(s string) string { return strings.ReplaceAll(s, "−", "-") }

// meanSpread is ".956 ± .039".
func meanSpread(x []float64) string {
	return short(average(x), 3) + " ± " + short(spread(x), 3)
}

// described is an encoding with its three accuracies.
func described(b bunch, name string) string {
	return fmt.Sprintf("%s: validation %s (training %s, IID %s)", name, meanSpread(b.of(valid)),
		short(average(b.of(trained)), 3),
		short(average(b.of(heldOut)), 3))
}

// signOf is the verdict on a positive difference: the interval's sides of 0.
func signOf(p pairing) string {
	switch {
	case p.hasUnfitted || p.low <= 0 && p.high >= 0:
		return "cannot be told"
	case p.low > 0:
		return "reproduced"
	}
	return "not reproduced"
}

// more is the row of a claim that an encoding generalises better than another.
func (w *world) more(words, printed string, a, b bunch, names ...string) claimRow {
	p := w.paired(a, b, valid)
	if names == nil {
		names = []string{a.starred(), b.starred()}
	}
	return claimRow{words, printed, described(a, names[0]) + "; " + described(b, names[1]), p.test,
		fmt.Sprint(p.n, " pairs"), signOf(p)}
}

// puzzleRows are the claims of sections 3.1 and 3.2, whose printed numbers are those of Tables 1
// and A2 and of the text.
func (w *world) puzzleRows() []claimRow {
	all := bunches(w.puzzles(mainVariant))
	group := func(label string) bunch { return named(all, label)[0] }
	rows := []claimRow{
		w.more("default initialization", "learn-0.2: .956 ± .039; learn-1.0: .894 ± .043",
			group("learn-0.2"), group("learn-1.0")),
		w.more("generalized poorly", "learn-0.2: .956 ± .039; learn-2.0: .377 ± .171",
			group("learn-0.2"), group("learn-2.0")),
		w.more("slight reduction", "learn-0.2: .956 ± .039; learn-0.1: .925 ± .083",
			group("learn-0.2"), group("learn-0.1")),
		{"nope models converged", "c-nope: .559 ± .102; nope: .509 ± .002", "", "", "",
			"cannot be told"},
		w.more("robust statistical difference", "t(13) = 0.96, p = 0.35 [15 pairs have 14 "+
			"degrees of freedom]",
			group("2d-fixed"), group("learn-0.2")),
		w.more("next highest-performing", "t(13) = 2.51, p = 0.03", group("learn-0.2"),
			group("relative")),
	}
	var parts []string
	for _, b := range named(all, paperOrder...) { // models of 2d-fixed and relative have not fitted
		fitted := those(b.models, func(m seen) bool { return !m.unfitted() })
		parts = append(parts, fmt.Sprintf("%s %d of %d (training %s)", b.label, len(fitted),
			len(b.models), short(average(b.of(trained)), 3)))
	}
	rows[3].here = "fitted: " + strings.Join(parts, ", ")
	rows[4].verdict = "cannot be told" // four pairs, of models some of which have not fitted
	return rows
}

// correlated is the row of a claim on a correlation over the paper's grid of sigma, in which a
// model has not fitted.
func correlated(words, printed string, grid []bunch, of func(seen) float64,
	against func(seen) float64) claimRow {
	var x, y []float64
	for _, b := range grid {
		x, y = append(x, average(b.of(of))), append(y, average(b.of(against)))
	}
	rho, p := rankCorrelation(x, y)
	return claimRow{words, printed, "ρ = " + short(rho, 2),
		fmt.Sprintf("Spearman ρ = %s, %s, n = %d levels of σ", short(rho, 2), chanceOf(p), len(x)),
		fmt.Sprint(len(x), " levels of σ"), "cannot be told"}
}

func (w *world) likenessRows() []claimRow {
	all := bunches(w.puzzles(mainVariant))
	grid := named(all, "learn-0.1", "learn-0.2", "learn-1.0", "learn-2.0")
	fixed := named(all, "1d-fixed")[0].of(func(m seen) float64 { return w.like(m).table })
	start := named(all, "learn-0.2")[0].of(func(m seen) float64 {
		return m.result.overBlocks("pe_start_cosine")
	})
	half := quantile95(4) * spread(start) / math.Sqrt(5)
	low, high := average(start)-half, average(start)+half
	verdict := "not reproduced"
	if low <= 0 && high >= 0 {
		verdict = "reproduced"
	}
	return []claimRow{
		correlated("agreement of learned attention maps", "ρ = 0.96, p < 0.0001", grid, w.cosine,
			valid),
		correlated("measured by L2 norm", "ρ = −0.98, p < 0.0001", grid, w.distance, valid),
		correlated("Procrustes disparity", "–", grid, w.disparity, valid),
		{"highly similar by design", "0.72", short(average(fixed), 2) + " at width 160", "", "",
			"not reproduced"},
		{"no similarity to the 2d-fixed", "0.00", meanSpread(start), "95 % " + short(low, 3) +
			" to " + short(high, 3), "5 models", verdict},
	}
}

func (w *world) variantRows() []claimRow {
	decayed := bunches(w.puzzles(decayedVariant))
	adam := bunches(w.puzzles(mainVariant))
	sgd := bunches(w.puzzles(sgdVariant))
	rows := []claimRow{w.more("virtually indistinguishable",
		"2d-fixed: .997 ± .008; learn-0.2: .994 ± .008",
		named(decayed, "2d-fixed")[0], named(decayed, "learn-0.2")[0])}
	rows[0].verdict = "cannot be told" // a model of 2d-fixed has not fitted
	for label, printed := range map[string]string{
		"learn-0.01": "SGD learn-0.01: .885 ± .101; Adam learn-0.01: .588 ± .186",
		"learn-0.05": "SGD learn-0.05: .941 ± .042; Adam learn-0.05: .836 ± .140",
		"learn-0.1":  "SGD learn-0.1: .947 ± .027; Adam learn-0.1: .925 ± .083",
	} {
		a, b := named(sgd, label)[0], named(adam, label)[0]
		rows = append(rows, w.more("["+label+"]", printed, a, b, strings.Replace(a.starred(), label,
			"SGD", 1),
			strings.Replace(b.starred(), label, "Adam", 1)))
	}
	slices.SortFunc(rows[1:], func(a, b claimRow) int { return cmp.Compare(a.words, b.words) })
	grid := named(adam, "learn-0.1", "learn-0.2", "learn-1.0", "learn-2.0")
	return append(rows, correlated("most robust to noise", "–", grid,
		func(m seen) float64 { return m.sigma }, overNoise))
}

// first is the row of a claim that some encodings have the most of a measure, or the least: of
// these the one that has the least of it against the best of the others.
func (w *world) first(words, printed string, all []bunch, of func(seen) float64, least bool,
	labels ...string) claimRow {
	all = slices.DeleteFunc(slices.Clone(all), func(b bunch) bool {
		return len(present(b.of(of))) == 0
	})
	slices.SortStableFunc(all, func(a, b bunch) int {
		if least {
			a, b = b, a
		}
		return cmp.Compare(average(b.of(of)), average(a.of(of)))
	})
	var here []string
	var counts []int
	var claimed, other *bunch
	for i, b := range all {
		here, counts = append(here, b.label+" "+meanSpread(b.of(of))),
			append(counts, len(present(b.of(of))))
		if slices.Contains(labels, b.label) {
			claimed = &all[i]
		} else if other == nil {
			other = &all[i]
		}
	}
	if least {
		claimed, other = other, claimed
	}
	p := w.paired(*claimed, *other, of)
	if p.test != "" {
		p.test = claimed.label + " less " + other.label + ": " + p.test
	}
	return claimRow{words, printed, strings.Join(here, ", "), p.test,
		fromTo(counts) + " each", signOf(p)}
}

func (w *world) maskedRows() []claimRow {
	network, brain := bunches(w.at("nmar", .5)), bunches(w.at("fmri", .5))
	const printed = "in a figure alone"
	q, c, train, test := end("modularity"), end("clustering"), end("train_mse"),
		end("test_mse/0.90")
	return []claimRow{
		w.first("[simulated network]", "modularity Q, in a figure alone", bySigma(network), q,
			false, "learn-0.1", "learn-0.2"),
		w.first("[human fMRI]", printed, brain, test, true, "learn-0.1", "learn-0.2"),
		w.first("[the same in training]", printed, brain, train, true, "learn-0.1", "learn-0.2"),
		w.first("relative PEs fared the worst", printed, brain, test, false, "relative"),
		w.first("[modularity]", printed, bySigma(brain), q, false, "learn-0.1", "learn-0.2"),
		w.first("[segregation]", printed, bySigma(brain), c, false, "learn-0.1", "learn-0.2"),
	}
}
