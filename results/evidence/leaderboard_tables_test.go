package evidence_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"torchpe/internal/expect"
	"torchpe/internal/stats"
	"torchpe/internal/wording"
	"torchpe/models/pe"
	"torchpe/report/item"
	"torchpe/report/ranking"
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
func onceTable(m models, by map[string]entry) string {
	var rows, told, many []string
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
		if d := m.less(name+", once", name); d.n >= manySeeds {
			many = append(many, fmt.Sprintf("%s %s (%s)", name, point(d.mean), span(d.seeds)))
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
With %[9]d seeds ([Evidence](../evidence/README.md)) adding once gains (95 %%): %[10]s.
`, len(less), len(ahead), wording.List(len(names), names), point(most.less), most.name, point(-least.less),
		least.name, strings.Join(told, ", "), manySeeds, strings.Join(many, "; ")))
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
