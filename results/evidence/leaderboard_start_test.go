package evidence_test

import (
	"fmt"
	"slices"
	"strings"

	"torchpe/internal/number"
	"torchpe/internal/stats"
	"torchpe/internal/wording"
	"torchpe/report/ranking"
)

// startTable says what to take by what is known of the places of tokens. docs/encodings.md repeats it.
func startTable(puzzles map[string]entry, network, fmri board, longer []language) string {
	const table = "learn-0.2"
	share := func(b board) string {
		s := b.ranked[slices.IndexFunc(b.ranked, func(s ranking.Standing) bool { return s.Label == table })]
		return fmt.Sprintf("%s, rank %g (%d to %d) of %d", point(s.Mean), s.Rank, s.LowRank, s.HighRank, len(b.ranked))
	}
	score, _ := scored(longer)
	return markdown("| what you know of your tokens | use | measured | not known |", []string{
		fmt.Sprintf("| their cells on a grid | %s | accuracy on validation puzzles, five seeds (in brackets) | "+
			"whether these and the next ones differ; other grids than 4 x 4 |", onGrid(puzzles)),
		fmt.Sprintf("| only which is which, as of brain regions | `learn`, starting at σ = 0.2, added once | share of "+
			"a conditional Gaussian's gain, half of the tokens masked, three seeds: simulated network, 4,000 steps: "+
			"%s; fMRI, 12,000 steps: %s | whether training the table helps: no difference from `random` is seen |",
			share(network), share(fmri)),
		fmt.Sprintf("| an order, and inputs are longer than in training | %s; to others, a causal mask | score on "+
			"longer inputs of %d formal languages, two or three seeds; 0 is guessing | larger models, other "+
			"languages |", ranksOf(score[:3]), len(thatAreRanked(longer))),
		"| an order, and all inputs are equally long | – | no task here is of this kind: puzzles are a grid, the " +
			"network has no order | compare encodings on your data: `torchpe advise` |",
	}) + "\n"
}

// ranksOf lists encodings with their means and the intervals of their ranks.
func ranksOf(ranked []ranking.Standing) string {
	var all []string
	for _, s := range ranked {
		all = append(all, fmt.Sprintf("`%s` %s (rank %d to %d)", s.Label, point(s.Mean), s.LowRank, s.HighRank))
	}
	return strings.Join(all, ", ")
}

// marked lists encodings with a number of each.
func marked(names []string, of map[string]float64) string {
	var all []string
	for _, name := range names {
		all = append(all, fmt.Sprintf("`%s` (%s)", name, point(of[name])))
	}
	return strings.Join(all, ", ")
}

// onGrid lists the best encodings that know the grid, by the mean of all five seeds.
func onGrid(puzzles map[string]entry) string {
	mean := map[string]float64{}
	for name, e := range puzzles {
		if knowsOf(e.any()["pe"]) == "2-D" && len(e.fresh) == len(freshSeeds) {
			mean[name] = stats.Mean(append(e.rows.column("validation"), e.fresh.column("validation")...))
		}
	}
	return marked(byScore(mean)[:4], mean)
}

// startWords says what else to know before choosing.
func startWords(m models, ranked []ranking.Standing, network, fmri board, longer []language) string {
	mean := func(name string) string { return point(stats.Mean(m.column(name, "validation"))) }
	undropped := m.less("learn-0.2", "2d-fixed without dropout")
	score, _ := scored(longer)
	place := func(name string, of []ranking.Standing) string {
		i := slices.IndexFunc(of, func(s ranking.Standing) bool { return s.Label == name })
		return fmt.Sprintf("rank %g of %d", of[i].Rank, len(of))
	}
	best := score[0].Label
	later := map[string]float64{}
	for name, errors := range masked("nmar.csv", "test_mse_50", "50000") {
		if len(errors) >= 3 {
			later[name] = network.share("50", stats.Mean(errors))
		}
	}
	leader, behind := byScore(later)[0], byScore(later)[1]
	return wrapped(fmt.Sprintf(`* **No encoding leads on all tasks.** `+"`%s`"+`,
the best on longer inputs, has %s on puzzles and %s on the network.
* **A table that every block adds should start small**: with fifteen seeds, σ = 0.2 solves %s of the validation puzzles
and σ = 2 solves %s. Added once, σ = 2 solves %s, and %s if the answer is read at the probe. With dropout .1 in
training, σ = 0.2 at every block solves %s. `+"`2d-fixed`"+`, the ground truth, solves %s with the dropout of the
published code, which is significantly more than the table does, and %s without, where the table is ahead by %s (95 %%:
%s). No difference is seen if both have dropout, if the table is trained for 400 epochs, or at width 160
(five seeds).
* **Which is which**: no difference between `+"`random`"+`, a table that is not trained, and `+"`learn`"+` is seen,
but only a table that starts small and is trained can be read as a map (`+"`torchpe analyze map`"+`; on the network
σ = 0.1). Ranks on the network favour what learns fast: `+"`%s`"+`, which has %s after 4,000 steps, has the best
mean of nine encodings after 50,000 at a tenth of the rate (%s; %s %s, learn-0.2 %s). On fMRI, %s has the best mean,
not significantly; %s are the last, which know at most offsets.
* **Longer inputs**: %s. %s
`, best, place(best, ranked), place(best, network.ranked), mean("learn-0.2"), mean("learn-2"), mean("learn-2, once"),
		mean("learn-2, once, probe"), mean("learn-0.2 with dropout"), mean("2d-fixed"),
		mean("2d-fixed without dropout"), point(undropped.mean), span(undropped.seeds), leader,
		place(leader, network.ranked), point(later[leader]), behind, point(later[behind]), point(later["learn-0.2"]),
		firstOf(fmri.ranked), lastOf(fmri.ranked),
		maskWords(longer), maskSummary(longer)))
}

