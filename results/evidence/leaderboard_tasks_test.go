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
	"torchpe/train"
	"torchpe/train/sweep"
)

// fmriWords says which encodings of human fMRI are ahead.
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
	text := fmt.Sprintf("**The best mean is that of `%s`**, %s (rank %d to %d, 95 %%); %d of %d encodings are "+
		"significantly worse. Worse than the mean of the visible regions: %s.", first.Label, point(first.Mean),
		first.LowRank, first.HighRank, worse, len(b.ranked), strings.Join(below, ", "))
	for _, level := range b.fewer {
		at := func(s ranking.Standing) float64 { return b.share(level, b.models[s.Label].mean("test_mse_"+level)) }
		best := slices.Clone(b.ranked)
		slices.SortFunc(best, func(a, b ranking.Standing) int { return cmp.Compare(at(b), at(a)) })
		var names []string
		for _, s := range best[:3] {
			names = append(names, fmt.Sprintf("`%s` %s", s.Label, point(at(s))))
		}
		as := map[bool]string{true: ", as in training,"}[level == "50"]
		text += fmt.Sprintf(" With %s %% masked%s the best means are those of %s.", level, as, strings.Join(names, ", "))
	}
	return wrapped(text + "\n")
}

// scaled lists the encodings whose positions are scaled to the length of the input. They were grouped after a look at
// the results.
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
	iid       float64 // mean of all
	longer    float64 // mean of those that have fitted
	sd        float64
}

// cell writes the accuracy on longer inputs, if all models have fitted.
func (l onLanguage) cell() string {
	switch {
	case l.n == 0:
		return "–"
	case l.fitted == 0:
		return fmt.Sprintf("not fitted (%s)", number.Bare(l.iid, 2))
	case l.fitted < l.n:
		return fmt.Sprintf("%d of %d fitted", l.fitted, l.n)
	case l.n == 1:
		return point(l.longer)
	}
	return meanSD(l.longer, l.sd)
}

// spoken holds, by language and encoding, what models do.
type spoken map[string]map[string]onLanguage

// readLanguages reads the models of ../lengths-cpu and, of other encodings, those of languages.csv.
func readLanguages() spoken {
	all := spoken{}
	for _, l := range languages {
		all[l.name] = map[string]onLanguage{}
	}
	for _, r := range records("../lengths-cpu/models.csv") {
		scheme, base, isDrawn := strings.Cut(r["encoding"], ", random-base ")
		name := r["encoding"]
		if isDrawn {
			name = "drawn " + base
		}
		if of := all[r["task"]]; of != nil { // not parity check, fitted by none
			of[name] = onLanguage{strings.TrimSuffix(scheme, "-0.2"), int(r.number("n")), int(r.number("fitted")),
				r.number("iid"), r.number("longer"), r.number("longer_sd")}
		}
	}
	rows := map[[2]string][]row{}
	for _, r := range records("../leaderboard/languages.csv") {
		key := [2]string{r["sequence_language"], nameOfVariant(r)}
		rows[key] = append(rows[key], r)
	}
	for key, of := range rows {
		if _, isThere := all[key[0]][key[1]]; isThere {
			continue
		}
		l := onLanguage{scheme: of[0]["pe"], n: len(of)}
		var longer []float64
		for _, r := range of {
			l.iid += r.number("iid") / float64(l.n)
			if r["fitted"] != "no" {
				l.fitted++
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
// whether those that change with a shift of all positions, or have a causal mask, differ from the others.
func languageWords(all spoken) string {
	var text strings.Builder
	for _, l := range languages {
		of := all[l.name]
		names := slices.DeleteFunc(slices.Sorted(maps.Keys(of)), func(name string) bool {
			return of[name].fitted < of[name].n
		})
		slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(of[b].longer, of[a].longer) })
		guessed := 0
		var best []string
		for i, name := range names {
			if i < 8 {
				best = append(best, fmt.Sprintf("`%s` %s", name, point(of[name].longer)))
			}
			if of[name].longer < l.guess+.05 {
				guessed++
			}
		}
		var ranks []ranking.Standing
		var ofScaled []float64
		for i, name := range names {
			if slices.Contains(scaled, of[name].scheme) {
				ofScaled = append(ofScaled, of[name].longer)
			}
			if !strings.HasPrefix(name, "drawn") {
				ranks = append(ranks, ranking.Standing{Entry: ranking.Entry{Scheme: of[name].scheme}, Rank: float64(i + 1)})
			}
		}
		fmt.Fprintf(&text, "* **%s** (guessing gives %s): %d of %d encodings have fitted. Best on longer inputs: %s; "+
			"%d are at most .05 above guessing. %sMedian ranks without drawn positions: %s.\n", title(l.name),
			number.Bare(l.guess, 1), len(names), len(of), strings.Join(best, ", "), guessed, rangeOf(ofScaled),
			compared(ranks, shiftOf, "that change with a shift")+"; "+compared(ranks, maskOf, "with a causal mask"))
	}
	return wrapped(text.String()) + "\n" + againWords()
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
	return wrapped(fmt.Sprintf("%d models of those ten encodings were trained again with a later build, the same seed and another machine: "+
		"%d have the same accuracy on longer inputs, and the others differ by at most %s.\n", n, same, point(most)))
}

// lengthAdvice says which encodings that have fitted all languages that nearly all encodings were trained on are the
// best on longer inputs.
func lengthAdvice(all spoken) string {
	const most = 40
	var tried []string
	score := map[string]float64{}
	count := map[string]int{}
	for _, l := range languages {
		if len(all[l.name]) < most {
			continue
		}
		tried = append(tried, strings.ReplaceAll(l.name, "-", " "))
		for name, of := range all[l.name] {
			if of.fitted == of.n {
				count[name]++
				score[name] += (of.longer - l.guess) / (1 - l.guess)
			}
		}
	}
	n := len(tried)
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(count)), func(name string) bool { return count[name] < n })
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(score[b], score[a]) })
	var best []string
	for _, name := range names[:8] {
		best = append(best, fmt.Sprintf("`%s` %s", name, point(score[name]/float64(n))))
	}
	return fmt.Sprintf("On longer inputs than in training (%s; lengths 1 to 20, then 30 to 100), %d encodings have fitted "+
		"all languages. The best, by accuracy with guessing as 0, are %s. Most were trained with one seed on each language.\n",
		wording.List(n, tried), len(names), strings.Join(best, ", "))
}

