package paper

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"torchpe/data/nmar"
	"torchpe/internal/expect"
	"torchpe/report/figure"
)

// end returns a number of a model's result.
func end(key string) func(seen) float64 {
	return func(m seen) float64 { return m.result.measured(key) }
}

// at returns the models of a task trained with half of the tokens masked.
func (w *world) at(task string) []seen {
	return those(w.on(task), func(m seen) bool { return math.Abs(m.level()-.5) < 1e-9 })
}

// maskedMeasures are the columns of masked prediction.
var maskedMeasures = []measured{
	{"train_mse", end("train_mse")}, {"test_mse_15", end("test_mse/0.15")},
	{"test_mse_50", end("test_mse/0.50")},
	{"test_mse_75", end("test_mse/0.75")}, {"test_mse_90",
		end("test_mse/0.90")},
	{"modularity", end("modularity")}, {"clustering", end("clustering")},
}

// falling orders encodings by their mean of a measure, the largest first and those without it last.
func falling(all []bunch, of func(seen) float64) []bunch {
	out := slices.Clone(all)
	slices.SortStableFunc(out, func(a, b bunch) int {
		x, y := average(a.of(of)), average(b.of(of))
		switch {
		case math.IsNaN(x) || math.IsNaN(y):
			return strings.Compare(fmt.Sprint(math.IsNaN(x)), fmt.Sprint(math.IsNaN(y)))
		case x > y:
			return -1
		}
		return 1
	})
	return out
}

// errorBoxes are the errors after training with those of predictions that need none.
func errorBoxes(all []bunch, level, percent string) drawn {
	all = falling(all, end("test_mse/"+level))
	d := drawn{title: "Errors after training, " + percent + " % masked", y: "Test MSE", note: "training MSE",
		marks: boxMarks(all, func(b bunch) string { return b.label }, end("test_mse/"+level), end("train_mse"))}
	base := all[0].models[0].folder.result.object("baselines")
	d.lines = []figure.Reference{{Label: "conditional Gaussian",
		Y: base.object("gaussian").number(level)},
		{Label: "regression on mean", Y: base.object("mean").number(level)}}
	return d
}

// scoreBoxes are the network scores of encodings, both in the order of modularity.
func scoreBoxes(all []bunch) []drawn {
	all = falling(all, end("modularity"))
	label := func(b bunch) string { return b.label }
	return []drawn{{title: "Modularity of the encodings", y: "Modularity Q",
		marks: boxMarks(all, label, end("modularity"))},
		{title: "Clustering of the encodings", y: "Clustering C", marks: boxMarks(all, label,
			end("clustering"))}}
}

// modules returns the module of each token, and the tokens by module.
func (m seen) modules() (labels, order []int) {
	for i, v := range m.tensors["modules"].values {
		labels, order = append(labels, int(v)), append(order, i)
	}
	slices.SortStableFunc(order, func(a, b int) int { return labels[a] - labels[b] })
	return labels, order
}

// checkTokens checks the matrices over tokens of the first table of each encoding's first model, a
// CSV each, and returns their panels.
func (w *world) checkTokens(t *testing.T, id, bar string, all []bunch,
	between func(a, b []float64) float64, scaled bool) (panels []drawn) {
	t.Helper()
	for _, b := range all {
		tables, d := b.models[0].tables()
		if tables == nil {
			continue
		}
		labels, order := b.models[0].modules()
		n := len(labels)
		values := make([]float64, n*n)
		for i := range values {
			a, o := tables[0][i/n*d:(i/n+1)*d], tables[0][i%n*d:(i%n+1)*d]
			values[i] = between(a, o)
		}
		if scaled { // the largest distance, which is that of no token with itself, is 1
			largest := slices.Max(values)
			for i := range values {
				values[i] = 1 - values[i]/largest
			}
		}
		want := columns("token")
		ticks := make([]string, n)
		for place, i := range order {
			if n <= 60 {
				ticks[place] = fmt.Sprint(i)
			} else if place%100 == 0 {
				ticks[place] = fmt.Sprint(place)
			}
		}
		shown := mark{label: strings.Join(ticks, " ") + "|", x: []float64{float64(n), float64(n)},
			values: [][]float64{nil}}
		for _, i := range order {
			want[0] = append(want[0], fmt.Sprintf("token_%d", i))
			row := []any{i}
			for _, j := range order {
				row = append(row, values[i*n+j])
				shown.values[0] = append(shown.values[0], values[i*n+j])
			}
			want, shown.groups = append(want, row), append(shown.groups, labels[i])
		}
		w.checkCSV(t, id+"_"+strings.NewReplacer(".", "", "-", "_").Replace(b.label), want)
		panels = append(panels, drawn{title: b.label, y: bar, note: "n = 1 model",
			marks: []mark{shown}})
	}
	return panels
}

