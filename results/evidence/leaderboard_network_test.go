package evidence_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"torchpe/internal/expect"
	"torchpe/internal/number"
	"torchpe/internal/stats"
	"torchpe/models/pe"
	"torchpe/report/figure"
	"torchpe/report/ranking"
)

// board ranks the encodings of a task of masked prediction.
type board struct {
	task   string   // in baselines.csv
	level  string   // percentage of tokens masked at which encodings are ranked
	fewer  []string // lower ones
	models models
	ranked []ranking.Standing
}

// readBoard reads CSV files and ranks the encodings that have at least so many seeds by their share.
func readBoard(b board, steps string, seedsNeeded int, files ...string) board {
	b.models = models{}
	for _, file := range files {
		for _, r := range records(file) {
			name := nameOfVariant(r)
			if init := r["pe_init"]; init != "" && init != "normal" {
				name += ", " + init
			}
			if r["steps"] == steps {
				b.models.add(name, r)
			}
		}
	}
	var entries []ranking.Entry
	for _, name := range slices.Sorted(maps.Keys(b.models)) {
		of := b.models[name]
		e := ranking.Entry{Label: name, Scheme: of.any()["pe"]}
		if len(of) < seedsNeeded || e.Scheme == twin || e.Scheme == ropeOnLine {
			continue
		}
		for _, err := range of.column("test_mse_" + b.level) {
			e.Seeds = append(e.Seeds, b.share(b.level, err))
		}
		entries = append(entries, e)
	}
	b.ranked = ranking.Rank(entries, false)
	return b
}

// any returns a row of one seed.
func (s seeds) any() row { return s[s.ordered()[0]] }

// share says how far an error at a percentage of tokens masked is on the way from that of the mean of the visible
// tokens, 0, to that of the conditional Gaussian, 1.
func (b board) share(masked string, err float64) float64 {
	of := map[string]float64{}
	for _, r := range records("baselines.csv") {
		if r["task"] == b.task {
			of[r["baseline"]] = r.number("test_mse_" + masked)
		}
	}
	return (of["mean"] - err) / (of["mean"] - of["gaussian"])
}

// table lists the ranked encodings.
func (b board) table() string {
	var rows []string
	for i, s := range b.ranked {
		of := b.models[s.Label]
		cells := []string{fmt.Sprint(s.Rank), fmt.Sprintf("%d to %d", s.LowRank, s.HighRank), s.Label,
			shiftOf(s.Scheme), fmt.Sprint(len(of)), number.Bare(of.mean("train_mse"), 4),
			number.Bare(of.mean("test_mse_"+b.level), 4), spread(s.Seeds)}
		for _, level := range b.fewer {
			cells = append(cells, point(b.share(level, of.mean("test_mse_"+level))))
		}
		rows = append(rows, "| "+strings.Join(append(cells, differs(i, s)), " | ")+" |")
	}
	heads := fmt.Sprintf("| rank | 95 %% | encoding | shift | n | training | test, %[1]s %% | share, %[1]s %% |",
		b.level)
	for _, level := range b.fewer {
		heads += " share, " + level + " % |"
	}
	return markdown(heads+" worse than the first |", rows)
}

// shiftOf says whether an encoding changes if all positions are shifted.
func shiftOf(scheme string) string {
	if expect.Must(pe.Find(scheme)).About().Criteria.TranslationInvariant {
		return "no"
	}
	return "yes"
}

// networkWords says which encodings have learned the network, what they have in common, and how this goes with the
// puzzles.
func networkWords(b board, puzzles []ranking.Standing) string {
	m, ranked := b.models, b.ranked
	worse, below, causal := 0, 0, 0
	for _, s := range ranked {
		if s.Differs {
			worse++
		}
		if slices.Max(s.Seeds) < 0 {
			below++
			if isCausal(s) {
				causal++
			}
		}
	}
	families, p := ranking.Families(ranked, shiftOf)
	_, free := ranking.Families(slices.DeleteFunc(slices.Clone(ranked), isCausal), shiftOf)
	var medians []string
	for _, f := range families {
		change := map[string]string{"yes": "change", "no": "do not"}[f.Name]
		medians = append(medians, fmt.Sprintf("%d %s (median rank %s)", f.N, change, number.Fixed(f.Median, 1)))
	}
	var later []string
	after := masked("nmar.csv", "test_mse_50", "50000")
	for _, name := range slices.Sorted(maps.Keys(after)) {
		later = append(later, fmt.Sprintf("`%s` %s (%d)", name, point(b.share("50", stats.Mean(after[name]))),
			len(after[name])))
	}
	learned := countLearned(ranked)
	var sure []string
	for _, s := range ranked[:learned] {
		if expect.Must(stats.MeanInterval(s.Seeds, .95)).Low > .5 {
			sure = append(sure, s.Label)
		}
	}
	at15 := func(s ranking.Standing) float64 { return b.share("15", m[s.Label].mean("test_mse_15")) }
	most := slices.MaxFunc(ranked, func(a, b ranking.Standing) int { return cmp.Compare(at15(a), at15(b)) })
	both := onBoth(ranked, puzzles)
	var shares, accuracies []float64
	for _, at := range both {
		shares, accuracies = append(shares, at.Y), append(accuracies, at.X)
	}
	rho := expect.Must(stats.Spearman(shares, accuracies))
	return wrapped(fmt.Sprintf(`
**%d of %d encodings have a mean share above .5**; the best of the others, `+"`%s`"+`, has %s. %d encodings are
significantly worse than the first. The 95 %% interval of a mean is above .5 for %d (%s).

* **Shift**: if all positions are shifted by one, some encodings change and can tell nodes apart by position; the
others know distances, and with a mask the order. %s; %s, and %s without causal masks (Kruskal-Wallis test).
* **Worse than the mean of the visible nodes** with all three seeds: %d encodings, %d of them with a causal mask,
under which a node sees only the nodes before it.
* **Fewer masked** than in training: at 15 %% the order of the first ones differs. `+"`%s`"+` has the best mean,
%s, and `+"`%s`"+` has %s.
* **Puzzles**: shares correlate with validation accuracy on the puzzles by Spearman's ρ = %s (%d encodings).
* **Longer training at a lower rate** changes the order: these ranks tell which encodings learn fast. Mean shares
(seeds) after 50,000 steps at lr 1e-4 ([Evidence](../evidence/README.md#simulated-network)): %s.
`, learned, len(ranked), ranked[learned].Label, point(ranked[learned].Mean), worse, len(sure),
		strings.Join(sure, ", "), strings.Join(medians, ", "),
		number.PText(p), number.PText(free), below, causal, most.Label, point(at15(most)), ranked[0].Label,
		point(at15(ranked[0])), number.Bare(rho.Statistic, 2), len(both), strings.Join(later, ", ")))
}

