package evidence_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/internal/number"
	"torchpe/internal/stats"
	"torchpe/internal/wording"
	"torchpe/models/pe"
	"torchpe/report/catalogue"
	"torchpe/report/figure"
	"torchpe/report/ranking"
	"torchpe/train/sweep"
)

// leaderSeeds are those that all encodings of the leaderboard were trained with.
var leaderSeeds = []string{"2235", "6312", "6068"}

// freshSeeds play no part in the ranks.
var freshSeeds = []string{"9742", "8880"}

// twin is learn, where models meet as many tokens as in training.
const twin = "learn-resampled"

// entry is an encoding of the leaderboard: its name, and the rows of the seeds and of fresh ones.
type entry struct {
	name        string
	rows, fresh map[string]row
}

// leaders returns the encodings of which the models of all seeds have fitted and have their answers, and those of
// which a model has not fitted: of these not all seeds need to be trained.
func leaders(t *testing.T, m models) (fitted, unfitted []entry) {
	t.Helper()
	for name := range m {
		e := entry{name, map[string]row{}, map[string]row{}}
		for _, seed := range freshSeeds {
			if r := m[name][seed]; r != nil {
				e.fresh[seed] = r
			}
		}
		isFitted, hasAnswers := true, true
		for _, seed := range leaderSeeds {
			if r := m[name][seed]; r != nil {
				e.rows[seed] = r
				isFitted = isFitted && r["fitted"] != "no"
				hasAnswers = hasAnswers && r["answers_validation"] != ""
			}
		}
		switch {
		case len(e.rows) == 0 || !isPlain(e.any()):
		case !isFitted:
			unfitted = append(unfitted, e)
		case hasAnswers && len(e.rows) == len(leaderSeeds):
			fitted = append(fitted, e)
		}
	}
	return fitted, unfitted
}

// any returns a row of the entry: all have the same settings.
func (e entry) any() row { return e.rows[seedsOf(e.rows)[0]] }

// isPlain reports whether the settings of a row are those of the leaderboard.
func isPlain(r row) bool {
	return r["pe"] != twin && r["read_out"] == "last" && r["dropout"] == "0" && r["fixed_pe_dropout"] != "0" &&
		r["pe_lr"] == "" && r["take"] == "" && r["pe_tables"] != "shared" && r["embed_init_scale"] == "" &&
		r["optimizer"] == "adam" && r["until"] == "train=0.99" && r["heads"] == "1" && r["d_model"] == "64" &&
		(r["pe"] != "learn" || slices.Contains([]string{"0.2", "1", "2"}, r["sigma"]))
}

// items returns the mean answers of an entry to each item, whose puzzles are rotations of one, over the seeds.
func (e entry) items(t *testing.T, puzzles []row) (means []float64) {
	t.Helper()
	size := 0 // rotations of an item
	for size < len(puzzles) && puzzles[size]["item"] == puzzles[0]["item"] {
		size++
	}
	means = make([]float64, len(puzzles)/size)
	for _, seed := range leaderSeeds {
		for i, right := range correct(e.rows[seed], puzzles) {
			means[i/size] += right / float64(size*len(leaderSeeds))
		}
	}
	return means
}

// knowsOf says what an encoding knows of the places of tokens.
func knowsOf(t *testing.T, scheme string) string {
	t.Helper()
	s, err := pe.Find(scheme)
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case s.Needs <= pe.NeedsSame, scheme == "random": // a row for each token, drawn at random
		return "none"
	case s.Needs == pe.NeedsOrder:
		return "1-D"
	}
	return "2-D"
}

