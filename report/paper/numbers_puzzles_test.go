package paper

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// nearness measures how near a model is to the ground truth.
type nearness struct{ cosine, jsd, distance, disparity float64 }

// truthOf returns the fitted 2d-fixed model of the same seed, else the first.
func (w *world) truthOf(m seen) seen {
	fitted := those(w.puzzles(mainVariant), func(o seen) bool {
		return o.pe == "2d-fixed" &&
			!o.unfitted()
	})
	for _, o := range fitted {
		if o.seed == m.seed {
			return o
		}
	}
	return fitted[0]
}

// like compares a model with its ground truth: maps puzzle by puzzle and layer by layer, rows of
// attention one by one, tables block by block, and then the mean.
func (w *world) like(m seen) nearness {
	if w.likes == nil {
		w.likes = map[string]nearness{}
	}
	at := fmt.Sprint(m.dir, " ", m.index)
	if have, ok := w.likes[at]; ok {
		return have
	}
	truth := w.truthOf(m)
	var cosines, jsds, distances, disparities []float64
	own, n := m.maps()
	other, _ := truth.maps()
	for layer := range own {
		for e := range own[layer] {
			a, b := own[layer][e], other[layer][e]
			cosines = append(cosines, cosineBetween(a, b))
			for r := 0; r < len(a); r += n {
				jsds = append(jsds, divergence(a[r:r+n], b[r:r+n]))
			}
		}
	}
	mine, dim := m.tables()
	its, _ := truth.tables()
	for block, table := range mine {
		distances = append(distances, orthogonalDistance(table, its[block], dim))
		disparities = append(disparities, shapeDisparity(table, its[block], dim))
	}
	w.likes[at] = nearness{average(cosines), average(jsds), average(distances), average(disparities)}
	return w.likes[at]
}

func (w *world) cosine(m seen) float64    { return w.like(m).cosine }
func (w *world) jsd(m seen) float64       { return w.like(m).jsd }
func (w *world) distance(m seen) float64  { return w.like(m).distance }
func (w *world) disparity(m seen) float64 { return w.like(m).disparity }

// likenessColumns are the columns of tables on the ground truth.
func (w *world) likenessColumns() []measured {
	return append([]measured{{"cosine", w.cosine}, {"jsd", w.jsd}, {"procrustes", w.distance},
		{"disparity", w.disparity}}, accuracies...)
}

// meanMaps returns the mean attention of each bunch's first model, with its CSV and its panels.
func meanMaps(all []bunch) (out sheet, panels []drawn) {
	out = columns("pe", "query", "key", "weight")
	var weights []float64
	for _, b := range all {
		maps, n := b.models[0].maps()
		mean, count := make([]float64, n*n), 0.0
		for _, layer := range maps {
			for _, example := range layer {
				for i, v := range example {
					mean[i%(n*n)] += v
				}
				count += float64(len(example) / (n * n))
			}
		}
		for i := range mean {
			mean[i] /= count
			out = append(out, []any{b.label, i / n, i % n, mean[i]})
		}
		weights = append(weights, mean...)
		panels = append(panels, drawn{title: b.starred(), y: "Attention", note: "n = 1 model",
			marks: []mark{{label: "|", x: []float64{float64(n), float64(n)},
				values: [][]float64{mean}}}})
	}
	slices.Sort(weights)
	for i, p := range panels { // colours end where 98 % of all weights lie
		if end := weights[len(weights)*98/100]; slices.Max(p.marks[0].values[0]) > end {
			panels[i].note += fmt.Sprintf("; yellow: ≥ %.2g", end)
		}
	}
	return out, panels
}

func fig3Numbers(t *testing.T, w *world) {
	groups := w.main()
	all := bySigma(groups)
	grid := named(all, "learn-0.1", "learn-0.2", "learn-1.0", "learn-2.0")
	weights, maps := meanMaps(named(groups, "learn-0.2", "learn-1.0", "learn-2.0", "2d-fixed"))
	w.checkCSV(t, "fig3", modelSheet(modelsIn(all), w.likenessColumns()...))
	w.checkCSV(t, "fig3_attention", weights)
	var rhos [3]string
	panels := maps
	for i, part := range []struct {
		title, y, scatter, x string
		of                   func(seen) float64
	}{
		{"Attention near the ground truth", "Cosine with 2d-fixed", "Attention and generalization",
			"Attention cosine with 2d-fixed", w.cosine},
		{"Encodings near the ground truth", "Procrustes distance", "Encodings and generalization",
			"Procrustes distance to 2d-fixed", w.distance},
		{"Encodings near it, whatever their norms", "Procrustes disparity", "Whatever the norms",
			"Procrustes disparity", w.disparity},
	} {
		if i == 1 {
			panels = append(panels, drawn{title: "Procrustes distance"})
		}
		points, rho := scatterPanel(part.scatter, part.x, "Validation accuracy", "levels of σ",
			grid, part.of, valid)
		panels = append(panels, drawn{title: part.title, y: part.y, marks: boxMarks(all, tick,
			part.of)}, points)
		rhos[i] = rho
	}
	w.checkPanels(t, "fig3", panels...)
	w.checkCaption(t, "fig3", []string{"here, cosine: " + rhos[0] + "; distance: " + rhos[1] + "; disparity: " +
		rhos[2] + "."},
		"ρ = .96 for the cosine", "−.98 for the distance") // figure 3's own, in the abstract
}

