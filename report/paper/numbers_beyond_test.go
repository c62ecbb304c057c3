package paper

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// atLevel returns a number of a record when training accuracy first reached a level: on the line
// from the record before, whose training accuracy was below. NaN where there is none before, or
// none that reached it.
func atLevel(course []object, level float64, name string) float64 {
	for i := 1; i < len(course); i++ {
		before, now := course[i-1], course[i]
		x0, x1 := before.measured("train"), now.measured("train")
		if x0 < level && x1 >= level {
			y0, y1 := before.measured(name), now.measured(name)
			return (y0*(x1-level) + y1*(level-x0)) / (x1 - x0)
		}
	}
	return math.NaN()
}

func equalTrainingNumbers(t *testing.T, w *world) {
	groups := w.main()
	var levels []float64
	for percent := 30; percent <= 95; percent += 5 {
		levels = append(levels, float64(percent)/100)
	}
	levels = append(levels, .99)
	want := columns("pe", "train", "validation", "validation_sd", "iid", "iid_sd", "n", "of")
	var panels []drawn
	done := map[string]bool{}
	for _, part := range []struct {
		title string
		all   []bunch
	}{{"Learned, by initial σ", bySigma(groups)}, {"Common encodings",
		named(groups, paperOrder...)}} {
		lines := [2]drawn{{title: part.title, y: "Validation accuracy", lines: guess},
			{title: part.title + ": held out, same kind", y: "IID test accuracy", lines: guess}}
		for _, b := range part.all {
			marks := [2]mark{{label: b.starred(), colour: b.label}, {label: b.starred(),
				colour: b.label}}
			for k := range marks {
				marks[k].values = make([][]float64, len(b.models))
			}
			for _, level := range levels {
				var both [2][]float64
				for _, m := range b.models {
					both[0] = append(both[0], atLevel(m.course(), level, "validation"))
					both[1] = append(both[1], atLevel(m.course(), level, "iid"))
				}
				if len(present(both[0])) == 0 {
					continue
				}
				for k := range marks {
					marks[k].x = append(marks[k].x, level)
					for i, v := range both[k] {
						marks[k].values[i] = append(marks[k].values[i], v)
					}
				}
				if !done[b.label] {
					want = append(want, []any{b.label, level, average(both[0]), spread(both[0]),
						average(both[1]), spread(both[1]),
						len(present(both[0])), len(b.models)})
				}
			}
			done[b.label] = true
			lines[0].marks, lines[1].marks = append(lines[0].marks, marks[0]),
				append(lines[1].marks, marks[1])
		}
		panels = append(panels, lines[0], lines[1])
	}
	w.checkCSV(t, "equal_training", want)
	w.checkPanels(t, "equal_training", panels...)
	w.checkCaption(t, "equal_training", nil)
}

// motions are the measures of how far an encoding has moved, means over blocks.
var motions = []recorded{
	{"moved", motion("moved")}, {"gradient_share", key("pe_gradient_share")},
	{"disparity", motion("disparity")},
	{"cosine", motion("cosine")},
}

// motion returns the mean of a number of blocks.
func motion(name string) func(object) float64 {
	return func(r object) float64 { return r.overBlocks("pe_" + name) }
}

