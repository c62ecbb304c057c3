package evidence_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"torchpe/internal/expect"
	"torchpe/internal/number"
	"torchpe/internal/stats"
	"torchpe/internal/wording"
	"torchpe/report/ranking"
)

// language is a formal language with the models trained on it, by encoding and seed.
type language struct {
	name   string
	guess  float64 // accuracy of a guess
	models models
	ranked []ranking.Standing // encodings of which all models, two or more, have fitted, by accuracy on longer inputs
}

// readLanguages reads the models of languages.csv and ranks the encodings of each language.
func readLanguages() []language {
	all := []language{{name: "bucket-sort", guess: .2}, {name: "even-pairs", guess: .5},
		{name: "missing-duplicate", guess: .5}, {name: "reverse-string", guess: .5},
		{name: "modular-arithmetic", guess: .2}}
	for i := range all {
		all[i].models = all[i].read("languages.csv")
		all[i].ranked = ranking.Rank(all[i].entries(), false)
	}
	return all
}

// read returns the models of the language in a file.
func (l language) read(file string) models {
	all := models{}
	for _, r := range records("../leaderboard/" + file) {
		if r["sequence_language"] == l.name {
			all.add(nameOfVariant(r), r)
		}
	}
	return all
}

// entries returns the encodings of which two or more models were trained and all have fitted.
func (l language) entries() (entries []ranking.Entry) {
	for _, name := range slices.Sorted(maps.Keys(l.models)) {
		if of := l.models[name]; len(of) > 1 && of.haveFitted() {
			entries = append(entries, ranking.Entry{Label: name, Scheme: of.any()["pe"],
				Seeds: of.column("validation")})
		}
	}
	return entries
}

// haveFitted reports whether the models of all seeds have fitted.
func (s seeds) haveFitted() bool { return len(s) == len(s.thatFitted()) }

// thatFitted returns the rows of models that have fitted.
func (s seeds) thatFitted() seeds {
	own := maps.Clone(s)
	maps.DeleteFunc(own, func(_ string, r row) bool { return r["fitted"] == "no" })
	return own
}

// longer writes the accuracy on longer inputs of those models that have fitted, and how many have if not all.
func (s seeds) longer() string {
	own := s.thatFitted()
	if len(s) == 0 {
		return "–"
	} else if len(own) == 0 {
		return fmt.Sprintf("not fitted (%s)", number.Bare(s.mean("iid"), 2))
	}
	text := point(own.mean("validation"))
	if len(own) > 1 {
		text = spread(own.column("validation"))
	}
	if len(own) < len(s) {
		text += fmt.Sprintf(" (%d of %d fitted)", len(own), len(s))
	}
	return text
}

// score turns an accuracy into 0 for guessing and 1 if all is right.
func (l language) score(accuracy float64) float64 { return (accuracy - l.guess) / (1 - l.guess) }

// title writes the name of the language at the start of a sentence, and plain within one.
func (l language) title() string { return strings.ToUpper(l.name[:1]) + l.plain()[1:] }
func (l language) plain() string { return strings.ReplaceAll(l.name, "-", " ") }

// inOrder ranks the encodings without drawn positions, which may be added to several of them.
func (l language) inOrder() []ranking.Standing {
	return ranking.Rank(slices.DeleteFunc(l.entries(), func(e ranking.Entry) bool { return e.Scheme == "random" }),
		false)
}

// thatAreRanked returns the languages that enough encodings have fitted for sentences about all of them.
func thatAreRanked(all []language) []language {
	return slices.DeleteFunc(slices.Clone(all), func(l language) bool { return len(l.ranked) < 10 })
}

