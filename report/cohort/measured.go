package cohort

import (
	"fmt"
	"math"
	"slices"
)

// ModelKey identifies a model.
type ModelKey struct {
	run   *Run
	index int
}

// Key returns the key of the model.
func (m Model) Key() ModelKey { return ModelKey{m.Run, m.Index} }

// Values returns a measure of each model of the group.
func (g Group) Values(of func(Model) float64) []float64 {
	out := make([]float64, len(g.Models))
	for i, m := range g.Models {
		out[i] = of(m)
	}
	return out
}

// Finite returns the finite values: means leave out what was not measured.
func Finite(x []float64) []float64 {
	return slices.DeleteFunc(slices.Clone(x), func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
}

// Paired returns a measure of the models of two groups that have the same seed, if both have it.
func Paired(a, b Group, of func(Model) float64) (x, y []float64) {
	for _, m := range a.Models {
		at := slices.IndexFunc(b.Models, func(o Model) bool { return o.Member.Seed == m.Member.Seed })
		if at < 0 {
			continue
		}
		if u, v := of(m), of(b.Models[at]); !math.IsNaN(u) && !math.IsNaN(v) {
			x, y = append(x, u), append(y, v)
		}
	}
	return x, y
}

// ModelsOf returns the models of groups.
func ModelsOf(all []Group) (models []Model) {
	for _, g := range all {
		models = append(models, g.Models...)
	}
	return models
}

// IsUnfitted reports whether the model has not fitted its training data. Such a model says nothing about
// generalization.
func (m Model) IsUnfitted() bool {
	reached, known := m.Fitted()
	return known && !reached
}

// MeasuredOtherwise returns the models that took a measure with other settings than most, such as on more
// puzzles; means leave them out. All models have the measure, which is a key or the name of a family.
func MeasuredOtherwise(models []Model, measure string) (others []Model) {
	count, most := map[string]int{}, ""
	for _, m := range models {
		how := m.Run.Config.HowMeasured(measure)
		if count[how]++; count[how] > count[most] {
			most = how
		}
	}
	if len(count) < 2 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(models),
		func(m Model) bool { return m.Run.Config.HowMeasured(measure) == most })
}

// Unfitted returns the models that have not fitted.
func Unfitted(models []Model) []Model {
	return slices.DeleteFunc(slices.Clone(models), func(m Model) bool { return !m.IsUnfitted() })
}

// Fitted returns the group without unfitted models.
func (g Group) Fitted() Group {
	g.Models = slices.DeleteFunc(slices.Clone(g.Models), Model.IsUnfitted)
	return g
}

// FittedText returns "5 of 5": the number of fitted models, and of all.
func (g Group) FittedText() string {
	return fmt.Sprintf("%d of %d", len(g.Fitted().Models), len(g.Models))
}

// Mark returns a star if a model of the group has not fitted, else "".
func (g Group) Mark() string {
	if slices.ContainsFunc(g.Models, Model.IsUnfitted) {
		return "*"
	}
	return ""
}

// Starred returns the label with the mark.
func (g Group) Starred() string { return g.Label + g.Mark() }
