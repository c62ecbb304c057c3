package paper

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/internal/stats"
)

// numberTests hold the numbers of each item: every cell of every CSV, what every panel draws and
// how many models, and the numbers of the caption.
var numberTests = map[string]func(*testing.T, *world){
	"findings":         findingsNumbers,
	"findings_network": func(t *testing.T, w *world) { maskedFindings(t, w, "findings_network", "nmar", ".50") },
	"findings_fmri":    func(t *testing.T, w *world) { maskedFindings(t, w, "findings_fmri", "fmri", ".90") },
	"fig1":             fig1Numbers, "fig2": fig2Numbers, "fig3": fig3Numbers,
	"table1": table1Numbers, "table_a3": tableA3Numbers, "table_a4": tableA4Numbers,
	"fig_a7": figA7Numbers, "fig_a11": figA11Numbers, "fig_a15": figA15Numbers,
	"fig4": fig4Numbers, "fig5": fig5Numbers, "fig6": fig6Numbers,
	"equal_training": equalTrainingNumbers, "lazy": lazyNumbers, "ablation": ablationNumbers,
	"conditions": conditionsNumbers, "maps": mapsNumbers,
}

// heldElsewhere are items of which tests of their own hold the numbers: TestNMARErrors, and those of claims; and
// items whose kinds of numbers others have. TestTexts holds of which models they are.
var heldElsewhere = []string{"nmar_error", "summary", "table_a2", "table_a5", "table_a6", "fig_a8", "fig_a9", "fig_a10",
	"fig_a12", "fig_a13", "fig_a14"}

// The numbers of a report are those that its run directories give by other means.
func TestNumbers(t *testing.T) {
	w := makeWorld(t)
	for _, m := range specs() {
		test := numberTests[m.ID]
		if test == nil {
			if !slices.Contains(heldElsewhere, m.ID) {
				t.Errorf("the numbers of %s are held by no test", m.ID)
			}
			continue
		}
		t.Run(m.ID, func(t *testing.T) { test(t, w) })
	}
	expect.Equal(t, fmt.Sprintf("models and notes (%q)", w.study.Notes), [2]int{len(w.all), len(w.study.Notes)},
		[2]int{200, 1})
}

// measured is a measure of a model with the name of its column.
type measured struct {
	name string
	of   func(seen) float64
}

// accuracies are the columns that every table of puzzles has.
var accuracies = []measured{{"validation", valid}, {"train", trained}, {"iid", heldOut}}

// modelSheet is the CSV with a row a model.
func modelSheet(models []seen, columns ...measured) sheet {
	head := []any{"pe", "sigma", "seed", "run"}
	for _, c := range columns {
		head = append(head, c.name)
	}
	isKnown := slices.ContainsFunc(models, func(m seen) bool { _, known := m.fit(); return known })
	if isKnown {
		head = append(head, "fitted")
	}
	out := sheet{head}
	for _, m := range models {
		row := []any{m.pe, m.sigma, m.seed, m.name}
		if m.sigma < 0 {
			row[1] = nil
		}
		for _, c := range columns {
			if v := c.of(m); c.name == "procrustes" {
				row = append(row, rough(v))
			} else {
				row = append(row, v)
			}
		}
		switch reached, known := m.fit(); {
		case known && reached:
			row = append(row, "yes")
		case known:
			row = append(row, "no")
		case isKnown:
			row = append(row, nil)
		}
		out = append(out, row)
	}
	return out
}

// recorded is a number of a record with the name of its column.
type recorded struct {
	name string
	of   func(object) float64
}

// key returns the number of a record at a path of keys.
func key(name string) func(object) float64 {
	return func(r object) float64 { return r.measured(name) }
}

// accuracyRecords are the columns of the curves of puzzles.
var accuracyRecords = []recorded{
	{"iid", key("iid")}, {"train", key("train")},
	{"validation", key("validation")},
}

// courseSheet is the CSV of curves: a row a model and record, x its epoch or step.
func courseSheet(all []bunch, x string, columns ...recorded) sheet {
	head := []any{"pe", "seed", x}
	for _, c := range columns {
		head = append(head, c.name)
	}
	out := sheet{head}
	for _, b := range all {
		for _, m := range b.models {
			for _, r := range m.course() {
				row := []any{b.label, m.seed, int(r.number(x))}
				for _, c := range columns {
					row = append(row, c.of(r))
				}
				out = append(out, row)
			}
		}
	}
	return out
}

// courseMarks are the lines of curves: a value a member at the records that all of them have that have any.
func courseMarks(all []bunch, x string, of func(object) float64) (out []mark) {
	for _, b := range all {
		own := make([]map[float64]float64, len(b.models))
		count, measured := map[float64]int{}, 0
		for i, m := range b.models {
			own[i] = map[float64]float64{}
			for _, r := range m.course() {
				if v := of(r); !math.IsNaN(v) {
					own[i][r.number(x)] = v
					count[r.number(x)]++
				}
			}
			if len(own[i]) > 0 {
				measured++
			}
		}
		maps.DeleteFunc(count, func(_ float64, n int) bool { return n < measured })
		line := mark{label: b.starred(), colour: b.label, x: slices.Sorted(maps.Keys(count))}
		for i := range b.models {
			var values []float64
			for _, at := range line.x {
				v, has := own[i][at]
				if !has {
					v = math.NaN()
				}
				values = append(values, v)
			}
			line.values = append(line.values, values)
		}
		if line.x != nil {
			out = append(out, line)
		}
	}
	return out
}

