package evidence_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"torchpe/internal/expect"
	"torchpe/internal/number"
	"torchpe/internal/stats"
	"torchpe/internal/wording"
	"torchpe/models/pe"
	"torchpe/report/item"
	"torchpe/report/ranking"
	"torchpe/train"
	"torchpe/train/sweep"
)

// rankTable lists the ranked encodings.
func rankTable(ranked []ranking.Standing, by map[string]entry, costs map[string]row) string {
	var rows []string
	for i, s := range ranked {
		fresh := "–"
		if of := by[s.Label].fresh; len(of) == len(freshSeeds) {
			fresh = point(of.mean("validation"))
		}
		rows = append(rows, fmt.Sprintf("| %g | %d to %d | %s | %s | %s | %d, %d | %s |", s.Rank, s.LowRank,
			s.HighRank, leaderCells(by[s.Label]), fresh, differs(i, s), s.Better, s.Worse,
			costCells(by[s.Label], costs)))
	}
	const shown = 30
	const headings = "| rank | 95 % | encoding | positions | epochs until .99 | training | IID test | " +
		"validation | fresh seeds | worse than the first | better, worse than | step | parameters |"
	return markdown(headings, rows[:shown]) + fmt.Sprintf("\n<details><summary>The other %d</summary>\n\n%s\n"+
		"</details>\n", len(rows)-shown, markdown(headings, rows[shown:]))
}

// differs says whether the entry at an index is worse than the first.
func differs(i int, s ranking.Standing) string {
	switch {
	case i == 0:
		return "–"
	case s.Differs:
		return "yes"
	}
	return "no"
}

// leaderCells are the cells of an encoding from its name to its accuracy on validation puzzles.
func leaderCells(e entry) string {
	validation := point(e.rows.mean("validation"))
	if len(e.rows) > 1 {
		validation = spread(e.rows.column("validation"))
	}
	return fmt.Sprintf("%s | %s | %s | %s | %s | %s", e.name, knowsOf(e.any()["pe"]),
		e.rows.fitted(), point(e.rows.mean("train")), point(e.rows.mean("iid")), validation)
}

// costCells are the time of a step over that of nope, and the trained parameters of the encoding. A ratio below
// 1.4 is within the noise of its measurement. Of tables that are added once the time was not measured.
func costCells(e entry, costs map[string]row) string {
	r := e.any()
	if r["placement"] != "input" {
		ratio := costs[r["pe"]]["puzzles_ratio"]
		if v, err := strconv.ParseFloat(ratio, 64); err == nil && v < 1.4 {
			ratio = "≈ 1"
		}
		return ratio + " | " + costs[r["pe"]]["parameters"]
	}
	return fmt.Sprintf("– | %d", factsOf(r).Parameters)
}

// factsOf describes the encoding of a row.
func factsOf(r row) pe.Facts {
	scheme := expect.Must(pe.Find(r["pe"]))
	given := pe.Options{}
	if r["placement"] != "" {
		given["pe-placement"] = r["placement"]
	}
	options := expect.Must(scheme.Resolve("code", given))
	return expect.Must(scheme.Describe(pe.Size{Tokens: 16, DModel: 64, Heads: 1, Layers: 4}, options))
}

// onceTable compares tables that are added once with the same at every block.
func onceTable(by map[string]entry) string {
	var rows, told []string
	var less []onceLess
	for _, name := range slices.Sorted(maps.Keys(by)) {
		once, isThere := by[name+", once"]
		if !isThere {
			continue
		}
		a, b := once.rows.column("validation"), by[name].rows.column("validation")
		less = append(less, onceLess{name, stats.Mean(a) - stats.Mean(b)})
		rows = append(rows, fmt.Sprintf("| %s | %s | %s |", name, spread(a), spread(b)))
		if item.WelchTells(item.WelchP(a, b)) {
			told = append(told, name)
		}
	}
	most, least := slices.MaxFunc(less, byLess), slices.MinFunc(less, byLess)
	ahead := slices.DeleteFunc(slices.Clone(less), func(d onceLess) bool { return d.less <= .05 })
	var names []string
	for _, d := range ahead {
		names = append(names, d.name)
	}
	return markdown("| table | once | at every block |", rows) + "\n" + wrapped(fmt.Sprintf(`
The means of %[2]d of %[1]d tables are more than .05 higher if they are added once: %[3]s. With three seeds this is
significant for %[8]s alone (Welch's test, not corrected), and some of these tables were trained on a GPU in one
placement only. The largest gain of adding once is %[4]s (%[5]s), the largest loss %[6]s (%[7]s).
`, len(less), len(ahead), wording.List(len(names), names), point(most.less), most.name, point(-least.less),
		least.name, strings.Join(told, ", ")))
}

