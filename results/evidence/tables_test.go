package evidence_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"torchpe/internal/expect"
	"torchpe/internal/number"
	"torchpe/internal/paper"
	"torchpe/internal/stats"
)

// seedCell writes the accuracies of a model in training, IID test and validation, and when it had fitted.
func seedCell(r row) string {
	if r == nil {
		return "–"
	}
	fitted := r["fitted"]
	if fitted == "" || fitted == "no" {
		fitted = "not in " + r["epochs"]
	}
	return fmt.Sprintf("%s, %s, %s (%s)", point(r.number("train")), point(r.number("iid")),
		point(r.number("validation")), fitted)
}

// nameOfVariant names the encoding of a row of a file that has fewer settings than puzzles.csv.
func nameOfVariant(r row) string {
	if base := r["pe_options_random_base"]; base != "" {
		return "drawn " + base
	}
	return nameOf(row{"pe": r["pe"], "sigma": r["sigma"], "dropout": "0"})
}

// atPaperWidth names the models of a setting that have the paper's width and learning rate.
func atPaperWidth(name string) string { return name + ", lr 0.0001, width 160" }

// widthTable sets models of width 160 at the rate of width 64 beside those.
func widthTable(m models) string {
	var rows []string
	for _, name := range []string{"learn-0.2", "random", "relative", "rope", "2d-fixed", "1d-fixed", "learn-2"} {
		wide := m[name+", width 160"]
		for _, seed := range wide.ordered() {
			rows = append(rows, fmt.Sprintf("| %s | %s | %s | %s |", name, seed, seedCell(wide[seed]),
				seedCell(m[name][seed])))
		}
	}
	return markdown("| encoding | seed | d_model 160 | d_model 64 |", rows)
}

// paperWidthText says what models of the paper's width and rate show, and lists them. It has no spread or interval
// of two models, but the numbers of both.
func paperWidthText(m models) string {
	printed, names := paper.Table("1")
	of := map[string]string{}
	for _, name := range names {
		of[name] = point(printed[[2]string{name, "validation"}].Mean)
	}
	levels, _ := paper.Table("A2")
	for _, name := range []string{"learn-1", "learn-2"} {
		of[name] = point(levels[[2]string{paperName(name), "validation"}].Mean)
	}
	var rows []string
	for _, name := range append(names, "learn-1", "learn-2", "learn-0.2, once", "learn-2, once") {
		wide := m[atPaperWidth(name)]
		switch {
		case len(wide) == 0:
			continue
		case len(wide) > 2:
			rows = append(rows, fmt.Sprintf("| %s | %s | %s", name, cmp.Or(of[name], number.Dash),
				measured(m, atPaperWidth(name))))
			continue
		}
		each := func(measure string) string {
			var cells []string
			for _, v := range wide.column(measure) {
				cells = append(cells, point(v))
			}
			return strings.Join(cells, ", ")
		}
		rows = append(rows, fmt.Sprintf("| %s | %s | %d | %s | %s | %s | %s | %s |", name, of[name], len(wide),
			wide.fitted(), each("train"), each("iid"), each("validation"), number.Dash))
	}
	lead, once := m.less(atPaperWidth("learn-0.2"), atPaperWidth("learn-2")),
		m.less(atPaperWidth("learn-2, once"), atPaperWidth("learn-2"))
	mean := func(name string) string { return point(m[atPaperWidth(name)].mean("validation")) }
	wider := func(name string) string {
		d := m.less(atPaperWidth(name), name)
		return fmt.Sprintf("%s (%s)", point(d.mean), span(d.seeds))
	}
	return wrapped(fmt.Sprintf("**From σ = 0.2 to 2 validation falls as it does at width 64.** σ = 0.2, 1 and 2 "+
		"solve %s, %s and %s of the validation puzzles "+
		"(printed %s, %s and %s); from 0.2 to 2 the loss is %s (%s, %d pairs). Added once, σ = 2 solves %s, which "+
		"is %s more (%s). No other tested difference between these models is significant (\"Contrasts\"). Whether "+
		"width and rate change a mean is inconclusive: in pairs of the same seed, these models less those of width "+
		"64 are %s at σ = 0.2, %s at 1 and %s for random.",
		mean("learn-0.2"), mean("learn-1"), mean("learn-2"), of["learn-0.2"], of["learn-1"], of["learn-2"],
		point(lead.mean), span(lead.seeds), lead.n, mean("learn-2, once"), point(once.mean), span(once.seeds),
		wider("learn-0.2"), wider("learn-1"), wider("random"))) + "\n" +
		markdown("| encoding | paper | n | epochs until .99 | training | IID test | validation | 95 % |", rows)
}