// firstOf names the first, from which those behind it must not differ significantly, with its seeds.
func firstOf(ranked []ranking.Standing) string {
	if ranked[1].Differs || ranked[2].Differs {
		panic(ranked[0].Label + " is ahead significantly: change the sentence")
	}
	return fmt.Sprintf("`%s` (%d seeds)", ranked[0].Label, len(ranked[0].Seeds))
}

// lastOf names the last encodings that do not change with a shift.
func lastOf(ranked []ranking.Standing) string {
	var names []string
	for _, s := range slices.Backward(ranked) {
		if shiftOf(s.Scheme) == "yes" {
			break
		}
		names = append([]string{"`" + s.Label + "`"}, names...)
	}
	return wording.List(len(names), names)
}

// extreme holds the first and the last encodings of those that know as much of places.
type extreme struct {
	knows, words string
	n            int
	first, last  []ranking.Standing
}

// extremes returns the first five and the last three of each kind.
func extremes(ranked []ranking.Standing) (out []extreme) {
	own := map[string][]ranking.Standing{}
	for _, s := range ranked {
		knows := knowsOf(s.Scheme)
		own[knows] = append(own[knows], s)
	}
	for _, kind := range [][2]string{{"2-D", "the grid"}, {"1-D", "an order"},
		{"none", "neither"}} {
		of := own[kind[0]]
		last := len(of) - min(3, len(of)/2)
		out = append(out, extreme{kind[0], kind[1], len(of), of[:min(5, last)], of[last:]})
	}
	return out
}

// knownWords says how ranks on puzzles go with what an encoding knows of the places of tokens, and how many differ.
func knownWords(ranked []ranking.Standing, all []entry) string {
	families, p := ranking.Families(ranked, knowsOf)
	median := map[string]string{}
	for _, f := range families {
		median[f.Name] = number.Fixed(f.Median, 1)
	}
	list := func(of []ranking.Standing) string {
		var names []string
		for _, s := range of {
			names = append(names, fmt.Sprintf("`%s` %s", s.Label, point(s.Mean)))
		}
		return strings.Join(names, ", ")
	}
	encodings := map[string]bool{}
	for _, e := range all {
		encodings[e.encoding()] = true
	}
	worse, ahead, pairs := 0, 0, 0
	for i, s := range ranked {
		worse += oneIf(i > 0 && s.Differs)
		for _, of := range ranked[i+1:] {
			a, b := knowsOf(s.Scheme), knowsOf(of.Scheme)
			ahead += oneIf(a == "2-D" && b == "1-D")
			pairs += oneIf(min(a, b) == "1-D" && max(a, b) == "2-D")
		}
	}
	best := ranked[0]
	text := fmt.Sprintf("Of %d encodings, counting each σ and placement, %d have fitted with all three seeds and are "+
		"ranked. The best mean of three seeds is that of `%s`, %s (rank %d to %d, 95 %%); %d encodings are "+
		"significantly worse, and for the other %d three seeds do not show a difference. Ranks differ by what the "+
		"encoding knows of positions (%s, Kruskal-Wallis test). If one that knows the grid and one that knows an "+
		"order are drawn, the first ranks higher in %s of the cases.\n\n", len(encodings), len(ranked), best.Label,
		point(best.Mean), best.LowRank, best.HighRank, worse, len(ranked)-1-worse, number.PText(p),
		number.Percent(float64(ahead)/float64(pairs)))
	for _, of := range extremes(ranked) {
		text += fmt.Sprintf("* %d know %s (median rank %s): best %s; worst %s.\n", of.n, of.words, median[of.knows],
			list(of.first), list(of.last))
	}
	return wrapped(text + "\nMedians are over schemes. `axial` counts as knowing the grid: it factors the 16 " +
		"positions as 4 x 4.\n")
}