// scored ranks the encodings that are ranked on all these languages by their mean score, and counts all encodings.
func scored(all []language) (ranked []ranking.Standing, encodings int) {
	languages := thatAreRanked(all)
	by := map[string][]seeds{}
	for _, l := range languages {
		for _, s := range l.ranked {
			by[s.Label] = append(by[s.Label], l.models[s.Label])
		}
	}
	var entries []ranking.Entry
	for _, name := range slices.Sorted(maps.Keys(by)) {
		if len(by[name]) < len(languages) {
			continue
		}
		both := by[name][0]
		for _, of := range by[name][1:] {
			both = both.in(of)
		}
		e := ranking.Entry{Label: name, Scheme: both.any()["pe"]}
		for _, seed := range both.ordered() {
			score := 0.0
			for i, l := range languages {
				score += l.score(by[name][i][seed].number("validation")) / float64(len(languages))
			}
			e.Seeds = append(e.Seeds, score)
		}
		entries = append(entries, e)
	}
	return ranking.Rank(entries, false), len(languages[0].models)
}

// scaled lists the encodings whose positions are scaled to the length of the input. They were grouped after a look
// at the results.
var scaled = strings.Fields("comrope fourier-features golden-gate laplacian learn-resampled liere signnet")

// languageWords says which encodings are the best on longer inputs, and whether those that have a causal mask differ
// from the others.
func languageWords(all []language) string {
	score, encodings := scored(all)
	var names []string
	for _, l := range thatAreRanked(all) {
		names = append(names, l.plain())
	}
	text := fmt.Sprintf("%d of %d encodings have fitted all of %s, with all their seeds. Their **score** on longer "+
		"inputs is 0 for guessing and 1 if all is right; it is of the seeds that all these languages have. The best "+
		"means over these languages: %s.\n\n%d encodings scale positions to the length of the input (%s); they were "+
		"grouped after a look at the results.\n\n", len(score), encodings, wording.List(len(names), names),
		rankedWords(score, 8), len(scaled), strings.Join(scaled, ", "))
	for _, l := range all {
		text += "* **" + l.title() + "**: " + l.words() + "\n"
	}
	cells := func(scheme string) string {
		var own []string
		for _, l := range thatAreRanked(all) {
			own = append(own, l.plain()+" "+l.models[scheme].longer())
		}
		return strings.Join(own, ", ")
	}
	return wrapped(fmt.Sprintf("%s\n`logn` has a mask and a factor for the number of keys: %s. `c-nope` has a mask "+
		"and, as in its code, a temperature of .01: %s.\n\n%s\n", text, cells("logn"), cells("c-nope"),
		againWords(all)))
}

// rankedWords lists the first encodings of a ranking with their means and the intervals of their ranks, and counts
// those that are worse than the first.
func rankedWords(ranked []ranking.Standing, n int) string {
	worse := 0
	for _, s := range ranked {
		worse += oneIf(s.Differs)
	}
	return fmt.Sprintf("%s; %d of the others are significantly worse than the first", ranksOf(ranked[:n]), worse)
}

// words says which encodings are the best on longer inputs of the language, or how near those that do not fit come.
func (l language) words() string {
	masked, ofMasked := fittedOf(l, "yes")
	free, ofFree := fittedOf(l, "no")
	text := fmt.Sprintf("%d of %d encodings have fitted with all their seeds, of those with a causal mask %d of %d. ",
		masked+free, ofMasked+ofFree, masked, ofMasked)
	if len(l.ranked) == 0 {
		var near []string
		for _, name := range l.byIID()[:3] {
			near = append(near, fmt.Sprintf("`%s` %s (%s)", name, point(l.models[name].mean("iid")),
				point(l.models[name].mean("validation"))))
		}
		return text + fmt.Sprintf("The highest IID accuracies (and those on longer inputs; guessing gives %s): %s.",
			number.Bare(l.guess, 1), strings.Join(near, ", "))
	}
	guessed := 0
	var ofScaled, longer, steps []float64
	for _, s := range l.ranked {
		guessed += oneIf(s.Mean < l.guess+.05)
		longer = append(longer, float64(float32(s.Mean))) // equal means may differ in their last bits
		steps = append(steps, l.models[s.Label].mean("steps"))
		if slices.Contains(scaled, s.Scheme) {
			ofScaled = append(ofScaled, s.Mean)
		}
	}
	text += fmt.Sprintf("Best on longer inputs: %s; %d are less than .05 above guessing, which gives %s. ",
		rankedWords(l.ranked, 6), guessed, number.Bare(l.guess, 1))
	if ofScaled != nil {
		text += fmt.Sprintf("%d of the scaled ones have fitted: %s to %s. ", len(ofScaled),
			point(slices.Min(ofScaled)), point(slices.Max(ofScaled)))
	}
	rho := expect.Must(stats.Spearman(steps, longer))
	return text + fmt.Sprintf("Spearman's ρ of steps until fitted with accuracy on longer inputs: %s, %s. ",
		number.Bare(rho.Statistic, 2), number.PText(rho.P)) + maskMedians(l)
}

