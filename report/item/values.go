package item

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"torchpe/data/lst"
	"torchpe/report/cohort"
	"torchpe/report/figure"
	"torchpe/train/runlog"
)

// Only this file reads the measures of results and records.

// Measured returns a measure of a model by its name, or NaN if it was not measured.
type Measured func(m cohort.Model, name string) float64

// Value returns a measure of a model at the end of training by its name, such as "validation",
// "validation/1-vector" or "test_mse/0.50". The name of a family, such as "pe_moved", gives its mean. It
// returns NaN if it was not measured.
func Value(m cohort.Model, name string) float64 {
	switch kind, part, _ := strings.Cut(name, "/"); {
	case kind == "sigma":
		return m.Sigma()
	case kind == "heads":
		return float64(m.Run.Config.Heads)
	case kind == "validation" && part != "":
		return byKind(m, part)
	}
	return numberOf(m.Result.Measures, name)
}

// RecordValue returns a measure of a record by its name, or NaN if it was not measured.
func RecordValue(r runlog.Record, name string) float64 { return numberOf(r.Measures, name) }

func numberOf(n runlog.Numbers, name string) float64 {
	if _, isOne := runlog.FindMeasure(name); isOne {
		return n.Get(name)
	}
	return n.Mean(name)
}

// Numbers returns the numbers, ascending, at which models have a measure: the 64 of "perplexity/64".
func Numbers(family string, models ...cohort.Model) (all []int) {
	for _, m := range models {
		for text := range m.Result.Measures.Of(family) {
			if n, err := strconv.Atoi(text); err == nil && !slices.Contains(all, n) {
				all = append(all, n)
			}
		}
	}
	slices.Sort(all)
	return all
}

// PuzzleKinds names the kinds of puzzles by the number of rows or columns that they need, in the order of
// lst.OneVector to lst.ThreeVector.
var PuzzleKinds = []string{"1-vector", "2-vector", "3-vector"}

// byKind returns the validation accuracy on puzzles that need as many rows or columns as the kind says, or, if
// the run did not record that, on puzzles with the label of the kind.
func byKind(m cohort.Model, kind string) float64 {
	c := lst.OneVector + lst.Condition(slices.Index(PuzzleKinds, kind))
	if hasLines(m) {
		return m.Number("validation_lines/" + strconv.Itoa(int(c)))
	}
	return m.Number("validation/" + c.String())
}

func hasLines(m cohort.Model) bool { return m.Result.Measures.Of("validation_lines") != nil }

// HasLabelsAlone reports whether a model was measured only by the labels of generated puzzles: about 8 of the
// 36 with the label 3-vector need two rows or columns.
func HasLabelsAlone(m cohort.Model) bool { return !hasLines(m) && len(m.Run.Config.LSTTrain) == 0 }

// Baseline is a prediction without a model; Label is its short name beside a line.
type Baseline struct{ Key, Name, Label string }

// Baselines lists the predictions without a model, best first.
var Baselines = []Baseline{{"gaussian", "conditional Gaussian", "conditional Gaussian"},
	{"mean", "regression on the mean of the visible", "regression on mean"}, {"zero", "zero", "zero"}}

// MSE returns the error of a baseline on a run's tests with a share of tokens masked, or NaN if it was not
// measured.
func (b Baseline) MSE(r *cohort.Run, level string) float64 {
	if v, ok := r.Result.Baselines[b.Key][level]; ok {
		return v
	}
	return math.NaN()
}

// References returns, as lines of a panel, the errors without a model that a model should beat.
func References(r *cohort.Run, level string) (out []figure.Reference) {
	for _, b := range Baselines[:2] {
		if v := b.MSE(r, level); !math.IsNaN(v) {
			out = append(out, figure.Reference{Label: b.Label, Y: v})
		}
	}
	return out
}

// Covers returns two numbers that the y axis of a measure must include, so that differences between seeds do
// not fill a panel, and panels of a measure have one scale: the whole range of an accuracy or cosine, and 0 to
// 0.1 for measures that stay small if nothing happened. Both are 0 for other measures.
func Covers(measure string) [2]float64 {
	switch kind, _, _ := strings.Cut(measure, "/"); kind {
	case "train", "iid", "validation", "noise", "cosine", "tangent_alignment":
		return [2]float64{0, 1}
	case "modularity", "clustering", "jsd", "disparity", "pe_moved", "pe_gradient_share",
		"pe_disparity", "pe_cosine":
		return [2]float64{0, 0.1}
	}
	return [2]float64{}
}
