package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"torchpe/internal/wording"
	"torchpe/train/runlog"
)

// grid is a table that is filled cell by cell: a heading that is new becomes the next column.
type grid struct {
	head []string
	rows [][]string
}

// set fills a cell of the last row.
func (g *grid) set(heading, text string) {
	column := slices.Index(g.head, heading)
	if column < 0 {
		column = len(g.head)
		g.head = append(g.head, heading)
		for i := range g.rows {
			g.rows[i] = append(g.rows[i], "")
		}
	}
	g.rows[len(g.rows)-1][column] = text
}

// add begins a row.
func (g *grid) add() { g.rows = append(g.rows, make([]string, len(g.head))) }

// setEach fills a cell for each key of numbers.
func (g *grid) setEach(heading, format string, keys []string, numbers runlog.Numbers) {
	for _, key := range keys {
		text := "–"
		if v, ok := numbers[key]; ok && !math.IsNaN(v) {
			text = fmt.Sprintf(format, v)
		}
		g.set(fmt.Sprintf(heading, key), text)
	}
}

// printMembers prints the final numbers, a row for each member and each baseline of masked prediction.
func printMembers(w io.Writer, r runlog.Result) {
	masked := r.Baselines["zero"] != nil
	lengths := keysOf(r, func(m runlog.MemberResult) runlog.Numbers { return m.AccuracyByLength })
	var g grid
	var droppable []string
	for _, m := range r.Members {
		g.add()
		g.set("PE", m.PE)
		g.set("sigma", sigmaText(m.Sigma))
		g.set("seed", fmt.Sprint(m.Seed))
		switch {
		case masked:
			droppable = g.setMasked(r, m)
		case lengths != nil:
			droppable = g.setSequences(r, m, lengths)
		default:
			droppable = g.setPuzzles(r, m)
		}
	}
	if masked {
		for _, name := range []string{"gaussian", "mean", "zero"} {
			g.add()
			g.set("PE", "baseline: "+name)
			g.setEach("test MSE, %s masked", "%.4f", slices.Sorted(maps.Keys(r.Baselines[name])), r.Baselines[name])
		}
	}
	printTable(w, g.head, g.rows, droppable...)
}

// setAccuracies fills the accuracies in training and of held-out data.
func (g *grid) setAccuracies(m runlog.MemberResult, heldOut string) {
	g.set("train", share(m.TrainAccuracy))
	g.set("IID test", share(m.IIDAccuracy))
	g.set(heldOut, share(m.ValidationAccuracy))
}

// setPuzzles fills the row of a member of task lst.
func (g *grid) setPuzzles(r runlog.Result, m runlog.MemberResult) (droppable []string) {
	g.set("epochs", epochsText(m))
	g.setAccuracies(m, "validation")
	for i, condition := range []string{"Binary", "Ternary", "Quaternary"} {
		g.set(fmt.Sprintf("%d-vector", i+1), share(orNaN(m.ValidationByCondition, condition)))
	}
	sizes := keysOf(r, func(m runlog.MemberResult) runlog.Numbers { return m.AccuracyByTokens })
	g.setEach("at %s tokens", "%.3f", sizes, m.AccuracyByTokens)
	g.set("status", m.Status)
	g.set("fitted", fitText(m.Fit, false))
	return []string{"fitted", "1-vector", "2-vector", "3-vector", "epochs"}
}

// setSequences fills the row of a member of task sequence or text.
func (g *grid) setSequences(r runlog.Result, m runlog.MemberResult, lengths []string) (droppable []string) {
	g.set("steps", fmt.Sprint(m.Steps))
	g.setAccuracies(m, "longer")
	windows := keysOf(r, func(m runlog.MemberResult) runlog.Numbers { return m.PerplexityByLength })
	if windows != nil {
		g.setEach("perplexity at %s", "%.3f", windows, m.PerplexityByLength)
	} else {
		g.setEach("length %s", "%.3f", lengths, m.AccuracyByLength)
	}
	g.set("status", m.Status)
	g.set("fitted", fitText(m.Fit, true))
	return []string{"sigma", "status"}
}

// setMasked fills the row of a member of masked prediction.
func (g *grid) setMasked(r runlog.Result, m runlog.MemberResult) (droppable []string) {
	g.set("steps", fmt.Sprint(m.Steps))
	g.set("train MSE", numberText("%.4f", m.TrainMSE))
	g.setEach("test MSE, %s masked", "%.4f", slices.Sorted(maps.Keys(r.Baselines["zero"])), m.TestMSEByMask)
	g.set("modularity", numberText("%.3f", m.Modularity))
	g.set("clustering", numberText("%.3f", m.Clustering))
	g.set("status", m.Status)
	return []string{"train MSE", "test MSE, 0.15 masked", "test MSE, 0.90 masked", "test MSE, 0.75 masked",
		"clustering", "steps"}
}

// keysOf lists the keys, whole numbers as text, of a measurement of any member, smallest first.
func keysOf(r runlog.Result, of func(runlog.MemberResult) runlog.Numbers) []string {
	all := map[string]float64{}
	for _, m := range r.Members {
		maps.Copy(all, of(m))
	}
	return slices.SortedFunc(maps.Keys(all),
		func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
}

// epochsText writes the length of training: "12", or "24 steps" of the first epoch.
func epochsText(m runlog.MemberResult) string {
	if m.Epochs == 0 && m.Steps > 0 {
		return wording.Count(m.Steps, "step")
	}
	return fmt.Sprint(m.Epochs)
}

// fitText writes when a member fitted: "epoch 87", "step 5568" or "no".
func fitText(f *runlog.Fit, inSteps bool) string {
	switch {
	case f == nil:
		return "–"
	case f.Reached && inSteps:
		return fmt.Sprintf("step %d", f.Step)
	case f.Reached:
		return fmt.Sprintf("epoch %d", f.Epoch)
	}
	return "no"
}

// sigmaText writes sigma, or a dash for encodings without.
func sigmaText(sigma *float64) string { return numberText("%g", sigma) }

// numberText writes a number, or a dash for nil.
func numberText(format string, v *float64) string {
	if v == nil {
		return "–"
	}
	return fmt.Sprintf(format, *v)
}