// accuracyPanels are the three curves of puzzles, in their order.
func accuracyPanels(of string, all []bunch) []drawn {
	return []drawn{
		{title: of + "Training", y: "Training accuracy", lines: guess,
			marks: courseMarks(all, "epoch", key("train"))},
		{title: of + "Held out, same kind", y: "IID test accuracy", lines: guess,
			marks: courseMarks(all, "epoch", key("iid"))},
		{title: of + "Generalization", y: "Validation accuracy", lines: guess,
			marks: courseMarks(all, "epoch", key("validation"))},
	}
}

// tick is a bunch's place on an axis of sigma.
func tick(b bunch) string {
	return strconv.FormatFloat(b.sigma, 'g', -1, 64) + strings.TrimPrefix(b.starred(), b.label)
}

// boxMarks are the boxes of a measure, one a bunch that has it, each model that has not fitted
// hollow.
func boxMarks(all []bunch, label func(bunch) string, of func(seen) float64,
	beside ...func(seen) float64) (out []mark) {
	for _, b := range all {
		if len(present(b.of(of))) == 0 {
			continue
		}
		m := mark{label: label(b), colour: b.label, values: [][]float64{b.of(of)}}
		for _, one := range b.models {
			m.hollow = append(m.hollow, one.unfitted())
		}
		for _, other := range beside {
			m.beside = append(m.beside, average(b.of(other)))
		}
		out = append(out, m)
	}
	return out
}

// validationPanel are boxes of validation accuracy, with the means of training and IID beside them.
func validationPanel(title string, all []bunch, label func(bunch) string) drawn {
	return drawn{title: title, y: "Validation accuracy", lines: guess,
		note:  "training accuracy, IID test accuracy",
		marks: boxMarks(all, label, valid, trained, heldOut)}
}

// scatterPanel are the means and SDs of two measures, with their rank correlation over bunches.
func scatterPanel(title, x, y, of string, all []bunch, a, b func(seen) float64,
) (d drawn, correlation string) {
	d = drawn{title: title, y: x + ", " + y}
	var xs, ys []float64
	var counts []int
	for _, g := range all {
		u, v := g.of(a), g.of(b)
		if len(present(u)) == 0 {
			continue
		}
		xs, ys = append(xs, average(u)), append(ys, average(v))
		m := mark{label: g.starred(), colour: g.label, x: []float64{average(u), 0},
			values: [][]float64{{average(v), 0}}}
		if min(len(present(u)), len(present(v))) > 2 {
			m.x[1], m.values[0][1] = spread(u), spread(v)
		}
		d.marks, counts = append(d.marks, m), append(counts, min(len(present(u)), len(present(v))))
	}
	r := expect.Must(stats.Spearman(xs, ys))
	correlation = fmt.Sprintf("Spearman ρ = %s, %s, n = %d %s", short(r.Statistic, 2), chanceOf(r.P), len(xs), of)
	d.note = fmt.Sprintf("Each point is the mean of n = %s models; error bars: ±1 SD", fromTo(counts))
	if slices.Min(counts) < 3 {
		d.note += " if n > 2"
	}
	d.note += "; " + correlation
	return d, correlation
}

// short writes a number as papers do: .956, −.04.
func short(v float64, digits int) string {
	text := strings.TrimPrefix(strconv.FormatFloat(math.Abs(v), 'f', digits, 64), "0")
	if v < 0 {
		return "−" + text
	}
	return text
}

func chanceOf(p float64) string {
	if p < .001 {
		return "p < .001"
	}
	return "p = " + short(p, 3)
}

// fromTo is "3", or "1 to 3".
func fromTo(counts []int) string {
	if low, high := slices.Min(counts), slices.Max(counts); low != high {
		return fmt.Sprint(low, " to ", high)
	}
	return fmt.Sprint(counts[0])
}

// shortRange is ".31", or ".31 to .36", of what is not NaN.
func shortRange(x []float64) string {
	low, high := short(slices.Min(present(x)), 2), short(slices.Max(present(x)), 2)
	if low == high {
		return low
	}
	return low + " to " + high
}

func fig2Numbers(t *testing.T, w *world) {
	all := bySigma(w.main())
	shown := starts(all)
	w.checkCSV(t, "fig2", modelSheet(modelsIn(all), accuracies...))
	w.checkCSV(t, "fig2_curves", courseSheet(shown, "epoch", accuracyRecords...))
	w.checkPanels(t, "fig2", slices.Concat([]drawn{{title: "Model"}}, accuracyPanels("", shown),
		[]drawn{validationPanel("Generalization by initial σ", all, tick)})...)
	w.checkCaption(t, "fig2", []string{"after 12 epochs"})
}
