package evidence_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"torchpe/internal/number"
	"torchpe/internal/stats"
	"torchpe/internal/wording"
	"torchpe/report/ranking"
)

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

// scaled lists the encodings whose positions are scaled to the length of the input. They were grouped after a look
// at the results.
var scaled = strings.Fields("comrope fourier-features golden-gate laplacian learn-resampled liere signnet")

// languages are the formal languages of the leaderboard, with the accuracy of a guess.
var languages = []struct {
	name  string
	guess float64
}{{"bucket-sort", .2}, {"even-pairs", .5}, {"missing-duplicate", .5}, {"reverse-string", .5}}

// onLanguage holds the models of an encoding on one language.
type onLanguage struct {
	scheme    string
	n, fitted int
	train     float64 // mean of all, as iid
	iid       float64
	longer    float64 // mean of those that have fitted
	sd        float64
	steps     []float64 // until those have fitted, nil for the models of ../lengths-cpu
}

// cell writes the accuracy on longer inputs, and how many models have fitted if not all have.
func (l onLanguage) cell() string {
	switch {
	case l.n == 0:
		return "–"
	case l.fitted == 0:
		return fmt.Sprintf("not fitted (%s)", number.Bare(l.iid, 2))
	case l.n == 1:
		return point(l.longer)
	case l.fitted == 1:
		return fmt.Sprintf("%s (1 of %d fitted)", point(l.longer), l.n)
	case l.fitted < l.n:
		return fmt.Sprintf("%s (%d of %d fitted)", meanSD(l.longer, l.sd), l.fitted, l.n)
	}
	return meanSD(l.longer, l.sd)
}

// spoken holds, by language and encoding, what models do.
type spoken map[string]map[string]onLanguage

// readLanguages reads the models of ../lengths-cpu and, of other encodings, those of languages.csv.
func readLanguages(t *testing.T) spoken {
	t.Helper()
	all := spoken{}
	for _, l := range languages {
		all[l.name] = map[string]onLanguage{}
	}
	fitted := map[string]row{}
	for _, r := range records("../lengths-cpu/scores.csv") {
		fitted[r["encoding"]] = r
	}
	for _, r := range records("../lengths-cpu/models.csv") {
		scheme, base, isDrawn := strings.Cut(r["encoding"], ", random-base ")
		name := r["encoding"]
		if isDrawn {
			name = "drawn " + base
		}
		of := all[r["task"]]
		if of == nil { // parity check, fitted by none
			continue
		}
		l := onLanguage{scheme: strings.TrimSuffix(scheme, "-0.2"), n: int(r.number("n")),
			fitted: int(r.number("fitted")), train: r.number("train"), iid: r.number("iid")}
		score, task := fitted[r["encoding"]], strings.ReplaceAll(r["task"], "-", "_")
		if l.fitted > 0 {
			l.longer = score.number(task)
		}
		if l.fitted > 1 {
			l.sd = score.number(task + "_sd")
		}
		of[name] = l
	}
	rows := map[[2]string][]row{}
	known := map[[3]string]bool{}
	for _, r := range records("../leaderboard/languages.csv") {
		key := [2]string{r["sequence_language"], nameOfVariant(r)}
		rows[key] = append(rows[key], r)
		model := [3]string{key[0], key[1], r["seed"]}
		if known[model] {
			t.Fatalf("languages.csv has %q twice", model)
		}
		known[model] = true
	}
	for key, of := range rows {
		if _, isThere := all[key[0]][key[1]]; isThere {
			continue
		}
		l := onLanguage{scheme: of[0]["pe"], n: len(of)}
		var longer []float64
		for _, r := range of {
			l.train += r.number("train") / float64(l.n)
			l.iid += r.number("iid") / float64(l.n)
			if r["fitted"] != "no" {
				l.fitted++
				l.steps = append(l.steps, r.number("steps"))
				longer = append(longer, r.number("validation"))
			}
		}
		if l.fitted > 0 {
			l.longer, l.sd = stats.Mean(longer), stats.SD(longer)
		}
		all[key[0]][key[1]] = l
	}
	return all
}