// onceLess says how much more of the puzzles a table solves once than at every block.
type onceLess struct {
	name string
	less float64
}

func byLess(a, b onceLess) int { return cmp.Compare(a.less, b.less) }

// unfittedTable lists the encodings that have not fitted, and those of which not all seeds were trained yet.
func unfittedTable(unfitted, begun []entry, costs map[string]row) string {
	var rows []string
	for _, e := range unfitted {
		rows = append(rows, fmt.Sprintf("| %s | %s |", leaderCells(e), costCells(e, costs)))
	}
	if rows == nil {
		return "None so far.\n"
	}
	table := markdown("| encoding | positions | epochs until .99 | training | IID test | validation | step | "+
		"parameters |", rows)
	var names []string
	for _, e := range begun {
		names = append(names, fmt.Sprintf("`%s` (%d of %d seeds, validation %s)", e.name, len(e.rows), len(leaderSeeds),
			point(e.rows.mean("validation"))))
	}
	if names == nil {
		return table
	}
	slices.Sort(names)
	return table + "\n" + wrapped("Fitted so far, with fewer seeds than are ranked: "+strings.Join(names, "; ")+".\n")
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
	for _, s := range network.ranked {
		set(s.Label, 2, point(s.Mean))
	}
	for name, of := range fmri.models { // also of one seed
		set(name, 3, point(fmri.share(fmri.level, of.mean("test_mse_"+fmri.level))))
	}
	for i, l := range languages {
		for name, of := range all[l.name] {
			set(name, 4+i, of.cell())
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
	for _, l := range languages {
		heads += " " + plainName(l.name) + " |"
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
		for i := range languages {
			mark(4+i, longer[scheme] || strings.HasPrefix(name, "drawn"))
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
func notRun(fmri board, all spoken) string {
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
	schemes := schemesOf("leader-length")
	var parts []string
	for _, l := range languages {
		none, few := 0, 0
		n := map[string]int{}
		for _, of := range all[l.name] {
			n[of.scheme] = max(n[of.scheme], of.n)
		}
		for scheme := range schemes {
			none += oneIf(n[scheme] == 0)
			few += oneIf(n[scheme] > 0 && n[scheme] < 3)
		}
		parts = append(parts, fmt.Sprintf("%s, %d not trained and %d with fewer than three seeds",
			plainName(l.name), none, few))
	}
	return wrapped(fmt.Sprintf("**Not run**: %sof the %d encodings for languages, which leave out drawn positions: "+
		"%s; modular arithmetic. Parity check was tried with ten encodings, and none fits.\n",
		strings.Join(left, ""), len(schemes), strings.Join(parts, "; ")))
}

// taskWords says how the tasks go together, whether an encoding is among the first on all, and where the best on longer
// inputs is on the others.
func taskWords(fitted map[string]entry, network board, puzzles []ranking.Standing, all spoken) string {
	share := map[string]float64{}
	for _, s := range network.ranked {
		share[s.Label] = s.Mean
	}
	accuracy := map[string]float64{}
	for name, e := range fitted {
		accuracy[name] = e.rows.mean("validation")
	}
	var parts []string
	var p []float64
	for _, l := range languages {
		if len(all[l.name]) < nearlyAll {
			continue
		}
		with := func(what string, of map[string]float64) string {
			var x, y []float64
			for _, name := range all.fitted(l.name) {
				if v, has := of[name]; has {
					x, y = append(x, v), append(y, all[l.name][name].longer)
				}
			}
			test := expect.Must(stats.Spearman(x, y))
			p = append(p, test.P)
			return fmt.Sprintf("%s with %s (%d encodings, %s)", number.Bare(test.Statistic, 2), what, len(x),
				number.PText(test.P))
		}
		parts = append(parts, fmt.Sprintf("%s, %s and %s", plainName(l.name), with("puzzles", accuracy),
			with("the network", share)))
	}
	score, _ := all.scores()
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