// variantTable lists the models of variants.csv that a part of the page is about: accuracies of each seed, and how
// far tables have moved.
func variantTable(m models, isOf func(row) bool, besides ...string) string {
	setting := func(r row) string {
		text := nameOfVariant(r) + " | " + r["lr"]
		switch {
		case r["pe_lr"] != "":
			text += ", " + r["pe_lr"] + " for the PE"
		case r["pe_init"] != "" && r["pe_init"] != "normal":
			text += ", " + r["pe_init"]
		}
		return text
	}
	by, seeds := map[string][]row{}, map[string]bool{}
	for _, r := range records("variants.csv") {
		if isOf(r) {
			by[setting(r)], seeds[r["seed"]] = append(by[setting(r)], r), true
		}
	}
	for _, name := range besides { // models of the page's other parts, of the same seeds
		for _, seed := range m[name].ordered() {
			if r := m[name][seed]; seeds[seed] {
				by[setting(r)] = append(by[setting(r)], r)
			}
		}
	}
	var rows []string
	for _, key := range slices.Sorted(maps.Keys(by)) {
		var cells, moved []string
		for _, r := range by[key] {
			cells = append(cells, seedCell(r))
			for _, name := range []string{"pe_moved", "moved"} {
				if r[name] != "" {
					moved = append(moved, number.Bare(r.number(name), 2))
				}
			}
		}
		rows = append(rows, fmt.Sprintf("| %s | %s | %s |", key, strings.Join(cells, "; "), strings.Join(moved, ", ")))
	}
	return markdown("| encoding | lr | training, IID test, validation (epochs until .99), by seed | change |", rows)
}

// headsTable lists the models of two heads.
func headsTable(m models) string {
	d := m.less("rope, 2 heads", "rope")
	return variantTable(m, func(r row) bool { return r["heads"] == "2" }, "rope, 2 heads") + fmt.Sprintf(
		"\nrope solves %s more with two heads than with one (%s, %d pairs, not corrected).\n", point(d.mean),
		span(d.seeds), d.n)
}

// maskedTable lists the errors of masked prediction of each seed, at 50 and 90 % masked, and the modularity.
func maskedTable(task, steps string, decimals int) string {
	values := func(rs []row, measure string, decimals int) string {
		var cells []string
		for _, r := range rs {
			if r[measure] != "" {
				cells = append(cells, number.Bare(r.number(measure), decimals))
			}
		}
		return strings.Join(cells, ", ")
	}
	var order []string
	by := map[string][]row{}
	for _, r := range records(task + ".csv") {
		name := nameOfVariant(r)
		if r["steps"] != steps {
			continue
		}
		if by[name] == nil {
			order = append(order, name)
		}
		by[name] = append(by[name], r)
	}
	var rows []string
	for _, name := range order {
		rows = append(rows, fmt.Sprintf("| %s | %s | %s | %s | %s | %s |", name,
			values(by[name], "train_mse", decimals), values(by[name], "test_mse_90", decimals),
			values(by[name], "test_mse_50", decimals), values(by[name], "test_mse_15", decimals),
			values(by[name], "modularity", 4)))
	}
	words := map[string]string{"gaussian": "conditional Gaussian", "mean": "mean of the visible"}
	for _, r := range records("baselines.csv") {
		if r["task"] == task && words[r["baseline"]] != "" {
			rows = append(rows, fmt.Sprintf("| %s | | %s | %s | %s | |", words[r["baseline"]],
				values([]row{r}, "test_mse_90", decimals), values([]row{r}, "test_mse_50", decimals),
				values([]row{r}, "test_mse_15", decimals)))
		}
	}
	return markdown("| encoding | training | test, 90 % masked | test, 50 % masked | test, 15 % masked | Q |", rows)
}

// subjectTable lists the errors on each test subject, half of the regions masked.
func subjectTable() string {
	var order []string
	of := map[string][]string{}
	for _, r := range records("fmri_subjects.csv") {
		key := fmt.Sprintf("| %s | %s | %s", nameOfVariant(r), r["steps"], r["seed"])
		if of[key] == nil {
			order = append(order, key)
		}
		of[key] = append(of[key], number.Bare(r.number("mse_50"), 4))
	}
	var rows []string
	for _, key := range order {
		rows = append(rows, key+" | "+strings.Join(of[key], " | ")+" |")
	}
	return markdown("| encoding | steps | seed | subject 1 | 2 | 3 | 4 |", rows)
}

// approachTable says how far tables have come nearer to 2d-fixed, as Procrustes disparity falls from that of σ = 2
// with the same seed, whose table hardly moves.
func approachTable(m models) string {
	var rows []string
	for _, sigma := range sigmas {
		if sigma == "2" {
			continue
		}
		falls := 0
		var by, end []float64
		for seed, r := range m["learn-"+sigma] {
			from := m["learn-2"][seed]
			if r["disparity"] == "" || from == nil || from["disparity"] == "" {
				continue
			}
			d := from.number("disparity") - r.number("disparity")
			end = append(end, r.number("disparity"))
			if by = append(by, d); d > 0 {
				falls++
			}
		}
		rows = append(rows, fmt.Sprintf("| %s | %s | %d of %d | %s | %s |", sigma, point(stats.Mean(end)), falls,
			len(by), number.Bare(stats.Mean(by), 4), fineSpan(expect.Must(stats.MeanInterval(by, .95)))))
	}
	return markdown("| σ | disparity | falls | by | 95 % |", rows)
}

// fineSpan writes an interval of small numbers.
func fineSpan(v stats.Interval) string {
	return number.Bare(v.Low, 4) + " to " + number.Bare(v.High, 4)
}