// languageWords says, for each language, how many encodings have fitted, which are the best on longer inputs, and
// whether those that have a causal mask differ from the others.
func languageWords(all spoken) string {
	var text strings.Builder
	for _, l := range languages {
		of, names := all[l.name], all.fitted(l.name)
		guessed := 0
		var best []string
		var ofScaled []float64
		for i, name := range names {
			if i < 8 {
				best = append(best, fmt.Sprintf("`%s` %s", name, point(of[name].longer)))
			}
			if of[name].longer < l.guess+.05 {
				guessed++
			}
			if slices.Contains(scaled, of[name].scheme) {
				ofScaled = append(ofScaled, of[name].longer)
			}
		}
		fmt.Fprintf(&text, "* **%s** (guessing gives %s): %d of %d encodings have fitted with all their seeds. "+
			"Best on longer inputs: %s; %d are less than .05 above guessing. %s%s\n", title(l.name),
			number.Bare(l.guess, 1), len(names), len(of), strings.Join(best, ", "), guessed,
			rangeOf(ofScaled), maskMedians(all, l.name))
	}
	cells := func(scheme string) string {
		var own []string
		for _, l := range languages {
			if of := all[l.name][scheme]; of.n > 0 {
				own = append(own, plainName(l.name)+" "+of.cell())
			}
		}
		return strings.Join(own, ", ")
	}
	return lengthWords(all) + "\n" + wrapped(fmt.Sprintf("%s\n`logn` has a mask and a factor for the number of "+
		"keys: %s. `c-nope` has a mask and, as in its code, a temperature of .01: %s.\n\n%s\n%s", text.String(),
		cells("logn"), cells("c-nope"), freshLanguages(), againWords()))
}

// languageTables lists, for each language, the accuracies of all encodings, those that have fitted first.
func languageTables(all spoken) string {
	var text strings.Builder
	for _, l := range languages {
		of, names := all[l.name], all.fitted(l.name)
		fitted := len(names)
		for _, name := range slices.Sorted(maps.Keys(of)) {
			if of[name].fitted < of[name].n {
				names = append(names, name)
			}
		}
		var rows []string
		for i, name := range names {
			e, place, steps, longer := of[name], "–", "–", "–"
			if i < fitted {
				place = fmt.Sprint(i + 1)
			}
			if e.steps != nil {
				steps = fmt.Sprintf("%.0f", slices.Min(e.steps))
				if most := slices.Max(e.steps); most > slices.Min(e.steps) {
					steps += fmt.Sprintf(" to %.0f", most)
				}
			}
			if e.fitted > 0 {
				longer = e.cell()
			}
			rows = append(rows, fmt.Sprintf("| %s | %s | %s | %d of %d | %s | %s | %s | %s |", place, name,
				map[string]string{"yes": "yes"}[maskOf(e.scheme)], e.fitted, e.n, steps, point(e.train), point(e.iid),
				longer))
		}
		fmt.Fprintf(&text, "<details><summary>%s: %d encodings</summary>\n\n%s\n</details>\n\n", title(l.name),
			len(names), markdown("| place | encoding | causal mask | fitted | steps | training | IID | longer |", rows))
	}
	return text.String()
}

// plainName writes the name of a language within a sentence.
func plainName(language string) string { return strings.ReplaceAll(language, "-", " ") }

// freshLanguages sets the means of further seeds beside the first seed's, by which many were chosen for them.
func freshLanguages() string {
	earlier := map[string]bool{} // with three seeds from the start
	for _, r := range records("../lengths-cpu/models.csv") {
		earlier[r["encoding"]] = true
	}
	values := map[[2]string]map[bool][]float64{}
	for _, r := range records("../leaderboard/languages.csv") {
		key := [2]string{r["sequence_language"], nameOfVariant(r)}
		if r["fitted"] == "no" || earlier[key[1]] {
			continue
		}
		if values[key] == nil {
			values[key] = map[bool][]float64{}
		}
		values[key][r["seed"] == "1"] = append(values[key][r["seed"] == "1"], r.number("validation"))
	}
	var parts []string
	for _, l := range languages {
		var first, fresh []float64
		for key, of := range values {
			if key[0] == l.name && len(of[true]) > 0 && len(of[false]) > 0 {
				first, fresh = append(first, of[true][0]), append(fresh, stats.Mean(of[false]))
			}
		}
		if first != nil {
			parts = append(parts, fmt.Sprintf("%s, %d encodings: %s with the first seed, %s with the others",
				plainName(l.name), len(first), point(stats.Mean(first)), point(stats.Mean(fresh))))
		}
	}
	if parts == nil {
		return ""
	}
	return "**Fresh seeds** exist for some encodings, many of which were chosen because their first seed did well. " +
		"Means over encodings: " + strings.Join(parts, "; ") + ".\n"
}

// nearlyAll is the number of encodings that a language needs for sentences about all of them.
const nearlyAll = 40