// rangeOf writes the accuracies of the scaled encodings.
func rangeOf(longer []float64) string {
	if longer == nil {
		return ""
	}
	return fmt.Sprintf("The %d whose positions are scaled to the length of the input have %s to %s. ", len(longer),
		point(slices.Min(longer)), point(slices.Max(longer)))
}

// title writes the name of a language at the start of a sentence.
func title(language string) string {
	return strings.ToUpper(language[:1]) + strings.ReplaceAll(language[1:], "-", " ")
}

// maskOf says whether an encoding has a causal mask on formal languages, where alibi and transformer-xl have none.
func maskOf(scheme string) string {
	if scheme != "alibi" && scheme != "transformer-xl" && isCausal(ranking.Standing{Entry: ranking.Entry{Scheme: scheme}}) {
		return "yes"
	}
	return "no"
}

// compared writes the median ranks of those for which kind is yes, and of the others, with a test.
func compared(ranks []ranking.Standing, kind func(scheme string) string, yes string) string {
	families, p := ranking.Families(ranks, kind)
	of := map[string]ranking.Family{}
	for _, f := range families {
		of[f.Name] = f
	}
	if len(of) < 2 {
		return "none or all " + yes
	}
	return fmt.Sprintf("%s for the %d %s, %s for the %d others (%s)", number.Fixed(of["yes"].Median, 1), of["yes"].N, yes,
		number.Fixed(of["no"].Median, 1), of["no"].N, number.PText(p))
}

// taskTable sets the tasks side by side: accuracy on puzzles, shares on masked prediction, and accuracy on longer
// inputs.
func taskTable(fitted map[string]entry, unfitted []entry, network, fmri board, all spoken) string {
	cells := map[string][]string{}
	set := func(name string, task int, cell string) {
		if cells[name] == nil {
			cells[name] = slices.Repeat([]string{"–"}, 4+len(languages))
		}
		cells[name][task] = cell
	}
	const isOnce = ", once"
	onPuzzles := func(name, cell string) {
		plain, once := strings.CutSuffix(name, isOnce)
		set(plain, map[bool]int{false: 0, true: 1}[once], cell)
	}
	for _, e := range unfitted {
		onPuzzles(e.encoding(), "not fitted")
	}
	for _, e := range fitted { // some at another rate only
		onPuzzles(e.encoding(), point(e.rows.mean("validation")))
	}
	for i, b := range []board{network, fmri} {
		for _, s := range b.ranked {
			set(s.Label, 2+i, point(s.Mean))
		}
	}
	for i, l := range languages {
		for name, of := range all[l.name] {
			set(name, 4+i, of.cell())
		}
	}
	var rows []string
	for _, name := range slices.Sorted(maps.Keys(cells)) {
		mask := map[string]string{"yes": "yes", "no": ""}[maskOf(schemeOf(name))]
		if schemeOf(name) == "alibi" || schemeOf(name) == "transformer-xl" {
			mask = "not on languages"
		}
		rows = append(rows, fmt.Sprintf("| %s | %s | %s |", name, mask, strings.Join(cells[name], " | ")))
	}
	heads := "| encoding | causal mask | puzzles | puzzles, once | network | fMRI |"
	for _, l := range languages {
		heads += " " + strings.ReplaceAll(l.name, "-", " ") + " |"
	}
	return markdown(heads, rows)
}

// schemeOf returns the scheme of a name such as learn-0.2 or drawn rope.
func schemeOf(name string) string {
	name, _, _ = strings.Cut(name, ", ")
	if strings.HasPrefix(name, "drawn ") {
		return "random"
	}
	if scheme, sigma := train.SplitLabel(name); sigma != nil {
		return scheme
	}
	return name
}

// notRun says which languages and encodings of the preset of formal languages were not trained.
func notRun(all spoken) string {
	schemes := map[string]bool{}
	for _, p := range expect.Must(expect.Must(sweep.FindPreset("leader-length")).Spec.Points()) {
		for _, s := range p.Settings {
			if s.Flag == "pe" {
				schemes[s.Value] = true
			}
		}
	}
	var parts []string
	for _, l := range languages {
		has, many := map[string]bool{}, map[string]bool{}
		for _, of := range all[l.name] {
			has[of.scheme] = true
			if of.n >= 3 {
				many[of.scheme] = true
			}
		}
		count := func(of map[string]bool) (n int) {
			for scheme := range schemes {
				if !of[scheme] {
					n++
				}
			}
			return n
		}
		parts = append(parts, fmt.Sprintf("%s: %d have none, %d have fewer than three", strings.ReplaceAll(l.name, "-",
			" "), count(has), count(many)))
	}
	return wrapped(fmt.Sprintf("**Not run**: modular arithmetic, and seeds of the %d encodings of `leader-length` "+
		"(%s). No encoding that was tried fits parity check.\n", len(schemes), strings.Join(parts, "; ")))
}
