package evidence_test

import (
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

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

// seedWords sets means of this many seeds, the paper's number, beside those of three.
const manySeeds = 15

// twin is learn, where models meet as many tokens as in training.
const twin = "learn-resampled"

// ropeOnLine is rope, where tokens lie on a line.
const ropeOnLine = "mrope"

// entry is an encoding of the leaderboard: its name, and the rows of the seeds and of fresh ones.
type entry struct {
	name        string
	rows, fresh seeds
}

// leaders returns the encodings of which the models of all seeds have fitted and have their answers, and those of
// which a model has not fitted: of these not all seeds need to be trained; and those that have fitted with the seeds
// that were trained so far. Another learning rate than the leaderboard's counts only for encodings that have not
// fitted at that one.
func leaders(m models) (fitted, unfitted, begun []entry) {
	isUnfitted := map[string]bool{}
	for name := range m {
		e := entry{name, seeds{}, seeds{}}
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
			isUnfitted[name] = true
		case hasAnswers && len(e.rows) == len(leaderSeeds):
			fitted = append(fitted, e)
		default:
			begun = append(begun, e)
		}
	}
	isNeedless := func(e entry) bool { return e.name != e.encoding() && !isUnfitted[e.encoding()] }
	return slices.DeleteFunc(fitted, isNeedless), slices.DeleteFunc(unfitted, isNeedless),
		slices.DeleteFunc(begun, isNeedless)
}

// encoding returns the name of the entry without its learning rate, if that is not the leaderboard's.
func (e entry) encoding() string {
	name, _, _ := strings.Cut(e.name, ", lr ")
	return name
}

// any returns a row of the entry: all have the same settings.
func (e entry) any() row { return e.rows.any() }

// isPlain reports whether the settings of a row are those of the leaderboard.
func isPlain(r row) bool {
	return r["pe"] != twin && r["read_out"] == "last" && r["dropout"] == "0" && r["fixed_pe_dropout"] != "0" &&
		r["pe_lr"] == "" && r["take"] == "" && r["pe_tables"] != "shared" && r["embed_init_scale"] == "" &&
		r["optimizer"] == "adam" && r["until"] == "train=0.99" && r["heads"] == "1" && r["d_model"] == "64" &&
		(r["pe"] != "learn" || slices.Contains([]string{"0.2", "1", "2"}, r["sigma"]))
}