// fitted returns the encodings of which all models have fitted a language, the best on longer inputs first.
func (s spoken) fitted(language string) []string {
	of := s[language]
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(of)), func(name string) bool {
		return of[name].fitted < of[name].n
	})
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(of[b].longer, of[a].longer) })
	return names
}

// ranks returns the ranks of these encodings, without those of drawn positions. Equal ones share their mean rank.
func (s spoken) ranks(language string) (ranks []ranking.Standing) {
	var accuracies []float64
	for _, name := range s.fitted(language) {
		if of := s[language][name]; !strings.HasPrefix(name, "drawn") {
			ranks = append(ranks, standing(of.scheme, 0))
			accuracies = append(accuracies, of.longer)
		}
	}
	for i := range ranks {
		above, equal := 0, 0
		for _, v := range accuracies {
			if v > accuracies[i] {
				above++
			} else if v == accuracies[i] {
				equal++
			}
		}
		ranks[i].Rank = float64(above) + float64(equal+1)/2
	}
	return ranks
}

// againWords compares models of languages.csv with those of ../lengths-cpu that have the same encoding and seed.
func againWords() string {
	first := map[[3]string][]float64{}
	for _, r := range records("../lengths-cpu/lengths.csv") {
		if r.number("length") > 20 {
			key := [3]string{r["task"], r["pe"], r["seed"]}
			first[key] = append(first[key], r.number("accuracy"))
		}
	}
	n, same, most := 0, 0, 0.0
	for _, r := range records("../leaderboard/languages.csv") {
		was := first[[3]string{r["sequence_language"], nameOfVariant(r), r["seed"]}]
		if was == nil {
			continue
		}
		apart := math.Abs(stats.Mean(was) - r.number("validation"))
		if n, most = n+1, max(most, apart); apart < 1e-9 {
			same++
		}
	}
	return wrapped(fmt.Sprintf("%d models of those ten encodings were trained again with a later build, the same "+
		"seed and another machine: %d have the same accuracy on longer inputs, and the others differ by at most "+
		"%s. So a difference of .1 between two encodings with one seed each may be nothing.\n", n, same,
		point(most)))
}

// tried names the languages that nearly all encodings were trained on.
func (s spoken) tried() (names []string) {
	for _, l := range languages {
		if len(s[l.name]) >= nearlyAll {
			names = append(names, plainName(l.name))
		}
	}
	return names
}

// scores returns the mean score of the encodings that have fitted all these languages; 0 is guessing and 1 all right.
// encodings counts also the others.
func (s spoken) scores() (score map[string]float64, encodings int) {
	unfitted, score := map[string]bool{}, map[string]float64{}
	for _, l := range languages {
		if len(s[l.name]) < nearlyAll {
			continue
		}
		for name, of := range s[l.name] {
			score[name] += (of.longer - l.guess) / (1 - l.guess) / float64(len(s.tried()))
			unfitted[name] = unfitted[name] || of.fitted < of.n
		}
	}
	encodings = len(score)
	maps.DeleteFunc(score, func(name string, _ float64) bool { return unfitted[name] })
	return score, encodings
}

// byScore returns the names of encodings, those with the highest score first.
func byScore(score map[string]float64) []string {
	names := slices.Sorted(maps.Keys(score))
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(score[b], score[a]) })
	return names
}

// lengthWords says which encodings are the best on longer inputs of all languages.
func lengthWords(all spoken) string {
	score, encodings := all.scores()
	return wrapped(fmt.Sprintf("%d of %d encodings have fitted all of %s. Their **score** on longer inputs is 0 "+
		"for guessing and 1 if all is right. The best means over these languages: %s. With one to three seeds the "+
		"order of close ones is not known.\n", len(score), encodings, wording.List(len(all.tried()), all.tried()),
		marked(byScore(score)[:8], score)))
}

// rangeOf writes the accuracies of the scaled encodings that have fitted.
func rangeOf(longer []float64) string {
	if longer == nil {
		return ""
	}
	return fmt.Sprintf("Of the %d whose positions are scaled to the length of the input, %d have fitted: %s to %s. ",
		len(scaled), len(longer), point(slices.Min(longer)), point(slices.Max(longer)))
}

// title writes the name of a language at the start of a sentence.
func title(language string) string {
	return strings.ToUpper(language[:1]) + plainName(language[1:])
}

// standing returns a scheme with its rank.
func standing(scheme string, rank float64) ranking.Standing {
	return ranking.Standing{Entry: ranking.Entry{Scheme: scheme}, Rank: rank}
}

// oneIf returns 1 for true.
func oneIf(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
