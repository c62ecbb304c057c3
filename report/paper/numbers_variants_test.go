package paper

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// with returns the main variant with a change.
func with(change func(*variant)) variant {
	v := mainVariant
	change(&v)
	return v
}

func figA7Numbers(t *testing.T, w *world) {
	sgd := named(bunches(w.puzzles(sgdVariant)), small...)
	adam := named(w.main(), small...)
	both := slices.Concat(modelsIn(sgd), modelsIn(adam))
	w.checkCSV(t, "fig_a7", modelSheet(both, accuracies...))
	w.checkCSV(t, "fig_a7_sgd_curves", courseSheet(sgd, "epoch", accuracyRecords...))
	w.checkCSV(t, "fig_a7_adam_curves", courseSheet(adam, "epoch", accuracyRecords...))
	w.checkPanels(t, "fig_a7", slices.Concat(accuracyPanels("SGD: ", sgd), accuracyPanels("Adam: ", adam),
		[]drawn{validationPanel("SGD: after training", sgd, tick),
			validationPanel("Adam: after training", adam, tick)})...)
	// SGD ran for 9 epochs and has 16 models, Adam for 12 and 15.
	w.checkCaption(t, "fig_a7", []string{"(9 epochs (learn-0.01, learn-0.05, learn-0.1, " +
		"learn-0.2: 12 epochs))"})
}

// figA15Numbers holds the column that figure A15 alone has.
func figA15Numbers(t *testing.T, w *world) {
	heads := measured{"heads", func(m seen) float64 { return m.config.number("heads") }}
	two, four := with(func(v *variant) { v.heads = 2 }), with(func(v *variant) { v.heads = 4 })
	w.checkCSV(t, "fig_a15", modelSheet(slices.Concat(w.puzzles(two), w.puzzles(four)),
		append([]measured{heads}, accuracies...)...))
}

func ablationNumbers(t *testing.T, w *world) {
	of := []measured{{"Training accuracy", trained}, {"IID test accuracy", heldOut},
		{"Validation accuracy", valid}}
	panels := []drawn{{title: of[0].name}, {title: of[1].name}, {title: of[2].name}}
	var shown []seen
	for _, corner := range [][2]string{{"block", "last"}, {"block", "probe"}, {"input", "last"},
		{"input", "probe"}} {
		all := bySigma(bunches(w.puzzles(with(func(v *variant) {
			v.placement, v.readOut = corner[0],
				corner[1]
		}))))
		for i, b := range all { // one has a learning rate of its own: it is in the table alone
			isOwn := func(m seen) bool { return !math.IsNaN(m.member.number("pe_lr")) }
			shared := those(b.models, func(m seen) bool { return !isOwn(m) })
			shown, all[i].models = slices.Concat(shown, shared, those(b.models, isOwn)), shared
		}
		for i, measure := range of {
			line := mark{label: map[string]string{"block": "PE in every block", "input": "PE at the input"}[corner[0]] +
				", answer at the " + map[string]string{"last": "last token", "probe": "probe's token"}[corner[1]]}
			for _, b := range all {
				line.x = append(line.x, b.sigma)
				for k := range b.models {
					for len(line.values) <= k {
						line.values = append(line.values, slices.Repeat([]float64{math.NaN()},
							len(all)))
					}
				}
			}
			for at, b := range all {
				for k, v := range b.of(measure.of) {
					line.values[k][at] = v
				}
			}
			panels[i].y, panels[i].lines = "Accuracy", guess
			panels[i].marks = append(panels[i].marks, line)
		}
	}
	want := modelSheet(shown, accuracies...)
	want[0] = append(want[0], "placement", "read_out")
	for i, m := range shown {
		want[i+1] = append(want[i+1], m.placement(), m.config.text("read_out"))
	}
	w.checkCSV(t, "ablation", want)
	w.checkPanels(t, "ablation", panels...)
	w.checkCaption(t, "ablation", []string{"(12 epochs)"})
}

// boxPanel are the boxes of an accuracy.
func boxPanel(title, y string, all []bunch, label func(bunch) string, of func(seen) float64) drawn {
	return drawn{title: title, y: y, lines: guess, marks: boxMarks(all, label, of)}
}

func conditionsNumbers(t *testing.T, w *world) {
	groups := w.main()
	kinds := func(lines, label string) func(seen) float64 {
		return func(m seen) float64 {
			if v := m.result.measured("validation_lines/" + lines); !math.IsNaN(v) {
				return v
			}
			return m.result.measured("validation/" + label)
		}
	}
	of := []measured{{"1-vector", kinds("1", "1-vector")}, {"2-vector", kinds("2", "2-vector")},
		{"3-vector", kinds("3", "3-vector")}}
	var csv []measured
	for i, one := range of {
		csv = append(csv, measured{fmt.Sprint("vector_", i+1), one.of})
	}
	w.checkCSV(t, "conditions", modelSheet(modelsIn(groups), append(csv, accuracies...)...))
	var panels []drawn
	for _, all := range [][]bunch{starts(groups), named(groups, paperOrder...)} {
		for _, kind := range of {
			panels = append(panels, boxPanel(kind.name, "Validation accuracy", all, bunch.starred, kind.of))
		}
	}
	w.checkPanels(t, "conditions", panels...)
	// People's and the published models' are of the published result files.
	w.checkCaption(t, "conditions", []string{"(n = 40) reach .967, .870 and .663",
		"learn-0.2 .983, .935 and .948"},
		"of the 36 generated puzzles labelled 3-vector about 8")
}
