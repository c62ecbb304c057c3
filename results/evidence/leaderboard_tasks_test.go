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
	"torchpe/report/ranking"
	"torchpe/train"
	"torchpe/train/sweep"
)

// taskTable sets the tasks side by side: accuracy on puzzles, shares on masked prediction, and accuracy on longer
// inputs.
func taskTable(fitted map[string]entry, unfitted []entry, network, fmri board, all []language) string {
	cells := map[string][]string{}
	set := func(name string, task int, cell string) {
		if cells[name] == nil {
			cells[name] = slices.Repeat([]string{"–"}, 4+len(all))
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
	for _, s := range network.ranked {
		set(s.Label, 2, point(s.Mean))
	}
	for name, of := range fmri.models { // also of one seed
		set(name, 3, point(fmri.share(fmri.level, of.mean("test_mse_"+fmri.level))))
	}
	for i, l := range all {
		for name, of := range l.models {
			set(name, 4+i, of.longer())
		}
	}
	notApplicable(cells)
	var rows []string
	for _, name := range slices.Sorted(maps.Keys(cells)) {
		mask := map[string]string{"yes": "yes", "no": ""}[maskOf(schemeOf(name))]
		if schemeOf(name) == "alibi" || schemeOf(name) == "transformer-xl" {
			mask = "puzzles and network"
		}
		rows = append(rows, fmt.Sprintf("| %s | %s | %s |", name, mask, strings.Join(cells[name], " | ")))
	}
	heads := "| encoding | causal mask | puzzles | puzzles, once | network | fMRI |"
	for _, l := range all {
		heads += " " + l.plain() + " |"
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

// notApplicable marks the cells of tasks that an encoding cannot be trained on, or not sensibly, according to the
// presets.
func notApplicable(cells map[string][]string) {
	network, longer := schemesOf("leader-nmar"), schemesOf("leader-length")
	for name, of := range cells {
		scheme := schemeOf(name)
		mark := func(task int, applies bool) {
			if of[task] == "–" && !applies {
				of[task] = "n/a"
			}
		}
		mark(2, network[scheme] && scheme != ropeOnLine)
		for task := 4; task < len(of); task++ {
			mark(task, longer[scheme] && (scheme != "random" || strings.HasPrefix(name, "drawn")))
		}
	}
}

// schemesOf returns the encodings of a preset.
func schemesOf(preset string) map[string]bool {
	schemes := map[string]bool{}
	for _, p := range expect.Must(expect.Must(sweep.FindPreset(preset)).Spec.Points()) {
		for _, s := range p.Settings {
			if s.Flag == "pe" {
				schemes[s.Value] = true
			}
		}
	}
	return schemes
}

// notRun says which encodings of the presets of fMRI and formal languages were not trained.
func notRun(fmri board, all []language) string {
	inFMRI := map[string]bool{}
	for name := range fmri.models {
		inFMRI[schemeOf(name)] = true
	}
	var left []string
	for _, scheme := range append(slices.Sorted(maps.Keys(schemesOf("leader-fmri"))), "laplacian", "graphormer",
		"rrwp") {
		if !inFMRI[scheme] {
			left = append(left, "`"+scheme+"`")
		}
	}
	if left != nil {
		left = []string{"on fMRI, " + strings.Join(left, ", ") + "; "}
	}
	encodings := map[string]bool{}
	for _, l := range all {
		for name := range l.models {
			encodings[name] = true
		}
	}
	var few []string
	for _, l := range all {
		n := 0
		for name := range encodings {
			n += oneIf(len(l.models[name]) < 3)
		}
		few = append(few, fmt.Sprintf("%s %d", l.plain(), n))
	}
	return wrapped(fmt.Sprintf("**Not run**: %sof the %d encodings for languages so many have fewer than three seeds: "+
		"%s. Parity check was tried with ten encodings, and none fits.\n", strings.Join(left, ""), len(encodings),
		strings.Join(few, ", ")))
}

// taskWords says how the tasks go together, whether an encoding is among the first on all, and where the best on longer
// inputs is on the others.
func taskWords(fitted map[string]entry, network board, puzzles []ranking.Standing, all []language) string {
	share := meansOf(network.ranked)
	accuracy := map[string]float64{}
	for name, e := range fitted {
		accuracy[name] = e.rows.mean("validation")
	}
	var parts []string
	var p []float64
	for _, l := range thatAreRanked(all) {
		with := func(what string, of map[string]float64) string {
			var x, y []float64
			for _, s := range l.ranked {
				if v, has := of[s.Label]; has {
					x, y = append(x, v), append(y, s.Mean)
				}
			}
			test := expect.Must(stats.Spearman(x, y))
			p = append(p, test.P)
			return fmt.Sprintf("%s with %s (%d encodings, %s)", number.Bare(test.Statistic, 2), what, len(x),
				number.PText(test.P))
		}
		parts = append(parts, fmt.Sprintf("%s, %s and %s", l.plain(), with("puzzles", accuracy),
			with("the network", share)))
	}
	ranked, _ := scored(all)
	score := meansOf(ranked)
	best := byScore(score)
	n, first := 0, []string(nil)
	inThird := func(of map[string]float64, name string) bool {
		return slices.Index(byScore(of), name) < len(of)/3
	}
	for _, name := range best {
		_, onPuzzles := accuracy[name]
		if _, onNetwork := share[name]; !onPuzzles || !onNetwork {
			continue
		}
		if n++; inThird(accuracy, name) && inThird(share, name) && inThird(score, name) {
			first = append(first, "`"+name+"`")
		}
	}
	place := func(of []ranking.Standing) string {
		labelled := func(s ranking.Standing) bool { return s.Label == best[0] }
		return fmt.Sprintf("rank %g of %d", of[slices.IndexFunc(of, labelled)].Rank, len(of))
	}
	hold := 0
	for _, of := range expect.Must(stats.Holm(p)) {
		hold += oneIf(of < .05)
	}
	are := "None is"
	switch len(first) {
	case 0:
	case 1:
		are = first[0] + " alone is"
	default:
		are = strings.Join(first, ", ") + " are"
	}
	return wrapped(fmt.Sprintf("%d encodings are ranked on puzzles and the network and have fitted the languages. "+
		"%s in the first third of all these tasks. `%s`, the best on languages by its mean score, has %s on puzzles "+
		"and %s on the network. Spearman's ρ of accuracy on longer inputs: %s. If the p of these %d are corrected "+
		"(Holm), %d are below .05.\n", n, are, best[0], place(puzzles), place(network.ranked),
		strings.Join(parts, "; "), len(p), hold))
}

// meansOf returns the means of ranked encodings by their names.
func meansOf(ranked []ranking.Standing) map[string]float64 {
	means := map[string]float64{}
	for _, s := range ranked {
		means[s.Label] = s.Mean
	}
	return means
}

// byScore returns the names of encodings, those with the highest score first.
func byScore(score map[string]float64) []string {
	names := slices.Sorted(maps.Keys(score))
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(score[b], score[a]) })
	return names
}

// oneIf returns 1 for true.
func oneIf(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