// checkChance holds the bands of an item's panel of modularity, and the p that its caption prints,
// against 2,000 deals of the modules that are drawn here. It returns those parts of the caption.
func (w *world) checkChance(t *testing.T, id string, all []bunch, between func(a, b []float64) float64) []string {
	t.Helper()
	drawn := map[string]figure.Group{}
	for _, row := range w.drafts[id].Panels {
		for _, cell := range row.Cells {
			if b, ok := cell.Panel.(figure.Boxes); ok && b.YLabel == "Modularity Q" {
				for _, g := range b.Groups {
					drawn[g.ColorOf] = g
				}
			}
		}
	}
	fragments := []string{"(999 permutations, first block with a table, first seed)"}
	rng := rand.New(rand.NewPCG(7, 11))
	for _, b := range falling(all, end("modularity")) {
		tables, d := b.models[0].tables()
		if tables == nil {
			continue
		}
		labels, _ := b.models[0].modules()
		weights := weightsOf(tables[0], len(labels), d, between)
		q, dealt := shareWithin(weights, labels), slices.Clone(labels)
		var null []float64
		reached := 0.0
		for range 2000 {
			rng.Shuffle(len(dealt), func(i, j int) { dealt[i], dealt[j] = dealt[j], dealt[i] })
			null = append(null, shareWithin(weights, dealt))
			if null[len(null)-1] >= q-1e-12 {
				reached += 1. / 2000
			}
		}
		slices.Sort(null)
		band := drawn[b.label].Chance
		spread := null[1949] - null[50]
		if band == nil || math.Abs(band.Low-null[50]) > spread/5 || math.Abs(band.High-null[1949]) > spread/5 ||
			math.Abs(band.P-reached) > 0.08 {
			t.Errorf("%s: %s: chance is %+v, want %v to %v with p = %v", id, b.label, band, null[50], null[1949],
				reached)
			continue
		}
		fragments = append(fragments, b.label+" "+chanceOf(band.P))
	}
	return fragments
}

// weightsOf returns 1 less the distances of all rows of a table [n,d], scaled to 0...1.
func weightsOf(table []float64, n, d int, between func(a, b []float64) float64) [][]float64 {
	w, largest := make([][]float64, n), 0.0
	for i := range w {
		for j := range n {
			w[i] = append(w[i], between(table[i*d:(i+1)*d], table[j*d:(j+1)*d]))
			largest = max(largest, w[i][j])
		}
	}
	for i := range w {
		for j := range w[i] {
			w[i][j] = 1 - w[i][j]/largest
		}
		w[i][i] = 0
	}
	return w
}

// shareWithin is modularity: the sum over modules of the share of weight within less the squared
// share of degree (Newman and Girvan 2004).
func shareWithin(w [][]float64, labels []int) (q float64) {
	within, degree, total := map[int]float64{}, map[int]float64{}, 0.0
	for i := range w {
		for j, v := range w[i] {
			total += v
			degree[labels[i]] += v
			if labels[i] == labels[j] {
				within[labels[i]] += v
			}
		}
	}
	for label, k := range degree {
		q += within[label]/total - k/total*k/total
	}
	return q
}

// simulated returns what figure 4 shows of a simulation: its couplings, and the first 100 time
// points of three nodes, in the order of their names, in which those of a module stand side by
// side.
func simulated(frames int, seed uint64) (network, series drawn) {
	o := nmar.DefaultOptions()
	o.Frames = frames
	sim := expect.Must(nmar.Simulate(o, seed))
	byName := make([]int, 15)
	for i := range byName {
		byName[i] = i
	}
	slices.SortFunc(byName, func(a, b int) int {
		return strings.Compare(sim.Names[a],
			sim.Names[b])
	})
	cells := mark{label: "|", x: []float64{15, 15}, values: [][]float64{nil}}
	for place, i := range byName {
		for _, j := range byName {
			cells.values[0] = append(cells.values[0], sim.Weights[i*15+j])
		}
		cells.groups = append(cells.groups, place/5) // three modules of five
	}
	series = drawn{title: "Series of three nodes", y: "Activity"}
	for _, place := range []int{0, 7, 14} {
		line := mark{label: fmt.Sprint("node ", place), values: [][]float64{nil}}
		for frame := range 100 {
			line.x = append(line.x, float64(frame))
			v := float64(sim.X[frame*15+byName[place]])
			line.values[0] = append(line.values[0], v)
		}
		series.marks = append(series.marks, line)
	}
	return drawn{title: "True network", y: "Weight", marks: []mark{cells}}, series
}

