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
	"torchpe/internal/wording"
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
		mask := maskCell(schemeOf(name))
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
		if n > 0 {
			few = append(few, fmt.Sprintf("%d on %s", n, l.plain()))
		}
	}
	return wrapped(fmt.Sprintf("**Not run**: %sthree seeds of all %d encodings on languages; %s have fewer. Parity "+
		"check was tried with ten encodings, and none fits.\n", strings.Join(left, ""), len(encodings),
		wording.List(len(few), few)))
}

// taskWords says how the tasks go together, whether an encoding is among the first on all, and where the best on longer
// inputs is on the others.
func taskWords(network board, puzzles []ranking.Standing, all []language) string {
	var rows []string
	var p, free []float64
	for _, l := range thatAreRanked(all) {
		rho := func(ranked, of []ranking.Standing, p *[]float64) string {
			var x, y []float64
			for _, at := range onBoth(ranked, of) { // equal means may differ in their last bits
				x, y = append(x, float64(float32(at.X))), append(y, float64(float32(at.Y)))
			}
			test := expect.Must(stats.Spearman(x, y))
			*p = append(*p, test.P)
			return fmt.Sprintf("%s (%d, %s)", number.Bare(test.Statistic, 2), len(x), number.PText(test.P))
		}
		unmasked := slices.DeleteFunc(slices.Clone(l.ranked),
			func(s ranking.Standing) bool { return maskOf(s.Scheme) == "yes" })
		row := "| " + l.plain()
		for _, of := range [][]ranking.Standing{puzzles, network.ranked} {
			row += " | " + rho(l.ranked, of, &p) + " | " + rho(unmasked, of, &free)
		}
		rows = append(rows, row+" |")
	}
	score, _ := scored(all)
	tasks := []map[string]float64{{}, {}, {}} // means by name, of those that are ranked on all three
	for _, at := range onBoth(network.ranked, puzzles) {
		if of, has := meansOf(score)[at.Label]; has {
			tasks[0][at.Label], tasks[1][at.Label], tasks[2][at.Label] = at.X, at.Y, of
		}
	}
	var first []string
	for _, name := range byScore(tasks[2]) {
		isFirst := true
		for _, of := range tasks {
			isFirst = isFirst && slices.Index(byScore(of), name) < len(of)/3
		}
		if isFirst {
			first = append(first, "`"+name+"`")
		}
	}
	best := score[0].Label
	place := func(of []ranking.Standing) string {
		labelled := func(s ranking.Standing) bool { return s.Label == best }
		return fmt.Sprintf("rank %g of %d", of[slices.IndexFunc(of, labelled)].Rank, len(of))
	}
	are := "None is"
	switch len(first) {
	case 0:
	case 1:
		are = first[0] + " alone is"
	default:
		are = strings.Join(first, ", ") + " are"
	}
	below := func(p []float64) (n int) {
		for _, of := range expect.Must(stats.Holm(p)) {
			n += oneIf(of < .05)
		}
		return n
	}
	return wrapped(fmt.Sprintf("%d encodings are ranked on puzzles, the network and the score on languages. %s in the "+
		"first third of them on all three. `%s`, the best on languages by its mean score, has %s on puzzles and %s on "+
		"the network.\n\nSpearman's ρ of accuracy on longer inputs with the other tasks (encodings, p), of all "+
		"encodings and of those without a causal mask. If p are corrected for %d tests (Holm), %d of all "+
		"encodings and %d without a mask are below .05.\n", len(tasks[2]), are, best, place(puzzles),
		place(network.ranked), len(p), below(p), below(free))) + "\n" +
		markdown("| longer inputs of | ρ with puzzles | without causal masks | ρ with the network | without causal "+
			"masks |", rows)
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