func lazyNumbers(t *testing.T, w *world) {
	all := bySigma(w.main())
	shown := starts(all)
	columns := []measured{}
	var panels []drawn
	for i, m := range motions {
		columns = append(columns, measured{m.name,
			func(one seen) float64 { return m.of(one.result) }})
		panels = append(panels, drawn{marks: courseMarks(shown, "epoch", m.of),
			title: []string{"Motion", "Gradient", "Disparity", "Cosine"}[i] + " over training",
			y: []string{"||E − E₀|| / ||E₀||", "PE's share of the gradient",
				"Disparity from 2d-fixed", "Cosine with 2d-fixed"}[i]})
	}
	kernel := end("tangent_alignment")
	columns = append(columns, measured{"tangent_alignment", kernel})
	w.checkCSV(t, "lazy", modelSheet(modelsIn(all), append(columns, accuracies...)...))
	w.checkCSV(t, "lazy_curves", courseSheet(shown, "epoch", motions[3], motions[2], motions[1],
		motions[0]))
	moved, share := columns[0].of, columns[1].of
	byMotion, rhoMotion := scatterPanel("Motion and generalization", panels[0].y,
		"Validation accuracy", "levels of σ", all, moved, valid)
	byKernel, rhoKernel := scatterPanel("Kernel and generalization", "Tangent kernel's alignment",
		"Validation accuracy", "levels of σ", all, kernel, valid)
	w.checkPanels(t, "lazy", append(panels, drawn{title: "Motion by initial σ", y: panels[0].y,
		marks: boxMarks(all, tick, moved)},
		drawn{title: "Tangent kernel by initial σ", y: "Alignment with the initial one",
			marks: boxMarks(all, tick, kernel)}, byMotion, byKernel)...)
	w.checkCaption(t, "lazy", []string{"(" + shortRange(bunch{models: modelsIn(all)}.of(share)) +
		" at the end)",
		"Motion and validation: " + rhoMotion + ".", "Kernel and validation: " + rhoKernel + "."}, "1 is lazy")
}

func mapsNumbers(t *testing.T, w *world) {
	want := columns("task", "pe", "token", "group", "x", "y")
	var panels []drawn
	puzzles, network, brain := w.main(), bunches(w.at("nmar")),
		bunches(w.at("fmri"))
	for _, part := range []struct {
		task string
		all  []bunch
		by   []string
	}{
		{"puzzles", named(puzzles, "learn-0.2", "learn-1.0", "learn-2.0", "2d-fixed"),
			[]string{"row", "column"}},
		{"simulated network", starts(network), []string{""}},
		{"fMRI", starts(brain), []string{""}},
	} {
		for k, by := range part.by {
			for _, b := range part.all {
				d, groups, names := b.models[0].plane()
				d.title = b.label + ", " + part.task
				if by != "" {
					d.title = b.label + ", by " + by
				}
				for i := range d.marks {
					group := []int{i / 4, i % 4}[k]
					if by == "" {
						group = groups[i]
					}
					d.marks[i].groups = []int{group}
					if k == 0 {
						name := fmt.Sprint(by, " ", group)
						if by == "" {
							name = names(group)
						}
						want = append(want, []any{part.task, b.label, i, name,
							rough(d.marks[i].x[0]), rough(d.marks[i].values[0][0])})
					}
				}
				panels = append(panels, d)
			}
		}
	}
	w.checkCSV(t, "maps", want)
	w.checkPanels(t, "maps", panels...)
	w.checkCaption(t, "maps", nil)
}

// plane returns the first two principal axes of a model's first table, on which the token that is
// farthest along an axis is on its positive side, with the modules of the tokens and their names.
func (m seen) plane() (d drawn, modules []int, names func(int) string) {
	tables, dim := m.tables()
	table := mat.NewDense(len(tables[0])/dim, dim, aboutMean(tables[0], dim))
	var pc stat.PC
	pc.PrincipalComponents(table, nil)
	vars := pc.VarsTo(nil)
	var vectors, scores mat.Dense
	pc.VectorsTo(&vectors)
	scores.Mul(table, &vectors)
	axes := [][]float64{mat.Col(nil, 0, &scores), mat.Col(nil, 1, &scores)}
	for _, axis := range axes {
		far := slices.MaxFunc(axis, func(a, b float64) int {
			return int(math.Copysign(1,
				math.Abs(a)-math.Abs(b)))
		})
		if far < 0 {
			for i := range axis {
				axis[i] = -axis[i]
			}
		}
	}
	share := func(k int) float64 { return 100 * vars[k] / floats.Sum(vars) }
	d = drawn{y: fmt.Sprintf("PC 1 (%.0f %%), PC 2 (%.0f %%)", share(0), share(1)),
		note: "n = 1 model"}
	for i := range axes[0] {
		d.marks = append(d.marks, mark{x: []float64{axes[0][i]}, values: [][]float64{{axes[1][i]}}})
	}
	modules, _ = m.modules()
	return d, modules, func(k int) string {
		if all := m.moduleNames(); all != nil {
			return all[k]
		}
		return fmt.Sprint(k)
	}
}