func fig4Numbers(t *testing.T, w *world) {
	models := w.at("nmar")
	all := bunches(models)
	w.checkCSV(t, "fig4", modelSheet(models, maskedMeasures...))
	cosines := w.checkTokens(t, "fig4_cosine", "Cosine", falling(all, end("modularity")),
		cosineBetween, false)
	network, series := simulated(2000, 4) // of the runs' config.json
	w.checkPanels(t, "fig4", slices.Concat([]drawn{network, series, {title: "Masked prediction"}},
		scoreBoxes(all),
		[]drawn{errorBoxes(all, "0.50", "50"), {title: "Modularity"}}, cosines)...)
	f, df, df2 := w.varianceRatio(all, end("test_mse/0.50"))
	w.checkCaption(t, "fig4", append(w.checkChance(t, "fig4", all, apart), "15 nodes in 3 modules", "(1200 steps;",
		fmt.Sprintf("F(%g, %g) = %.2f, %s (the paper prints F = .24, p = .97).", df, df2, f,
			chanceOf(distuv.F{D1: df, D2: df2}.Survival(f)))),
		"data seed 4")
}

// varianceRatio returns the F of a one-way analysis of variance, with its degrees of freedom: the
// mean square between encodings over that within.
func (w *world) varianceRatio(all []bunch, of func(seen) float64) (f, df, df2 float64) {
	mean := average(bunch{models: modelsIn(all)}.of(of))
	var between, within float64
	for _, b := range all {
		x := present(b.of(of))
		between += float64(len(x)) * (average(x) - mean) * (average(x) - mean)
		for _, v := range x {
			within += (v - average(x)) * (v - average(x))
		}
		df2 += float64(len(x) - 1)
	}
	df = float64(len(all) - 1)
	return between / df / (within / df2), df, df2
}

// errorCourses are the curves of errors with their CSV.
func (w *world) errorCourses(t *testing.T, id string, all []bunch) []drawn {
	t.Helper()
	test, train := key("test_mse/0.90"), key("train_mse")
	w.checkCSV(t, id+"_curves", courseSheet(all, "step", recorded{"test_mse", test},
		recorded{"train_mse", train}))
	return []drawn{{title: "Training", y: "MSE in training", marks: courseMarks(all, "step",
		train)},
		{title: "Generalization", y: "Test MSE, 90 % masked", marks: courseMarks(all, "step",
			test)}, errorBoxes(all, "0.90", "90")}
}

// mirrored is the distance that the runs on fMRI name: the nearer of a vector and its opposite.
func mirrored(a, b []float64) float64 {
	opposite := slices.Clone(b)
	for i := range opposite {
		opposite[i] = -opposite[i]
	}
	return min(apart(a, b), apart(a, opposite))
}

func fig5Numbers(t *testing.T, w *world) {
	models := w.at("fmri")
	labels, _ := models[0].modules()
	w.checkCSV(t, "fig5", modelSheet(models, maskedMeasures...))
	w.checkPanels(t, "fig5", append([]drawn{{title: "Networks of the regions, in the order of " +
		"the tokens", marks: []mark{{groups: labels}}},
		{title: "Masked prediction"}}, w.errorCourses(t, "fig5", bunches(models))...)...)
	w.checkCaption(t, "fig5", []string{"50 % of the regions masked in training, 1200 steps."})
}

func fig6Numbers(t *testing.T, w *world) {
	models := w.at("fmri")
	labels, _ := models[0].modules()
	w.checkCSV(t, "fig6", modelSheet(models, maskedMeasures...))
	matrices := w.checkTokens(t, "fig6_proximity", "1 − scaled distance", bunches(models), mirrored,
		true)
	w.checkPanels(t, "fig6", slices.Concat([]drawn{{title: "Networks of the regions, in the " +
		"order of the tokens",
		marks: []mark{{groups: labels}}}, {title: "Modularity"}}, matrices,
		scoreBoxes(bunches(models)))...)
	w.checkCaption(t, "fig6", append(w.checkChance(t, "fig6", bunches(models), mirrored),
		"50 % of the regions masked in training, 1200 steps."),
		"1 minus the distance", "0..1")
}