// accuracyUnderNoise returns a model's accuracy at each amplitude, mean over repeats, with the amplitudes.
func accuracyUnderNoise(m seen) (accuracy, amplitude []float64) {
	x := m.tensors["noise/accuracy"]
	levels, repeats := x.shape[1], x.shape[2]
	for a := range levels {
		from := (m.index*levels + a) * repeats
		accuracy = append(accuracy, average(x.values[from:from+repeats]))
	}
	return accuracy, m.tensors["noise/amplitude"].values
}

func overNoise(m seen) float64 { accuracy, _ := accuracyUnderNoise(m); return average(accuracy) }

func figA11Numbers(t *testing.T, w *world) {
	groups := w.main()
	learned, others := bySigma(groups), named(groups, paperOrder...)
	want := columns("pe", "seed", "amplitude", "accuracy")
	for _, b := range groups {
		for _, m := range b.models {
			accuracy, amplitude := accuracyUnderNoise(m)
			for i := range accuracy {
				want = append(want, []any{b.label, m.seed, amplitude[i], accuracy[i]})
			}
		}
	}
	w.checkCSV(t, "fig_a11", want)
	_, amplitude := accuracyUnderNoise(groups[0].models[0])
	heat := mark{x: []float64{4, 7}, values: [][]float64{nil}}
	var ticks, counts []string
	for i := range amplitude {
		for _, b := range learned {
			heat.values[0] = append(heat.values[0],
				average(b.of(func(m seen) float64 { a, _ := accuracyUnderNoise(m); return a[i] })))
		}
	}
	for _, b := range learned {
		ticks, counts = append(ticks, tick(b)), append(counts, fmt.Sprint(len(b.models)))
	}
	heat.label = "0.0625 0.25 0.5 1|" + strings.Join(ticks, " ")
	lines := drawn{title: "Common encodings", y: "Validation accuracy", lines: guess}
	for _, b := range others {
		line := mark{label: b.starred(), colour: b.label, x: amplitude}
		for _, m := range b.models {
			accuracy, _ := accuracyUnderNoise(m)
			line.values = append(line.values, accuracy)
		}
		lines.marks = append(lines.marks, line)
	}
	w.checkPanels(t, "fig_a11", drawn{title: "Noise"}, drawn{title: "Learned encodings",
		y:     "Validation accuracy",
		note:  fmt.Sprintf("Mean of n = %s to %s models.", slices.Min(counts), slices.Max(counts)),
		marks: []mark{heat}}, lines,
		drawn{title: "Mean over noise, by initial σ", y: "Validation accuracy", lines: guess,
			marks: boxMarks(learned, tick, overNoise)},
		drawn{title: "Mean over noise", y: "Validation accuracy", lines: guess,
			marks: boxMarks(others, bunch.starred, overNoise)})
	w.checkCaption(t, "fig_a11", nil)
}

func fig1Numbers(t *testing.T, w *world) {
	want := columns("of", "cell", "other", "distance")
	var panels []drawn
	// The answers by hand: in the first only the probe's column lacks 2, in the second its row and
	// column together lack 3, in the third 1 has no other place in its row.
	for i, puzzle := range []struct {
		digits string
		answer float64
	}{{"4213134000510134", 2}, {"0200542000341042", 3}, {"5200042100100000", 1}} {
		cells := make([]float64, 16)
		for k, digit := range puzzle.digits {
			cells[k] = float64(digit - '0')
		}
		panels = append(panels, drawn{title: fmt.Sprint(i+1, "-vector"),
			marks: []mark{{x: cells, values: [][]float64{{puzzle.answer}}}}})
	}
	panels = append(panels, drawn{title: "The first puzzle as 16 tokens, row by row",
		marks: []mark{{groups: []int{4, 2, 1, 3, 1, 3, 4, 0, 0, 0, 5, 1, 0, 1, 3, 4}}}})
	add := func(label, bar string, between func(i, j int) float64) {
		values := make([]float64, 0, 256)
		for i := range 16 {
			for j := range 16 {
				values = append(values, between(i, j))
				want = append(want, []any{label, i, j, between(i, j)})
			}
		}
		panels = append(panels, drawn{title: strings.Replace(label, "g", "G", 1), y: bar,
			marks: []mark{{label: "|", x: []float64{16, 16}, values: [][]float64{values}}}})
	}
	add("ground truth", "Distance", func(i, j int) float64 {
		return math.Sqrt(math.Pow(float64(i/4-j/4), 2) + math.Pow(float64(i%4-j%4), 2))
	})
	for _, b := range named(w.main(), "1d-fixed", "2d-fixed") {
		tables, d := b.models[0].tables()
		add(b.label, "Euclidean distance", func(i, j int) float64 {
			return apart(tables[0][i*d:(i+1)*d], tables[0][j*d:(j+1)*d])
		})
	}
	w.checkCSV(t, "fig1", want)
	w.checkPanels(t, "fig1", panels...)
	w.checkCaption(t, "fig1", nil, "the 16 cells")
}