// items returns the mean answers of an entry to each item, whose puzzles are rotations of one, over the seeds.
func (e entry) items(puzzles []row) (means []float64) {
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

// knowsOf says what an encoding knows of the places of tokens. axial is told an order alone, but factors its 16
// places as 4 x 4, which on puzzles are the rows and columns.
func knowsOf(scheme string) string {
	s := expect.Must(pe.Find(scheme))
	switch {
	case s.Needs <= pe.NeedsSame, scheme == "random": // a row for each token, drawn at random
		return "none"
	case scheme == "axial":
		return "2-D"
	case s.Needs == pe.NeedsOrder:
		return "1-D"
	}
	return "2-D"
}

// TestLeaderboard makes the page of the leaderboard from the rows of both CSV files.
func TestLeaderboard(t *testing.T) {
	m := readModels(t)
	fitted, unfitted, begun := leaders(m)
	puzzles := records("items.csv")
	by := map[string]entry{}
	var entries []ranking.Entry
	for _, e := range fitted {
		by[e.name] = e
		entries = append(entries, ranking.Entry{Label: e.name, Scheme: e.any()["pe"],
			Seeds: e.rows.column("validation"), Items: e.items(puzzles)})
	}
	slices.SortFunc(entries, func(a, b ranking.Entry) int { return strings.Compare(a.Label, b.Label) })
	slices.SortFunc(unfitted, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	ranked := ranking.Rank(entries, false)
	costs := map[string]row{}
	for _, r := range records("../schemes-cpu/schemes.csv") {
		costs[r["pe"]] = r
	}

	var trained, onNetwork []row
	for _, e := range slices.Concat(fitted, unfitted) {
		trained = append(trained, e.any())
	}
	network := readBoard(board{task: "nmar", level: "50", fewer: []string{"15"}}, "4000", 3,
		"../leaderboard/network.csv")
	ranks := network.ranked
	for _, s := range ranks {
		onNetwork = append(onNetwork, network.models[s.Label].any())
	}
	onNetwork = append(onNetwork, network.models[ropeOnLine].any()) // not ranked
	fmri := readBoard(board{task: "fmri", level: "50", fewer: []string{"90", "15"}}, "12000", 2,
		"fmri.csv", "../leaderboard/fmri.csv")
	languages := readLanguages()
	writePage(t, "../leaderboard/README.md", []part{
		{"start", startTable(by, network, fmri, languages) + startWords(m, ranked, network, fmri, languages)},
		{"known", knownWords(ranked, slices.Concat(fitted, unfitted))},
		{"seeds", seedWords(m, ranked)},
		{"ranks", rankTable(ranked, by, costs)},
		{"unfitted", unfittedTable(unfitted, begun, costs)},
		{"fresh", freshWords(ranked, by)},
		{"confounds", confoundWords(ranked, by)},
		{"once", onceTable(m, by)},
		{"devices", deviceWords(slices.Concat(fitted, unfitted))},
		{"missing", missing("leader-lst", trained)},
		{"families", familyWords(ranked)},
		{"network", networkWords(network, ranked)},
		{"network, ranks", network.table()},
		{"network, missing", missing("leader-nmar", onNetwork)},
		{"fmri", fmriWords(fmri)}, {"fmri, ranks", fmri.table()},
		{"languages", languageWords(languages)}, {"languages, masks", maskEffect(languages)},
		{"languages, tables", languageTables(languages)},
		{"tasks, words", taskWords(network, ranked, languages)},
		{"tasks", taskTable(by, unfitted, network, fmri, languages)}, {"tasks, not run", notRun(fmri, languages)},
	})

	readme := string(expect.Must(os.ReadFile("../../README.md")))
	expect.Contains(t, readme, fmt.Sprintf("[Of %d, on puzzles]", len(ranked)))

	score, _ := scored(languages)
	var tasks []figure.Row
	for _, panels := range taskPanels(ranks, score, ranked) {
		tasks = append(tasks, row1(3.3, panels...)...)
	}
	draw(t, figure.Page{Width: figure.PageWidth, Rows: tasks}, "../leaderboard/tasks.pdf",
		"../../docs/images/leaderboard-tasks.png")
	draw(t, figure.Page{Width: figure.PageWidth, Rows: row1(3.6, leaderPanels(ranked, by)...)},
		"../leaderboard/leaderboard.pdf", "../../docs/images/leaderboard.png")
}

// leaderPanels show validation accuracy against that of IID puzzles: all encodings with what needs no model, and
// the first ones by themselves.
func leaderPanels(ranked []ranking.Standing, by map[string]entry) []figure.Panel {
	const near = 22 // whose labels have room
	colorOf := map[string]string{"2-D": "2d-fixed", "1-D": "1d-fixed", "none": "random"}
	named := strings.Fields("edge-geometry rrwp learn-fourier learn-1 random learn-2 repo t5 da rope-pi " +
		"tener tape selective-rope")
	of := func(title string, take []ranking.Standing, isNamed func(s ranking.Standing, i int) bool) *figure.Scatter {
		scatter := &figure.Scatter{Title: title, XLabel: "IID test accuracy", YLabel: "Validation accuracy"}
		for i, s := range take {
			label := ""
			if isNamed(s, i) {
				label = s.Label
			}
			scatter.Points = append(scatter.Points, figure.ScatterPoint{Label: label,
				ColorOf: colorOf[knowsOf(s.Scheme)], X: by[s.Label].rows.mean("iid"), Y: s.Mean})
		}
		return scatter
	}
	all := of(fmt.Sprintf("All %d", len(ranked)), ranked, func(s ranking.Standing, i int) bool {
		return i >= near && slices.Contains(named, s.Label)
	})
	words := map[string]string{"look_up": "look-up", "counts": "counts"}
	for _, r := range records("floors.csv") {
		if name := words[r["baseline"]]; name != "" {
			all.Points = append(all.Points, figure.ScatterPoint{Label: name, ColorOf: "nope", X: r.number("iid"),
				Y: r.number("validation")})
		}
	}
	all.Note = "Means of three seeds. Black: knows the grid; orange: an order; wine: neither; pink: no model"
	first := of(fmt.Sprintf("The first %d", near), ranked[:near], func(ranking.Standing, int) bool { return true })
	return []figure.Panel{all, first}
}

// wrapped breaks the paragraphs of a text and the items of its lists, which stay indented, at 110 columns.
func wrapped(text string) string {
	const width = 110
	var b strings.Builder
	column, indent := 0, ""
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		isItem := strings.HasPrefix(line, "* ")
		if isItem || line == "" {
			if column > 0 {
				b.WriteByte('\n')
			}
			if column, indent = 0, "  "; !isItem {
				b.WriteByte('\n')
				indent = ""
			}
		}
		for _, word := range strings.Fields(line) {
			n := utf8.RuneCountInString(word)
			switch {
			case column == 0:
			case column+1+n > width:
				b.WriteString("\n" + indent)
				column = len(indent)
			default:
				b.WriteByte(' ')
				column++
			}
			b.WriteString(word)
			column += n
		}
	}
	return b.String() + "\n"
}

// seedWords sets means of three seeds beside those of fifteen.
func seedWords(m models, ranked []ranking.Standing) string {
	var all []string
	for _, s := range ranked {
		if len(m[s.Label]) >= manySeeds {
			text := fmt.Sprintf("`%s` %s, %s", s.Label, point(s.Mean), point(m[s.Label].mean("validation")))
			fitted := maps.Clone(m[s.Label])
			maps.DeleteFunc(fitted, func(_ string, r row) bool { return r["fitted"] == "no" })
			if n := len(m[s.Label]) - len(fitted); n > 0 {
				text += fmt.Sprintf(" (%d not fitted; the others %s)", n, point(fitted.mean("validation")))
			}
			all = append(all, text)
		}
	}
	return wrapped(fmt.Sprintf("**Fifteen seeds**, of which three are those of the ranks, exist for %d encodings "+
		"(Evidence). Validation accuracy with three, then with fifteen: %s.\n", len(all), strings.Join(all, "; ")))
}

// missing lists the encodings of a preset that have no row.
func missing(preset string, rows []row) string {
	has := map[string]bool{}
	for _, r := range rows {
		has[r["pe"]+" "+r["placement"]] = true
	}
	var names []string
	for _, part := range expect.Must(sweep.FindPreset(preset)).Spec.Parts {
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
	return wrapped("**Not run yet**: " + strings.Join(names, "; ") + ".\n")
}

// freshWords compares the ranked means with those of fresh seeds.
func freshWords(ranked []ranking.Standing, by map[string]entry) string {
	var old, fresh, variances []float64
	apart, unfitted := 0, 0
	for _, s := range ranked {
		of := by[s.Label].fresh
		if len(of) != len(freshSeeds) {
			continue
		}
		mean := of.mean("validation")
		old, fresh = append(old, s.Mean), append(fresh, mean)
		for _, r := range of {
			if r["fitted"] == "no" {
				unfitted++
			}
		}
		for _, rows := range []seeds{by[s.Label].rows, of} {
			sd := stats.SD(rows.column("validation"))
			variances = append(variances, slices.Repeat([]float64{sd * sd}, len(rows)-1)...)
		}
		if math.Abs(mean-s.Mean) > .1 {
			apart++
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
	have := "all models have fitted"
	if unfitted > 0 {
		have = fmt.Sprintf("%d models have not fitted", unfitted)
	}
	return wrapped(fmt.Sprintf("**Fresh seeds**: two seeds (%s) that are not used for the ranks exist for %d "+
		"ranked encodings; %s. Their means correlate with the ranked ones by Spearman's ρ = %s and are %s %s on "+
		"average. %d differ by more than .1; if all encodings had one spread of seeds (SD %s), it would be %.0f.\n",
		strings.Join(freshSeeds, ", "), len(old), have, point(rho.Statistic), point(more), than, apart,
		point(pooled),
		chance*float64(len(old))))
}

// confoundWords compares encodings that know the grid with those that know an order, without causal masks and on
// each device, and says how validation goes with the length of training.
func confoundWords(ranked []ranking.Standing, by map[string]entry) string {
	// of returns how many of those that know an order and the grid are taken, and the median ranks of these.
	of := func(take func(r row) bool) (count, medians string) {
		var some []ranking.Standing
		names, all := map[string][]string{}, map[string]int{}
		for _, s := range ranked {
			r := by[s.Label].any()
			knows := knowsOf(r["pe"])
			all[knows]++
			if take(r) && knows != "none" {
				some = append(some, s)
				names[knows] = append(names[knows], s.Label)
			}
		}
		families, p := ranking.Families(some, knowsOf)
		for _, f := range families {
			medians += fmt.Sprintf("%s %s, ", f.Name, number.Fixed(f.Median, 1))
		}
		return fmt.Sprintf("%d of the %d that know an order and %d of the %d that know the grid", len(names["1-D"]),
			all["1-D"], len(names["2-D"]), all["2-D"]), medians + number.PText(p)
	}
	isMasked := func(r row) bool { return factsOf(r).Attention.Causal }
	isGPU := func(r row) bool { return r["precision"] != "" }
	masked, _ := of(isMasked)
	_, free := of(func(r row) bool { return !isMasked(r) })
	gpu, onGPU := of(isGPU)
	_, onCPU := of(func(r row) bool { return !isGPU(r) })
	length := func(take func(knows string) bool) string {
		var epochs, validation []float64
		for _, s := range ranked {
			if take(knowsOf(s.Scheme)) {
				epochs = append(epochs, by[s.Label].rows.mean("fitted"))
				validation = append(validation, s.Mean)
			}
		}
		return number.Bare(expect.Must(stats.Spearman(epochs, validation)).Statistic, 2)
	}
	rates := map[string][]string{}
	for _, s := range ranked {
		if r := by[s.Label].any(); by[s.Label].encoding() != s.Label {
			rates[r["lr"]] = append(rates[r["lr"]], "`"+by[s.Label].encoding()+"`")
		}
	}
	rate := "the same for all"
	if len(rates) > 0 {
		rate = "0.0003"
		for _, lr := range slices.Sorted(maps.Keys(rates)) {
			rate += fmt.Sprintf("; %s for %s", lr, wording.List(len(rates[lr]), rates[lr]))
		}
	}
	return wrapped(fmt.Sprintf(`* **Learning rate**: %s.
* **Length of training**: encodings that need more epochs until .99 solve less
(Spearman's ρ %s over all, %s over those that know an order, %s over those that know the grid).
* **Causal masks**: %s have one. Median ranks of those without: %s.
* **Devices**: %s were trained on a GPU. Their median ranks: %s. Median ranks of those trained on a CPU: %s.
`, rate, length(func(string) bool { return true }), length(func(k string) bool { return k == "1-D" }),
		length(func(k string) bool { return k == "2-D" }), masked, free, gpu, onGPU, onCPU))
}

// deviceWords counts the encodings that a GPU trained, and compares models that a CPU has trained, too.
func deviceWords(all []entry) string {
	n := 0
	of := map[string]entry{}
	for _, e := range all {
		if e.any()["precision"] != "" {
			n++
		}
		of[e.name] = e
	}
	names := map[string]bool{}
	again := records("../gpu/cpu.csv")
	most := map[string]float64{}
	for _, r := range again {
		name := nameOf(r)
		names[name] = true
		for _, measure := range []string{"epochs", "iid", "validation"} {
			d := of[name].rows[r["seed"]].number(measure) - r.number(measure)
			most[measure] = max(most[measure], math.Abs(d))
		}
	}
	return wrapped(fmt.Sprintf("%d encodings were trained on a GPU (`tf32` in `puzzles.csv`): an NVIDIA H200, "+
		"products in tf32, five seeds as one ensemble (libtorch 2.11, commit 8ee790ee). %d of these models "+
		"were trained on a CPU as well, in fp32 (%s): epochs until .99 differ by at most %.0f, IID accuracy by %s "+
		"and validation by %s.\n", n,
		len(again), strings.Join(slices.Sorted(maps.Keys(names)), "; "), most["epochs"], point(most["iid"]),
		point(most["validation"])))
}

// familyWords tests whether ranks differ by family.
func familyWords(ranked []ranking.Standing) string {
	families, p := ranking.Families(ranked, func(s string) string { return expect.Must(catalogue.FamilyOf(s)) })
	are := "do not differ significantly"
	if p < .05 {
		are = "differ"
	}
	var medians []string
	for _, f := range families {
		medians = append(medians, fmt.Sprintf("%s %s (%d)", strings.ToLower(f.Name[:1])+f.Name[1:],
			number.Fixed(f.Median, 1), f.N))
	}
	return wrapped(fmt.Sprintf("Ranks %s by where an encoding acts and whether it is trained "+
		"(%d families, %s, Kruskal-Wallis test). Median ranks (schemes): %s.\n", are, len(families), number.PText(p),
		strings.Join(medians, "; ")))
}