// byIID returns the names of the encodings, that of the highest mean IID accuracy first.
func (l language) byIID() []string {
	names := slices.Sorted(maps.Keys(l.models))
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Compare(l.models[b].mean("iid"), l.models[a].mean("iid"))
	})
	return names
}

// languageTables lists, for each language, the accuracies of all encodings, those that are ranked first.
func languageTables(all []language) string {
	var text strings.Builder
	var scores []string
	score, _ := scored(all)
	for i, s := range score {
		scores = append(scores, fmt.Sprintf("| %g | %d to %d | %s | %s | %d | %s | %s |", s.Rank, s.LowRank, s.HighRank,
			s.Label, maskCell(s.Scheme), len(s.Seeds), spread(s.Seeds), differs(i, s)))
	}
	fmt.Fprintf(&text, "<details><summary>Scores: %d encodings</summary>\n\n%s\n</details>\n\n", len(scores),
		markdown("| rank | 95 % | encoding | causal mask | n | score | worse than the first |", scores))
	for _, l := range all {
		var rows []string
		isRanked := map[string]bool{}
		cells := func(name, rank, interval, differs string) string {
			of, measured := l.models[name], ""
			if len(of.thatFitted()) == 0 {
				measured = "(" + point(of.mean("validation")) + ")"
			}
			return fmt.Sprintf("| %s | %s | %s | %s | %d | %s | %s | %s | %s | %s |", rank, interval, name,
				maskCell(of.any()["pe"]), len(of), of.fitted(), point(of.mean("train")),
				point(of.mean("iid")), cmp.Or(measured, of.longer()), differs)
		}
		for i, s := range l.ranked {
			isRanked[s.Label] = true
			rows = append(rows, cells(s.Label, fmt.Sprint(s.Rank), fmt.Sprintf("%d to %d", s.LowRank, s.HighRank),
				differs(i, s)))
		}
		for _, name := range l.byIID() {
			if !isRanked[name] {
				rows = append(rows, cells(name, "–", "–", "–"))
			}
		}
		fmt.Fprintf(&text, "<details><summary>%s: %d encodings</summary>\n\n%s\n</details>\n\n", l.title(), len(rows),
			markdown("| rank | 95 % | encoding | causal mask | n | steps until .99 | training | IID | longer | "+
				"worse than the first |", rows))
	}
	return text.String()
}

// againWords compares models with those of ../lengths-cpu that have the same encoding and seed.
func againWords(all []language) string {
	first := map[[3]string][]float64{}
	for _, r := range records("../lengths-cpu/lengths.csv") {
		if r.number("length") > 20 {
			name := strings.Replace(r["pe"], "random, random-base ", "drawn ", 1)
			key := [3]string{r["task"], name, r["seed"]}
			first[key] = append(first[key], r.number("accuracy"))
		}
	}
	n, same, most, squares := 0, 0, 0.0, 0.0
	for _, l := range all {
		for name, of := range l.models {
			for seed, r := range of.thatFitted() {
				was := first[[3]string{l.name, name, seed}]
				if was == nil {
					continue
				}
				apart := math.Abs(stats.Mean(was) - r.number("validation"))
				n, most, squares = n+1, max(most, apart), squares+apart*apart
				same += oneIf(apart < 1e-9)
			}
		}
	}
	return fmt.Sprintf("%d of these models have the encoding and seed of one in "+
		"[lengths-cpu](../lengths-cpu/README.md), which another build and machine trained. Their accuracies on longer "+
		"inputs differ by at most %s (root mean square %s; %d equal).", n, point(most),
		point(math.Sqrt(squares/float64(n))), same)
}