// onBoth returns the means on a task against the accuracy on puzzles, for the encodings that are ranked on both, each
// with the colour of its scheme. Tables are added once on both, if such a table has fitted on puzzles.
func onBoth(ranked, puzzles []ranking.Standing) (points []figure.ScatterPoint) {
	of := meansOf(puzzles)
	for _, s := range ranked {
		x, has := of[s.Label+", once"]
		if !has {
			x, has = of[s.Label]
		}
		if has {
			points = append(points, figure.ScatterPoint{Label: s.Label, ColorOf: s.Scheme, X: x, Y: s.Mean})
		}
	}
	return points
}

// taskPanels show the shares on the network, and the scores on longer inputs, against accuracies on puzzles.
func taskPanels(network, longer, puzzles []ranking.Standing) [][]figure.Panel {
	panel := func(label, black, orange string, ranked []ranking.Standing,
		isBlack func(scheme string) bool) []figure.Panel {
		points := onBoth(ranked, puzzles)
		for i, p := range points {
			points[i].ColorOf = map[bool]string{true: "2d-fixed", false: "1d-fixed"}[isBlack(p.ColorOf)]
		}
		return []figure.Panel{figure.Scatter{XLabel: "Validation accuracy on puzzles", YLabel: label, Points: points,
			Note: "Means over seeds. Black: " + black + "; orange: " + orange}}
	}
	return [][]figure.Panel{
		panel("Share on the network", "changes if all positions are shifted", "does not", network,
			func(scheme string) bool { return shiftOf(scheme) == "yes" }),
		panel("Score on longer inputs", "no causal mask", "causal mask", longer,
			func(scheme string) bool { return maskOf(scheme) == "no" }),
	}
}

// isCausal reports whether an encoding has a causal mask.
func isCausal(s ranking.Standing) bool { return factsOf(row{"pe": s.Scheme}).Attention.Causal }

// countLearned counts the first encodings, whose shares are above one half.
func countLearned(ranked []ranking.Standing) int {
	return slices.IndexFunc(ranked, func(s ranking.Standing) bool { return s.Mean <= .5 })
}

// fmriWords says which encodings of human fMRI are ahead, and which were not run with enough seeds.
func fmriWords(b board) string {
	worse, below := 0, []string(nil)
	for _, s := range b.ranked {
		if s.Differs {
			worse++
		}
		if s.Mean < 0 {
			below = append(below, "`"+s.Label+"`")
		}
	}
	first := b.ranked[0]
	text := fmt.Sprintf("**With %s %% masked, as in training, the best mean is that of `%s`**, %s (rank %d to %d, "+
		"95 %%); %d of the %d others are significantly worse. Worse than the mean of the visible regions: %s.",
		b.level, first.Label, point(first.Mean), first.LowRank, first.HighRank, worse, len(b.ranked)-1,
		strings.Join(below, ", "))
	for _, level := range b.fewer {
		at := func(s ranking.Standing) float64 { return b.share(level, b.models[s.Label].mean("test_mse_"+level)) }
		best := slices.Clone(b.ranked)
		slices.SortFunc(best, func(a, b ranking.Standing) int { return cmp.Compare(at(b), at(a)) })
		var names []string
		for _, s := range best[:3] {
			names = append(names, fmt.Sprintf("`%s` %s", s.Label, point(at(s))))
		}
		text += fmt.Sprintf(" With %s %% masked the best means are those of %s.", level, strings.Join(names, ", "))
	}
	var few []string
	for _, name := range slices.Sorted(maps.Keys(b.models)) {
		if len(b.models[name]) < 2 {
			of := b.models[name]
			few = append(few, fmt.Sprintf("`%s` (share %s)", name, point(b.share(b.level,
				of.mean("test_mse_"+b.level)))))
		}
	}
	if few != nil {
		text += " Not ranked, with one seed: " + strings.Join(few, ", ") + "."
	}
	return wrapped(text + "\n")
}