// TestLeaderboard makes the page of the leaderboard from the rows of both CSV files.
func TestLeaderboard(t *testing.T) {
	m := readModels(t)
	fitted, unfitted := leaders(t, m)
	puzzles := records(t, "items.csv")
	by := map[string]entry{}
	var entries []ranking.Entry
	for _, e := range fitted {
		by[e.name] = e
		entries = append(entries, ranking.Entry{Label: e.name, Scheme: e.any()["pe"],
			Seeds: models{"": e.rows}.column(t, "", "validation"), Items: e.items(t, puzzles)})
	}
	slices.SortFunc(entries, func(a, b ranking.Entry) int { return strings.Compare(a.Label, b.Label) })
	slices.SortFunc(unfitted, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	ranked := ranking.Rank(entries, false)
	costs := map[string]row{}
	for _, r := range records(t, "../schemes-cpu/schemes.csv") {
		costs[r["pe"]] = r
	}

	writePage(t, "../leaderboard/README.md", []part{
		{"result", leaderWords(t, ranked, unfitted)},
		{"advice", advice(t, ranked)},
		{"ranks", rankTable(t, ranked, by, costs)},
		{"unfitted", unfittedTable(t, unfitted, costs)},
		{"fresh", freshWords(t, ranked, by)},
		{"confounds", confoundWords(t, ranked, by)},
		{"once", onceTable(t, by)},
		{"devices", deviceWords(t, slices.Concat(fitted, unfitted))},
		{"missing", missing(t, slices.Concat(fitted, unfitted))},
		{"places", familyTable(ranked, "places", func(s string) string { return knowsOf(t, s) })},
		{"families", familyTable(ranked, "family", func(s string) string {
			return expect.Must(catalogue.FamilyOf(s))
		})},
		{"tasks", taskTable(t, by, unfitted)},
	})

	colorOf := map[string]string{"2-D": "2d-fixed", "1-D": "1d-fixed", "none": "random"}
	scatter := figure.Scatter{XLabel: "IID test accuracy", YLabel: "Validation accuracy"}
	for _, s := range ranked {
		scatter.Points = append(scatter.Points, figure.ScatterPoint{Label: s.Label,
			ColorOf: colorOf[knowsOf(t, s.Scheme)],
			X:       stats.Mean(models{"": by[s.Label].rows}.column(t, "", "iid")), Y: s.Mean})
	}
	draw(t, figure.Page{Width: figure.PageWidth, Rows: row1(5, &scatter)}, "../leaderboard/leaderboard.pdf",
		"../../docs/images/leaderboard.png")
}

// leaderWords says which encodings cannot be told from the first.
func leaderWords(t *testing.T, ranked []ranking.Standing, unfitted []entry) string {
	t.Helper()
	var differ []string
	for _, s := range ranked[1:] {
		if s.Differs {
			differ = append(differ, s.Label)
		}
	}
	return fmt.Sprintf("Of %d encodings, each σ and placement counted apart, %d have fitted with all three seeds and "+
		"are ranked. %s is first: it solves %s of the validation puzzles. Shown to differ from it: %s. "+
		"The other %d are not.\n",
		len(ranked)+len(unfitted), len(ranked), ranked[0].Label, point(ranked[0].Mean), strings.Join(differ, "; "),
		len(ranked)-1-len(differ))
}

// advice says what to take by what is known of the places of tokens. docs/encodings.md repeats it.
func advice(t *testing.T, ranked []ranking.Standing) string {
	t.Helper()
	families, p := ranking.Families(ranked, func(s string) string { return knowsOf(t, s) })
	median := map[string]string{}
	best := map[string][]string{}
	for _, f := range families {
		median[f.Name] = number.Fixed(f.Median, 1)
	}
	for _, s := range ranked {
		knows := knowsOf(t, s.Scheme)
		best[knows] = append(best[knows], fmt.Sprintf("`%s` %s", s.Label, point(s.Mean)))
	}
	text := fmt.Sprintf("On Latin squares, whose 16 tokens lie on a grid, %d encodings have fitted, three seeds each. "+
		"Their ranks differ by what they know of the places (%s, Kruskal and Wallis). Validation accuracy:\n\n",
		len(ranked), number.PText(p))
	for _, kind := range [][2]string{{"2-D", "the grid"}, {"1-D", "an order"},
		{"none", "neither, and have a row of a table for each token"}} {
		own := best[kind[0]]
		last := len(own) - min(3, len(own)/2)
		text += fmt.Sprintf("* %d know %s (median rank of their schemes %s): first %s; last %s.\n", len(own), kind[1],
			median[kind[0]], strings.Join(own[:min(5, last)], ", "), strings.Join(own[last:], ", "))
	}
	return text
}

// missing lists the encodings of the preset that were not trained with all seeds.
func missing(t *testing.T, known []entry) string {
	t.Helper()
	has := map[string]bool{}
	for _, e := range known {
		r := e.any()
		has[r["pe"]+" "+r["placement"]] = true
	}
	var names []string
	for _, part := range expect.Must(sweep.FindPreset("leader-lst")).Spec.Parts {
		for _, axis := range part.Axes {
			for _, name := range axis.Values {
				isOnce := part.Name == "once"
				switch {
				case axis.Flag != "pe", name == twin:
				case isOnce && !has[name+" input"]:
					names = append(names, name+", once")
				case !isOnce && !has[name+" block"] && !has[name+" "]:
					names = append(names, name)
				}
			}
		}
	}
	if names == nil {
		return ""
	}
	return "**Not run yet**: " + strings.Join(names, "; ") + ".\n"
}

// rankTable lists the ranked encodings.
func rankTable(t *testing.T, ranked []ranking.Standing, by map[string]entry, costs map[string]row) string {
	t.Helper()
	var rows []string
	for i, s := range ranked {
		differs := "–"
		if i > 0 {
			differs = map[bool]string{true: "yes", false: "no"}[s.Differs]
		}
		fresh := "–"
		if of := by[s.Label].fresh; len(of) == len(freshSeeds) {
			fresh = point(stats.Mean(models{"": of}.column(t, "", "validation")))
		}
		rows = append(rows, fmt.Sprintf("| %g | %d to %d | %s | %s | %s | %s |", s.Rank, s.LowRank, s.HighRank,
			leaderCells(t, by[s.Label]), fresh, differs, costCells(t, by[s.Label], costs)))
	}
	return markdown("| rank | 95 % | encoding | places | epochs until .99 | training | IID test | validation | "+
		"fresh seeds | differs from the first | step | parameters |", rows)
}

// leaderCells are the cells of an encoding from its name to its accuracy on validation puzzles.
func leaderCells(t *testing.T, e entry) string {
	t.Helper()
	m := models{"": e.rows}
	of := func(measure string) []float64 { return m.column(t, "", measure) }
	validation := point(stats.Mean(of("validation")))
	if len(e.rows) > 1 {
		validation = meanSD(stats.Mean(of("validation")), stats.SD(of("validation")))
	}
	return fmt.Sprintf("%s | %s | %s | %s | %s | %s", e.name, knowsOf(t, e.any()["pe"]),
		m.fitted(t, ""), point(stats.Mean(of("train"))), point(stats.Mean(of("iid"))), validation)
}

// costCells are the time of a step over that of nope, and the trained parameters of the encoding. Of tables that are
// added once the time was not measured.
func costCells(t *testing.T, e entry, costs map[string]row) string {
	t.Helper()
	r := e.any()
	if r["placement"] != "input" {
		return costs[r["pe"]]["puzzles_ratio"] + " | " + costs[r["pe"]]["parameters"]
	}
	return fmt.Sprintf("– | %d", factsOf(t, r).Parameters)
}

// factsOf describes the encoding of a row.
func factsOf(t *testing.T, r row) pe.Facts {
	t.Helper()
	scheme, err := pe.Find(r["pe"])
	if err != nil {
		t.Fatal(err)
	}
	given := pe.Options{}
	if r["placement"] != "" {
		given["pe-placement"] = r["placement"]
	}
	options := expect.Must(scheme.Resolve("code", given))
	return expect.Must(scheme.Describe(pe.Size{Tokens: 16, DModel: 64, Heads: 1, Layers: 4}, options))
}

// freshWords compares the ranked means with those of fresh seeds.
func freshWords(t *testing.T, ranked []ranking.Standing, by map[string]entry) string {
	t.Helper()
	var names, apart []string
	var old, fresh, variances []float64
	unfitted := 0
	for _, s := range ranked {
		of := by[s.Label].fresh
		if len(of) != len(freshSeeds) {
			continue
		}
		mean := stats.Mean(models{"": of}.column(t, "", "validation"))
		names, old, fresh = append(names, s.Label), append(old, s.Mean), append(fresh, mean)
		for _, r := range of {
			if r["fitted"] == "no" {
				unfitted++
			}
		}
		for _, rows := range []map[string]row{by[s.Label].rows, of} {
			sd := stats.SD(models{"": rows}.column(t, "", "validation"))
			variances = append(variances, slices.Repeat([]float64{sd * sd}, len(rows)-1)...)
		}
		if d := mean - s.Mean; d > .1 || d < -.1 {
			apart = append(apart, fmt.Sprintf("%s (%s, then %s)", s.Label, point(s.Mean), point(mean)))
		}
	}
	rho, more := expect.Must(stats.Spearman(old, fresh)), stats.Mean(fresh)-stats.Mean(old)
	// Means of three and of two seeds of one spread are more than .1 apart so often.
	pooled := math.Sqrt(stats.Mean(variances))
	chance := math.Erfc(.1 / (pooled * math.Sqrt(1./3+1./2) * math.Sqrt2))
	than := "higher"
	if more < 0 {
		than, more = "lower", -more
	}
	return fmt.Sprintf("**Fresh seeds**: two (%s) that play no part in the ranks exist of %d ranked encodings; of "+
		"their %d models %d have not fitted. Spearman's ρ of their means with the ranked ones is %s; on average they "+
		"are %s %s. %d are more than .1 apart, where the spread of seeds "+
		"(SD %s) lets one expect %.0f: %s.\n", strings.Join(freshSeeds, ", "), len(names),
		len(names)*len(freshSeeds), unfitted, point(rho.Statistic), point(more), than, len(apart),
		point(pooled), chance*float64(len(names)), strings.Join(apart, "; "))
}

// confoundWords compares what encodings know of places without causal masks, and on each device.
func confoundWords(t *testing.T, ranked []ranking.Standing, by map[string]entry) string {
	t.Helper()
	// of returns how many of those that know an order and the grid are taken, and the median ranks of these.
	of := func(take func(r row) bool) (count, medians string) {
		var some []ranking.Standing
		names, all := map[string][]string{}, map[string]int{}
		for _, s := range ranked {
			r := by[s.Label].any()
			knows := knowsOf(t, r["pe"])
			all[knows]++
			if take(r) {
				some = append(some, s)
				names[knows] = append(names[knows], s.Label)
			}
		}
		families, p := ranking.Families(some, func(s string) string { return knowsOf(t, s) })
		for _, f := range families {
			medians += fmt.Sprintf("%s %s, ", f.Name, number.Fixed(f.Median, 1))
		}
		return fmt.Sprintf("%d of the %d that know an order and %d of the %d that know the grid", len(names["1-D"]),
			all["1-D"], len(names["2-D"]), all["2-D"]), medians + number.PText(p)
	}
	isMasked := func(r row) bool { return factsOf(t, r).Attention.Causal }
	isGPU := func(r row) bool { return r["precision"] != "" }
	masked, _ := of(isMasked)
	_, free := of(func(r row) bool { return !isMasked(r) })
	gpu, onGPU := of(isGPU)
	_, onCPU := of(func(r row) bool { return !isGPU(r) })
	return fmt.Sprintf(`* **Masks**: %s have a causal mask. Median ranks of those without: %s.
* **Devices**: a GPU trained %s. Their median ranks: %s; of those that a CPU trained: %s.
`, masked, free, gpu, onGPU, onCPU)
}

// onceTable compares tables that are added once with the same at every block.
func onceTable(t *testing.T, by map[string]entry) string {
	t.Helper()
	var rows []string
	var less []onceLess
	for _, name := range slices.Sorted(maps.Keys(by)) {
		once, isThere := by[name+", once"]
		if !isThere {
			continue
		}
		a := models{"": once.rows}.column(t, "", "validation")
		b := models{"": by[name].rows}.column(t, "", "validation")
		less = append(less, onceLess{name, stats.Mean(a) - stats.Mean(b)})
		rows = append(rows, fmt.Sprintf("| %s | %s | %s |", name, meanSD(stats.Mean(a), stats.SD(a)),
			meanSD(stats.Mean(b), stats.SD(b))))
	}
	most, least := slices.MaxFunc(less, byLess), slices.MinFunc(less, byLess)
	ahead := slices.DeleteFunc(slices.Clone(less), func(d onceLess) bool { return d.less <= .05 })
	var names []string
	for _, d := range ahead {
		names = append(names, d.name)
	}
	return markdown("| table | once | at every block |", rows) + fmt.Sprintf(`
Of %d tables %d solve more than .05 more once: %s. The most that once is ahead
is %s (%s), the most that it is behind %s (%s). Three seeds each; σ differ, and so do devices, so that no
mean is given.
`, len(less), len(ahead), wording.List(len(names), names), point(most.less), most.name, point(-least.less), least.name)
}

// onceLess says how much more of the puzzles a table solves once than at every block.
type onceLess struct {
	name string
	less float64
}

func byLess(a, b onceLess) int { return cmp.Compare(a.less, b.less) }

// deviceWords lists the encodings that a GPU trained, and compares models that a CPU has trained, too.
func deviceWords(t *testing.T, all []entry) string {
	t.Helper()
	var names []string
	of := map[string]entry{}
	for _, e := range all {
		if e.any()["precision"] != "" {
			names = append(names, e.name)
		}
		of[e.name] = e
	}
	slices.Sort(names)
	var rows []string
	again := models{}
	for _, r := range records(t, "../gpu/cpu.csv") {
		name := nameOf(r)
		if again[name] == nil {
			again[name] = map[string]row{}
		}
		again[name][r["seed"]] = r
	}
	for _, name := range slices.Sorted(maps.Keys(again)) {
		for _, seed := range seedsOf(again[name]) {
			a, b := of[name].rows[seed], again[name][seed]
			rows = append(rows, fmt.Sprintf("| %s | %s | %s, %s | %s, %s | %s, %s |", name, seed,
				a["epochs"], b["epochs"], point(a.number(t, "iid")), point(b.number(t, "iid")),
				point(a.number(t, "validation")), point(b.number(t, "validation"))))
		}
	}
	return strings.Join(names, "; ") + ".\n\nModels that a CPU has trained in fp32, too; the GPU's numbers first:\n\n" +
		markdown("| encoding | seed | epochs | IID test | validation |", rows)
}

func unfittedTable(t *testing.T, unfitted []entry, costs map[string]row) string {
	t.Helper()
	var rows []string
	for _, e := range unfitted {
		rows = append(rows, fmt.Sprintf("| %s | %s |", leaderCells(t, e), costCells(t, e, costs)))
	}
	if rows == nil {
		return "None so far.\n"
	}
	return markdown("| encoding | places | epochs until .99 | training | IID test | validation | step | parameters |",
		rows)
}

// familyTable lists families by the medians of their ranks, and tests whether they differ.
func familyTable(ranked []ranking.Standing, heading string, familyOf func(string) string) string {
	families, p := ranking.Families(ranked, familyOf)
	var rows []string
	for _, f := range families {
		rows = append(rows, fmt.Sprintf("| %s | %d | %s |", f.Name, f.N, number.Fixed(f.Median, 1)))
	}
	return markdown("| "+heading+" | schemes | median rank |", rows) + fmt.Sprintf(`
How often ranks given to schemes at random differ so much: %s (Kruskal and Wallis).
`, number.PText(p))
}

// taskTable lists the encodings that other tasks were trained with: errors of masked prediction, each seed, and
// accuracy on longer inputs.
func taskTable(t *testing.T, fitted map[string]entry, unfitted []entry) string {
	t.Helper()
	puzzles := map[string]string{}
	for name, e := range fitted {
		puzzles[name] = point(stats.Mean(models{"": e.rows}.column(t, "", "validation")))
	}
	for _, e := range unfitted {
		puzzles[e.name] = "not fitted"
	}
	cells := map[string][]string{}
	const tasks = 6
	set := func(name string, task int, cell string) {
		if cells[name] == nil {
			cells[name] = slices.Repeat([]string{"–"}, tasks)
		}
		cells[name][task] = cell
	}
	for task, of := range []struct {
		file, steps string
		decimals    int
	}{{"nmar.csv", "10000", 4}, {"fmri.csv", "12000", 3}} {
		for name, errs := range masked(t, of.file, "test_mse_90", of.steps) {
			cell := number.Bare(stats.Mean(errs), of.decimals)
			if len(errs) > 2 {
				cell += " ± " + number.Bare(stats.SD(errs), of.decimals)
			} else {
				cell += fmt.Sprintf(" (%d seeds)", len(errs))
			}
			set(name, task, cell)
		}
	}
	for _, r := range records(t, "../lengths-cpu/models.csv") {
		task := 2 + slices.Index(strings.Fields("even-pairs missing-duplicate reverse-string bucket-sort"), r["task"])
		if task < 2 {
			continue // parity check: fitted by none
		}
		name := strings.Replace(r["encoding"], "random, random-base", "drawn", 1)
		if r["fitted"] == r["n"] {
			set(name, task, meanSD(r.number(t, "longer"), r.number(t, "longer_sd")))
		} else {
			set(name, task, fmt.Sprintf("%s of %s fitted", r["fitted"], r["n"]))
		}
	}
	var rows []string
	for _, name := range slices.Sorted(maps.Keys(cells)) {
		rows = append(rows, fmt.Sprintf("| %s | %s | %s |", name, cmp.Or(puzzles[name], "–"),
			strings.Join(cells[name], " | ")))
	}
	return markdown("| encoding | puzzles | network | fMRI | even pairs | missing duplicate | reverse string | "+
		"bucket sort |", rows)
}
